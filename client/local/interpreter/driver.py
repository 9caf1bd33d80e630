# The Python kernel: reads one JSON object a line on standard input, writes one a
# line on a copy of standard output, and runs code in one namespace.
import ast, asyncio, base64, builtins, codecs, datetime, inspect, json, linecache, os, re, secrets, signal, subprocess, sys, threading, traceback, warnings

requests = os.fdopen(os.dup(0), "r", encoding="utf-8", newline="\n")
wire = os.fdopen(os.dup(1), "wb")
lock = threading.Lock()
state = {"running": False, "sending": False, "pending": False}


def send(**event):
    line = (json.dumps(event, default=str) + "\n").encode("utf-8", "replace")
    mine = threading.current_thread() is threading.main_thread()
    if mine:
        state["sending"] = True
    try:
        with lock:
            wire.write(line)
            wire.flush()
    finally:
        if mine:
            state["sending"] = False
    if mine and state["pending"]:
        state["pending"] = False
        raise KeyboardInterrupt


def interrupted(*_):
    if not state["running"]:
        return
    if state["sending"]:
        state["pending"] = True
        return
    raise KeyboardInterrupt


signal.signal(signal.SIGINT, interrupted)


class Capture(threading.Thread):
    """Turns what is written to a descriptor, by whomever, into events."""

    def __init__(self, fd, kind):
        super().__init__(daemon=True)
        self.fd, self.kind = fd, kind
        self.end, into = os.pipe()
        os.dup2(into, fd)
        os.close(into)
        self.mark = b"\0" + secrets.token_hex(16).encode() + b"\0"
        self.seen = threading.Event()
        self.start()

    def run(self):
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        held = b""
        while True:
            data = os.read(self.end, 65536)
            if not data:
                return
            data = held + data
            while self.mark in data:
                before, data = data.split(self.mark, 1)
                self.emit(decode(before))
                self.seen.set()
            keep = next((n for n in range(min(len(self.mark) - 1, len(data)), 0, -1) if self.mark.startswith(data[-n:])), 0)
            held = data[len(data) - keep:]
            self.emit(decode(data[:len(data) - keep]))

    def emit(self, text):
        if text:
            at = datetime.datetime.now(datetime.timezone.utc).isoformat()
            send(type=self.kind, text=text, timestamp=at)

    def drain(self):
        self.seen.clear()
        os.write(self.fd, self.mark)
        self.seen.wait(5)


captures = [Capture(1, "stdout"), Capture(2, "stderr")]
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
sys.stdin = open(0, "r", closefd=False)
sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)
sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)
os.environ.setdefault("MPLBACKEND", "Agg")
warnings.filterwarnings("ignore", message=".*non-interactive.*")


def drain():
    sys.stdout.flush()
    sys.stderr.flush()
    for c in captures:
        c.drain()


def text_of(data):
    return base64.b64encode(data).decode() if isinstance(data, bytes) else data


METHODS = [("html", "_repr_html_"), ("markdown", "_repr_markdown_"), ("svg", "_repr_svg_"), ("png", "_repr_png_"),
           ("jpeg", "_repr_jpeg_"), ("pdf", "_repr_pdf_"), ("latex", "_repr_latex_"), ("json", "_repr_json_"),
           ("javascript", "_repr_javascript_")]
MIMES = {"text/plain": "text", "text/html": "html", "text/markdown": "markdown", "image/svg+xml": "svg", "image/png": "png",
         "image/jpeg": "jpeg", "application/pdf": "pdf", "text/latex": "latex", "application/json": "json",
         "application/javascript": "javascript"}


def figure_png(fig):
    import io
    out = io.BytesIO()
    fig.savefig(out, format="png", bbox_inches="tight")
    return base64.b64encode(out.getvalue()).decode()


