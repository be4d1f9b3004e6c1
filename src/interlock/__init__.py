"""Interlock: long work that machines do and people approve.

Declare a life cycle as a machine, give its states plain functions, and let an engine keep every instance durable.
The names of the library are here; they are imported when they are first used, so that a command starts quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlock.engine import *  # noqa: F403
    from interlock.machine import *  # noqa: F403
    from interlock.worker import *  # noqa: F403

__version__ = "0.1.0"
_PACKAGES = ("machine", "engine", "worker")


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        for package in _PACKAGES:
            module = import_module(f"interlock.{package}")
            if name in module.__all__:
                return getattr(module, name)
    raise AttributeError(f"interlock has no {name!r}")
