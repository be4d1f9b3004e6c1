"""Named leases: one holder at a time for an outside resource, with a fence that only grows.

The database decides. If a mirror is configured, the same key and value are taken there first, so that programs which
only know Redis see and respect the lease. The mirror may be emptied or fail without a second holder.
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
from interlock.store.sql import ACTIVE_LEASES, listed, many, one_of, upsert
from interlock.store.tables import instance as I
from interlock.store.tables import lease as L


class Mirror(Protocol):
    """A place outside the database where leases are shown as well."""

    def take(self, name: str, holder: str, ttl: timedelta) -> str | None:
        """Returns the other holder, or None when it was taken or the mirror does not answer."""
        ...

    def take_many(self, wanted: Sequence[tuple[str, str]], ttl: timedelta) -> list[bool]:
        """Whether each (name, holder) is shown now, in one round trip. All True when the mirror does not answer."""
        ...

    def replace(self, name: str, over: str, holder: str, ttl: timedelta) -> bool:
        """Take it from `over`, a holder whose lease has expired. False if it shows somebody else by now."""
        ...

    def renew(self, name: str, holder: str, ttl: timedelta) -> None: ...

    def release(self, name: str, holder: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Lease:
    """A named resource with its holder, until a moment."""

    name: str
    holder: str
    fence: int
    until: Micros


FLOOR = "*floor"
"""A lease that nobody takes. Its fence is at least as high as that of any lease whose row was removed."""
SETTLED = timedelta(minutes=5)
"""After this time, every statement that runs has seen a raised floor."""
F = L.alias("floor")
FIRST: Any = sa.select(sa.func.coalesce(sa.func.max(F.c.fence), 0) + 1).where(F.c.name == FLOOR).scalar_subquery()
"""The fence of a lease without a row. It may have had one before, and a fence only grows."""


def floor(conn: sa.Connection) -> tuple[int, Micros | None]:
    """The fence of the floor, and when it was raised."""
    row = conn.execute(sa.select(L.c.fence, L.c.taken_at).where(L.c.name == FLOOR)).first()
    return (row.fence, row.taken_at) if row is not None else (0, None)


def raise_floor(conn: sa.Connection, now: Micros, fence: int) -> None:
    new = upsert(L).values(name=FLOOR, fence=fence, taken_at=now)
    higher = {"fence": fence, "taken_at": now}
    conn.execute(new.on_conflict_do_update(index_elements=[L.c.name], set_=higher, where=L.c.fence < fence))


def _take() -> Any:
    """One statement: of two that find no row, one waits for the other at the primary key."""
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
    """Raise InvalidData if no row could have such a name or holder."""
    values.indexed(name, "the lease's name")
    values.indexed(holder, "the lease's holder")


def take(
    conn: sa.Connection, now: Micros, name: str, holder: str, ttl: timedelta, instance_id: UUID | None = None
) -> Lease:
    """Take a free or expired lease. Raises LeaseTaken, which names the holder. Its own holder gets a new fence."""
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
    """Takes many leases, in the order of their names: every writer locks them in that order."""
    kinds = {"name": sa.Text(), "holder": sa.Text(), "instance_id": sa.Uuid()}
    given = listed("wanted", kinds, dialect)
    now, until = sa.bindparam("now", type_=sa.BigInteger), sa.bindparam("until", type_=sa.BigInteger)
    columns = ["name", "fence", "holder", "taken_at", "until", "instance_id"]
    rows = sa.select(given.c.name, FIRST, given.c.holder, now, until, given.c.instance_id)
    new = upsert(L)
    # SQLite needs the condition: without it, it parses ON CONFLICT as a part of the FROM.
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
    """Take those of the leases (name, holder, instance) that are free, and return them by name."""
    until = now + span(ttl)
    for name, holder, _ in wanted:
        named(name, holder)
    holders = {name: holder for name, holder, _ in wanted}
    rows = TAKE_MANY.rows(conn, **many(conn, "wanted", wanted), now=now, until=until)
    return {name: Lease(name, holders[name], fence, until) for name, fence in rows}


def renew(conn: sa.Connection, now: Micros, lease: Lease, ttl: timedelta) -> Lease:
    """Extend it. Raises LeaseTaken if it expired or somebody else took it meanwhile."""
    until = now + span(ttl)
    done = conn.execute(
        sa.update(L)
        .where(L.c.name == lease.name, L.c.holder == lease.holder, L.c.fence == lease.fence, L.c.until > now)
        .values(until=until)
    )
    if done.rowcount != 1:
        raise LeaseTaken(f"{lease.name!r} is no longer held by {lease.holder} with fence {lease.fence}")
    return Lease(lease.name, lease.holder, lease.fence, until)


def release(conn: sa.Connection, lease: Lease) -> bool:
    """Release it. Returns False, and changes nothing, if it is no longer this holder's."""
    done = conn.execute(
        sa.update(L)
        .where(L.c.name == lease.name, L.c.holder == lease.holder, L.c.fence == lease.fence)
        .values(holder=None, until=None, instance_id=None)
    )
    return done.rowcount == 1


@dataclass(frozen=True, slots=True)
class ActiveLease:
    """A lease that somebody holds, with its instance and workspace: for lists."""

    name: str
    holder: str
    fence: int
    taken_at: Micros
    until: Micros
    instance_id: UUID | None
    workspace: str | None


