"""An instance in memory: one row, changed here and written once at the end of the transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import Any
from uuid import UUID

from interlock.engine import secrets, values
from interlock.engine.errors import Unreadable
from interlock.engine.text import BIGGEST, canonical, fitting
from interlock.machine import Machine
from interlock.store import Micros
from interlock.store.tables import instance as table

COLUMNS: tuple[str, ...] = tuple(column.name for column in table.c)
POSITIONS = {name: number for number, name in enumerate(COLUMNS)}


def column_getter(*names: str) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """A function that returns these columns of a row."""
    return itemgetter(*(POSITIONS[name] for name in names))


NOBODY = UUID(int=0)
ERASED = "erased"
"""The only field of erased data: when, by whom and why it was erased."""
MISSING = object()
ANEW = "anew"
"""Marks a history row whose `set` is all of the data."""


@dataclass(slots=True)
class Instance:
    """The current state of one instance. The fields are the columns of the table, in order."""

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
    taken_by: UUID | None = None
    taken_until: Micros | None = None
    """Both are set in the row of a claim in place. In memory such a claim is a lease, as every other."""
    _data: dict[str, Any] | None = field(default=None, compare=False)
    data_is_large: bool = field(default=False, compare=False)
    """Whether the data is stored in `instance_data` instead of in the row."""
    large_data_text: str | None = field(default=None, compare=False, repr=False)
    """The text that was read from `instance_data`. It is parsed on demand, so that a bad one fails alone."""
    data_changed: bool = field(default=False, compare=False)
    waited: Micros | None = field(default=None, compare=False)
    """How long its step was ready before the claim. The next history row records it."""
    loaded: tuple[Any, ...] | None = field(default=None, compare=False, repr=False)
    """The row as it was read. Only columns that differ from it are written."""

    @classmethod
    def read(cls, row: tuple[Any, ...]) -> Instance:
        """The instance of a row of the table."""
        made = cls(*row)
        made.loaded = row
        made._show_lease()
        return made

    def _show_lease(self) -> None:
        """Show a claim in place as a lease. If the instance is changed, it is written as one."""
        if self.taken_by is not None:
            self.wake, self.due_at, self.holder = "lease", self.taken_until, self.taken_by
            self.taken_by = self.taken_until = None

    @property
    def data(self) -> dict[str, Any]:
        """The data. Raises Unreadable if the row has no JSON object; then nothing may replace it either."""
        if self._data is None:
            self._data = read_data(self.data_text)
        if isinstance(self._data, values.Unreadable):
            raise Unreadable(f"the data of {self.machine} {self.id} cannot be used: {self._data.why}; mend its row")
        return self._data

    @property
    def data_text(self) -> str | None:
        """The data as the text that was read."""
        return self.stored_data if self.stored_data is not None else self.large_data_text

    @property
    def shown_data(self) -> dict[str, Any]:
        """The data as a page or an answer can show it, or the reason why it cannot."""
        if self._data is None:
            return values.readable(self.data_text)
        found = values.showable(self._data)
        return found if isinstance(found, dict) else values.unreadable("it is no object")

    @property
    def shown_labels(self) -> dict[str, str]:
        return values.texts(self.labels)

    @property
    def erased(self) -> str:
        """When, by whom and why its data was erased; empty if it was not."""
        if self.finished_at is None:  # only ended instances are erased, so the data of others is not parsed
            return ""
        data = self.shown_data
        return str(data[ERASED]) if data.keys() == {ERASED} else ""

    def stage_data(self, machine: Machine) -> Mapping[str, Any]:
        """The data if the machine has stages; otherwise it is not parsed."""
        return self.data if machine.stage else {}

    def set_data(self, data: dict[str, Any], encoded: str | None = None) -> None:
        """Set new data. What cannot be stored is refused now, while the outcome can still be undone.

        `encoded` is the data as `canonical` has it, if the caller knows it already.
        """
        if encoded is None:
            encoded = canonical(data, "data")
        if len(encoded) > BIGGEST:
            fitting(encoded, f"the data of instance {self.id}")
        self.stored_data = encoded
        # Secrets are hidden here too: the history records the difference to what is stored, not to what was given.
        self._data = data if secrets.none_known or secrets.HIDDEN not in encoded else values.parsed(encoded)
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
        """Its last error, as it can be shown."""
        return values.error(self.last_error) if self.last_error else None

    def fields_outside_row(self) -> tuple[Any, ...]:
        """What is not in its row: enough to restore an instance that was unchanged."""
        return self._data, self.data_is_large, self.large_data_text, self.waited

    def restore(self, fields: tuple[Any, ...]) -> None:
        """Restore the result of `all_fields`, or the row that was read and the result of `fields_outside_row`."""
        if len(fields) < len(FIELDS):
            assert self.loaded is not None, "it was read"
            data, beside, text, waited = fields
            fields = (*self.loaded, data, beside, text, False, waited, self.loaded)
        for name, value in zip(FIELDS, fields, strict=True):
            setattr(self, name, value)
        self._show_lease()


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The difference as the history records it: fields that are set, and fields that are removed.

    The name of a removed field may be a known secret. Then all of the data is recorded, marked with `anew`.
    """
    gone = sorted(before.keys() - after.keys())
    if gone and not secrets.none_known and secrets.without_known(gone) != gone:
        return {"set": dict(after), "unset": [], ANEW: True}
    sets = {}
    for name, value in after.items():
        was = before.get(name, MISSING)
        if was is not value and (was is MISSING or not values.alike(was, value)):
            sets[name] = value
    return {"set": sets, "unset": gone}


def read_data(stored: str | None) -> dict[str, Any]:
    """The data of a row, or a `values.Unreadable`."""
    try:
        found = values.parsed(stored) if stored is not None else None
    except (ValueError, TypeError, RecursionError):
        found = None
    return found if isinstance(found, dict) else values.readable(stored)


FIELDS = tuple(Instance.__dataclass_fields__)
_FIELD_OF = {"data": "stored_data", "failures": "stored_failures"}
_ROW_FIELDS = tuple(_FIELD_OF.get(name, name) for name in COLUMNS)
_COLUMN_FIELDS = FIELDS[: FIELDS.index("_data")]
assert _COLUMN_FIELDS == _ROW_FIELDS, (
    f"an instance is read by position: {set(_ROW_FIELDS) ^ set(_COLUMN_FIELDS) or 'the order'} differs between "
    "store/tables.py and Instance"
)
# One call for forty attributes takes 1.5 µs; a generator took 15.
row_of = attrgetter(*_ROW_FIELDS)
"""The row of an instance, in the order of the columns."""
all_fields = attrgetter(*FIELDS)
"""All fields of an instance, to be restored later."""
