"""What the process imports that tests fork others from."""

from __future__ import annotations

import gc
from contextlib import suppress
from importlib import import_module

from interlock.machine import installed

MODULES = (
    "interlock.cli",
    "interlock.cli.serving",
    "interlock.dashboard.app",
    "interlock.demo",
    "interlock.http.process",
    "pytest",
    "tests.acceptance.askers",
    "tests.acceptance.keepers",
    "tests.acceptance.victim",
    "tests.worker.killed_loop",
)
for name in MODULES:
    with suppress(ImportError):
        import_module(name)
installed().load_handlers()
gc.collect()
gc.freeze()
