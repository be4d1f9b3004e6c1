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
from interlock.engine.claiming import worker_actor
from interlock.engine.instance import COLUMNS
from interlock.engine.moves import is_plain
from interlock.engine.unit import Unit, payload_text
from interlock.engine.values import text as text_
from interlock.machine import WORKER, Edge, Go, KeyScope, Kind, Machine
from interlock.store import Micros
from interlock.store.ready import POSITIONS, USUAL

if TYPE_CHECKING:
    from interlock.engine.finishing import Result

NEEDED = ("id", "state", "seq", "head", "entered_at", "updated_at", "queue", "unique_key", "usual")
"""What a plain move reads of a ready row. The rest of what it needs is in the claim."""
_needed = itemgetter(*(POSITIONS[name] for name in NEEDED))
FROM_CLAIM = {"fence", "claimed_at"}
_extras = attrgetter("data", "spawn", "messages", "asks", "unstarted", "at")
NO_EXTRAS = _extras(Go(""))
"""The extras of an outcome that has none. They are compared by identity: comparing values of the application may raise
an error."""
SETS = (
    *("id", "state", "previous", "seq", "head", "wake", "due_at", "holder", "claimed_at", "taken_by"),
    *("taken_until", "entered_at", "updated_at"),
)
UNTOUCHED = {
    *("machine", "version", "workspace", "key", "data", "labels", "priority", "failed_step", "last_error"),
    *("paused_wake", "paused_due", "parent", "root", "depth", "trace_id", "created_at"),
}
"""Columns that a plain move neither reads nor changes."""
assert set(COLUMNS) - {*USUAL, *NEEDED, *FROM_CLAIM, *SETS} == UNTOUCHED, (
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


def finish(unit: Unit, results: Sequence[Result]) -> list[int]:
    """Apply the plain results. Returns the indexes of the others."""
    now, worker, others = unit.now, None, []
    ways: dict[tuple[Machine, str, str], FastMove | None] = {}
    texts: dict[tuple[str, str, Micros], tuple[str | None, bytes | None]] = {}
    for number, (claim, outcome, as_claimed) in enumerate(results):
        to = outcome.to if type(outcome) is Go else None
        instance, state, before, head, entered, updated, queue, key, usual = _needed(claim.row)
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
        said = outcome.reason, state, now - claimed
        if said not in texts:
            try:
                text = payload_text(
                    {"reason": text_(outcome.reason, "the reason"), "step": state, "took": now - claimed}
                )
            except Exception:  # `moves` will report it for this result alone
                others.append(number)
                continue
            texts[said] = text, chain.digest(text)
        text, digest = texts[said]
        edge, who, middle, wake, rests, frees_key = way
        seq, at = before + 1, max(now, updated)
        new = chain.joined(head, instance, seq, middle, at, digest or b"")
        dwell = max(now - entered, 0) or None
        unit.history.append(
            (instance, seq, "moved", state, to, edge.on, who, at, text, digest, new, dwell, claim.waited)
        )
        values = instance, to, state, seq, new, wake, now if wake else None, None, None, None, None, at, at
        still = before, claim.fence, claimed
        if not rests:
            unit.fast_moves.setdefault(SETS, []).append((*values, *still))
        elif frees_key and key is not None:
            unit.fast_moves.setdefault((*SETS, "finished_at", "unique_key"), []).append((*values, at, None, *still))
        else:
            unit.fast_moves.setdefault((*SETS, "finished_at"), []).append((*values, at, *still))
        if wake:
            unit.ready.add(queue)
    unit.recorded = unit.recorded or len(others) < len(results)
    for rows in unit.fast_moves.values():
        rows.sort(key=_number)  # every writer locks in the order of ids
    return others


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
