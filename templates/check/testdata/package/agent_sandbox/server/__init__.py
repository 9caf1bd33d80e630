"""A tiny package with the interface of agent_sandbox.server, for tests: what a
check does where the real one can be imported."""

import enum
import http.server
import importlib.util
import json

_commands = {}


class CapabilityGroup(str, enum.Enum):
    DEV_TOOLS = "dev_tools"


class _Table:
    def enable_group(self, group):
        print("tiny server: group", group.value)


def default_table():
    return _Table()


def command(name=None, description=""):
    def keep(function):
        _commands[name or function.__name__] = function
        return function

    return keep


class _Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/health":
            self.answer(200, {"status": "ok"})
        elif self.path == "/commands":
            self.answer(200, {"commands": [
                {"name": n, "args": [{"name": "name", "type": "string", "required": False}]} for n in _commands]})
        else:
            self.answer(404, {"error": "no such route"})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        function = _commands.get(self.path.removeprefix("/commands/"))
        if function is None:
            self.answer(404, {"error": "no such command"})
            return
        self.answer(200, {"result": function(**json.loads(body or b"{}"))})


def start(port):
    print("tiny server: port", port, flush=True)
    http.server.ThreadingHTTPServer(("127.0.0.1", port), _Handler).serve_forever()


def serve(port, path):
    spec = importlib.util.spec_from_file_location("commands", path)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    print("tiny server: serve", flush=True)
    start(port)
