"""A unit of work: what one transaction reads, changes and, at its end, writes.

Rows are locked and read first: instances by id, then limits by key, then leases by name. This order avoids deadlocks.
Then they are changed in memory, and `flush` writes them with one statement per table, so a batch of a hundred results
costs as many statements as one. `attempt` undoes the changes of one item if it raises an error, without touching those
of others: in memory, and by a savepoint if a follower has used the connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import compress, pairwise
from operator import is_not
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.engine import limits, values
from interlock.engine.attempt import Attempt
from interlock.engine.audit import chain, row_digests, vouching
from interlock.engine.errors import NotFound
from interlock.engine.instance import COLUMNS, POSITIONS, Instance, all_fields, row_of
from interlock.engine.text import LARGE_DATA, canonical
from interlock.machine import SYSTEM, Actor, Machine
from interlock.store import Micros, plain_rows
from interlock.store import tables as t
from interlock.store.prepared import Prepared
from interlock.store.sql import (
    LARGE_DATA_OF,
    LEASE_IN_PLACE,
    LEASE_INSTANCES,
    LOCK_FREE_INSTANCES,
    LOCK_INSTANCES,
    LOCK_ROWS,
    REMOVE_BATCHES,
    among,
    ids_of,
    one_of,
)

if TYPE_CHECKING:
    from interlock.engine.core import Core
    from interlock.engine.leases import Lease

SYSTEM_ACTOR = Actor(SYSTEM)
HISTORY = (
    "instance_id",
    "seq",
    "kind",
    "from_state",
    "to_state",
    "event",
    "actor",
    "at",
    "payload",
    "digest",
    "hash",
    "dwell",
    "waited",
)
FAST_COLUMNS = ("id", "seq", "head")
FAST_HISTORY = ("instance_id", "seq", "hash", "dwell", "waited")
EACH = range(len(COLUMNS))
LEASE = frozenset(POSITIONS[name] for name in ("wake", "due_at", "holder", "taken_by", "taken_until"))
"""The columns that differ between a claim in place and one that an index finds."""
GUARDS = ("seq", "fence", "claimed_at")
"""An instance with the same values of these is claimed as before and unchanged: every change has a history row. The
holder is in one of two columns, and not among them."""
LOCK = Prepared(sa.select(t.instance).where(t.instance.c.id == sa.bindparam("id")).with_for_update())
LARGE_DATA_COLUMNS = ("instance_id", "data")
CLOSE_QUESTIONS = (
    sa.update(t.review)
    .where(
        t.review.c.instance_id == sa.bindparam("instance", type_=sa.Uuid),
        t.review.c.visit.is_not(None),
        t.review.c.status == "open",
    )
    .values(status="closed", closed_reason=sa.bindparam("reason"), decided_at=sa.bindparam("now"))
)


class LargeData(NamedTuple):
    """Changes of `instance_data`."""

    added: dict[UUID, str]
    replaced: dict[UUID, str]
    removed: list[UUID]


class AlikeRows(NamedTuple):
    """Rows of moves that were made without loading instances (see `fast_finish`), and what they have in common."""

    same: Mapping[str, Any]
    rows: list[tuple[Any, ...]]
    """Of `FAST_COLUMNS` and `GUARDS`, or of `FAST_HISTORY`."""


class Unit:
    """The changes of one transaction."""

    def __init__(self, core: Core, conn: sa.Connection, now: Micros, *, optimistic: bool = False) -> None:
        self.core = core
        self.optimistic = optimistic
        """Whether followers use the connection without savepoints. An item that fails then raises `SavepointNeeded`."""
        self.bare = False
        """Whether one has."""
        self._conn = conn
        self.now = now
        self.known: dict[UUID, Instance] = {}
        self.new: list[Instance] = []
        self.changed: dict[UUID, Instance] = {}
        self.leased: dict[tuple[UUID, Micros], list[Instance]] = {}
        """Instances that a worker claims until a moment, and that are otherwise unchanged."""
        self.history: list[tuple[Any, ...]] = []
        self.inserts: list[tuple[sa.Table, dict[str, Any]]] = []
        self.vouched: list[tuple[UUID, str, str]] = []
        """Rows of other tables that an instance's history must cover: the instance, the row's id, its digest."""
        self.closed_reviews: list[UUID] = []
        self.closed_questions: list[tuple[UUID, str]] = []
        """Instances whose open questions are closed, with the reason."""
        self.freed_slots: list[UUID] = []
        self.ready: set[str] = set()
        self.recorded = False
        """Whether a history row was written: then readers of the feed get a hint."""
        self.undo_log: list[tuple[Instance, tuple[Any, ...] | None, bool]] = []
        """Instances that an attempt has locked, with their fields before; None for those that it has read itself."""
        self.attempts: list[Attempt] = []
        """Attempts that are under way, the innermost last."""
        self.in_follower = False
        """Whether a follower is running that has not used the connection yet."""
        self.after_commit: list[Callable[[], None]] = []
        """Callbacks that run after the commit. A crash may lose them, so nothing may depend on them."""
        self.leases: dict[str, Lease] = {}
        """Named leases that this transaction has taken."""
        self.free_keys: set[tuple[str, str, str]] = set()
        """Keys (workspace, machine, key) that this transaction has found to be free."""
        self.assumed: dict[UUID, tuple[int, int, Micros | None]] = {}
        """Instances that are assumed to be unchanged since their claim: the values of `GUARDS`. `flush` proves it."""
        self.limit_rows = limits.Known()
        """What is known of limits whose keys are locked."""
        self.open_reviews: dict[UUID, list[tuple[Any, ...]]] = {}
        """Open reviews that `review_access.read_together` has read for the next event of these instances."""
        self.locked: set[str] = set()
        """Keys of limits that this transaction has locked."""
        self.finished_batches: list[UUID] = []
        """Batches of claims in place that have no unfinished claim any more."""
        self.needed_whole = 0
        """How many claims and results needed more than the ready row of their instance."""
        self.fast_moves: dict[tuple[Any, ...], AlikeRows] = {}
        self.fast_history: dict[tuple[Any, ...], AlikeRows] = {}

    @property
    def conn(self) -> sa.Connection:
        """The connection of the transaction. The first use by a follower inside an attempt makes a savepoint."""
        if self.in_follower:
            self.in_follower = False
            self.attempts[-1].save()
        return self._conn

    def setting(self, application: str) -> Any:
        """The settings of an application; None if it has none."""
        return self.core.settings.get(application)

    # -- reading

    def lock(self, instance_id: UUID) -> Instance:
        """The instance, locked until the commit. Its changes are undone with the attempt that locks it."""
        found = self.known.get(instance_id)
        if found is not None:
            if self.attempts:
                self.undo_log.append((found, all_fields(found), found.id in self.changed))
            return found
        rows = LOCK.rows(self._conn, id=instance_id)
        if not rows:
            raise NotFound(f"there is no instance {instance_id}")
        return self._remember(rows)[0]

    def lock_many(self, ids: Iterable[UUID]) -> dict[UUID, Instance]:
        """The instances that exist, locked in the order of their ids."""
        asked = list(ids) if self.attempts else ids
        wanted = {i for i in asked if i not in self.known}
        if self.attempts:
            for known in map(self.known.get, asked):
                if known is not None:
                    self.undo_log.append((known, all_fields(known), known.id in self.changed))
        if wanted:
            given = one_of(self._conn, [found.hex for found in sorted(wanted)])
            self._remember(LOCK_INSTANCES.rows(self._conn, ids=given))
        return self.known

    def lock_rows(self, ids: Iterable[UUID]) -> None:
        """Lock instances in the order of their ids without reading them. SQLite has one writer and needs no lock."""
        if not self.core.store.one_writer:
            LOCK_ROWS.rows(self._conn, ids=one_of(self._conn, [wanted.hex for wanted in ids]))

    def lock_free(self, ids: Iterable[UUID]) -> list[Instance]:
        """Those of the instances that exist and that nobody else has locked, locked until the commit."""
        given = one_of(self._conn, [wanted.hex for wanted in sorted(ids)])
        return self._remember(LOCK_FREE_INSTANCES.rows(self._conn, ids=given))

    def _remember(self, rows: Sequence[Sequence[Any]]) -> list[Instance]:
        instances = load(self._conn, rows)
        for number, found in enumerate(instances):
            before = self.known.setdefault(found.id, found)
            instances[number] = before  # the one that is known may have unwritten changes
            if self.attempts:
                was = None if before is found else all_fields(before)
                self.undo_log.append((before, was, before.id in self.changed))
        return instances

    def assume(self, row: tuple[Any, ...], large_data_text: str | None = None) -> Instance:
        """The instance as its claim left it, without reading it. `flush` raises RowChanged if it has changed since."""
        instance = Instance.read(row)
        if large_data_text is not None:
            instance.large_data_text, instance.data_is_large = large_data_text, True
        self.known[instance.id] = instance
        self.assumed[instance.id] = (instance.seq, instance.fence, instance.claimed_at)
        return instance

    def adopt(self, rows: Sequence[Sequence[Any]]) -> list[Instance]:
        """Instances of rows that the caller has locked with its own statement."""
        return self._remember(rows)

    def machine(self, instance: Instance) -> Machine:
        return self.core.machine(instance.machine, instance.version)

    # -- changing

    def add(self, instance: Instance) -> None:
        self.known[instance.id] = instance
        self.new.append(instance)

    def touch(self, instance: Instance) -> None:
        self.changed[instance.id] = instance

    def lease(self, instance: Instance, worker: UUID, until: Micros) -> None:
        """Lease the instance to the worker, under a new fence."""
        instance.wake, instance.due_at = "lease", until
        instance.holder, instance.claimed_at = worker, self.now
        instance.fence += 1
        if self.changed and instance.id in self.changed:
            return
        self.leased.setdefault((worker, until), []).append(instance)

    def lease_rows(self, ids: Sequence[UUID], worker: UUID, until: Micros, *, in_place: bool = False) -> None:
        """Write leases for locked rows at once. All get the same values: 4 µs a row instead of 12."""
        if ids:
            given = ids_of(self.conn, ids)
            lease = LEASE_IN_PLACE if in_place else LEASE_INSTANCES
            done = lease.count(self.conn, ids=given, worker=worker, until=until, now=self.now)
            assert done == len(ids), "the rows are locked"

    def insert(self, table: sa.Table, **values: Any) -> UUID:
        """Add a row to another table, with a new id if it has none. Statements before `flush` do not see it.

        `flush` writes all rows of a table in one statement, so for many items it is cheaper than one on `conn`.
        """
        if "id" not in values and plain_rows.has_uuid(table):
            values["id"] = uuid7()
        self.inserts.append((table, values))
        if table.name in row_digests.COLUMNS and values.get("instance_id") is not None:
            self.vouch_for(table, values)
        made = values.get("id")
        return made if isinstance(made, UUID) else UUID(int=0)

    def vouch_for(self, table: sa.Table, row: Mapping[str, Any]) -> None:
        """Let the instance's history cover a row of another table, as it is now; see `row_digests`."""
        self.vouched.append((row["instance_id"], str(row["id"]), row_digests.digest(table.name, row)))

    def vouch_for_stored(self, table: sa.Table, *which: sa.ColumnElement[bool]) -> None:
        """The same for rows that were just changed in the database."""
        for row in self.conn.execute(sa.select(table).where(*which)):
            self.vouch_for(table, dict(row._mapping))

    def record(
        self,
        instance: Instance,
        kind: str,
        actor: Actor,
        *,
        from_state: str | None = None,
        to_state: str | None = None,
        event: str | None = None,
        payload: Mapping[str, Any] | None = None,
        dwell: Micros | None = None,
        text: str | None = None,
    ) -> None:
        """Append a row to the instance's history. `text` is the payload as JSON, instead of `payload`."""
        at = max(self.now, instance.updated_at)  # a clock that stepped back must not reorder the history
        if payload:
            text = payload_text(payload)
        seq, who, digest = instance.seq + 1, str(actor), chain.digest(text)
        head = chain.link(instance.head, instance.id, seq, kind, from_state, to_state, event, who, at, digest)
        self.history.append(
            (instance.id, seq, kind, from_state, to_state, event, who, at, text, digest, head, dwell, instance.waited)
        )
        instance.waited = None
        self.recorded = True
        instance.seq, instance.head, instance.updated_at = seq, head, at
        self.touch(instance)

    # -- undoing

    def attempt(self, instance: Instance) -> Attempt:
        """`with unit.attempt(instance):` undoes the changes made inside if an error is raised, and nothing else.

        Attempts may be nested. `flush` must not be called inside an attempt.
        """
        return Attempt(self, instance)

    @contextmanager
    def savepoint(self) -> Iterator[Unit]:
        """A unit inside this one. It is written at its end, or undone completely if an error is raised."""
        conn = self.conn
        inner = Unit(self.core, conn, self.now)
        with conn.begin_nested():
            yield inner
            inner.flush()
        self.ready |= inner.ready
        self.after_commit += inner.after_commit
        self.recorded = self.recorded or inner.recorded

    # -- writing

    def flush(self) -> None:
        """Write everything, with one statement per table."""
        assert not self.attempts, "an attempt could not undo what is flushed"
        store, conn = self.core.store, self._conn
        if self.vouched:
            vouching.vouch(self)
        large = LargeData({}, {}, [])
        for instance in (*self.new, *self.changed.values()):
            if instance.data_changed:
                self._place_data(instance, large)
        if large.removed:
            conn.execute(sa.delete(t.instance_data).where(among(conn, t.instance_data.c.instance_id, large.removed)))
        created = {instance.id for instance in self.new}
        updates = [i for i in self.changed.values() if i.id not in created]
        if self.closed_reviews:
            conn.execute(
                sa.update(t.review)
                .where(
                    t.review.c.instance_id.in_(self.closed_reviews),
                    t.review.c.state.is_not(None),
                    t.review.c.status == "open",
                )
                .values(status="closed", decided_at=self.now)
            )
        for instance_id, reason in dict(self.closed_questions).items():
            conn.execute(CLOSE_QUESTIONS, {"instance": instance_id, "reason": reason, "now": self.now})
        for (worker, until), leased in self.leased.items():
            unchanged = [one for one in leased if one.id not in self.changed] if self.changed else leased
            self.lease_rows([one.id for one in unchanged], worker, until)
            for one in unchanged:
                one.loaded = row_of(one)
        with store.at_once(conn):
            for moved in self._in_order():
                store.update_many(conn, t.instance, FAST_COLUMNS, moved.rows, GUARDS, same=moved.same)
            if self.finished_batches:
                REMOVE_BATCHES.run(conn, ids=ids_of(conn, self.finished_batches))
            self._update(updates)  # first, because a new instance may take a key that an old one gives up
            if large.added:
                store.insert_many(conn, t.instance_data, LARGE_DATA_COLUMNS, sorted(large.added.items(), key=_number))
            if large.replaced:
                rows = sorted(large.replaced.items(), key=_number)
                store.update_many(conn, t.instance_data, LARGE_DATA_COLUMNS, rows)
            if self.new:
                store.insert_many(conn, t.instance, COLUMNS, [row_of(i) for i in self.new])
            for written in self.fast_history.values():
                store.insert_many(conn, t.history, FAST_HISTORY, written.rows, same=written.same)
            if self.history:
                store.insert_many(conn, t.history, HISTORY, self.history)
            typed = plain_rows.insert(store, conn, self.inserts)
        for table, given in typed:
            conn.execute(sa.insert(table), given)
        if self.freed_slots:
            limits.free(self)
        for instance in updates:
            if instance.wake == "work" and instance.due_at is not None and instance.due_at <= self.now:
                self.ready.add(instance.queue)
        self.ready |= {i.queue for i in self.new if i.wake == "work"}
        self._reset()

    def _in_order(self) -> list[AlikeRows]:
        """The fast moves in the order of their ids. If they overlap, their rows are locked in that order first."""
        moves = sorted(self.fast_moves.values(), key=lambda moved: _number(moved.rows[0]))
        overlap = any(_number(one.rows[-1]) > _number(following.rows[0]) for one, following in pairwise(moves))
        if overlap and not self.core.store.one_writer:
            ids = sorted([row[0].hex for moved in moves for row in moved.rows])
            LOCK_ROWS.run(self._conn, ids=one_of(self._conn, ids))
        return moves

    def _reset(self) -> None:
        """Forget what was written, so that the unit can be used for more changes."""
        self.known, self.changed, self.leased, self.fast_moves, self.fast_history = {}, {}, {}, {}, {}
        self.new, self.history, self.inserts, self.closed_reviews, self.freed_slots, self.undo_log = (
            [],
            [],
            [],
            [],
            [],
            [],
        )
        self.assumed, self.vouched, self.closed_questions, self.finished_batches = {}, [], [], []
        self.limit_rows = limits.Known()

    def _update(self, instances: list[Instance]) -> None:
        """Write the columns that differ from the rows as they were read. Unnamed columns cost no index update."""
        groups: dict[tuple[bool, tuple[int, ...]], list[tuple[Any, ...]]] = {}
        for instance in sorted(instances, key=lambda i: i.id.int):
            before, after = instance.loaded, row_of(instance)
            assert before is not None, "an instance is read before it is changed"
            which = tuple([n for n in compress(EACH, map(is_not, before, after)) if before[n] != after[n]])
            if which:
                guard = self.assumed.get(instance.id)
                if guard is not None and not LEASE.issubset(which):
                    which = _with_lease(which)  # a claim in place may have been settled meanwhile
                group = groups.setdefault((guard is not None, which), [])
                group.append((instance.id, *[after[n] for n in which], *(guard or ())))
                instance.loaded = after
        for (guarded, which), rows in groups.items():
            columns = ("id", *[COLUMNS[n] for n in which])
            self.core.store.update_many(self.conn, t.instance, columns, rows, GUARDS if guarded else ())

    def _place_data(self, instance: Instance, large: LargeData) -> None:
        """Put small data into the row, and large data among the rows of `instance_data` to write."""
        text = instance.stored_data
        assert text is not None, "data that was set has its text"
        instance.data_changed = False
        if len(text) <= LARGE_DATA:
            if instance.data_is_large:
                large.removed.append(instance.id)
            instance.stored_data, instance.data_is_large = text, False
            return
        (large.replaced if instance.data_is_large else large.added)[instance.id] = text
        instance.stored_data, instance.data_is_large = None, True
        self.touch(instance)


@lru_cache(1000)
def _with_lease(which: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(LEASE.union(which)))


def _number(row: Sequence[Any]) -> int:
    found: int = row[0].int
    return found


def payload_text(payload: Mapping[str, Any]) -> str | None:
    """A payload as the history stores it, without empty values."""
    kept = {name: value for name, value in payload.items() if value or isinstance(value, int | float)}
    return canonical(kept, "payload", deepest=values.DEEPEST + values.WRAPPED) if kept else None


def load(conn: sa.Connection, rows: Sequence[Sequence[Any]]) -> list[Instance]:
    """Instances of rows, with large data read from `instance_data`."""
    instances = [Instance.read(tuple(row)) for row in rows]
    big = {i.id: i for i in instances if i.stored_data is None}
    if big:
        for instance_id, text in LARGE_DATA_OF.rows(conn, ids=one_of(conn, [one.hex for one in big])):
            big[instance_id].large_data_text = text
            big[instance_id].data_is_large = True
    return instances
