"""Named leases: one holder at a time for a resource outside, with a fence that only grows.

The database decides. With a mirror configured the same key and value are taken there first, so that programs which
know only Redis see and respect the lease; the mirror may be emptied, or be gone, without a second winner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import values
from interlock.engine.core import Core
from interlock.engine.errors import LeaseTaken
from interlock.store import Micros, moment, span
from interlock.store.prepared import Prepared
from interlock.store.sql import HELD_LEASES, listed, many, one_of, upsert
from interlock.store.tables import instance as I
from interlock.store.tables import lease as L


class Mirror(Protocol):
    """Where else a lease is shown."""

    def take(self, name: str, holder: str, ttl: timedelta) -> str | None:
        """The other holder, if there is one; None when taken, or when the mirror does not answer."""
        ...

    def take_many(self, wanted: Sequence[tuple[str, str]], ttl: timedelta) -> list[bool]:
        """Of each (name, holder), in one round trip, whether it is shown now; True for all when there is no answer."""
        ...

    def replace(self, name: str, over: str, holder: str, ttl: timedelta) -> bool:
        """Take it from a holder that is known to be over; False when it shows somebody else by now."""
        ...

    def renew(self, name: str, holder: str, ttl: timedelta) -> None: ...

    def release(self, name: str, holder: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Lease:
    """A resource that somebody holds, until a moment."""

    name: str
    holder: str
    fence: int
    until: Micros


FLOOR = "*floor"
"""The lease that nobody takes: its fence is as high as that of any lease whose row was removed."""
SETTLED = timedelta(minutes=5)
"""So long after the floor was raised no statement is under way any more that has not seen it."""
F = L.alias("floor")
FIRST: Any = sa.select(sa.func.coalesce(sa.func.max(F.c.fence), 0) + 1).where(F.c.name == FLOOR).scalar_subquery()
"""The fence of a lease without a row: it may have had one, and its fence only grows."""


def floor(conn: sa.Connection) -> tuple[int, Micros | None]:
    """How high the floor is, and since when."""
    row = conn.execute(sa.select(L.c.fence, L.c.taken_at).where(L.c.name == FLOOR)).first()
    return (row.fence, row.taken_at) if row is not None else (0, None)


def raise_floor(conn: sa.Connection, now: Micros, fence: int) -> None:
    new = upsert(L).values(name=FLOOR, fence=fence, taken_at=now)
    higher = {"fence": fence, "taken_at": now}
    conn.execute(new.on_conflict_do_update(index_elements=[L.c.name], set_=higher, where=L.c.fence < fence))


def _take() -> Any:
    """One statement, so that two who find no row meet at the primary key and one of them waits for the other."""
    new = upsert(L)
    given = {name: new.excluded[name] for name in ("holder", "taken_at", "until", "instance_id")}
    return (
        new.values(
            name=sa.bindparam("name"),
            fence=FIRST,
            holder=sa.bindparam("holder"),
            taken_at=sa.bindparam("taken_at"),
            until=sa.bindparam("until"),
            instance_id=sa.bindparam("instance_id"),
        )
        .on_conflict_do_update(
            index_elements=[L.c.name],
            set_={**given, "fence": L.c.fence + 1},
            where=sa.or_(L.c.holder.is_(None), L.c.until <= sa.bindparam("now"), L.c.holder == sa.bindparam("mine")),
        )
        .returning(L.c.fence)
    )


TAKE = Prepared(_take())


def named(name: str, holder: str = "") -> None:
    """InvalidData when no row could have such a name or holder."""
    values.indexed(name, "the lease's name")
    values.indexed(holder, "the lease's holder")


def take(
    conn: sa.Connection, now: Micros, name: str, holder: str, ttl: timedelta, instance_id: UUID | None = None
) -> Lease:
    """Take a free or run-out lease; LeaseTaken tells who has it. Its own holder gets it anew, with a new fence."""
    named(name, holder)
    until = now + span(ttl)
    fence = TAKE.first(
        conn, name=name, holder=holder, taken_at=now, until=until, instance_id=instance_id, now=now, mine=holder
    )
    if fence is None:
        row = conn.execute(sa.select(L.c.holder, L.c.until).where(L.c.name == name)).one()
        raise LeaseTaken(f"{name!r} is held by {row.holder} until {moment(row.until):%H:%M:%S} UTC")
    return Lease(name, holder, fence[0], until)


def _take_many(dialect: str) -> Any:
    """In the order of their names, as everybody locks them."""
    kinds = {"name": sa.Text(), "holder": sa.Text(), "instance_id": sa.Uuid()}
    given = listed("wanted", kinds, dialect)
    now, until = sa.bindparam("now", type_=sa.BigInteger), sa.bindparam("until", type_=sa.BigInteger)
    columns = ["name", "fence", "holder", "taken_at", "until", "instance_id"]
    rows = sa.select(given.c.name, FIRST, given.c.holder, now, until, given.c.instance_id)
    new = upsert(L)
    # The condition is for SQLite, which would else take ON CONFLICT for a part of the FROM.
    new = new.from_select(columns, rows.where(sa.true()).order_by(given.c.name))
    return new.on_conflict_do_update(
        index_elements=[L.c.name],
        set_={**{name: new.excluded[name] for name in columns[2:]}, "fence": L.c.fence + 1},
        where=sa.or_(L.c.holder.is_(None), L.c.until <= now, L.c.holder == new.excluded.holder),
    ).returning(L.c.name, L.c.fence)


TAKE_MANY = Prepared(_take_many)


def take_many(
    conn: sa.Connection, now: Micros, wanted: Sequence[tuple[str, str, UUID]], ttl: timedelta
) -> dict[str, Lease]:
    """Take those of the leases (name, holder, instance) that are free; whoever is missing in the answer has none."""
    until = now + span(ttl)
    for name, holder, _ in wanted:
        named(name, holder)
    holders = {name: holder for name, holder, _ in wanted}
    rows = TAKE_MANY.rows(conn, **many(conn, "wanted", wanted), now=now, until=until)
    return {name: Lease(name, holders[name], fence, until) for name, fence in rows}


def renew(conn: sa.Connection, now: Micros, held: Lease, ttl: timedelta) -> Lease:
    """Hold it longer; LeaseTaken when it ran out or was taken by another in the meantime."""
    until = now + span(ttl)
    done = conn.execute(
        sa.update(L)
        .where(L.c.name == held.name, L.c.holder == held.holder, L.c.fence == held.fence, L.c.until > now)
        .values(until=until)
    )
    if done.rowcount != 1:
        raise LeaseTaken(f"{held.name!r} is no longer held by {held.holder} with fence {held.fence}")
    return Lease(held.name, held.holder, held.fence, until)


def release(conn: sa.Connection, held: Lease) -> bool:
    """Give it back; False when it was not this holder's any more, and then nothing changes."""
    done = conn.execute(
        sa.update(L)
        .where(L.c.name == held.name, L.c.holder == held.holder, L.c.fence == held.fence)
        .values(holder=None, until=None, instance_id=None)
    )
    return done.rowcount == 1


