"""A strict stand-in for agent_sandbox.server, for checks on a machine without
the real package. It offers what commands.py may use and nothing else, and it
serves health, capabilities and named commands only."""

import enum as _enum
import hmac as _hmac
import http.server as _http
import importlib.util as _import
import inspect as _inspect
import json as _json
import os as _os
import re as _re
import sys as _sys
import traceback as _traceback
import typing as _typing
import urllib.parse as _url

__all__ = ["CapabilityGroup", "command", "default_table", "start"]

_MAX_BODY = 1 << 20
_RESERVED = {49983: "the sandbox agent", 5000: "the gateway", 49999: "the code interpreter"}


class CapabilityGroup(str, _enum.Enum):
    CORE = "core"
    COMMANDS = "commands"
    FILE_OPS = "file_ops"
    PROCESS = "process"
    TERMINAL = "terminal"
    SYSTEM = "system"
    DEV_TOOLS = "dev_tools"
    BROWSER = "browser"
    AGENTS = "agents"


_OPT_IN = (CapabilityGroup.DEV_TOOLS, CapabilityGroup.BROWSER, CapabilityGroup.AGENTS)


class _Table:
    def __init__(self):
        self._on = {g for g in CapabilityGroup if g not in _OPT_IN}

    def enable_group(self, group):
        if not isinstance(group, CapabilityGroup):
            raise TypeError("enable_group takes a CapabilityGroup, not %r" % (group,))
        self._on.add(group)


class _State:
    def __init__(self):
        self.table = _Table()
        self.commands = {}
        self.loading = False
        self.frozen = False


_state = _State()


def default_table():
    return _state.table


class _Bad(Exception):
    """A request that is refused before the command runs."""


class _Command:
    def __init__(self, name, function, description, hidden):
        self.name, self.function, self.description, self.hidden = name, function, description, hidden
        try:
            hints = _typing.get_type_hints(function)
        except Exception:
            hints = {}
        self.args = []
        self.extra = False
        for p in _inspect.signature(function).parameters.values():
            if p.kind is p.VAR_KEYWORD:
                self.extra = True
            if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
                continue
            if p.kind is p.POSITIONAL_ONLY:
                raise TypeError("%s: the argument %s is positional-only; arguments come by name" % (name, p.name))
            self.args.append((p.name, _plain(hints.get(p.name, p.annotation)), p.default))

    def describe(self):
        args = []
        for name, kind, default in self.args:
            item = {"name": name, "type": _KINDS.get(kind, "string"), "required": default is _inspect.Parameter.empty}
            if default is not _inspect.Parameter.empty and isinstance(default, (str, int, float, bool, type(None))):
                item["default"] = default
            args.append(item)
        return {"name": self.name, "description": self.description, "args": args}

    def call(self, given):
        values = {}
        for name, kind, default in self.args:
            if name in given:
                values[name] = _convert(name, kind, given.pop(name))
            elif default is _inspect.Parameter.empty:
                raise _Bad("missing argument: %s" % name)
        if given and not self.extra:
            raise _Bad("unknown argument: %s" % sorted(given)[0])
        values.update(given)
        result = self.function(**values)
        if _inspect.isawaitable(result):
            close = getattr(result, "close", None)
            if close:
                close()
            raise TypeError("%s is async; write a plain function" % self.name)
        return result


_KINDS = {int: "integer", float: "float", bool: "boolean", str: "string"}


def _plain(annotation):
    """int of int, Optional[int] and int | None."""
    if annotation in _KINDS:
        return annotation
    inner = [a for a in _typing.get_args(annotation) if a is not type(None)]
    if len(inner) == 1 and inner[0] in _KINDS:
        return inner[0]
    return annotation


def _convert(name, kind, value):
    wrong = _Bad("argument %s must be %s" % (name, _KINDS.get(kind, "a value")))
    if value is None or kind not in _KINDS:
        return value
    if kind is bool:
        if isinstance(value, bool):
            return value
        text = str(value).strip().lower()
        if text in ("true", "yes", "1"):
            return True
        if text in ("false", "no", "0"):
            return False
        raise wrong
    if isinstance(value, (bool, list, dict)):
        raise wrong
    try:
        if kind is int and isinstance(value, float):
            if value != int(value):
                raise wrong
            return int(value)
        return kind(value)
    except (ValueError, OverflowError):
        raise wrong from None