def active(
    conn: sa.Connection, now: Micros, *, workspaces: frozenset[str] | None = None, limit: int = 200
) -> list[ActiveLease]:
    """Leases that somebody holds now, the next to expire first. `workspaces` restricts them to those."""
    query = (
        sa.select(L.c.name, L.c.holder, L.c.fence, L.c.taken_at, L.c.until, L.c.instance_id, I.c.workspace)
        .outerjoin(I, I.c.id == L.c.instance_id)
        .where(L.c.holder.is_not(None), L.c.until > now)
        .order_by(L.c.until, L.c.name)
        .limit(limit)
    )
    if workspaces is not None:
        query = query.where(I.c.workspace.in_(sorted(workspaces)))
    return [ActiveLease(*tuple(row)) for row in conn.execute(query)]


FIND = Prepared(sa.select(L.c.name, L.c.holder, L.c.fence, L.c.until).where(L.c.name == sa.bindparam("name")))


def find(conn: sa.Connection, now: Micros, name: str) -> Lease | None:
    """The lease, if somebody holds it now."""
    named(name)
    row = FIND.first(conn, name=name)
    return Lease(*row) if row is not None and row[1] is not None and row[3] > now else None


def find_many(conn: sa.Connection, now: Micros, names: Sequence[str]) -> dict[str, Lease]:
    """Those of the leases that somebody holds now."""
    rows = ACTIVE_LEASES.rows(conn, names=one_of(conn, list(names)), now=now)
    return {row[0]: Lease(*row) for row in rows}


# -- for applications: leases that change together with one of their instances


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """The row of a lease, whether somebody holds it or not."""

    holder: str | None
    until: Micros | None
    instance_id: UUID | None

    def ran_out(self, now: Micros) -> bool:
        """Whether its holder did not renew it in time."""
        return self.holder is not None and self.until is not None and self.until <= now


def read_row(conn: sa.Connection, name: str, *, lock: bool = False) -> LeaseRow | None:
    """The row, whoever holds the lease. `lock` locks it until the commit."""
    query = sa.select(L.c.holder, L.c.until, L.c.instance_id).where(L.c.name == name)
    row = conn.execute(query.with_for_update() if lock else query).first()
    return LeaseRow(*row) if row is not None else None


_PROLONG = Prepared(
    sa.update(L)
    .where(L.c.name == sa.bindparam("name_"), L.c.holder == sa.bindparam("holder_"), L.c.until > sa.bindparam("now"))
    .values(until=sa.bindparam("until"))
)


def prolong(conn: sa.Connection, now: Micros, name: str, holder: str, ttl: timedelta) -> bool:
    """Extend it, whatever its fence. False if it is no longer this holder's."""
    return _PROLONG.count(conn, name_=name, holder_=holder, now=now, until=now + span(ttl)) == 1


def free(conn: sa.Connection, name: str, holders: Sequence[str], *, unexpired_at: Micros | None = None) -> bool:
    """Release it for whichever of these holders has it. With `unexpired_at`, only if it is valid at that moment."""
    mine = sa.and_(L.c.name == name, L.c.holder.in_(holders))
    if unexpired_at is not None:
        mine = sa.and_(mine, L.c.until > unexpired_at)
    return conn.execute(sa.update(L).where(mine).values(holder=None, until=None, instance_id=None)).rowcount == 1


def hand_over(conn: sa.Connection, now: Micros, name: str, holders: Sequence[str], to: str, ttl: timedelta) -> None:
    """Pass it to another holder, from whichever of these has it, expired or not, with a new fence."""
    conn.execute(
        sa.update(L)
        .where(L.c.name == name, L.c.holder.in_(holders))
        .values(holder=to, fence=L.c.fence + 1, until=now + span(ttl))
    )


def postpone(conn: sa.Connection, now: Micros, name: str, ttl: timedelta) -> None:
    """Extend it, whoever holds it."""
    conn.execute(sa.update(L).where(L.c.name == name).values(until=now + span(ttl)))


def run_out(conn: sa.Connection, now: Micros, like: Sequence[str], limit: int = 200) -> list[str]:
    """Names of leases that expired without being renewed, the oldest first. `like` are patterns with `%`."""
    query = sa.select(L.c.name).where(L.c.holder.is_not(None), L.c.until <= now).order_by(L.c.until).limit(limit)
    return list(conn.execute(query.where(sa.or_(*(L.c.name.like(one) for one in like)))).scalars())


class Leases:
    """Named leases, shown in the mirror as well if one is configured."""

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

    def renew(self, lease: Lease, ttl: timedelta) -> Lease:
        renewed = self._core.store.write(lambda conn: renew(conn, self._core.clock.now(), lease, ttl), name="lease")
        if self.mirror is not None:
            self.mirror.renew(lease.name, lease.holder, ttl)
        return renewed

    def release(self, lease: Lease) -> bool:
        done = self._core.store.write(lambda conn: release(conn, lease), name="lease")
        if done and self.mirror is not None:
            self.mirror.release(lease.name, lease.holder)
        return done

    def find(self, name: str) -> Lease | None:
        return self._core.store.read(lambda conn: find(conn, self._core.clock.now(), name))
