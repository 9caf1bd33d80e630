import sys

from . import serve

if __name__ == "__main__":
    args = dict(zip(sys.argv[2::2], sys.argv[3::2]))
    serve(int(args["--port"]), args["--commands"])
