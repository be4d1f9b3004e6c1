"""The states of a family's instances over time: a row for each, all on the same scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from interlock.dashboard import kinds
from interlock.dashboard.formatting import duration, title
from interlock.engine import Instance
from interlock.machine import Registry
from interlock.store import Micros, moment, tables

H = tables.history
WIDTH = 1000
NARROW = 5
"""The narrowest part of a row, so that a short stay is seen, and the width of an end."""
DRAWN = 100
"""Rows of the picture."""
READ = 500
"""Rows of each history that are read: what happened later is drawn as one stay in the present state."""
Moves = Mapping[UUID, Sequence[tuple[str, Micros]]]


@dataclass(frozen=True, slots=True)
class Part:
    """A stay in a state."""

    x: float
    width: float
    kind: str
    title: str


@dataclass(frozen=True, slots=True)
class Life:
    """The row of one instance."""

    instance: Instance
    title: str
    depth: int
    parts: Sequence[Part]
    sentence: str


@dataclass(frozen=True, slots=True)
class Lives:
    """The picture of a family."""

    rows: Sequence[Life]
    begins: str
    ends: str
    lasted: Micros
    whole: bool


def moves(conn: sa.Connection, ids: Sequence[UUID]) -> Moves:
    """The states that the instances entered, with the time."""
    query = (
        sa.select(H.c.instance_id, H.c.to_state, H.c.at)
        .where(H.c.instance_id.in_(list(ids)), H.c.seq <= READ, H.c.to_state.is_not(None))
        .order_by(H.c.instance_id, H.c.seq)
    )
    found: dict[UUID, list[tuple[str, Micros]]] = {}
    for instance_id, state, at in conn.execute(query):
        found.setdefault(instance_id, []).append((state, at))
    return found


def lives(
    registry: Registry, family: Sequence[tuple[Instance, str, int]], entered: Moves, now: Micros, *, whole: bool = True
) -> Lives:
    """The rows of these instances, given with their titles and depths, from the first creation to the last end."""
    begin = min(one.created_at for one, _, _ in family)
    ends = [_end(registry, one) for one, _, _ in family]
    end = max(now if one is None else one for one in ends)
    scale = WIDTH / max(end - begin, 1)
    rows = [
        _life(registry, one, name, depth, entered.get(one.id, ()), begin, end, scale)
        for one, name, depth in family[:DRAWN]
    ]
    day = "%d %b %H:%M" if end - begin > 3600 * 1_000_000 else "%d %b %H:%M:%S"
    return Lives(
        rows,
        f"{moment(begin):{day}}",
        "now" if None in ends else f"{moment(end):{day}}",
        end - begin,
        whole and len(family) <= DRAWN,
    )


def _end(registry: Registry, one: Instance) -> Micros | None:
    """When it ended; None for one that gave up in a failed state, which is still there for a person."""
    return None if kinds.kind_of(registry.get(one.machine), one.state) == "failed" else one.finished_at


def _life(
    registry: Registry,
    one: Instance,
    name: str,
    depth: int,
    entered: Sequence[tuple[str, Micros]],
    begin: Micros,
    end: Micros,
    scale: float,
) -> Life:
    machine = registry.get(one.machine)
    stays = list(entered) or [(one.state, one.created_at)]
    if stays[-1][0] != one.state:
        stays.append((one.state, one.updated_at))
    parts: list[Part] = []
    said = []
    for number, (state, at) in enumerate(stays):
        last = number == len(stays) - 1
        over = last and _end(registry, one) is not None
        until = at if over else end if last else stays[number + 1][1]
        words = title(state) if over else f"{title(state)} {duration(until - at)}"
        said.append(words)
        x = min((at - begin) * scale, WIDTH - NARROW)
        parts.append(
            Part(round(x, 1), round(max((until - at) * scale, NARROW), 1), kinds.kind_of(machine, state), words)
        )
    much = said if len(said) <= 12 else [*said[:6], f"{len(said) - 11} more", *said[-5:]]
    return Life(one, name, depth, _thinned(parts), f"{name}: {', then '.join(much)}")


def _thinned(parts: Sequence[Part]) -> list[Part]:
    """Without stays that the next one would cover."""
    kept: list[Part] = []
    for part in parts:
        if kept and part.x - kept[-1].x < NARROW / 2:
            kept.pop()
        kept.append(part)
    return kept
