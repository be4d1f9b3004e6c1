"""Diagrams for templates: a machine's layout, with the current figures of each state and transition."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from interlock.dashboard import formatting, kinds
from interlock.engine.firing import allowed
from interlock.engine.instance import Instance
from interlock.machine import Guard, Kind, Machine
from interlock.machine.diagram import Box, Line, Point, lay_out
from interlock.machine.transitions import Edge
from interlock.store import Micros

ROUND = 9
"""The radius of a bend."""
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Node:
    """A state in a diagram."""

    name: str
    box: Box
    kind: str
    href: str
    classes: str
    title: str
    """The tooltip, also read by screen readers."""
    below: str = ""
    """The line below the name: count and duration."""

    @property
    def left(self) -> float:
        return self.box.x - self.box.width / 2

    @property
    def top(self) -> float:
        return self.box.y - self.box.height / 2


@dataclass(frozen=True, slots=True)
class Way:
    """A transition in a diagram."""

    key: str
    path: str
    classes: str
    head: str
    """The arrow heads at its end and its beginning; empty for none."""
    tail: str
    title: str
    label: str
    at: Point | None
    far: bool
    """Whether its label is hidden on narrow screens."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A whole diagram, for the macro `diagram`."""

    width: float
    height: float
    nodes: Sequence[Node]
    ways: Sequence[Way]
    sentence: str
    """The description for screen readers."""


def for_machine(
    machine: Machine, counts: Mapping[str, int], dwell: Mapping[str, Micros], stuck: Mapping[str, Micros] | None = None
) -> Picture:
    """Every state with its count and usual duration. `stuck` gives the states with an unusually late instance."""
    laid, late = lay_out(machine), stuck or {}
    nodes = []
    for name, box in laid.nodes.items():
        kind, n = kinds.kind_of(machine, name), counts.get(name, 0)
        usual = None if machine.states[name].kind is Kind.FINAL else dwell.get(name)
        title = f"{formatting.title(name)}, {kinds.WORDS[kind]}: {n:,} now"
        title += f", usually {formatting.duration(usual)}" if usual is not None else ""
        title += f"; one for {formatting.duration(late[name])}, longer than usual" if name in late else ""
        below = _many(n)
        if name in late:
            below += f" · stuck {_brief(late[name])}"
        elif usual is not None:
            below += f" · {_brief(usual)}"
        classes = f"n-{kind}" + (" quiet" if not n else "") + (" stuck" if name in late else "")
        nodes.append(Node(name, box, kind, _instances(machine, name), classes, title, below))
    ways = [_way(machine, line, f"e-{line.role}", line.role, line.role, far=False) for line in laid.lines]
    sentence = f"States and transitions of {machine.title}, with the number of instances in each state"
    return Picture(laid.width, laid.height, nodes, ways, sentence)


def for_instance(machine: Machine, history_rows: Iterable[Any], instance: Instance) -> Picture:
    """The path of one instance through its machine, and where it can go next.

    Computing a machine's first layout takes up to a second, later ones are cached. Call it in a thread.
    """
    rows = list(history_rows)
    visited = {row.to_state for row in rows if row.to_state} | {row.from_state for row in rows if row.from_state}
    taken = {(row.from_state, row.to_state) for row in rows if row.from_state and row.to_state}
    known = instance.state in machine.states  # a state of an older version is not in the diagram
    onward = {(instance.state, way.to) for way in allowed(instance, machine) if way.to} if known else set()
    return picture(machine, visited=visited, taken=taken, present=instance.state, onward=onward)


