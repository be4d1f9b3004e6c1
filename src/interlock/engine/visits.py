"""Visits: which time a step comes, and which instances one continues.

A visit of a step ends when the step is done: a worker went on from it, or somebody moved the instance on while none of
its work was under way. It does not end by a failure, a lost worker, a pause, or a move that interrupts the work:
whatever leads back from there is the same visit. It is read from the history when it is asked for, so that a step which
sends nothing pays nothing for it.

An instance that a dead letter's retry made out of a final state continues the one that failed. It begins in the visit
that failed, and what was sent there, under whatever key, is its own as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa

from interlock.engine.values import readable
from interlock.store import Micros
from interlock.store import tables as t

H, I, D = t.history, t.instance, t.dead_letter  # noqa: E741
UNFINISHED = "unfinished"
"""In the payload of a move: it took the instance out of a step whose work was under way."""
RENAMED = "renamed"
"""In the payload of a migration: the states that have another name since."""


class Visit(NamedTuple):
    """One time that a step comes, with all its attempts."""

    owner: UUID
    """The instance in which it began."""
    step: str
    """The name that the step had then."""
    number: int

    @property
    def key(self) -> str:
        """Equal for every attempt at this visit, and for no other."""
        return f"{self.owner}:{self.step}:{self.number}"

    def effect_key(self, kind: str) -> str:
        """The key of an effect that the handler gives none: one of each kind in a visit."""
        # The first is spelled without a number, as all were once.
        count = "" if self.number == 1 else f"#{self.number}"
        return f"{self.owner}{count}:{self.step}:{kind}"

    def as_values(self) -> dict[str, Any]:
        return {"owner": str(self.owner), "step": self.step, "number": self.number}


class Moment(NamedTuple):
    """A place in a history: its row, or, where that was not written down, its time."""

    seq: int | None
    at: Micros


_Until = Moment | None


class _Leave(NamedTuple):
    """A row that left the step, or ended its work."""

    seq: int
    step: str
    done: bool


class _Origin(NamedTuple):
    """What a dead letter's retry wrote down when it made an instance."""

    of: UUID
    line: tuple[UUID, ...]
    """All that it continues, the last one first."""
    step: str
    letter: UUID | None
    visit: Visit | None


def of(conn: sa.Connection, instance_id: UUID, parent: UUID | None, step: str, *, until: _Until = None) -> Visit:
    """The visit of the step that the instance is in, or that comes next; or that it was in at a moment."""
    name, leaves = _leaves(conn, instance_id, step, until)
    done = [leave for leave in leaves if leave.done]
    if done:
        return Visit(instance_id, done[-1].step, len(done) + 1)
    origin = _origin(conn, instance_id, parent)
    if origin is not None and origin.step in {step, name}:
        return origin.visit or _failed(conn, origin)
    if origin is not None:
        # Another step: what the one before left there unfinished is gone on with.
        before = conn.execute(sa.select(I.c.parent).where(I.c.id == origin.of)).scalar()
        if unfinished(conn, origin.of, name):
            return of(conn, origin.of, before, name)
    return Visit(instance_id, name, 1)


def unfinished(conn: sa.Connection, instance_id: UUID, step: str) -> bool:
    """Whether the instance left the step, the last time that it was there, before the step was done."""
    _, leaves = _leaves(conn, instance_id, step, None)
    return bool(leaves) and not leaves[-1].done


def failed_in(conn: sa.Connection, letter_id: UUID) -> Visit:
    """The visit that ended in the dead letter."""
    row = conn.execute(sa.select(D.c.instance_id, D.c.step, D.c.seq, D.c.at).where(D.c.id == letter_id)).one()
    parent = conn.execute(sa.select(I.c.parent).where(I.c.id == row.instance_id)).scalar()
    return of(conn, row.instance_id, parent, row.step, until=Moment(row.seq, row.at))


def _failed(conn: sa.Connection, origin: _Origin) -> Visit:
    """For those that were made before it was written down."""
    if origin.letter is not None and conn.execute(sa.select(D.c.id).where(D.c.id == origin.letter)).first() is not None:
        return failed_in(conn, origin.letter)
    return Visit(origin.of, origin.step, 1)


def intended_since(conn: sa.Connection, visit: Visit, effect_id: UUID) -> bool:
    """Whether the effect was intended, or intended again, after the visit before this one was done."""
    _, leaves = _leaves(conn, visit.owner, visit.step, None)
    done = [leave.seq for leave in leaves if leave.done]
    rows = conn.execute(
        sa.select(H.c.payload).where(
            H.c.instance_id == visit.owner, H.c.seq > (done[-1] if done else 0), H.c.kind == "effect"
        )
    ).scalars()
    payloads = [_payload(text) for text in rows]
    return any(
        one.get("effect") == str(effect_id) and str(one.get("status")).startswith("intended") for one in payloads
    )


