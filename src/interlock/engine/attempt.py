"""An attempt: changes of a unit that are undone when one item raises, without those beside it."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from interlock.engine.errors import StatementRefused, is_item_error
from interlock.engine.instance import Instance, all_fields
from interlock.store.errors import is_conflict, sort

if TYPE_CHECKING:
    from interlock.engine.leases import Lease
    from interlock.engine.unit import Unit


def _its_own(error: sa.exc.DBAPIError) -> bool:
    """Whether a statement was wrong in itself; a conflict may be another transaction's doing, and pass the next time.

    Back at its savepoint the transaction is sound; where there is none, the database has given it up.
    """
    return sort(error) is None and not is_conflict(error)


class Attempt:
    """What one item changes in a unit, until it is known to be good."""

    __slots__ = ("_instance", "_lengths", "_nested", "_ready", "_saved", "_unit", "_was", "_was_changed")

    def __init__(self, unit: Unit, instance: Instance) -> None:
        self._unit, self._instance = unit, instance
        self._nested: sa.NestedTransaction | None = None
        self._saved: tuple[dict[str, Lease], set[str]] | None = None

    def __enter__(self) -> None:
        unit, instance = self._unit, self._instance
        self._was_changed = instance.id in unit.changed
        # As long as it is as it was read, its row says most of it.
        as_read = instance.loaded is not None and not self._was_changed
        self._was = instance.fields_outside_row() if as_read else all_fields(instance)
        self._lengths = [len(rows) for rows in self._lists()]
        self._ready = set(unit.ready)
        unit.attempts.append(self)

    @property
    def saved(self) -> bool:
        return self._nested is not None

    def save(self) -> None:
        """Make a savepoint to go back to: for this attempt, and for those around it."""
        unit = self._unit
        for attempt in unit.attempts:
            if attempt._nested is None:
                attempt._saved = dict(unit.leases), set(unit.locked)
                attempt._nested = unit.conn.begin_nested()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        unit = self._unit
        assert unit.attempts.pop() is self, "attempts end in the order in which they began"
        if kind is None:
            if self._nested is not None:
                self._nested.commit()
            if not unit.attempts:
                unit.undo_log.clear()
            return
        if self._nested is not None:
            self._nested.rollback()
            assert self._saved is not None, "they are kept together"
            unit.leases, unit.locked = self._saved
        self._revert()
        if self._nested is not None and isinstance(error, sa.exc.DBAPIError) and _its_own(error):
            raise StatementRefused(f"the database refused a statement: {error.orig}") from error

    def _lists(self) -> tuple[list[Any], ...]:
        unit = self._unit
        return (
            unit.new,
            unit.history,
            unit.inserts,
            unit.vouched,
            unit.closed_reviews,
            unit.closed_questions,
            unit.freed_slots,
            unit.undo_log,
            unit.after_commit,
        )

    def _revert(self) -> None:
        unit, (new, *_, journal, _) = self._unit, self._lengths
        for one, before, before_changed in reversed(unit.undo_log[journal:]):
            if before is None:
                unit.known.pop(one.id, None)
                unit.changed.pop(one.id, None)
                continue
            one.restore(before)
            if not before_changed:
                unit.changed.pop(one.id, None)
        self._instance.restore(self._was)
        if not self._was_changed:
            unit.changed.pop(self._instance.id, None)
        for created in unit.new[new:]:
            del unit.known[created.id]
            unit.changed.pop(created.id, None)
        for rows, length in zip(self._lists(), self._lengths, strict=True):
            del rows[length:]
        unit.ready = self._ready


def try_item(unit: Unit, instance: Instance, do: Callable[[Unit, Instance], None]) -> BaseException | None:
    """Do it whole or not at all. Returns the error where the item itself raised one; all others pass."""
    try:
        with unit.attempt(instance):
            do(unit, instance)
    except BaseException as error:
        if not is_item_error(error):
            raise
        return error
    return None
