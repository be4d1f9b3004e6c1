"""A machine as a picture: the place of each state and the route of each line, as plain numbers.

A picture is made once for a life cycle and cached by its digest. Two rules keep it readable. Two states with
transitions in both directions have one line with two heads. A line that leads back to an earlier state is laid out in
reverse, so that the first state stays on top.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple
from weakref import WeakKeyDictionary

from interlock.machine.definition import Machine
from interlock.machine.extras import require
from interlock.machine.states import Kind, Timer
from interlock.machine.transitions import PEOPLE, By, Edge

Role = Literal["main", "person", "timer", "fail", "retry"]
RANK: dict[Role, int] = {"main": 0, "person": 1, "timer": 1, "fail": 2, "retry": 3}
TALL, LOW = 46, 34
"""The height of a state with its numbers, and without."""
NARROWEST = {TALL: 116.0, LOW: 92.0}
LETTER, SMALL_LETTER = 7.2, 6.0
"""Estimated widths of letters: the reader's font is unknown."""
LABEL_HEIGHT = 14
MARGIN = 8
SPACINGS = (1.0, 1.2, 1.4, 1.7, 2.0)
MANY_LINES = 60
"""With more lines than this, only one spacing is tried: each try takes about a second."""
LABEL_GAP = 4


class Point(NamedTuple):
    """A place in the picture, in pixels from its upper left corner."""

    x: float
    y: float


class Box(NamedTuple):
    """A rectangle, given by its centre."""

    x: float
    y: float
    width: float
    height: float

    def meets(self, other: Box, gap: float = 0) -> bool:
        return (
            abs(self.x - other.x) * 2 < self.width + other.width + 2 * gap
            and abs(self.y - other.y) * 2 < self.height + other.height + 2 * gap
        )


@dataclass(frozen=True, slots=True)
class Line:
    """A line between two states, for one direction or for both."""

    source: str
    target: str
    there: tuple[Edge, ...]
    back: tuple[Edge, ...]
    role: Role
    label: str
    points: tuple[Point, ...] = ()
    label_box: Box | None = None
    """None where another line into the same state has the same label."""

    @property
    def both(self) -> bool:
        return bool(self.back)


@dataclass(frozen=True, slots=True)
class Diagram:
    """Boxes for states and lines between them."""

    width: float
    height: float
    nodes: dict[str, Box]
    lines: tuple[Line, ...]
    metrics: dict[str, Any] = field(default_factory=dict, compare=False)
    """Figures from the layout library: crossings, lines through states, overlapping labels."""


# -- lines


def role_of(machine: Machine, edge: Edge) -> Role:
    """How a transition is drawn: forward, by a person, by a timer, into failure, or a retry."""
    if machine.states[edge.source].kind is Kind.FAILED:
        return "retry" if machine.states[edge.to].kind is not Kind.FINAL else "fail"
    if machine.states[edge.to].kind is Kind.FAILED:
        return "fail"
    if By.WORKER in edge.by:
        return "main"
    if edge.by & PEOPLE:
        return "person"
    return "timer" if timer_of(machine, edge) or edge.by == {By.SYSTEM} else "main"


def timer_of(machine: Machine, edge: Edge) -> Timer | None:
    """The timer of the state that takes this transition."""
    timers = machine.states[edge.source].ordered_timers
    return next((t for t in timers if isinstance(t, Timer) and t.fire == edge.on), None)


def _after(timer: Timer) -> str:
    seconds = int(timer.after.total_seconds())
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size and seconds % size == 0 and (size < 86_400 or seconds > 172_800):
            return f"{seconds // size} {name}"
    return f"{seconds} s"


def _words(machine: Machine, edge: Edge) -> str:
    timer, event = timer_of(machine, edge), edge.on.replace("_", " ")
    return event if timer is None else f"{event} · {_after(timer)}"


def _label(machine: Machine, edges: Iterable[Edge]) -> str:
    return " · ".join(dict.fromkeys(_words(machine, edge) for edge in edges))