def command(name=None, *, description=None, hidden=False):
    """Registers a function at the top of commands.py as a named command."""
    if callable(name):
        return command()(name)
    if name is not None and not isinstance(name, str):
        raise TypeError("@command takes a name, not %r" % (name,))

    def register(function):
        if not _inspect.isfunction(function):
            raise TypeError("@command belongs on a function, not on %r" % (function,))
        if "." in function.__qualname__:
            raise TypeError("@command belongs on a function at the top of commands.py, not on %s" % function.__qualname__)
        if _state.frozen:
            raise RuntimeError("commands cannot be added after start()")
        known = name or function.__name__
        if not _re.match(r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", known):
            raise ValueError("the command name %r cannot be part of a URL" % known)
        if known in _state.commands:
            raise ValueError("the command %s is registered twice" % known)
        text = description or (_inspect.getdoc(function) or "").split("\n")[0]
        _state.commands[known] = _Command(known, function, text, bool(hidden))
        return function

    return register


def start(port=9000, *, policy=None):
    """Serves until the process ends. Only under if __name__ == "__main__"."""
    if _state.loading:
        raise RuntimeError('start() ran while the platform imported the file; put it under: if __name__ == "__main__":')
    if isinstance(port, bool) or not isinstance(port, int):
        raise TypeError("start() takes a port number, not %r" % (port,))
    _serve(port)


def _load(path):
    """Imports commands.py the way the platform does."""
    spec = _import.spec_from_file_location("commands", path)
    if spec is None or spec.loader is None:
        raise SystemExit("cannot import %s" % path)
    module = _import.module_from_spec(spec)
    _sys.modules["commands"] = module
    _state.loading = True
    try:
        spec.loader.exec_module(module)
    finally:
        _state.loading = False


class _Handler(_http.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "agent-sandbox-server-stand-in"
    sys_version = ""

    def _answer(self, status, value):
        try:
            body = _json.dumps(value, allow_nan=False).encode()
        except (TypeError, ValueError) as e:
            status, body = 500, _json.dumps({"error": "the result is no JSON: %s" % e, "type": type(e).__name__}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def _refuse(self, status, text, kind):
        self._answer(status, {"error": text, "type": kind})

    def _path(self):
        path = _url.urlsplit(self.path).path
        return path.rstrip("/") or "/"

    def _allowed(self):
        token = _os.environ.get("ABX_SERVER_TOKEN", "")
        given = self.headers.get("X-Access-Token", "")
        return not token or _hmac.compare_digest(token.encode(), given.encode())

    def do_GET(self):
        path = self._path()
        if path == "/health":
            self._answer(200, {"status": "ok", "server": "stand-in"})
        elif path == "/capabilities":
            on = _state.table._on
            self._answer(200, {"groups": {g.value: g in on for g in CapabilityGroup}})
        elif path != "/commands":
            self._refuse(404, "the stand-in has no route GET %s" % path, "NotFound")
        elif not self._allowed():
            self._refuse(401, "unauthorized", "AuthError")
        else:
            self._answer(200, {"commands": [c.describe() for c in _state.commands.values() if not c.hidden]})

    def do_POST(self):
        path = self._path()
        try:
            length = int(self.headers.get("Content-Length", "0"))
        except ValueError:
            length = -1
        if length < 0 or length > _MAX_BODY:
            self.close_connection = True
            self._refuse(413, "the body is too large or has no length", "ValueError")
            return
        body = self.rfile.read(length)
        if not path.startswith("/commands/"):
            self._refuse(404, "the stand-in has no route POST %s" % path, "NotFound")
        elif not self._allowed():
            self._refuse(401, "unauthorized", "AuthError")
        else:
            self._call(_url.unquote(path[len("/commands/"):]), body)

    def do_DELETE(self):
        self._refuse(404, "the stand-in has no route DELETE %s" % self._path(), "NotFound")

    def _call(self, name, body):
        known = _state.commands.get(name)
        if known is None:
            self._refuse(404, "unknown command: %s" % name, "KeyError")
            return
        try:
            given = _json.loads(body or b"{}")
        except ValueError as e:
            self._refuse(400, "the body is no JSON: %s" % e, "JSONDecodeError")
            return
        if not isinstance(given, dict):
            self._refuse(400, "the body must be an object of arguments", "TypeError")
            return
        try:
            result = known.call(given)
        except _Bad as e:
            self._refuse(400, str(e), "ValueError")
        except BaseException as e:  # whatever a command raises is an answer
            _traceback.print_exc()
            self._refuse(500, str(e), type(e).__name__)
        else:
            self._answer(200, {"result": result})

    def log_message(self, form, *args):
        print(form % args, file=_sys.stderr, flush=True)


class _Server(_http.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True


def _serve(port):
    if port in _RESERVED:
        raise ValueError("port %d belongs to %s" % (port, _RESERVED[port]))
    for name in _os.environ.get("ABX_SERVER_ENABLED_GROUPS", "").split(","):
        if name.strip():
            _state.table.enable_group(CapabilityGroup(name.strip().lower()))
    _state.frozen = True
    # Only the sandbox's own relay has to reach it.
    server = _Server(("127.0.0.1", port), _Handler)
    print("agent_sandbox.server (stand-in): port %d, %d command(s)" % (port, len(_state.commands)), file=_sys.stderr, flush=True)
    server.serve_forever()


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError("agent_sandbox.server has no %s for commands.py; it offers %s" % (name, ", ".join(__all__)))