def picture(
    machine: Machine, *, visited: Collection[str], taken: Collection[Pair], present: str, onward: Collection[Pair] = ()
) -> Picture:
    """A machine with a path: visited states, taken transitions, the current state and possible next moves."""
    laid = lay_out(machine, tall=False)
    nodes = []
    for name, box in laid.nodes.items():
        kind, here = kinds.kind_of(machine, name), name == present
        on = here or name in visited
        classes = f"n-{kind}" if on else "off"
        title = f"{formatting.title(name)}, {kinds.WORDS[kind]}" + (
            ": current state" if here else ", visited" if on else ""
        )
        nodes.append(Node(name, box, kind, _instances(machine, name), classes + (" here" if here else ""), title))
    ways = []
    for line in laid.lines:
        there, back = (line.source, line.target), (line.target, line.source)
        role, far = line.role, present not in there
        if there in taken or back in taken:
            classes = "taken"
            head = "taken" if there in taken else ""
            tail = "taken" if line.both and back in taken else ""
        elif there in onward or back in onward:
            classes = f"e-{role} next"
            head = role if there in onward else ""
            tail = role if line.both and back in onward else ""
        else:
            classes, head, tail = "faint", "faint", "faint" if line.both else ""
        ways.append(_way(machine, line, classes, head, tail if line.both else "", far=far))
    # Taken transitions are drawn last, on top of the others.
    order = {"faint": 0, "next": 1, "taken": 2}
    ways.sort(key=lambda way: order[way.classes.rpartition(" ")[2]])
    sentence = f"States of {machine.title}, currently in {formatting.title(present)}"
    return Picture(laid.width, laid.height, nodes, ways, sentence)


def _instances(machine: Machine, state: str) -> str:
    return f"/ui/instances?machine={quote(machine.name)}&state={quote(state)}"


def _way(machine: Machine, line: Line, classes: str, head: str, tail: str, *, far: bool) -> Way:
    title = "; ".join(describe(edge) for edge in (*line.there, *line.back))
    at = Point(line.label_box.x, line.label_box.y) if line.label_box else None
    key = f"{line.source}-{line.target}"
    return Way(key, rounded(line.points), classes, head, tail if line.both else "", title, line.label, at, far)


def describe(edge: Edge) -> str:
    """Describe a transition: from, to, event and actors."""
    who = " or ".join(who_may(edge.by))
    return f"{formatting.title(edge.source)} → {formatting.title(edge.to)}: {formatting.title(edge.on)}, by {who}"


def who_may(by: Iterable[Any]) -> list[str]:
    """The actors that may fire it."""
    named = {
        "worker": "a worker",
        "system": "the system",
        "user": "a person",
        "owner": "an owner",
        "agent": "an agent",
    }
    found = {str(one) for one in by}
    return [named[one] for one in named if one in found and not (one == "owner" and "user" in found)]


def only_if(guard: Guard | None) -> str:
    """The condition of a transition, from its guard's name."""
    return "" if guard is None else formatting.title(guard.__name__).replace("(", " ").replace(")", "")


def rounded(points: Sequence[Point]) -> str:
    """An SVG path along the points, with rounded bends."""
    parts = [f"M{points[0].x:g} {points[0].y:g}"]
    for before, bend, after in zip(points, points[1:], points[2:], strict=False):
        radius = min(ROUND, _far(before, bend) / 2, _far(bend, after) / 2)
        start, end = _toward(bend, before, radius), _toward(bend, after, radius)
        parts.append(f"L{start.x:g} {start.y:g}Q{bend.x:g} {bend.y:g} {end.x:g} {end.y:g}")
    parts.append(f"L{points[-1].x:g} {points[-1].y:g}")
    return "".join(parts)


def _far(a: Point, b: Point) -> float:
    return float(((a.x - b.x) ** 2 + (a.y - b.y) ** 2) ** 0.5)


def _toward(a: Point, b: Point, by: float) -> Point:
    whole = _far(a, b) or 1
    return Point(round(a.x + (b.x - a.x) * by / whole, 1), round(a.y + (b.y - a.y) * by / whole, 1))


def _brief(micros: Micros) -> str:
    """A duration in its largest unit, because states are narrow."""
    text = formatting.duration(micros).split(" ")
    return " ".join(text[:2])


def _many(n: int) -> str:
    return f"{n / 1_000_000:.1f} M" if n >= 1_000_000 else f"{n:,}"
