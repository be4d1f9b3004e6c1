"""Writes plain moves: results that only name the next state, applied without loading the instance.

The changes of such a move are known in advance: the columns and, except for the chain and the times, their values. So a
batch of them is computed in one loop over the claimed rows. All other results go through `moves`. Both ways write the
same, and a test compares them.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter, is_, itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from interlock.engine.audit import chain
from interlock.engine.claiming import Claim, worker_actor
from interlock.engine.instance import COLUMNS
from interlock.engine.moves import is_plain
from interlock.engine.unit import FAST_COLUMNS, AlikeRows, Unit, payload_text
from interlock.engine.values import text as text_
from interlock.machine import WORKER, Edge, Go, KeyScope, Kind, Machine
from interlock.store import Micros
from interlock.store.ready import POSITIONS, USUAL

if TYPE_CHECKING:
    from interlock.engine.finishing import Result

NEEDED = ("id", "state", "seq", "head", "entered_at", "updated_at", "unique_key", "usual")
"""What a plain move reads of a ready row. The rest of what it needs is in the claim."""
_needed = itemgetter(*(POSITIONS[name] for name in NEEDED))
FROM_CLAIM = {"fence", "claimed_at"}
_extras = attrgetter("data", "spawn", "messages", "asks", "unstarted", "at")
NO_EXTRAS = _extras(Go(""))
"""The extras of an outcome that has none. They are compared by identity: comparing values of the application may raise
an error."""
SETS = (
    *("state", "previous", "wake", "due_at", "holder", "claimed_at", "taken_by", "taken_until", "entered_at"),
    "updated_at",
)
"""The columns that moves which are alike set to the same values."""
UNTOUCHED = {
    *("machine", "queue", "version", "workspace", "key", "data", "labels", "priority", "failed_step", "last_error"),
    *("paused_wake", "paused_due", "parent", "root", "depth", "trace_id", "created_at"),
}
"""Columns that a plain move neither reads nor changes."""
assert set(COLUMNS) - {*USUAL, *NEEDED, *FROM_CLAIM, *SETS, *FAST_COLUMNS} == UNTOUCHED, (
    "say of each new column of `instance` what a plain move does to it"
)


class FastMove(NamedTuple):
    """A plain move along one transition."""

    edge: Edge
    actor: str
    middle: str
    """The part of the hashed text that all its history rows have in common."""
    wake: str | None
    """Whether the target state has work."""
    rests: bool
    frees_key: bool


class Group(NamedTuple):
    """Moves that are alike: the end of what is hashed, and the rows."""

    tail: bytes
    rows: list[tuple[Any, ...]]
    past: list[tuple[Any, ...]]


def finish(unit: Unit, results: Sequence[Result]) -> list[int]:
    """Apply the plain results. Returns the indexes of the others."""
    now, worker, others = unit.now, None, []
    ways: dict[tuple[Machine, str, str], FastMove | None] = {}
    groups: dict[tuple[Any, ...], Group | None] = {}
    last, group = None, None
    for number, (claim, outcome, as_claimed) in enumerate(results):
        to = outcome.to if type(outcome) is Go else None
        instance, state, before, head, entered, updated, key, usual = _needed(claim.row)
        if not as_claimed or type(to) is not str or not usual:
            others.append(number)
            continue
        holder, claimed = claim.worker, claim.at
        if holder is not worker:
            worker, ways = holder, {}
        place = claim.machine, state, to
        if place not in ways:
            ways[place] = _fast_move(*place, holder)
        way = ways[place]
        assert isinstance(outcome, Go)
        if way is None or type(outcome.reason) is not str or not all(map(is_, _extras(outcome), NO_EXTRAS)):
            others.append(number)
            continue
        like = way.middle, outcome.reason, claimed, max(now, updated), way.frees_key and key is not None, place
        if like != last:
            if like not in groups:
                groups[like] = _group(unit, claim, outcome.reason, *like[2:5], way)
            last, group = like, groups[like]
        if group is None:
            others.append(number)
            continue
        tail, rows, past = group
        seq = before + 1
        new = chain.joined(head, instance, seq, tail)
        rows.append((instance, seq, new, before, claim.fence, claimed))
        past.append((instance, seq, new, max(now - entered, 0) or None, claim.waited))
    unit.recorded = unit.recorded or len(others) < len(results)
    for moved in unit.fast_moves.values():
        moved.rows.sort(key=_number)  # every writer locks in the order of ids; see also `Unit.flush`
    return others


def _group(
    unit: Unit, claim: Claim, reason: str, claimed: Micros, at: Micros, frees: bool, way: FastMove
) -> Group | None:
    """Where moves that are alike are collected. None if the reason cannot be stored: `moves` will report it."""
    edge, who, middle, wake, rests, _ = way
    try:
        said = {"reason": text_(reason, "the reason"), "step": edge.source, "took": unit.now - claimed}
        text = payload_text(said)
    except Exception:
        return None
    digest = chain.digest(text)
    same = dict.fromkeys(SETS) | {
        "state": edge.to,
        "previous": edge.source,
        "wake": wake,
        "due_at": unit.now if wake else None,
        "entered_at": at,
        "updated_at": at,
    }
    if rests:
        same["finished_at"] = at
    if frees:
        same["unique_key"] = None
    past = {
        "kind": "moved",
        "from_state": edge.source,
        "to_state": edge.to,
        "event": edge.on,
        "actor": who,
        "at": at,
        "payload": text,
        "digest": digest,
    }
    if wake:
        unit.ready.add(claim.queue)
    moved = unit.fast_moves.setdefault((edge.source, edge.to, wake, rests, frees, at), AlikeRows(same, []))
    written = unit.fast_history.setdefault((middle, reason, claimed, at), AlikeRows(past, []))
    return Group(chain.tail(middle, at, digest), moved.rows, written.rows)


def _number(row: tuple[Any, ...]) -> int:
    instance: UUID = row[0]
    return instance.int


def _fast_move(machine: Machine, source: str, to: str, worker: UUID) -> FastMove | None:
    """The move, if it is plain."""
    ways = machine.automatic_edges(source, to, WORKER)
    if not ways or not is_plain(machine, ways[0]):
        return None
    edge, end = ways[0], machine.states[to]
    who, rests = str(worker_actor(worker)), end.kind is Kind.FINAL
    return FastMove(
        edge,
        who,
        chain.middle("moved", source, to, edge.on, who),
        "work" if end.kind is Kind.WORK else None,
        rests,
        rests and machine.key is KeyScope.LIVE,
    )
