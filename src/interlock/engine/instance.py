"""An instance in memory: one row, changed here and written back once at the end of its transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import Any
from uuid import UUID

from interlock.engine import secrets, values
from interlock.engine.errors import Unreadable
from interlock.engine.text import canonical, fitting
from interlock.machine import Machine
from interlock.store import Micros
from interlock.store.tables import instance as table

COLUMNS: tuple[str, ...] = tuple(column.name for column in table.c)
POSITIONS = {name: number for number, name in enumerate(COLUMNS)}


def column_getter(*names: str) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """Reads these columns of a row."""
    return itemgetter(*(POSITIONS[name] for name in names))


NOBODY = UUID(int=0)
ERASED = "erased"
"""The only field of data that was erased: a note of when, by whom and why."""
ANEW = "anew"
"""Says in a row of history that what it sets is all of the data."""


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
    paused_wake: str | None = None
    paused_due: Micros | None = None
    parent: UUID | None = None
    root: UUID = NOBODY
    depth: int = 0
    trace_id: str = ""
    created_at: Micros = 0
    entered_at: Micros = 0
    updated_at: Micros = 0
    finished_at: Micros | None = None
    _data: dict[str, Any] | None = field(default=None, compare=False)
    data_is_large: bool = field(default=False, compare=False)
    """Whether the data lies beside the row in the database at this moment."""
    large_data_text: str | None = field(default=None, compare=False, repr=False)
    """The data that was read from beside the row. Parsed when it is asked for: what is unreadable is one instance's."""
    data_changed: bool = field(default=False, compare=False)
    waited: Micros | None = field(default=None, compare=False)
    """How long its step was ready before it was claimed; the next history row takes it along."""
    loaded: tuple[Any, ...] | None = field(default=None, compare=False, repr=False)
    """The row as it was read: only what differs from it is written."""

    @classmethod
    def read(cls, row: tuple[Any, ...]) -> Instance:
        """The instance of a row of the table."""
        made = cls(*row)
        made.loaded = row
        return made

    @property
    def data(self) -> dict[str, Any]:
        """Unreadable where the row holds no object: nothing can be worked out from it, so nothing may replace it."""
        if self._data is None:
            self._data = read_data(self.data_text)
        if isinstance(self._data, values.Unreadable):
            raise Unreadable(f"the data of {self.machine} {self.id} cannot be used: {self._data.why}; mend its row")
        return self._data

    @property
    def data_text(self) -> str | None:
        """The data as it was read, wherever it lies."""
        return self.stored_data if self.stored_data is not None else self.large_data_text

    @property
    def shown_data(self) -> dict[str, Any]:
        """The data as a page or an answer can show it, or why it cannot."""
        if self._data is None:
            return values.readable(self.data_text)
        found = values.showable(self._data)
        return found if isinstance(found, dict) else values.unreadable("it is no object")

    @property
    def shown_labels(self) -> dict[str, str]:
        return values.texts(self.labels)

    @property
    def erased(self) -> str:
        """When, by whom and why its data was erased; empty where it was not."""
        if self.finished_at is None:  # asked first: then the data of the others need not be read
            return ""
        data = self.shown_data
        return str(data[ERASED]) if data.keys() == {ERASED} else ""

    def stage_data(self, machine: Machine) -> Mapping[str, Any]:
        """The data where the machine has stages in it; otherwise it need not be read."""
        return self.data if machine.stage else {}

    def set_data(self, data: dict[str, Any]) -> None:
        """New data, written at the end; what does not fit is refused now, while its outcome can still be undone."""
        said = self.stored_data = fitting(canonical(data, "data"), f"the data of instance {self.id}")
        # What was hidden is hidden here too: the history tells the difference to what is kept, not to what was given.
        self._data = data if secrets.none_known or secrets.HIDDEN not in said else values.parsed(said)
        self.data_changed = True

    @property
    def failures(self) -> dict[str, int]:
        return values.counters(self.stored_failures)

    def set_failures(self, counters: dict[str, int]) -> None:
        self.stored_failures = json.dumps(counters, sort_keys=True) if counters else None

    def failures_of(self, step: str) -> int:
        """How often this step failed, whatever the rule."""
        return sum(n for name, n in self.failures.items() if name.partition("|")[0] == step)

    @property
    def error(self) -> dict[str, Any] | None:
        """Its last error as it can be shown."""
        return values.error(self.last_error) if self.last_error else None

    def fields_outside_row(self) -> tuple[Any, ...]:
        """What does not stand in its row: enough to go back to, as long as it is as it was read."""
        return self._data, self.data_is_large, self.large_data_text, self.waited

    def restore(self, fields: tuple[Any, ...]) -> None:
        """Be again as `all_fields` said; or as it was read, with what `apart` said."""
        if len(fields) < len(FIELDS):
            assert self.loaded is not None, "it was read"
            data, beside, text, waited = fields
            fields = (*self.loaded, data, beside, text, False, waited, self.loaded)
        for name, value in zip(FIELDS, fields, strict=True):
            setattr(self, name, value)


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What makes one of the other, as history tells it: fields that are set, and fields that are gone.

    A field whose name is a secret by now cannot be named as gone; then all of the data is recorded as `anew`.
    """
    gone = sorted(name for name in before if name not in after)
    if gone and not secrets.none_known and secrets.without_known(gone) != gone:
        return {"set": dict(after), "unset": [], ANEW: True}
    sets = {name: value for name, value in after.items() if name not in before or not values.alike(before[name], value)}
    return {"set": sets, "unset": gone}


def read_data(stored: str | None) -> dict[str, Any]:
    """The data of a row, or an Unreadable in its place."""
    try:
        found = values.parsed(stored) if stored is not None else None
    except (ValueError, TypeError, RecursionError):
        found = None
    return found if isinstance(found, dict) else values.readable(stored)


FIELDS = tuple(Instance.__dataclass_fields__)
_SPELLED = {"data": "stored_data", "failures": "stored_failures"}
_OF_ROW = tuple(_SPELLED.get(name, name) for name in COLUMNS)
_COLUMN_FIELDS = FIELDS[: FIELDS.index("_data")]
assert _COLUMN_FIELDS == _OF_ROW, (
    f"an instance is read by position: {set(_OF_ROW) ^ set(_COLUMN_FIELDS) or 'the order'} differs between "
    "store/tables.py and Instance"
)
# One call for forty attributes: 1.5 µs, where a generator took 15.
row_of = attrgetter(*_OF_ROW)
"""An instance as its row, in the order of the columns."""
all_fields = attrgetter(*FIELDS)
"""An instance with all that it remembers, to go back to."""
