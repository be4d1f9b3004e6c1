"""Sends jobs to idle workers, one at a time, and prints their waits: `… bench.peers.sender NAME URL COUNT MARKS`."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path

from bench.peers import load
from bench.peers.race import view_of

PATIENCE = 10.0


def main() -> None:
    name, url, count, *marks = sys.argv[1:]
    views = [view_of(Path(path)) for path in marks]
    send = load(name).sender(url)
    chance = random.Random(1)
    waits = []
    for number in range(int(count) + 5):
        # Not in step with anything that looks at intervals; and what a worker does behind a job has ended.
        time.sleep(chance.uniform(0.01, 0.04))
        known = [view[0] for view in views]
        called = time.monotonic_ns()
        send()
        while not (begun := [view[view[0]] for view, old in zip(views, known, strict=True) if view[0] > old]):
            assert time.monotonic_ns() - called < PATIENCE * 1e9, f"job {number} has not begun after {PATIENCE:g} s"
            time.sleep(0.0005)
        if number >= 5:  # the first ones find out how
            waits.append((begun[0] - called) / 1e6)
    print(json.dumps(waits), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
