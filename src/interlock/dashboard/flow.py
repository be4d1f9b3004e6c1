"""The flow of a machine's instances between its states, as bands whose width is the number of moves.

States stand in columns: a state is to the right of those that lead to it. Moves to the right are bands. Moves back, as
after a failure, run below the states, so that a loop is seen as one. A state is as high as what entered it, or left it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import quote

from interlock.dashboard import kinds
from interlock.dashboard.formatting import title
from interlock.machine import Machine
from interlock.watch.flow import Move

COLUMN, NARROW, WIDE = 176, 120, 960
"""Between columns: at most, at least, and the width of all, so that most machines fit a page."""
NODE, TALL, GAP, TOP = 10, 200, 34, 8
"""A state's width, the height of the highest column's states, between states, above them."""
LANE = 9
"""Between moves back, below the states."""
LETTER = 6.6
"""The width of a letter of a state's name, at most: the names in the last column need room, too."""
THIN = 1.5
"""The thinnest band, so that one move is seen beside a million."""
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class FlowNode:
    """A state in the picture."""

    name: str
    kind: str
    x: float
    y: float
    height: float
    n: int
    """What entered it; for a state that nothing entered, what left it."""
    href: str


@dataclass(frozen=True, slots=True)
class Band:
    """A move in the picture."""

    key: str
    path: str
    width: float
    kind: str
    back: bool
    title: str


@dataclass(frozen=True, slots=True)
class Flow:
    """The whole picture, for the macro `flow`."""

    width: float
    height: float
    nodes: Sequence[FlowNode]
    bands: Sequence[Band]
    sentence: str


@dataclass(slots=True)
class _Spot:
    column: int
    y: float = 0.0
    height: float = 0.0
    left: float = 0.0
    """Where the next band enters, and `right` where the next one leaves."""
    right: float = 0.0


