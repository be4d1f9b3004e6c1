"""What processes cost: seconds of processor time and bytes of memory, as Linux tells them."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support.servers import Postgres

TICK = os.sysconf("SC_CLK_TCK")


def cpu(pid: int, *, with_children: bool = False) -> float:
    """Seconds so far; also of the children that have ended, on demand."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(n) for n in fields[11 : 15 if with_children else 13]) / TICK


def memory(pid: int, which: str = "VmRSS") -> int:
    """Bytes in memory now; `VmHWM` is the most that there were."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(which)), 0)


def parents() -> dict[int, int]:
    """The parent of every process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):  # it has just ended
                continue
    return found


def server_cpu(server: Postgres) -> float:
    """Seconds that a PostgreSQL server has used in all its processes."""
    main = int((server.data / "postmaster.pid").read_text().splitlines()[0])
    total = cpu(main, with_children=True)
    for pid, parent in parents().items():
        if parent == main:
            try:
                total += cpu(pid)
            except (FileNotFoundError, ProcessLookupError):
                continue
    return total
