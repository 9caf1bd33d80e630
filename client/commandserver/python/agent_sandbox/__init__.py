"""A stand-in for the package in a sandbox image. It offers agent_sandbox.server only."""


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError(
        "agent_sandbox.%s belongs to the client and is not in the image; "
        "commands.py imports agent_sandbox.server only" % name
    )
