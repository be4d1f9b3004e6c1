"""An application without machines: in its process the clock is ahead by the seconds that the file CLOCK_AHEAD says."""

from __future__ import annotations

import os
import time
from pathlib import Path

from interlock.machine import Registry

registry = Registry([])
_true = time.time_ns
_ahead = Path(os.environ["CLOCK_AHEAD"])


def _jumping() -> int:
    return _true() + round(float(_ahead.read_text() or 0) * 1e9)


time.time_ns = _jumping
