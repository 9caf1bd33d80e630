"""python3 -m agent_sandbox.server serve --port 9000 --commands FILE"""

import argparse

from agent_sandbox import server


def main():
    parser = argparse.ArgumentParser(prog="agent-sandbox-server")
    verbs = parser.add_subparsers(dest="verb", required=True)
    serve = verbs.add_parser("serve")
    serve.add_argument("--port", type=int, default=9000)
    serve.add_argument("--commands", required=True)
    given = parser.parse_args()
    server._load(given.commands)
    server._serve(given.port)


if __name__ == "__main__":
    main()
