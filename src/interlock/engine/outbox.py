"""The outbox: messages that are written with a change and delivered after its commit.

A message waits until its `due_at`. To deliver it, a process takes it first: that counts an attempt and moves `due_at`
to the end of a lease, so that the messages of a process that died become due again. Nothing is sent inside a
transaction; the result is recorded afterwards. A process may die between the two, so a message arrives at least once,
always under the same id. After twelve attempts, or one permanent refusal, it is dead until somebody retries or discards
it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import actions, values
from interlock.engine.errors import InvalidData, NotFound, Refused
from interlock.engine.listing import BIGGEST_PAGE, MOST, Count
from interlock.engine.text import canonical, fitting, shortened
from interlock.engine.unit import Unit
from interlock.machine import Actor, exponential
from interlock.store import Micros, span
from interlock.store.service_tables import delivery as D
from interlock.store.sql import upsert
from interlock.store.tables import outbox as O

if TYPE_CHECKING:
    from interlock.engine.engine import Engine

ATTEMPTS = 12
BACKOFF = exponential(timedelta(seconds=10), cap=timedelta(hours=6), jitter=0.2)
STATUSES = ("waiting", "delivered", "dead", "discarded")
HINT = "*outbox"
"""The hint that a message was added. It is sent like the name of a queue; no queue has it."""


@dataclass(frozen=True, slots=True)
class OutboxMessage:
    """A message in the outbox."""

    id: UUID
    instance_id: UUID | None
    channel: str
    recipient: str
    subject: str
    body: dict[str, Any]
    status: str
    at: Micros
    workspace: str | None
    attempts: int
    due_at: Micros | None
    settled_at: Micros | None
    last_error: str | None


@dataclass(frozen=True, slots=True)
class Delivery:
    """One attempt to deliver a message."""

    id: UUID
    outbox_id: UUID
    at: Micros
    took: Micros
    outcome: str
    detail: str


@dataclass(frozen=True, slots=True)
class MessagePage:
    """One page of the outbox."""

    messages: list[OutboxMessage]
    next: UUID | None
    """The cursor of the next page; None on the last."""


@dataclass(frozen=True, slots=True)
class Unconfigured:
    """Messages that wait because their channel is not configured."""

    channel: str
    waiting: int
    since: Micros


def _read(row: sa.Row[Any]) -> OutboxMessage:
    found = dict(row._mapping)
    found["body"] = values.readable(found["body"])
    return OutboxMessage(**found)


# -- adding and taking


def put(
    unit: Unit,
    channel: str,
    recipient: str,
    subject: str = "",
    body: Mapping[str, Any] | None = None,
    *,
    instance_id: UUID | None = None,
    workspace: str | None = None,
) -> UUID:
    """Add a message that is delivered after the commit. Returns its id."""
    unit.ready.add(HINT)
    return unit.insert(
        O,
        instance_id=instance_id,
        channel=values.indexed(channel, "the message's channel", values.NAME),
        recipient=values.text(recipient, "the message's recipient", values.RECIPIENT),
        subject=shortened(values.text(subject, "the message's subject"), 500),
        body=fitting(canonical(dict(body or {}), "body"), "the message's body"),
        status="waiting",
        at=unit.now,
        workspace=values.indexed(workspace, "the workspace", values.NAME) if workspace is not None else None,
        due_at=unit.now,
    )


def take(
    unit: Unit,
    channels: Mapping[str, int] | Collection[str],
    count: int,
    lease: timedelta,
    *,
    busy: Mapping[tuple[str, str], int] | None = None,
    each: int | None = None,
) -> list[OutboxMessage]:
    """Take up to `count` messages that are due, the oldest first, for the length of the lease.

    `channels` are those that are configured here, optionally with the number of messages that each may have at once.
    `each` limits the messages of one recipient, including those in `busy`: a slow one must not use up all threads.
    """
    room = dict(channels) if isinstance(channels, Mapping) else dict.fromkeys(channels, count)
    used = dict(busy or {})
    full = {where for where, n in used.items() if each is not None and n >= each}
    taken: list[OutboxMessage] = []
    seen: set[UUID] = set()
    while len(taken) < count and any(n > 0 for n in room.values()):
        rows = unit.conn.execute(_due(unit.now, room, full, seen, count)).all()
        for message in map(_read, rows):
            where = (message.channel, message.recipient)
            if len(taken) == count or room[message.channel] <= 0 or where in full:
                continue
            seen.add(message.id)
            if message.attempts >= ATTEMPTS:
                _mark_dead(unit, message.id, f"{message.attempts} attempts ended without a word: their processes died")
                continue
            if isinstance(message.body, values.Unreadable):
                _mark_dead(unit, message.id, f"its body cannot be sent: {message.body.why}")
                continue
            taken.append(message)
            room[message.channel] -= 1
            used[where] = used.get(where, 0) + 1
            if each is not None and used[where] >= each:
                full.add(where)
        if len(rows) < count:
            break
    return _lease(unit, taken, unit.now + span(lease))


def _due(
    now: Micros, room: Mapping[str, int], full: Collection[tuple[str, str]], seen: Collection[UUID], count: int
) -> sa.Select[Any]:
    query = (
        sa.select(O)
        .where(sa.text("status = 'waiting'"), O.c.due_at <= now, O.c.channel.in_([c for c, n in room.items() if n > 0]))
        .order_by(O.c.due_at)
        .limit(count)
        .with_for_update(skip_locked=True)
    )
    if seen:
        query = query.where(O.c.id.not_in(seen))
    for channel, recipient in full:
        query = query.where(sa.not_(sa.and_(O.c.channel == channel, O.c.recipient == recipient)))
    return query


def _lease(unit: Unit, taken: Sequence[OutboxMessage], until: Micros) -> list[OutboxMessage]:
    if not taken:
        return []
    rows = unit.conn.execute(
        sa.update(O)
        .where(O.c.id.in_([message.id for message in taken]))
        .values(attempts=O.c.attempts + 1, due_at=until)
        .returning(O)
    )
    found = {message.id: message for message in map(_read, rows)}
    return [found[message.id] for message in taken]


# -- results


def delivered(unit: Unit, message: OutboxMessage, *, took: Micros = 0, detail: str = "", attempt: UUID) -> bool:
    """Record that it arrived, however late the report comes. False when it was settled already."""
    _log(unit, message, "delivered", took, detail, attempt)
    done = unit.conn.execute(
        sa.update(O)
        .where(O.c.id == message.id, O.c.status.in_(("waiting", "dead")))
        .values(status="delivered", settled_at=unit.now, due_at=None, last_error=None)
    )
    return done.rowcount > 0


def failed(
    unit: Unit,
    message: OutboxMessage,
    error: str,
    *,
    took: Micros = 0,
    attempt: UUID,
    retry_after: timedelta | None = None,
    final: bool = False,
) -> bool:
    """Record that it did not arrive, and plan another attempt or none. False if another process has it."""
    _log(unit, message, "refused" if final else "failed", took, error, attempt)
    mine = (O.c.id == message.id, O.c.status == "waiting", O.c.attempts == message.attempts)
    if unit.conn.execute(sa.select(O.c.id).where(*mine).with_for_update()).first() is None:
        return False
    if final or message.attempts >= ATTEMPTS:
        _mark_dead(unit, message.id, error)
    else:
        wait = BACKOFF.delay(message.attempts, retry_after=retry_after, chance=unit.core.random.random())
        unit.conn.execute(
            sa.update(O)
            .where(O.c.id == message.id)
            .values(due_at=unit.now + span(wait), last_error=shortened(error, 1000))
        )
    return True


def _mark_dead(unit: Unit, message_id: UUID, error: str) -> None:
    unit.conn.execute(
        sa.update(O)
        .where(O.c.id == message_id)
        .values(status="dead", settled_at=unit.now, due_at=None, last_error=shortened(error, 1000))
    )


def _log(unit: Unit, message: OutboxMessage, outcome: str, took: Micros, detail: str, attempt: UUID) -> None:
    """One row for each attempt, also when the same attempt is reported twice."""
    unit.conn.execute(
        upsert(D)
        .values(
            id=attempt,
            outbox_id=message.id,
            at=unit.now - took,
            took=took,
            outcome=outcome,
            detail=shortened(detail, 1000),
        )
        .on_conflict_do_nothing()
    )


# -- dead messages


def retry(unit: Unit, message_id: UUID, actor: Actor) -> OutboxMessage:
    """Try to deliver a dead message again, with all attempts."""
    found = _dead(unit, message_id)
    unit.ready.add(HINT)
    actions.record(unit, actor, "message.retry", str(message_id), workspace=found.workspace)
    anew = {"status": "waiting", "attempts": 0, "due_at": unit.now, "settled_at": None}
    unit.conn.execute(sa.update(O).where(O.c.id == message_id).values(**anew))
    return get(unit.conn, message_id)


def discard(unit: Unit, message_id: UUID, actor: Actor, note: str = "") -> OutboxMessage:
    """Discard a dead message."""
    values.text(note, "the note")
    found = _dead(unit, message_id)
    actions.record(
        unit, actor, "message.discard", str(message_id), workspace=found.workspace, details={"note": shortened(note)}
    )
    unit.conn.execute(sa.update(O).where(O.c.id == message_id).values(status="discarded", settled_at=unit.now))
    return get(unit.conn, message_id)


def _dead(unit: Unit, message_id: UUID) -> OutboxMessage:
    found = get(unit.conn, message_id, lock=True)
    if found.status != "dead":
        raise Refused(f"message {message_id} is {found.status}; only a dead message can be retried or discarded")
    return found


# -- looking


def get(conn: sa.Connection, message_id: UUID, *, lock: bool = False) -> OutboxMessage:
    query = sa.select(O).where(O.c.id == message_id)
    row = conn.execute(query.with_for_update() if lock else query).first()
    if row is None:
        raise NotFound(f"there is no message {message_id}")
    return _read(row)


def page(
    conn: sa.Connection,
    *,
    status: str | None = None,
    channel: str | None = None,
    workspaces: Collection[str] | None = None,
    instance_id: UUID | None = None,
    after: UUID | None = None,
    limit: int = 50,
) -> MessagePage:
    """A page of the messages that match, the newest first."""
    if not 1 <= limit <= BIGGEST_PAGE:
        raise InvalidData(f"a page has 1 to {BIGGEST_PAGE} rows, not {limit}")
    if status is not None and status not in STATUSES:
        raise InvalidData(f"{status!r} is not a status of messages; there are {', '.join(STATUSES)}")
    query = sa.select(O).order_by(O.c.id.desc()).limit(limit + 1)
    for column, value in ((O.c.channel, channel), (O.c.instance_id, instance_id), (O.c.status, status)):
        if value is not None:
            query = query.where(column == value)
    if workspaces is not None:
        query = query.where(O.c.workspace.in_(workspaces))
    if after is not None:
        query = query.where(O.c.id < after)
    found = [_read(row) for row in conn.execute(query)]
    return MessagePage(found[:limit], found[limit - 1].id if len(found) > limit else None)


def deliveries(conn: sa.Connection, message_id: UUID) -> list[Delivery]:
    """Every attempt at a message, in order."""
    rows = conn.execute(sa.select(D).where(D.c.outbox_id == message_id).order_by(D.c.at, D.c.id))
    return [Delivery(**row._mapping) for row in rows]


def counts(conn: sa.Connection, *, workspaces: Collection[str] | None = None) -> dict[str, Count]:
    """How many messages have each status, counted as far as a listing counts."""
    return {status: _count(conn, status, workspaces) for status in STATUSES}


def _count(conn: sa.Connection, status: str, workspaces: Collection[str] | None) -> Count:
    some = sa.select(sa.literal(1).label("one")).where(O.c.status == status).limit(MOST + 1)
    if workspaces is not None:
        some = some.where(O.c.workspace.in_(workspaces))
    n: int = conn.execute(sa.select(sa.func.count()).select_from(some.subquery())).scalar_one()
    return Count(min(n, MOST), n <= MOST)


def unconfigured(
    conn: sa.Connection, channels: Collection[str], *, workspaces: Collection[str] | None = None
) -> list[Unconfigured]:
    """Messages that are due and wait because their channel is not configured."""
    query = (
        sa.select(O.c.channel, sa.func.count(), sa.func.min(O.c.at))
        .where(sa.text("status = 'waiting'"), O.c.channel.not_in(channels))
        .group_by(O.c.channel)
        .order_by(O.c.channel)
    )
    if workspaces is not None:
        query = query.where(O.c.workspace.in_(workspaces))
    return [Unconfigured(*row) for row in conn.execute(query)]


def next_due(conn: sa.Connection, channels: Collection[str]) -> Micros | None:
    """When the next message of these channels is due. It reads one index, nearly always only its first row."""
    query = (
        sa.select(O.c.due_at)
        .where(sa.text("status = 'waiting'"), O.c.channel.in_(channels))
        .order_by(O.c.due_at)
        .limit(1)
    )
    found: Micros | None = conn.execute(query).scalar()
    return found


class Outbox:
    """Messages to be delivered."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put(
        self,
        channel: str,
        recipient: str,
        subject: str = "",
        body: Mapping[str, Any] | None = None,
        *,
        instance_id: UUID | None = None,
        workspace: str | None = None,
    ) -> UUID:
        """Add a message to be delivered. Returns its id."""
        return self._engine.write(
            lambda unit: put(unit, channel, recipient, subject, body, instance_id=instance_id, workspace=workspace),
            name="outbox",
        )

    def get(self, message_id: UUID) -> OutboxMessage:
        return self._engine.read(lambda conn: get(conn, message_id))

    def page(
        self,
        *,
        status: str | None = None,
        channel: str | None = None,
        workspaces: Collection[str] | None = None,
        instance_id: UUID | None = None,
        after: UUID | None = None,
        limit: int = 50,
    ) -> MessagePage:
        """A page of the messages that match, the newest first."""
        return self._engine.read(
            lambda conn: page(
                conn,
                status=status,
                channel=channel,
                workspaces=workspaces,
                instance_id=instance_id,
                after=after,
                limit=limit,
            )
        )

    def deliveries(self, message_id: UUID) -> list[Delivery]:
        return self._engine.read(lambda conn: deliveries(conn, message_id))

    def counts(self, *, workspaces: Collection[str] | None = None) -> dict[str, Count]:
        return self._engine.read(lambda conn: counts(conn, workspaces=workspaces))

    def unconfigured(
        self, channels: Collection[str], *, workspaces: Collection[str] | None = None
    ) -> list[Unconfigured]:
        """Messages that wait because their channel is none of these."""
        return self._engine.read(lambda conn: unconfigured(conn, channels, workspaces=workspaces))

    def retry(self, message_id: UUID, *, actor: Actor) -> OutboxMessage:
        return self._engine.write(lambda unit: retry(unit, message_id, actor), name="outbox")

    def discard(self, message_id: UUID, *, actor: Actor, note: str = "") -> OutboxMessage:
        return self._engine.write(lambda unit: discard(unit, message_id, actor, note), name="outbox")