@dataclass(frozen=True, slots=True)
class Held:
    """A named resource and whose it is, for those who look."""

    name: str
    holder: str
    fence: int
    taken_at: Micros
    until: Micros
    instance_id: UUID | None
    workspace: str | None


def held(conn: sa.Connection, now: Micros, *, workspaces: frozenset[str] | None = None, limit: int = 200) -> list[Held]:
    """Leases that somebody holds now, the next to run out first; of these workspaces, if they are named."""
    query = (
        sa.select(L.c.name, L.c.holder, L.c.fence, L.c.taken_at, L.c.until, L.c.instance_id, I.c.workspace)
        .outerjoin(I, I.c.id == L.c.instance_id)
        .where(L.c.holder.is_not(None), L.c.until > now)
        .order_by(L.c.until, L.c.name)
        .limit(limit)
    )
    if workspaces is not None:
        query = query.where(I.c.workspace.in_(sorted(workspaces)))
    return [Held(*tuple(row)) for row in conn.execute(query)]


FIND = Prepared(sa.select(L.c.name, L.c.holder, L.c.fence, L.c.until).where(L.c.name == sa.bindparam("name")))


def find(conn: sa.Connection, now: Micros, name: str) -> Lease | None:
    """Who holds it now, if anybody."""
    named(name)
    row = FIND.first(conn, name=name)
    return Lease(*row) if row is not None and row[1] is not None and row[3] > now else None


def find_many(conn: sa.Connection, now: Micros, names: Sequence[str]) -> dict[str, Lease]:
    """Those of the leases that somebody holds now."""
    rows = HELD_LEASES.rows(conn, names=one_of(conn, list(names)), now=now)
    return {row[0]: Lease(*row) for row in rows}