def line(conn: sa.Connection, instance_id: UUID, parent: UUID | None) -> tuple[UUID, ...]:
    """The instance and those that it continues, from itself back to the first."""
    origin = _origin(conn, instance_id, parent)
    return (instance_id, *origin.line) if origin is not None else (instance_id,)


def first(conn: sa.Connection, instance_id: UUID) -> UUID:
    """The one that all of a line go back to."""
    parent = conn.execute(sa.select(I.c.parent).where(I.c.id == instance_id)).scalar()
    return line(conn, instance_id, parent)[-1]


def continued() -> sa.Select[Any]:
    """Instances that another one continues, which is still there."""
    return sa.select(D.c.instance_id).join(I, I.c.id == D.c.retried_as)


def _origin(conn: sa.Connection, instance_id: UUID, parent: UUID | None) -> _Origin | None:
    if parent is None:
        return None
    text = conn.execute(sa.select(H.c.payload).where(H.c.instance_id == instance_id, H.c.seq == 1)).scalar()
    payload = _payload(text)
    if "retry_of" not in payload:
        return None
    before = UUID(payload["retry_of"])
    if "line" in payload:
        ids = tuple(map(UUID, payload["line"]))
    else:
        above = conn.execute(sa.select(I.c.parent).where(I.c.id == before)).scalar()
        ids = line(conn, before, above)
    kept = payload.get("visit")
    visit = Visit(UUID(kept["owner"]), kept["step"], kept["number"]) if kept else None
    letter = payload.get("dead_letter")
    return _Origin(before, ids, payload.get("step", ""), UUID(letter) if letter else None, visit)


def _leaves(conn: sa.Connection, instance_id: UUID, step: str, until: _Until) -> tuple[str, list[_Leave]]:
    """How the step was left, in order, under the names that it had; and its first name."""
    found: list[_Leave] = []
    before: int | None = None
    names = _names(conn, instance_id, step)
    for name, since in names:
        found = _left(conn, instance_id, name, since, before, until) + found
        before = since
    return names[-1][0], found


def _names(conn: sa.Connection, instance_id: UUID, step: str) -> list[tuple[str, int]]:
    """The names of the step, the newest first, with the row after which it had each."""
    rows = conn.execute(
        sa.select(H.c.seq, H.c.payload)
        .where(H.c.instance_id == instance_id, H.c.kind == "migrated")
        .order_by(H.c.seq.desc())
    )
    names: list[tuple[str, int]] = []
    for seq, text in rows:
        renamed: Mapping[str, str] = _payload(text).get(RENAMED, {})
        old = next((old for old, new in renamed.items() if _is_in(step, new)), None)
        if old is not None:
            names.append((step, seq))
            step = old + step[len(renamed[old]) :]
    return [*names, (step, 0)]


def _is_in(step: str, state: str) -> bool:
    return step == state or step.startswith(f"{state}:")


def _left(
    conn: sa.Connection, instance_id: UUID, step: str, since: int, before: int | None, until: _Until
) -> list[_Leave]:
    # A step is a state, or a state with its stage; a state's own name may have a colon in it.
    states = {step, *(step[:n] for n, char in enumerate(step) if char == ":")}
    query = sa.select(H.c.seq, H.c.from_state, H.c.payload).where(
        H.c.instance_id == instance_id,
        H.c.seq > since,
        sa.or_(H.c.kind == "worked", sa.and_(H.c.kind.in_(("moved", "forced")), H.c.from_state.in_(states))),
    )
    if before is not None:
        query = query.where(H.c.seq < before)
    if until is not None:
        query = query.where(H.c.at <= until.at if until.seq is None else H.c.seq <= until.seq)
    found = []
    for seq, state, text in conn.execute(query.order_by(H.c.seq)):
        payload = _payload(text)
        named = payload.get("step")
        # A handler that had moved on under its lease wrote down the step that it had begun with.
        elsewhere = state is not None and (named is None or not _is_in(named, state))
        if named == step or elsewhere:
            found.append(_Leave(seq, step, _done(payload)))
    return found


def _payload(text: str | None) -> Mapping[str, Any]:
    """What a row tells; nothing where that was erased, or cannot be read."""
    payload = readable(text) if text else {}
    return payload if isinstance(payload, Mapping) else {}


def _done(payload: Mapping[str, Any]) -> bool:
    return "error" not in payload and payload.get("why") != "worker_lost" and UNFINISHED not in payload
