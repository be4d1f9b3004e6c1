"""The methods of an engine that only read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TypeVar
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import artifacts, effects, explain, feed, listing, values
from interlock.engine.audit import checkpoint_verification, replaying, verifying
from interlock.engine.audit.checkpoints import Checkpoint
from interlock.engine.core import Core
from interlock.engine.errors import NotFound, NotServed
from interlock.engine.instance import Instance
from interlock.engine.unit import load
from interlock.machine import Machine
from interlock.store import Clock, Store, micros
from interlock.store import tables as t
from interlock.store.positions import Position

T = TypeVar("T")
_BY_ID = sa.select(t.instance).where(t.instance.c.id == sa.bindparam("id"))


class Reading(ABC):
    """Reads instances, their history and their proof."""

    store: Store
    core: Core

    @property
    def clock(self) -> Clock:
        return self.core.clock

    @abstractmethod
    def read(self, job: Callable[[sa.Connection], T]) -> T:
        """Run a job on a snapshot."""

    def get(self, instance_id: UUID) -> Instance:
        found = self.read(lambda conn: load(conn, conn.execute(_BY_ID, {"id": instance_id}).all()))
        if not found:
            raise NotFound(self.read(lambda conn: replaying.missing(conn, instance_id)))
        return found[0]

    def find(self, machine: str, key: str, *, workspace: str = "default") -> Instance | None:
        """The instance that has this key now."""
        values.indexed(key, "the key")
        values.indexed(workspace, "the workspace", values.NAME)
        values.indexed(machine, "the machine", values.NAME)
        rows = self.read(
            lambda conn: load(
                conn,
                conn.execute(
                    sa.select(t.instance).where(
                        t.instance.c.workspace == workspace,
                        t.instance.c.machine == machine,
                        t.instance.c.unique_key == key,
                    )
                ).all(),
            )
        )
        return rows[0] if rows else None

    def page(self, where: listing.Where | None = None, *, after: UUID | None = None, limit: int = 50) -> listing.Page:
        """A page of the instances that match, the newest first."""
        chosen = where or listing.Where()
        return self.read(lambda conn: listing.page(conn, chosen, self.clock.now(), after=after, limit=limit))

    def count(self, where: listing.Where | None = None, *, most: int = listing.MOST) -> listing.Count:
        """How many match, up to `most`."""
        chosen = where or listing.Where()
        return self.read(lambda conn: listing.count(conn, chosen, self.clock.now(), most=most))

    def children(self, instance_id: UUID) -> list[Instance]:
        query = sa.select(t.instance).where(t.instance.c.parent == instance_id).order_by(t.instance.c.id)
        return self.read(lambda conn: load(conn, conn.execute(query).all()))

    def history(self, instance_id: UUID, *, after: int = 0, limit: int = 1000) -> list[replaying.Row]:
        return self.read(lambda conn: replaying.history(conn, instance_id, after=after, limit=limit))

    def at(self, instance_id: UUID, when: datetime) -> replaying.Past:
        """The instance as it was at a time in the past."""
        return self.read(lambda conn: replaying.past(conn, instance_id, micros(when)))

    def explain(self, instance_id: UUID) -> explain.Explanation:
        """Why it is where it is, what happens next, and who can act."""
        instance = self.get(instance_id)
        try:
            machine: Machine | NotServed = self.core.machine(instance.machine, instance.version)
        except NotServed as error:
            machine = error
        return self.read(lambda conn: explain.explain(conn, instance, machine, self.clock.now()))

    def verify(
        self, instance_id: UUID | None = None, *, against: Checkpoint | Sequence[Checkpoint] | None = None
    ) -> replaying.Verdict:
        """Verify the history: every chain, every replay, every checkpoint."""
        total = replaying.Verdict()
        for part in self.verify_in_parts(instance_id, against=against):
            total += part
        return total

    def verify_in_parts(
        self, instance_id: UUID | None = None, *, against: Checkpoint | Sequence[Checkpoint] | None = None
    ) -> Iterator[replaying.Verdict]:
        yield from verifying.verify(self.store, instance_id)
        if instance_id is None:
            yield from checkpoint_verification.verify(self.store, self.core.audit_keys, against)

    def feed(self, after: Position, *, limit: int = 1000) -> list[feed.FeedEntry]:
        """The history rows of all instances after a position, in an order that misses nothing."""
        return self.read(lambda conn: feed.read(conn, after, limit=limit))

    def effects(self, instance_id: UUID) -> list[effects.Effect]:
        return self.read(lambda conn: effects.of(conn, instance_id))

    def artifacts(self, instance_id: UUID) -> list[artifacts.Artifact]:
        return self.read(lambda conn: artifacts.of(conn, instance_id))

    def artifact(self, instance_id: UUID, digest: str) -> bytes:
        """The content of the instance's artifact with this hash."""
        return self.read(lambda conn: artifacts.read(conn, instance_id, digest))
