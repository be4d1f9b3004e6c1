"""Runs a module of sessions that needs only the standard library, without importing the whole product.

Started as a file with the module's name and its arguments. An agent in its own process then takes 15 MB instead of 60.
"""

import runpy
import sys
from pathlib import Path
from types import ModuleType

if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    sys.path.insert(0, str(here.parents[2]))
    # The package's own `__init__` imports the application, with its database and its models.
    bare = ModuleType("interlock.apps.sessions")
    bare.__path__ = [str(here)]
    sys.modules[bare.__name__] = bare
    module, sys.argv = sys.argv[1], sys.argv[1:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
