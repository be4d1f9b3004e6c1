"""An instance in memory: one row, changed here and written back once at the end of its transaction."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from interlock.store import Micros
from interlock.store.tables import instance as table

COLUMNS: tuple[str, ...] = tuple(column.name for column in table.c)
NEVER_CHANGES = {"id", "machine", "workspace", "key", "parent", "root", "depth", "trace_id", "created_at"}
CHANGES: tuple[str, ...] = ("id", *(name for name in COLUMNS if name not in NEVER_CHANGES))


NOBODY = UUID(int=0)


@dataclass(slots=True)
class Instance:
    """The present of one instance. The fields are the columns of the table, in order."""

    id: UUID
    machine: str
    version: int
    workspace: str
    key: str | None
    unique_key: str | None
    state: str
    previous: str | None
    seq: int
    head: bytes
    stored_data: str | None
    labels: str | None
    queue: str
    priority: int
    wake: str | None = None
    due_at: Micros | None = None
    due_event: str | None = None
    timer_at: Micros | None = None
    timer_no: int = 0
    stored_failures: str | None = None
    failed_step: str | None = None
    last_error: str | None = None
    holder: UUID | None = None
    fence: int = 0
    claimed_at: Micros | None = None
    blocked_on: str | None = None
    paused_at: Micros | None = None
    held_wake: str | None = None
    held_due: Micros | None = None
    parent: UUID | None = None
    root: UUID = NOBODY
    depth: int = 0
    trace_id: str = ""
    created_at: Micros = 0
    entered_at: Micros = 0
    updated_at: Micros = 0
    finished_at: Micros | None = None
    _data: dict[str, Any] | None = field(default=None, compare=False)
    beside: bool = field(default=False, compare=False)
    """Whether the data lies beside the row in the database at this moment."""
    data_changed: bool = field(default=False, compare=False)

    @property
    def data(self) -> dict[str, Any]:
        if self._data is None:
            assert self.stored_data is not None, "data that lies beside the row is loaded with it"
            self._data = json.loads(self.stored_data)
        return self._data

    def set_data(self, data: dict[str, Any]) -> None:
        self._data = data
        self.data_changed = True

    @property
    def failures(self) -> dict[str, int]:
        return json.loads(self.stored_failures) if self.stored_failures else {}

    def set_failures(self, counters: dict[str, int]) -> None:
        self.stored_failures = json.dumps(counters, sort_keys=True) if counters else None

    def failures_of(self, step: str) -> int:
        """How often this step failed, whatever the rule."""
        return sum(n for name, n in self.failures.items() if name.partition("|")[0] == step)

    @property
    def error(self) -> dict[str, Any] | None:
        return json.loads(self.last_error) if self.last_error else None

    def values(self, columns: tuple[str, ...]) -> tuple[Any, ...]:
        return tuple(getattr(self, FIELD.get(name, name)) for name in columns)

    def twin(self) -> Instance:
        return copy.copy(self)

    def restore(self, twin: Instance) -> None:
        for name in twin.__slots__:
            setattr(self, name, getattr(twin, name))


FIELD = {"data": "stored_data", "failures": "stored_failures"}
