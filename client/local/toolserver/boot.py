# Starts what serves commands.py: the real package where this interpreter has it,
# else the stand-in, whose files come as an argument. The first line it prints
# says which.
import importlib.util, json, os, shutil, sys, types

port, path, files = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
args = ["serve", "--port", port, "--commands", path]
try:
    real = importlib.util.find_spec("agent_sandbox.server")
except ImportError:
    real = None
print("agent-sandbox-server" if real else "stand-in", flush=True)
if real:
    script = shutil.which("agent-sandbox-server")
    command = [script] if script else [sys.executable, "-m", "agent_sandbox.server"]
    os.execv(command[0], command + args)
for file in sorted((f for f in files if f.endswith("/__init__.py")), key=len):
    name = os.path.dirname(file).replace("/", ".")
    module = types.ModuleType(name)
    module.__path__, module.__package__ = [], name
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, module)
    exec(compile(files[file], "stand-in/" + file, "exec"), module.__dict__)
sys.argv = ["agent-sandbox-server"] + args
main = "agent_sandbox/server/__main__.py"
exec(compile(files[main], "stand-in/" + main, "exec"), {"__name__": "__main__"})
