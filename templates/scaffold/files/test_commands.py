"""Tests of the named commands. They need python3 only: without the server
package a stand-in takes the place of its decorators."""

import importlib.util
import pathlib
import sys
import types
import unittest

FILE = pathlib.Path(__file__).resolve().parent.parent / "commands.py"


def stand_in():
    server = types.ModuleType("agent_sandbox.server")

    class CapabilityGroup:
        CORE, COMMANDS, FILE_OPS, PROCESS, TERMINAL = range(5)
        SYSTEM, DEV_TOOLS, BROWSER, AGENTS = range(5, 9)

    class Table:
        def enable_group(self, group):
            pass

    def command(*names, **options):
        return lambda function: function

    def start(*values, **options):
        raise AssertionError("start() ran at import time")

    server.CapabilityGroup = CapabilityGroup
    server.command = command
    server.default_table = Table
    server.start = start
    package = types.ModuleType("agent_sandbox")
    package.server = server
    return {"agent_sandbox": package, "agent_sandbox.server": server}


def load():
    try:
        real = importlib.util.find_spec("agent_sandbox.server") is not None
    except ImportError:
        real = False
    if not real:
        sys.modules.update(stand_in())
    spec = importlib.util.spec_from_file_location("commands", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Commands(unittest.TestCase):
    def test_hello(self):
        self.assertEqual(load().hello(name="Ada"), "Hello, Ada!")


if __name__ == "__main__":
    unittest.main()
