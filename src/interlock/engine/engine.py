"""The engine: what a program calls to create, move, pause, read and explain instances."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import (
    artifacts,
    claiming,
    creating,
    feed,
    finishing,
    firing,
    isolation,
    pausing,
)
from interlock.engine import secrets as secrets_module
from interlock.engine.attempt import needs_savepoint
from interlock.engine.audit import checkpointing, checkpoints
from interlock.engine.audit.checkpoints import Checkpoint
from interlock.engine.audit.signing import BadKey, Keys
from interlock.engine.bulk import Bulks
from interlock.engine.core import Core
from interlock.engine.deadletters import DeadLetters
from interlock.engine.errors import KeyTaken, SavepointNeeded
from interlock.engine.halting import Halts
from interlock.engine.instance import Instance
from interlock.engine.leases import Leases, Mirror
from interlock.engine.outbox import Outbox
from interlock.engine.reading import Reading
from interlock.engine.reviews import Reviews
from interlock.engine.schedules import Schedules
from interlock.engine.unit import Unit
from interlock.machine import SYSTEM, Actor, Machine, Patch, Registry
from interlock.store import Clock, RowChanged, Store, SystemClock, micros, migrate, open_store
from interlock.store.database import HISTORY

T = TypeVar("T")
SYSTEM_ACTOR = Actor(SYSTEM)


@dataclass(frozen=True, slots=True)
class Created:
    """An instance, and whether it was created by this call."""

    instance: Instance
    new: bool


class AfterCommit:
    """Queues to wake and callbacks to run after the commit."""

    __slots__ = ("callbacks", "queues")

    def __init__(self) -> None:
        self.queues: set[str] = set()
        self.callbacks: list[Callable[[], None]] = []

    def run(self) -> None:
        for step in self.callbacks:
            step()


class Engine(Reading):
    """A database, its machines and a clock. Every method is one transaction, safe from any thread."""

    def __init__(
        self,
        store: Store | str,
        machines: Registry | Sequence[Machine],
        *,
        clock: Clock | None = None,
        mirror: Mirror | None = None,
        migrate_schema: bool = True,
        register: bool = True,
        seed: int | None = None,
        secrets: Mapping[str, str] | None = None,
        audit_keys: Keys | None = None,
    ) -> None:
        registry = machines if isinstance(machines, Registry) else Registry(machines)
        registry.load_handlers()
        self.store = open_store(store) if isinstance(store, str) else store
        try:
            if clock is None:
                clock = SystemClock()
                clock.correct(self.store.clock_offset())  # before its first use, because it never steps back
            self.core = Core(self.store, registry, clock, seed=seed)
            self.core.secrets = dict(secrets or {})
            self.core.audit_keys = audit_keys
            secrets_module.learn(self.core.secrets.values())
            if migrate_schema:
                migrate.upgrade(self.store, registry.applications.values())
                feed.reorder_restored(self.store)
            else:
                migrate.require(self.store, registry.applications.values())
            self.core.register(write=register)
            if isinstance(clock, SystemClock):  # go on from the last recorded time, also after a step back
                clock.at_least(self.store.read(feed.latest))
        except BaseException:
            if isinstance(store, str):  # the caller has no reference to it
                self.store.close()
            raise
        self.core.mirror = mirror
        self.leases = Leases(self.core)
        self.reviews = Reviews(self)
        self.dead_letters = DeadLetters(self)
        self.outbox, self.schedules, self.bulk = Outbox(self), Schedules(self), Bulks(self)
        self.halts = Halts(self)

    @property
    def registry(self) -> Registry:
        return self.core.registry

    def setting(self, name: str) -> Any:
        """The settings of an application, as `task.setting` gives them to its handlers; None if it has none."""
        return self.core.settings.get(name)

    # -- one transaction

    def write(self, job: Callable[[Unit], T], name: str = "write", *, optimistic: bool = False) -> T:
        """Run a job in one transaction. It may call several of the engine's functions.

        `optimistic` is for many items at once, few of which fail: see `Unit.optimistic`.
        """
        after = AfterCommit()
        try:
            result = self.store.write(self._in_unit(job, after, optimistic=optimistic), name)
        except SavepointNeeded:
            result = self.store.write(self._in_unit(job, after), name)
        self._after_commit(after)
        return result

    def submit(self, job: Callable[[Unit], T], name: str = "write") -> Future[T]:
        """Run a job without waiting. The future is done after the commit."""
        after = AfterCommit()
        future = self.store.submit(self._in_unit(job, after), name)

        def after_commit(done: Future[T]) -> None:
            if not done.cancelled() and done.exception() is None:
                self._after_commit(after, in_thread=True)

        future.add_done_callback(after_commit)
        return future

    def _in_unit(
        self, job: Callable[[Unit], T], after: AfterCommit, *, optimistic: bool = False
    ) -> Callable[[sa.Connection], T]:
        def run(conn: sa.Connection) -> T:
            unit = Unit(self.core, conn, self.clock.now(), optimistic=optimistic)
            try:
                result = job(unit)
                unit.flush()
            except sa.exc.DBAPIError as error:
                if unit.bare and needs_savepoint(error):  # it may be that of an item
                    raise SavepointNeeded from error
                raise
            # The job may run again after a conflict; the last run counts.
            after.queues = unit.ready | {HISTORY} if unit.recorded else unit.ready
            after.callbacks = unit.after_commit
            return result

        return run

    def _after_commit(self, after: AfterCommit, *, in_thread: bool = False) -> None:
        if after.queues:
            self.store.hint(after.queues)
        if after.callbacks and in_thread:  # this is the thread of the store, which must not wait for other servers
            threading.Thread(target=after.run, name="interlock-after-commit", daemon=True).start()
        else:
            after.run()

    def read(self, job: Callable[[sa.Connection], T]) -> T:
        return self.store.read(job)

    def within(self, conn: sa.Connection) -> Engine:
        """The same engine inside your transaction: it writes on your connection, and you commit."""
        return _Within(self, conn)

    # -- creating and moving

    def create(
        self,
        machine: str,
        data: Patch = None,
        *,
        key: str | None = None,
        actor: Actor = SYSTEM_ACTOR,
        workspace: str = "default",
        priority: int = 2,
        queue: str | None = None,
        host: str | None = None,
        labels: Mapping[str, str] | None = None,
        at: datetime | None = None,
        unstarted: bool = False,
        by_application: bool = False,
    ) -> Instance:
        """Create an instance. Raises KeyTaken if another has its key.

        A machine that declares `created_through` is refused, unless its own application passes `by_application`.
        """
        declared = self.registry[machine]
        start = micros(at) if at is not None else None
        return self.write(
            lambda unit: creating.create(
                unit,
                declared,
                data,
                actor,
                key=key,
                workspace=workspace,
                priority=priority,
                queue=queue,
                host=host,
                labels=labels,
                at=start,
                unstarted=unstarted,
                by_application=by_application,
            ),
            name="create",
        )

    def create_or_get(
        self, machine: str, data: Patch = None, *, key: str, actor: Actor = SYSTEM_ACTOR, workspace: str = "default"
    ) -> Created:
        """Create an instance, or return the one that has the key."""
        try:
            return Created(self.create(machine, data, key=key, actor=actor, workspace=workspace), True)
        except KeyTaken as taken:
            return Created(self.get(taken.existing), False)

    def create_many(
        self, machine: str, data: Sequence[Patch], *, actor: Actor = SYSTEM_ACTOR, priority: int = 2
    ) -> list[UUID]:
        """Create many instances in one transaction."""
        declared = self.registry[machine]
        return self.write(
            lambda unit: [creating.create(unit, declared, one, actor, priority=priority).id for one in data],
            name="create",
        )

    def fire(
        self,
        instance_id: UUID,
        event: str | tuple[str, ...],
        *,
        actor: Actor = SYSTEM_ACTOR,
        reason: str = "",
        data: Mapping[str, Any] | None = None,
        expected_seq: int | None = None,
        resume_at: datetime | None = None,
    ) -> Instance:
        """Fire an event, or a chain of events in one transaction. Raises Refused, with the events that are allowed."""
        until = micros(resume_at) if resume_at is not None else None
        return self.write(
            lambda unit: firing.fire(
                unit, instance_id, event, actor, reason=reason, data=data, expected_seq=expected_seq, resume_at=until
            ),
            name="fire",
        )

    def force(self, instance_id: UUID, to: str, *, actor: Actor, reason: str) -> Instance:
        """Put the instance into any state, as an owner, outside of the declared transitions."""
        return self.write(lambda unit: firing.force(unit, instance_id, to, actor, reason), name="fire")

    def cancel(self, instance_id: UUID, *, actor: Actor, reason: str = "") -> Instance:
        """Move to the machine's state for cancelled work, along declared transitions."""
        return self.write(lambda unit: firing.cancel(unit, instance_id, actor, reason=reason), name="fire")

    def pause(
        self, instance_id: UUID, *, actor: Actor = SYSTEM_ACTOR, reason: str = "", resume_at: datetime | None = None
    ) -> Instance:
        until = micros(resume_at) if resume_at is not None else None
        return self.write(
            lambda unit: pausing.pause(unit, instance_id, actor, reason=reason, resume_at=until), name="pause"
        )

    def resume(self, instance_id: UUID, *, actor: Actor = SYSTEM_ACTOR, reason: str = "") -> Instance:
        return self.write(lambda unit: pausing.resume(unit, instance_id, actor, reason=reason), name="resume")

    # -- audit and artifacts

    def checkpoint(self, *, new_key: bool = False, kept: Checkpoint | None = None) -> Checkpoint | None:
        """Sign the history as it is now. Returns the newest checkpoint, or None if there is no history.

        `kept` is the last checkpoint that was stored elsewhere. If the database does not have it, nothing is signed.
        """
        if self.core.audit_keys is None:
            raise BadKey("there is no audit key to sign with; make one with: interlock audit key")
        for _ in checkpointing.write(self.store, self.core.audit_keys, self.clock.now(), new_key=new_key, kept=kept):
            pass
        return self.read(checkpoints.last)

    def keep_artifact(
        self, instance_id: UUID, name: str, content: bytes, *, media_type: str, actor: Actor = SYSTEM_ACTOR
    ) -> str:
        return self.write(
            lambda unit: artifacts.keep(unit, instance_id, name, content, media_type=media_type, actor=actor),
            name="artifact",
        )

    def collect_artifacts(self, limit: int = 100) -> int:
        """Remove contents that no instance refers to. Returns how many."""
        return self.write(lambda unit: artifacts.collect(unit, limit), name="artifact")

    # -- for workers

    def claim(self, worker: UUID, queues: Sequence[str], count: int, turn: int = 0) -> list[claiming.Claim]:
        return isolation.claim(self, worker, queues, count, turn)

    def finish(self, results: Sequence[finishing.Result]) -> list[bool]:
        """Apply outcomes. Returns False for each that came too late and changed nothing."""
        try:
            return self.write(lambda unit: finishing.finish(unit, results), name="finish", optimistic=True)
        except RowChanged:
            reread = finishing.read_first(results)
            return self.write(lambda unit: finishing.finish(unit, reread), name="finish", optimistic=True)

    def give_back(self, claims: Sequence[claiming.Claim]) -> int:
        return self.write(lambda unit: finishing.give_back(unit, claims), name="give_back")

    def tick(self) -> int:
        """Do what is due: resumes, timers, time limits, freed slots. Returns the number of things done."""
        return isolation.tick(self)

    def take_back(self, dead: Sequence[UUID], beats: Mapping[UUID, int] | None = None) -> int:
        """Take back the claims of lost workers."""
        return isolation.take_back(self, dead, beats)

    def close(self) -> None:
        self.store.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Within(Engine):
    """An engine that writes in the transaction of the caller."""

    def __init__(self, outer: Engine, conn: sa.Connection) -> None:
        self.store, self.core, self.leases = outer.store, outer.core, outer.leases
        self.reviews, self.dead_letters = Reviews(self), DeadLetters(self)
        self.outbox, self.schedules, self.bulk = Outbox(self), Schedules(self), Bulks(self)
        self.halts = Halts(self)
        self._conn = conn

    def write(self, job: Callable[[Unit], T], name: str = "write", *, optimistic: bool = False) -> T:
        self.store.join(self._conn)
        unit = Unit(self.core, self._conn, self.clock.now())
        with self._conn.begin_nested():
            result = job(unit)
            unit.flush()
        hints = unit.ready | {HISTORY} if unit.recorded else unit.ready
        if hints:
            self.store.announce(self._conn, hints)
        return result

    def read(self, job: Callable[[sa.Connection], T]) -> T:
        return job(self._conn)

    def close(self) -> None:
        return None
