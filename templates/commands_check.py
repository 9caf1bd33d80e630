"""Reads a commands.py from standard input without running it and prints what
it declares and what is wrong with it, as one JSON object."""

import ast
import json
import re
import sys

OFFERED = ("CapabilityGroup", "command", "default_table", "start")
GROUPS = ("CORE", "COMMANDS", "FILE_OPS", "PROCESS", "TERMINAL", "SYSTEM", "DEV_TOOLS", "BROWSER", "AGENTS")
RESERVED = {49983: "the sandbox agent", 5000: "the gateway", 49999: "the code interpreter"}
TYPES = {"int": "integer", "float": "float", "bool": "boolean", "str": "string"}
MAIN_HINT = 'put it under: if __name__ == "__main__":'
COMMAND_HINT = "use @command from agent_sandbox.server on a function at the top of the file"


class Check:
    def __init__(self, text):
        self.lines = text.splitlines()
        self.problems = []
        self.commands = []
        self.groups = []
        self.names = {}      # local name -> name of agent_sandbox.server
        self.modules = set() # local names of the module agent_sandbox.server
        self.dotted = False  # `import agent_sandbox.server` binds agent_sandbox
        self.imported = False
        self.starters = {}   # functions that call start()
        self.main_start = False
        self.seen = {}
        self.others = set()  # names from elsewhere

    def say(self, severity, rule, node, message, hint=""):
        line = getattr(node, "lineno", 0)
        col = getattr(node, "col_offset", -1)
        if 0 < line <= len(self.lines) and col >= 0:
            head = self.lines[line - 1].encode("utf-8", "replace")[:col]
            col = len(head.decode("utf-8", "replace"))
        self.problems.append({"severity": severity, "rule": rule, "line": line, "column": col + 1,
                              "message": message, "hint": hint})

    # What a name or attribute of the file means: a name that
    # agent_sandbox.server offers, or None.
    def offered(self, node):
        if isinstance(node, ast.Name):
            return self.names.get(node.id)
        if isinstance(node, ast.Attribute) and self.is_server(node.value):
            return node.attr
        return None

    def is_server(self, node):
        if isinstance(node, ast.Name):
            return node.id in self.modules
        return (self.dotted and isinstance(node, ast.Attribute) and node.attr == "server"
                and isinstance(node.value, ast.Name) and node.value.id == "agent_sandbox")

    def imports(self, tree):
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.others.add(node.name)
            elif isinstance(node, ast.Import):
                for a in node.names:
                    self.import_module(node, a)
            elif isinstance(node, ast.ImportFrom):
                self.import_from(node)

    def import_module(self, node, a):
        if a.name.split(".")[0] != "agent_sandbox":
            self.others.add(a.asname or a.name)
            return
        if a.name != "agent_sandbox.server":
            self.client_import(node, a.name)
            return
        self.imported = True
        if a.asname:
            self.modules.add(a.asname)
        else:
            self.dotted = True

    def import_from(self, node):
        if node.level:
            self.say("error", "import", node, "a relative import fails: the platform loads this file alone")
            return
        module = node.module or ""
        if module.split(".")[0] != "agent_sandbox":
            self.others.update(a.asname or a.name for a in node.names)
            return
        if module == "agent_sandbox":
            for a in node.names:
                if a.name == "server":
                    self.imported = True
                    self.modules.add(a.asname or a.name)
                else:
                    self.client_import(node, "agent_sandbox." + a.name)
            return
        if module != "agent_sandbox.server":
            self.client_import(node, module)
            return
        self.imported = True
        for a in node.names:
            if a.name == "*":
                self.say("error", "import", node, "name what is imported instead of *",
                         "agent_sandbox.server offers " + ", ".join(OFFERED))
            elif a.name not in OFFERED:
                self.say("error", "import", node, "agent_sandbox.server has no %s for commands.py" % a.name,
                         "it offers " + ", ".join(OFFERED))
            else:
                self.names[a.asname or a.name] = a.name

    def client_import(self, node, name):
        self.say("error", "client-import", node, "%s belongs to the client and is not in the image" % name,
                 "commands.py imports agent_sandbox.server only")

    # Statements that run when the platform imports the file.
    def at_import(self, body, top):
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.function(node, top)
                if any(self.offered(c.func) == "start" for c in ast.walk(node) if isinstance(c, ast.Call)):
                    self.starters[node.name] = node.lineno
                self.nested(node.body)
            elif isinstance(node, ast.ClassDef):
                self.nested(node.body)
                self.calls(node)
            elif isinstance(node, ast.If) and is_main(node.test):
                self.main(node.body)
                self.at_import(node.orelse, top)
            elif isinstance(node, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
                for part in ("test", "items", "iter"):
                    value = getattr(node, part, None)
                    for v in value if isinstance(value, list) else [value]:
                        if v is not None:
                            self.calls(v)
                for part in ("body", "orelse", "finalbody"):
                    self.at_import(getattr(node, part, []), top)
                for h in getattr(node, "handlers", []):
                    self.at_import(h.body, top)
            else:
                self.calls(node)

    def calls(self, tree):
        for c in walk_now(tree):
            if not isinstance(c, ast.Call):
                continue
            if self.offered(c.func) == "start":
                self.say("error", "start-at-import", c, "start() runs when the platform imports the file", MAIN_HINT)
            elif isinstance(c.func, ast.Name) and c.func.id in self.starters:
                self.say("error", "start-at-import", c,
                         "%s() calls start() when the platform imports the file" % c.func.id, MAIN_HINT)

    def main(self, body):
        for node in body:
            for c in ast.walk(node):
                if isinstance(c, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    for d in c.decorator_list:
                        if self.decorator(d) == "command":
                            self.say("error", "command-place", c,
                                     "%s is registered under __main__ only, which the platform never runs" % c.name,
                                     COMMAND_HINT)
                if not isinstance(c, ast.Call):
                    continue
                if self.offered(c.func) == "start":
                    self.main_start = True
                    self.port(c)
                elif isinstance(c.func, ast.Name) and c.func.id in self.starters:
                    self.main_start = True

    def port(self, call):
        for a in list(call.args[:1]) + [k.value for k in call.keywords if k.arg == "port"]:
            if isinstance(a, ast.Constant) and isinstance(a.value, int) and a.value in RESERVED:
                self.say("error", "reserved-port", a, "port %d belongs to %s" % (a.value, RESERVED[a.value]), "use 9000")

    def nested(self, body):
        for node in body:
            for c in ast.walk(node):
                if isinstance(c, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    for d in c.decorator_list:
                        if self.decorator(d) == "command":
                            self.say("error", "command-place", c,
                                     "%s is not at the top level of the file" % c.name, COMMAND_HINT)

    # command, or what else a decorator is; old styles are reported.
    def decorator(self, d):
        target = d.func if isinstance(d, ast.Call) else d
        name = self.offered(target)
        if name:
            return name
        if isinstance(target, ast.Attribute) and target.attr in ("register", "command") \
                and isinstance(target.value, ast.Name) and target.value.id in ("sandbox", "registry"):
            self.once(d, "error", "old-style", "@%s.%s registers nothing" % (target.value.id, target.attr), COMMAND_HINT)
            return "old"
        if isinstance(target, ast.Name) and target.id == "sandbox":
            self.once(d, "error", "old-style", "@sandbox runs a client's function in a sandbox; it registers no command",
                      COMMAND_HINT)
            return "old"
        if isinstance(target, ast.Name) and target.id == "command" and "command" not in self.others:
            self.once(d, "error", "import", "command is not imported from agent_sandbox.server",
                      "from agent_sandbox.server import command, start")
        return None

    def once(self, node, *rest):
        key = (node.lineno, node.col_offset)
        if key not in self.seen:
            self.seen[key] = True
            self.say(rest[0], rest[1], node, *rest[2:])

    def function(self, node, top):
        for d in node.decorator_list:
            if self.decorator(d) == "command":
                self.command(node, d)

    def command(self, node, d):
        name, desc, hidden = node.name, first_line(ast.get_docstring(node)), False
        if isinstance(d, ast.Call):
            given = list(d.args[:1]) + [k.value for k in d.keywords if k.arg == "name"]
            if given:
                value = constant(given[0])
                if isinstance(value, str) and value:
                    name = value
                else:
                    self.say("warning", "command-name", given[0], "the command's name is not a plain text",
                             "it can be checked only when it runs")
            for k in d.keywords:
                if k.arg == "description" and isinstance(constant(k.value), str):
                    desc = constant(k.value)
                elif k.arg == "hidden":
                    hidden = bool(constant(k.value))
        if not re.match(r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", name):
            self.say("error", "command-name", node, "%r cannot be part of a URL" % name, "use letters, digits, - and _")
        for c in self.commands:
            if c["name"] == name:
                self.say("error", "command-name", node, "the command %s is there twice, on lines %d and %d"
                         % (name, c["line"], node.lineno))
        if isinstance(node, ast.AsyncFunctionDef):
            self.say("warning", "async-command", node, "%s is async; a plain function is the safe form" % node.name)
        self.commands.append({"name": name, "function": node.name, "description": first_line(desc), "hidden": hidden,
                              "line": node.lineno, "args": self.arguments(node)})

    def arguments(self, node):
        a = node.args
        if a.posonlyargs:
            self.say("error", "argument", node, "%s has positional-only arguments; arguments come by name" % node.name)
        if a.vararg:
            self.say("warning", "argument", node, "*%s never gets a value; arguments come by name" % a.vararg.arg)
        out = []
        plain = a.posonlyargs + a.args
        defaults = [None] * (len(plain) - len(a.defaults)) + list(a.defaults)
        for arg, default in list(zip(plain, defaults)) + list(zip(a.kwonlyargs, a.kw_defaults)):
            item = {"name": arg.arg, "type": kind(arg.annotation), "required": default is None}
            if default is not None:
                value = constant(default)
                item["default"] = value if isinstance(value, (str, int, float, bool, type(None))) else None
            out.append(item)
        return out

    # Facts that may stand anywhere in the file.
    def anywhere(self, tree):
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.match(r"^E2B_[A-Z0-9_]+$", node.value):
                self.say("error", "foreign-variable", node, "%s: templates do not read or write E2B_* variables" % node.value)
            elif isinstance(node, ast.Attribute):
                if self.offered(node.value) == "CapabilityGroup":
                    if node.attr not in GROUPS:
                        self.say("error", "group", node, "there is no CapabilityGroup.%s" % node.attr,
                                 "groups: " + ", ".join(GROUPS))
                elif self.is_server(node.value) and node.attr not in OFFERED:
                    self.say("error", "import", node, "agent_sandbox.server has no %s for commands.py" % node.attr,
                             "it offers " + ", ".join(OFFERED))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "enable_group":
                for g in node.args[:1]:
                    if isinstance(g, ast.Attribute) and self.offered(g.value) == "CapabilityGroup" and g.attr in GROUPS:
                        self.groups.append(g.attr.lower())


def walk_now(tree):
    """Like ast.walk, without bodies that run only when called."""
    todo = [tree]
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        todo.extend(ast.iter_child_nodes(node))


def is_main(test):
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = [test.left, test.comparators[0]]
    return (any(isinstance(s, ast.Name) and s.id == "__name__" for s in sides)
            and any(constant(s) == "__main__" for s in sides))


def constant(node):
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def kind(annotation):
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        name = annotation.value.strip()
    elif isinstance(annotation, ast.Name):
        name = annotation.id
    elif isinstance(annotation, ast.Subscript) and isinstance(annotation.value, (ast.Name, ast.Attribute)) \
            and getattr(annotation.value, "id", getattr(annotation.value, "attr", "")) == "Optional":
        return kind(annotation.slice)
    elif isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        left, right = annotation.left, annotation.right
        if isinstance(right, ast.Constant) and right.value is None:
            return kind(left)
        if isinstance(left, ast.Constant) and left.value is None:
            return kind(right)
        name = ""
    else:
        name = ""
    return TYPES.get(name, "string")


def first_line(text):
    text = (text or "").strip()
    return text.splitlines()[0][:200] if text else ""


def main():
    data = sys.stdin.buffer.read()
    out = {"python": "%d.%d.%d" % sys.version_info[:3], "problems": [], "commands": [], "groups": [], "main_start": False}
    try:
        tree = ast.parse(data, "commands.py")
    except SyntaxError as e:
        out["problems"].append({"severity": "error", "rule": "syntax", "line": e.lineno or 0, "column": e.offset or 0,
                                "message": "%s (Python %s)" % (e.msg, out["python"]), "hint": ""})
    except (ValueError, RecursionError, MemoryError) as e:
        out["problems"].append({"severity": "error", "rule": "syntax", "line": 0, "column": 0,
                                "message": str(e) or type(e).__name__, "hint": ""})
    else:
        c = Check(data.decode("utf-8", "replace"))
        try:
            c.imports(tree)
            c.at_import(tree.body, True)
            c.anywhere(tree)
        except RecursionError:
            c.say("error", "syntax", tree, "the file is nested too deeply to be checked")
        if not c.commands and not c.problems:
            c.say("warning", "no-command", tree, "no named command is declared", COMMAND_HINT)
        out.update(problems=c.problems, commands=c.commands, groups=sorted(set(c.groups)), main_start=c.main_start)
    json.dump(out, sys.stdout, ensure_ascii=True, allow_nan=False, default=str)


main()