def lines_of(machine: Machine) -> list[Line]:
    """One line for each pair of states that transitions connect."""
    found: dict[tuple[str, str], Line] = {}
    for edge in machine.edges:
        pair, other = (edge.source, edge.to), (edge.to, edge.source)
        role = role_of(machine, edge)
        if pair in found:
            old = found[pair]
            better = min(old.role, role, key=RANK.__getitem__)
            found[pair] = replace(old, there=(*old.there, edge), role=better)
        elif other in found:
            old = found[other]
            found[other] = replace(old, back=(*old.back, edge))
        else:
            found[pair] = Line(*pair, there=(edge,), back=(), role=role, label="")
    return [replace(line, label=_both(machine, line)) for line in found.values()]


def _both(machine: Machine, line: Line) -> str:
    there, back = _label(machine, line.there), _label(machine, line.back)
    return f"{there} ⇄ {back}" if back and back != there else there


def backward(initial: str, lines: Sequence[Line]) -> set[int]:
    """The lines that lead back to an earlier state. The main path is walked first."""
    back: set[int] = set()
    path: set[str] = set()
    seen: set[str] = set()

    def visit(state: str) -> None:
        seen.add(state)
        path.add(state)
        outgoing = [(i, line) for i, line in enumerate(lines) if line.source == state != line.target]
        for i, line in sorted(outgoing, key=lambda pair: RANK[pair[1].role]):
            if line.target in path:
                back.add(i)
            elif line.target not in seen:
                visit(line.target)
        for i, line in enumerate(lines):  # the second direction of a line may be the only way to its source
            if line.both and line.target == state and line.source not in seen:
                back.add(i)
                visit(line.source)
        path.discard(state)

    visit(initial)
    for state in dict.fromkeys(line.source for line in lines):
        if state not in seen:  # only a forced move leads there
            visit(state)
    return back


# -- layout


_DIGESTS: WeakKeyDictionary[Machine, str] = WeakKeyDictionary()
_CACHE: dict[tuple[str, bool], Diagram] = {}
MAX_CACHED = 500


def lay_out(machine: Machine, *, tall: bool = True) -> Diagram:
    """The machine's diagram, from top to bottom; `tall` leaves room for numbers below the names."""
    digest = _DIGESTS.get(machine)
    if digest is None:
        digest = _DIGESTS[machine] = machine.digest()
    found = _CACHE.get((digest, tall))
    if found is None:
        found = _best_layout(machine, TALL if tall else LOW)
        if len(_CACHE) >= MAX_CACHED:
            _CACHE.clear()
        _CACHE[digest, tall] = found
    return found


def _best_layout(machine: Machine, height: int) -> Diagram:
    """The tightest layout without overlaps; if there is none, the one with the fewest faults."""
    lines = lines_of(machine)
    named = _labelled(lines)
    best: tuple[float, Diagram] | None = None
    for room in SPACINGS if len(lines) <= MANY_LINES else (1.4,):
        made = _place(machine, lines, named, height, room)
        faults = _faults(made)
        if best is None or faults < best[0]:
            best = faults, made
        if not faults:
            break
    assert best is not None
    return best[1]


def _labelled(lines: Sequence[Line]) -> list[bool]:
    """Whether each line gets its label. Of three or more lines with one label into one state, only the first does."""
    total = Counter((line.label, line.target) for line in lines)
    met: Counter[tuple[str, str]] = Counter()
    named = []
    for line in lines:
        key = line.label, line.target
        met[key] += 1
        named.append(total[key] < 3 or met[key] == 1)
    return named


