"""A process of a contender: `python -m bench.peers.child NAME URL MARKS`. Its input says when to go on."""

from __future__ import annotations

import itertools
import json
import mmap
import os
import sys
import threading
import time
from pathlib import Path

from bench.peers import load


def main() -> None:
    name, url, marks = sys.argv[1:4]
    with Path(marks).open("r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
    seen = memoryview(memory).cast("q")  # how many handlers began, then when each of them did
    numbers = itertools.count(1)
    last = len(seen) - 1
    spent = [0.0]
    # Systems print, too: that goes where it does not get between us, nor fills a pipe that nobody empties.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def tick() -> None:
        number = next(numbers)
        if number <= last:
            seen[number] = time.monotonic_ns()
            seen[0] = number

    def go() -> None:
        print("ready", file=out, flush=True)
        sys.stdin.readline()
        spent[0] = _cpu()
        threading.Thread(target=end, daemon=True).start()

    def end() -> None:
        """Prints its figures on request, and exits on request, whatever the worker does at that moment."""
        sys.stdin.readline()
        print(json.dumps({"cpu": _cpu() - spent[0], "peak_rss": _peak()}), file=out, flush=True)
        sys.stdin.readline()
        os._exit(0)

    load(name).work(url, go, tick)
    threading.Event().wait()  # a worker that ends when nothing is left


def _cpu() -> float:
    return sum(os.times()[:4])


def _peak() -> int:
    """Bytes; of this program alone, where `getrusage` also knows that of the process which started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    main()
