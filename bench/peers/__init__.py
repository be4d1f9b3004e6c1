"""Interlock beside other systems: the same server, the same handler that does nothing, each in its own processes.

A contender is a module with

PACKAGE     the distribution it comes in, for its version
SETTINGS    how it is set up, in words: as its documentation recommends for throughput, durable as it is by default
FINISHED    SQL that counts what it has finished, as it records that itself
finished    instead of that, where there is no SQL: gives a function that counts it
setup       makes its tables
enqueue     puts so many jobs there, before the clock starts
work        runs its worker forever: calls `go` when it is ready to start, and `tick` in every handler
sender      gives a function that enqueues one job, as an application does; raw SQL has none
verify      raises if what it has written is broken

`kinds:limit` names one of several contenders that the function `of` of a module makes.

`child` is the process around one of them, `race` starts these processes and holds the clock: from the word to start
until the database says that all is finished. Then `sender`, a process of its own, gives the idle workers a job at a
time: a job's wait is from the call that enqueues it until its handler starts. `places` has the servers.
"""

from __future__ import annotations

import importlib
from typing import Any


def load(name: str) -> Any:
    """The contender of this name."""
    module, _, kind = name.partition(":")
    found = importlib.import_module(f"bench.peers.{module}")
    return found.of(kind) if kind else found