def _place(machine: Machine, lines: Sequence[Line], named: Sequence[bool], height: int, room: float) -> Diagram:
    require("service", "graphlay")
    import graphlay  # imported nowhere else

    graph = graphlay.Graph()
    for name in machine.states:
        graph.node(name, width=max(NARROWEST[height], LETTER * len(name) + 44), height=height)
    back = backward(machine.initial, lines)
    for i, line in enumerate(lines):
        source, target = (line.target, line.source) if i in back else (line.source, line.target)
        sized = {"label_size": {"width": _width(line.label), "height": LABEL_HEIGHT}} if named[i] else {}
        graph.edge(source, target, weight=8.0 if line.role == "main" else 1.0, **sized)
    out = graphlay.layout(
        graph,
        options={
            "direction": "topbottom",
            "effort": "thorough",
            "labels": {"reservation": "when_needed"},
            "spacing": {
                "layer_gap": 40 * room,
                "node_gap": 34 * room,
                "dummy_gap": 22 * room,
                "edge_label_margin": 10,
                "stub": 12,
            },
        },
    )
    nodes = {
        name: Box(n["center"]["x"], n["center"]["y"], n["size"]["width"], n["size"]["height"])
        for name, n in zip(machine.states, out.nodes, strict=True)
    }
    drawn = []
    for i, (line, route) in enumerate(zip(lines, out.edges, strict=True)):
        points = [Point(p["x"], p["y"]) for p in route["points"]]
        at = route.get("label_anchor")
        box = Box(at["x"], at["y"], _width(line.label), LABEL_HEIGHT) if named[i] and at else None
        if box is not None and line.source == line.target:  # the library places these labels on top of the state
            side = -1 if points[1].x < nodes[line.source].x else 1
            box = box._replace(x=points[1].x + side * (box.width / 2 + 4))
        drawn.append(replace(line, points=tuple(points[::-1] if i in back else points), label_box=box))
    return _shifted(nodes, drawn, out.metrics())


def _width(label: str) -> float:
    return SMALL_LETTER * len(label) + 6


def _shifted(nodes: dict[str, Box], lines: Sequence[Line], metrics: dict[str, Any]) -> Diagram:
    """Everything shifted so that the picture starts at (0, 0), with a margin for arrow heads."""
    boxes = [*nodes.values(), *(line.label_box for line in lines if line.label_box)]
    corners = [Point(b.x + s * b.width / 2, b.y + s * b.height / 2) for b in boxes for s in (-1, 1)]
    corners += [p for line in lines for p in line.points]
    left, top = min(p.x for p in corners) - MARGIN, min(p.y for p in corners) - MARGIN
    width, height = max(p.x for p in corners) + MARGIN - left, max(p.y for p in corners) + MARGIN - top
    return Diagram(
        round(width, 1),
        round(height, 1),
        {name: b._replace(x=round(b.x - left, 1), y=round(b.y - top, 1)) for name, b in nodes.items()},
        tuple(
            replace(
                line,
                points=tuple(Point(round(p.x - left, 1), round(p.y - top, 1)) for p in line.points),
                label_box=line.label_box
                and line.label_box._replace(x=round(line.label_box.x - left, 1), y=round(line.label_box.y - top, 1)),
            )
            for line in lines
        ),
        metrics,
    )


# -- quality of a layout


def _faults(diagram: Diagram) -> float:
    """How bad a layout is; 0 is without faults."""
    boxes = [line.label_box for line in diagram.lines if line.label_box]
    clashes = sum(a.meets(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
    clashes += sum(a.meets(node) for a in boxes for node in diagram.nodes.values())
    through = sum(crosses(line, name, node) for line in diagram.lines for name, node in diagram.nodes.items())
    return 10 * through + 3 * clashes + sum(label_is_off(line) for line in diagram.lines)


def crosses(line: Line, name: str, node: Box) -> bool:
    """Whether a line runs through a state that is not one of its ends."""
    if name in {line.source, line.target}:
        return False
    return any(
        Box((a.x + b.x) / 2, (a.y + b.y) / 2, abs(a.x - b.x), abs(a.y - b.y)).meets(node)
        for a, b in zip(line.points, line.points[1:], strict=False)
    )


def label_is_off(line: Line) -> bool:
    """Whether the label of a line is too far from it."""
    box = line.label_box
    if box is None:
        return False
    return not any(
        Box((a.x + b.x) / 2, (a.y + b.y) / 2, abs(a.x - b.x), abs(a.y - b.y)).meets(box, LABEL_GAP)
        for a, b in zip(line.points, line.points[1:], strict=False)
    )


__all__ = ["Box", "Diagram", "Line", "Point", "Role", "lay_out", "lines_of", "role_of", "timer_of"]