def picture(machine: Machine, moves: Sequence[Move], words: str) -> Flow:
    """The flow of these moves; `words` say of which time: `7 days`."""
    pairs = {(one.source, one.to): one.n for one in moves if one.source is not None}
    total: dict[str, int] = {}
    for one in moves:
        total[one.to] = total.get(one.to, 0) + one.n
    for name in {source for source, _ in pairs}:
        out = sum(n for (source, _), n in pairs.items() if source == name)
        total[name] = max(total.get(name, 0), out)
    spots = {name: _Spot(column) for name, column in _columns(machine, pairs, total).items()}
    ways = _ways(spots, pairs)
    scale = _place(spots, ways, pairs, total)
    last = max((one.column for one in spots.values()), default=0)
    names = [f"{title(name)} {n:,}" for name, n in total.items() if spots[name].column == last]
    room = 6 + LETTER * max(map(len, names), default=0)
    step = min(COLUMN, max(NARROW, int(WIDE - room) // max(last, 1)))
    bottom = max((one.y + one.height for one in spots.values()), default=0.0)
    nodes = [
        FlowNode(
            name,
            kinds.kind_of(machine, name),
            spots[name].column * step,
            round(spots[name].y, 1),
            round(spots[name].height, 1),
            n,
            f"/ui/instances?machine={quote(machine.name)}&state={quote(name)}",
        )
        for name, n in total.items()
    ]
    bands, lanes = _bands(machine, spots, ways, pairs, scale, bottom, step)
    sentence = f"Moves of {machine.title} between its states in {words}"
    return Flow(round(step * last + NODE + room), round(bottom + lanes + GAP, 1), nodes, bands, sentence)


def _ways(spots: dict[str, _Spot], pairs: Mapping[Pair, int]) -> dict[Pair, list[str]]:
    """The spots that each move to the right passes: one more in every column between, so that it covers no state."""
    found = {}
    for a, b in pairs:
        begin, end = spots[a].column, spots[b].column
        if begin < end:
            between = {f"\t{a}\t{b}\t{column}": _Spot(column) for column in range(begin + 1, end)}
            spots |= between
            found[a, b] = [a, *between, b]
    return found


def _columns(machine: Machine, pairs: Mapping[Pair, int], total: Mapping[str, int]) -> dict[str, int]:
    """The column of each state that took part: one further than what leads to it, loops left out."""
    ahead = {edge for edge in pairs if edge[0] != edge[1]}
    order = sorted(total, key=lambda name: (name != machine.initial, _declared(machine, name), name))
    loops: set[Pair] = set()
    seen: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        seen.add(name)
        leaving = [to for source, to in ahead if source == name]
        for to in sorted(leaving, key=lambda to: (-pairs[name, to], to)):
            if to in (*way, name):
                loops.add((name, to))
            elif to not in seen:
                visit(to, (*way, name))

    for name in order:
        if name not in seen:
            visit(name, ())
    column = dict.fromkeys(order, 0)
    for _ in order:  # as many rounds as the longest way can have
        for source, to in sorted(ahead - loops):
            column[to] = max(column[to], column[source] + 1)
    return column


def _declared(machine: Machine, name: str) -> int:
    names = list(machine.states)
    return names.index(name) if name in names else len(names)


def _place(
    spots: Mapping[str, _Spot],
    ways: Mapping[Pair, Sequence[str]],
    pairs: Mapping[Pair, int],
    total: Mapping[str, int],
) -> float:
    """Stack the spots of each column, near what leads to them; the pixels of one move."""
    many = dict(total)
    leading: dict[str, list[tuple[str, int]]] = {}
    for pair, way in ways.items():
        for before, after in pairwise(way):
            leading.setdefault(after, []).append((before, pairs[pair]))
            many.setdefault(after, pairs[pair])
    columns: dict[int, list[str]] = {}
    for name, spot in spots.items():
        columns.setdefault(spot.column, []).append(name)
    scale = TALL / max((sum(many[name] for name in names) for names in columns.values()), default=1)

    def middle(name: str) -> tuple[float, int]:
        known = leading.get(name, ())
        weight = sum(n for _, n in known)
        return (sum(spots[one].y * n for one, n in known) / weight if weight else 0.0), -many[name]

    for _, names in sorted(columns.items()):
        y = float(TOP)
        for name in sorted(names, key=middle):
            spot = spots[name]
            spot.y, spot.height = y, max(many[name] * scale, 3.0 if name in total else THIN)
            spot.left = spot.right = y
            y += spot.height + (GAP if name in total else GAP / 3)
    return scale


def _bands(
    machine: Machine,
    spots: Mapping[str, _Spot],
    ways: Mapping[Pair, Sequence[str]],
    pairs: Mapping[Pair, int],
    scale: float,
    bottom: float,
    step: int,
) -> tuple[list[Band], float]:
    """The bands, and the height of the lanes of moves back."""
    back = sorted((one for one in pairs if one not in ways), key=lambda one: (-pairs[one], one))
    found, lane = [], bottom + GAP / 2
    steps = [(pair, before, after) for pair, way in ways.items() for before, after in pairwise(way)]
    width_of = {pair: max(pairs[pair] * scale, THIN) for pair in ways}
    leaves: dict[tuple[Pair, str], float] = {}
    enters: dict[tuple[Pair, str], float] = {}
    for pair, before, after in sorted(steps, key=lambda one: (one[1], spots[one[2]].y)):
        leaves[pair, after] = spots[before].right + width_of[pair] / 2
        spots[before].right += width_of[pair]
    for pair, _, after in sorted(steps, key=lambda one: (one[2], spots[one[1]].y)):
        enters[pair, after] = spots[after].left + width_of[pair] / 2
        spots[after].left += width_of[pair]
    for (a, b), way in ways.items():
        path = ""
        for before, after in pairwise(way):
            x, x2 = float(spots[before].column * step + NODE), float(spots[after].column * step)
            y, y2, half = leaves[(a, b), after], enters[(a, b), after], (x2 - x) / 2
            path += f"{'L' if path else 'M'}{x:.0f} {y:.1f}C{x + half:.0f} {y:.1f} "
            path += f"{x2 - half:.0f} {y2:.1f} {x2:.0f} {y2:.1f}"
        found.append(_band(machine, a, b, pairs[a, b], path, width_of[a, b]))
    for a, b in back:
        width = min(max(pairs[a, b] * scale, THIN), 12.0)
        x, y = spots[a].column * step + NODE / 2, spots[a].y + spots[a].height
        x2, y2 = spots[b].column * step + NODE / 2, spots[b].y + spots[b].height
        lane += width / 2
        aside = 0 if x2 < x else 26  # a state that is entered again from itself or its own column: around its side
        path = (
            f"M{x} {y:.1f}C{x} {lane:.1f} {x} {lane:.1f} {x - 14 + aside} {lane:.1f}"
            f"H{x2 + 14 - aside}C{x2} {lane:.1f} {x2} {lane:.1f} {x2} {y2:.1f}"
        )
        lane += width / 2 + LANE
        found.append(_band(machine, a, b, pairs[a, b], path, width, back=True))
    return found, lane - bottom if back else 0.0


def _band(machine: Machine, a: str, b: str, n: int, path: str, width: float, *, back: bool = False) -> Band:
    said = f"{n:,} from {title(a)} {'back ' if back else ''}to {title(b)}"
    return Band(f"{a}-{b}", path, round(width, 1), kinds.kind_of(machine, b), back, said)
