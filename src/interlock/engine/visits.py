"""Visits: how often an instance has come to a step, and which instances it continues.

A visit of a step ends when the step is done: a worker moved on from it, or somebody moved the instance while none of
its work was under way. A failure, a lost worker, a pause or a move that interrupts the work does not end it: when the
instance returns, it is the same visit. Visits are computed from the history on demand, so a step that sends nothing
pays nothing.

Retrying the dead letter of an instance in a final state creates a new instance that continues the failed one. It starts
in the visit that failed, and effects of that visit are its own as well.
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
"""In the payload of a move: it interrupted a step whose work was under way."""
RENAMED = "renamed"
"""In the payload of a migration: the states that were renamed, old to new."""


class Visit(NamedTuple):
    """One visit of a step, with all its attempts."""

    owner: UUID
    """The instance in which it began."""
    step: str
    """The name of the step at that time."""
    number: int

    @property
    def key(self) -> str:
        """A text that is equal for all attempts of this visit, and unique."""
        return f"{self.owner}:{self.step}:{self.number}"

    def effect_key(self, kind: str) -> str:
        """The default key of an effect: one of each kind per visit."""
        # The first has no number, as all keys in the past.
        count = "" if self.number == 1 else f"#{self.number}"
        return f"{self.owner}{count}:{self.step}:{kind}"

    def as_values(self) -> dict[str, Any]:
        return {"owner": str(self.owner), "step": self.step, "number": self.number}


class Moment(NamedTuple):
    """A point in a history: a seq, or a time if the seq was not recorded."""

    seq: int | None
    at: Micros


_Until = Moment | None


class _Leave(NamedTuple):
    """A history row that left the step or ended its work."""

    seq: int
    step: str
    done: bool


class _Origin(NamedTuple):
    """What the first history row says about the instance that this one continues."""

    of: UUID
    line: tuple[UUID, ...]
    """All instances that it continues, the latest first."""
    step: str
    letter: UUID | None
    visit: Visit | None


def of(conn: sa.Connection, instance_id: UUID, parent: UUID | None, step: str, *, until: _Until = None) -> Visit:
    """The current or next visit of the step, or the one at an earlier point."""
    name, leaves = _leaves(conn, instance_id, step, until)
    done = [leave for leave in leaves if leave.done]
    if done:
        return Visit(instance_id, done[-1].step, len(done) + 1)
    origin = _origin(conn, instance_id, parent)
    if origin is not None and origin.step in {step, name}:
        return origin.visit or _failed(conn, origin)
    if origin is not None:
        # Another step: a visit that the predecessor left unfinished goes on.
        before = conn.execute(sa.select(I.c.parent).where(I.c.id == origin.of)).scalar()
        if unfinished(conn, origin.of, name):
            return of(conn, origin.of, before, name)
    return Visit(instance_id, name, 1)


def unfinished(conn: sa.Connection, instance_id: UUID, step: str) -> bool:
    """Whether the instance left the step the last time without finishing it."""
    _, leaves = _leaves(conn, instance_id, step, None)
    return bool(leaves) and not leaves[-1].done


def failed_in(conn: sa.Connection, letter_id: UUID) -> Visit:
    """The visit that ended in the dead letter."""
    row = conn.execute(sa.select(D.c.instance_id, D.c.step, D.c.seq, D.c.at).where(D.c.id == letter_id)).one()
    parent = conn.execute(sa.select(I.c.parent).where(I.c.id == row.instance_id)).scalar()
    return of(conn, row.instance_id, parent, row.step, until=Moment(row.seq, row.at))


def _failed(conn: sa.Connection, origin: _Origin) -> Visit:
    """For instances from before the visit was recorded."""
    if origin.letter is not None and conn.execute(sa.select(D.c.id).where(D.c.id == origin.letter)).first() is not None:
        return failed_in(conn, origin.letter)
    return Visit(origin.of, origin.step, 1)


def intended_since(conn: sa.Connection, visit: Visit, effect_id: UUID) -> bool:
    """Whether the effect was intended after the previous visit ended."""
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
    """The first instance of the line."""
    parent = conn.execute(sa.select(I.c.parent).where(I.c.id == instance_id)).scalar()
    return line(conn, instance_id, parent)[-1]


def continued() -> sa.Select[Any]:
    """Instances that another existing instance continues."""
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
    """The first name of the step, and how it was left, in order, under all its names."""
    found: list[_Leave] = []
    before: int | None = None
    names = _names(conn, instance_id, step)
    for name, since in names:
        found = _left(conn, instance_id, name, since, before, until) + found
        before = since
    return names[-1][0], found


def _names(conn: sa.Connection, instance_id: UUID, step: str) -> list[tuple[str, int]]:
    """The names of the step, the newest first, each with the seq since which it is used."""
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
    # A step is a state, or a state with a stage. Names of old states may contain a colon.
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
        # A handler that had moved with `move_and_keep` recorded the step in which it had begun.
        elsewhere = state is not None and (named is None or not _is_in(named, state))
        if named == step or elsewhere:
            found.append(_Leave(seq, step, _done(payload)))
    return found


def _payload(text: str | None) -> Mapping[str, Any]:
    """The payload of a row; empty if it was erased or cannot be read."""
    payload = readable(text) if text else {}
    return payload if isinstance(payload, Mapping) else {}


def _done(payload: Mapping[str, Any]) -> bool:
    return "error" not in payload and payload.get("why") != "worker_lost" and UNFINISHED not in payload