def formats(value):
    text = repr(value)
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    out, extra = {"text": text}, {}
    if inspect.isclass(value):
        return out, extra
    bundle = getattr(value, "_repr_mimebundle_", None)
    if callable(bundle):
        try:
            got = bundle()
            got = got[0] if isinstance(got, tuple) else got
            for mime, data in (got or {}).items():
                (out if mime in MIMES else extra)[MIMES.get(mime, mime)] = text_of(data)
        except Exception:
            pass
    for key, name in METHODS:
        method = getattr(value, name, None)
        if key in out or not callable(method):
            continue
        try:
            data = method()
            data = data[0] if isinstance(data, tuple) else data
            if data is not None:
                out[key] = text_of(data)
        except Exception:
            pass
    kind = type(value)
    if kind.__module__.startswith("pandas.") and kind.__name__ == "DataFrame":
        try:
            out["data"] = json.loads(value.to_json(orient="columns"))
            out["data"] = {k: list(v.values()) for k, v in out["data"].items()}
        except Exception:
            out.pop("data", None)
    if kind.__module__.startswith("matplotlib.") and kind.__name__ == "Figure" and "png" not in out:
        try:
            out["png"] = figure_png(value)
        except Exception:
            pass
    return out, extra


def show(value, main):
    out, extra = formats(value)
    send(type="result", extra=extra, is_main_result=main, **out)


def display(*values, **_):
    drain()
    for v in values:
        show(v, False)


def figures():
    plt = sys.modules.get("matplotlib.pyplot")
    if plt is None:
        return
    for n in plt.get_fignums():
        fig = plt.figure(n)
        send(type="result", text=repr(fig), png=figure_png(fig), extra={}, is_main_result=False)
    plt.close("all")


def shell(command):
    code = subprocess.run(command, shell=True, executable="/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh").returncode
    if code:
        print(f"exit status {code}", file=sys.stderr)


def plain(code):
    """Turns `!command` and `%pip` lines into calls, as notebooks know them."""
    def line(m):
        command = m.group(3) if m.group(2) == "!" else f'"{sys.executable}" -m pip {m.group(3)[3:]}'
        return f"{m.group(1)}__shell__({command!r})"
    return re.sub(r"^([ \t]*)(!|%(?=pip ))(.*)$", line, code, flags=re.M)


space = {"__name__": "__main__", "__builtins__": builtins, "__shell__": shell, "display": display}
loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)


def evaluate(node, name, mode):
    code = compile(node, name, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    if code.co_flags & inspect.CO_COROUTINE:
        return loop.run_until_complete(eval(code, space))
    return eval(code, space)


def run(code, name):
    try:
        tree = ast.parse(code, name)
    except SyntaxError:
        changed = plain(code)
        if changed == code:
            raise
        code = changed
        tree = ast.parse(code, name)
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr) and not code.rstrip().endswith(";"):
        last = ast.Expression(tree.body.pop().value)
    if tree.body:
        evaluate(tree, name, "exec")
    if last is not None:
        value = evaluate(last, name, "eval")
        if value is not None:
            space["_"] = value
            drain()
            show(value, True)
    drain()
    figures()


def failed(e, name):
    tb = e.__traceback__
    while tb is not None and not tb.tb_frame.f_code.co_filename.startswith("<cell "):
        tb = tb.tb_next
    text = "".join(traceback.format_exception(type(e), e, tb))
    drain()
    send(type="error", name=type(e).__name__, value=str(e), traceback=text)


def serve():
    count = 0
    for line in requests:
        req = json.loads(line)
        count += 1
        send(type="number_of_executions", execution_count=count)
        env = req.get("env") or {}
        before = {k: os.environ.get(k) for k in env}
        os.environ.update(env)
        name = f"<cell {count}>"
        try:
            state["running"] = True
            run(req["code"], name)
        except BaseException as e:
            state["running"] = False
            failed(e, name)
        finally:
            state["running"] = state["pending"] = False
            for k, v in before.items():
                if v is None:
                    os.environ.pop(k, None)
                else:
                    os.environ[k] = v
        send(type="done")


serve()