# -- for an application that keeps a lease for one of its instances, beside a change of the instance


@dataclass(frozen=True, slots=True)
class Kept:
    """A lease as it stands in the database, held or not."""

    holder: str | None
    until: Micros | None
    instance_id: UUID | None

    def ran_out(self, now: Micros) -> bool:
        """Whether somebody held it and did not renew it."""
        return self.holder is not None and self.until is not None and self.until <= now


def kept(conn: sa.Connection, name: str, *, lock: bool = False) -> Kept | None:
    """The lease, whoever holds it; locked until the commit, or only looked at."""
    query = sa.select(L.c.holder, L.c.until, L.c.instance_id).where(L.c.name == name)
    row = conn.execute(query.with_for_update() if lock else query).first()
    return Kept(*row) if row is not None else None


_PROLONG = Prepared(
    sa.update(L)
    .where(L.c.name == sa.bindparam("name_"), L.c.holder == sa.bindparam("holder_"), L.c.until > sa.bindparam("now"))
    .values(until=sa.bindparam("until"))
)


def prolong(conn: sa.Connection, now: Micros, name: str, holder: str, ttl: timedelta) -> bool:
    """Hold it longer, whatever its fence; False when it is not this holder's any more."""
    return _PROLONG.count(conn, name_=name, holder_=holder, now=now, until=now + span(ttl)) == 1


def free(conn: sa.Connection, name: str, holders: Sequence[str], *, held_at: Micros | None = None) -> bool:
    """Take it from whichever of these holders has it; with `held_at`, only if it has not run out by that moment."""
    mine = sa.and_(L.c.name == name, L.c.holder.in_(holders))
    if held_at is not None:
        mine = sa.and_(mine, L.c.until > held_at)
    return conn.execute(sa.update(L).where(mine).values(holder=None, until=None, instance_id=None)).rowcount == 1


def hand_over(conn: sa.Connection, now: Micros, name: str, holders: Sequence[str], to: str, ttl: timedelta) -> None:
    """Give it to another from whichever of these holders has it, run out or not, with a new fence."""
    conn.execute(
        sa.update(L)
        .where(L.c.name == name, L.c.holder.in_(holders))
        .values(holder=to, fence=L.c.fence + 1, until=now + span(ttl))
    )


def postpone(conn: sa.Connection, now: Micros, name: str, ttl: timedelta) -> None:
    """Let whoever holds it have it so much longer."""
    conn.execute(sa.update(L).where(L.c.name == name).values(until=now + span(ttl)))


def run_out(conn: sa.Connection, now: Micros, like: Sequence[str], limit: int = 200) -> list[str]:
    """Names of leases that somebody held and did not renew, by patterns with `%`; the longest over first."""
    query = sa.select(L.c.name).where(L.c.holder.is_not(None), L.c.until <= now).order_by(L.c.until).limit(limit)
    return list(conn.execute(query.where(sa.or_(*(L.c.name.like(one) for one in like)))).scalars())


class Leases:
    """Named leases as a caller uses them, mirrored where a mirror is configured."""

    def __init__(self, core: Core) -> None:
        self._core = core

    @property
    def mirror(self) -> Mirror | None:
        return self._core.mirror

    def take(self, name: str, holder: str, ttl: timedelta, *, instance_id: UUID | None = None) -> Lease:
        named(name, holder)
        if self.mirror is not None:
            other = self.mirror.take(name, holder, ttl)
            if other is not None:
                raise LeaseTaken(f"{name!r} is held by {other}, as the mirror shows")
        try:
            return self._core.store.write(
                lambda conn: take(conn, self._core.clock.now(), name, holder, ttl, instance_id), name="lease"
            )
        except LeaseTaken:
            if self.mirror is not None:
                self.mirror.release(name, holder)
            raise

    def renew(self, held: Lease, ttl: timedelta) -> Lease:
        renewed = self._core.store.write(lambda conn: renew(conn, self._core.clock.now(), held, ttl), name="lease")
        if self.mirror is not None:
            self.mirror.renew(held.name, held.holder, ttl)
        return renewed

    def release(self, held: Lease) -> bool:
        done = self._core.store.write(lambda conn: release(conn, held), name="lease")
        if done and self.mirror is not None:
            self.mirror.release(held.name, held.holder)
        return done

    def find(self, name: str) -> Lease | None:
        return self._core.store.read(lambda conn: find(conn, self._core.clock.now(), name))
