"""Python's collector, as our own processes set it."""

from __future__ import annotations

import json
import subprocess
import sys

ASKED = """
import gc, json, weakref
from interlock.worker import gc_tuning

class Ring: pass

gc_tuning.settle()
ring = Ring(); ring.itself = ring
seen = weakref.ref(ring)
del ring
junk = [[] for _ in range(gc_tuning.YOUNG + 1000)]
print(json.dumps([gc.get_threshold()[0], gc.get_freeze_count() > 10_000, seen() is None]))
"""


def test_what_is_loaded_is_left_alone_and_cycles_are_still_found() -> None:
    # In a process of its own: what is frozen here would stay frozen for all tests.
    said = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(said.stdout) == [50_000, True, True]
