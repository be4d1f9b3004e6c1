"""Workers are killed at every named point of every commit that a process makes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.store import failpoints
from tests.acceptance.worker_processes import WorkerProcesses

TIMES = (1, 2, 7) if os.environ.get("INTERLOCK_SOAK") else (1,)


@pytest.fixture
def workers(url: str, tmp_path: Path) -> Iterator[WorkerProcesses]:
    with WorkerProcesses(url, tmp_path) as made:
        yield made


@pytest.mark.soak("postgresql-before", "sqlite-after")
@pytest.mark.parametrize("side", ["before", "after"])
def test_a_worker_killed_at_any_point_of_any_commit_loses_nothing_and_doubles_nothing(
    workers: WorkerProcesses, side: str
) -> None:
    """Each victim carries on with what the one before left behind, until its own point comes.

    Not every point comes more than once; where a later time is asked for, some moment has to do.
    """
    batch = 0
    for times in TIMES:
        for write in failpoints.WRITES:
            process = workers.start(batch=batch, point=f"{write}:{side}", times=times)
            process.join(60 if times == 1 else 5)
            assert process.exitcode is not None or times > 1, f"{write}:{side} was not reached"
            workers.kill(process)
            batch += 1
    workers.finish(batch)
