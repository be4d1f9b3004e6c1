"""An attempt: the changes of one item in a unit, undone together if the item raises an error."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from interlock.engine import limits
from interlock.engine.errors import SavepointNeeded, StatementRefused, is_item_error
from interlock.engine.instance import Instance, all_fields
from interlock.store.errors import is_conflict, translated

if TYPE_CHECKING:
    from interlock.engine.leases import Lease
    from interlock.engine.unit import Unit


def _is_statement_error(error: sa.exc.DBAPIError) -> bool:
    """Whether the statement itself was wrong. A conflict with another transaction may not occur the next time.

    After a rollback to the savepoint the transaction is usable again. Without one, the database has ended it.
    """
    return translated(error) is None and not is_conflict(error)


def needs_savepoint(error: BaseException) -> bool:
    """Whether the error is that of one item, which a savepoint would have undone."""
    return is_item_error(error) or (isinstance(error, sa.exc.DBAPIError) and _is_statement_error(error))


class Attempt:
    """The changes of one item in a unit, until the item is known to be good."""

    __slots__ = ("_bare", "_instance", "_lengths", "_nested", "_ready", "_saved", "_unit", "_was", "_was_changed")

    def __init__(self, unit: Unit, instance: Instance) -> None:
        self._unit, self._instance = unit, instance
        self._nested: sa.NestedTransaction | None = None
        self._bare = False
        self._saved: tuple[dict[str, Lease], set[str]] | None = None

    def __enter__(self) -> None:
        unit, instance = self._unit, self._instance
        self._was_changed = instance.id in unit.changed
        # As long as it is unchanged, most of it is in the row that was read.
        as_read = instance.loaded is not None and not self._was_changed
        self._was = instance.fields_outside_row() if as_read else all_fields(instance)
        self._lengths = (
            len(unit.new),
            len(unit.history),
            len(unit.inserts),
            len(unit.vouched),
            len(unit.closed_reviews),
            len(unit.closed_questions),
            len(unit.freed_slots),
            len(unit.undo_log),
            len(unit.after_commit),
        )
        self._ready = set(unit.ready)
        unit.attempts.append(self)

    @property
    def saved(self) -> bool:
        return self._bare or self._nested is not None

    def save(self) -> None:
        """Make a savepoint for this attempt and for those around it. An optimistic unit makes none until one is
        needed: two statements for an item cost more than most items.
        """
        unit = self._unit
        if unit.optimistic:
            unit.bare = True
            for attempt in unit.attempts:
                attempt._bare = True
            return
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
        if self._bare and error is not None and needs_savepoint(error):
            raise SavepointNeeded from error
        if self._nested is not None:
            self._nested.rollback()
            assert self._saved is not None, "both are set by `save`"
            unit.leases, unit.locked = self._saved
        self._revert()
        if self._nested is not None and isinstance(error, sa.exc.DBAPIError) and _is_statement_error(error):
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
        self._unit.limit_rows = limits.Known()
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
    """Do it whole or not at all. Returns an error that concerns this item only; others are raised."""
    try:
        with unit.attempt(instance):
            do(unit, instance)
    except BaseException as error:
        if not is_item_error(error):
            raise
        return error
    return None
