"""Diagrams for templates: the geometry of a machine, with what is true of each state and line now."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from interlock.dashboard import kinds, words
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
    """A state as it is drawn."""

    name: str
    box: Box
    kind: str
    href: str
    classes: str
    title: str
    """What a pointer and a screen reader are told."""
    below: str = ""
    """The line below the name: how many, how long."""

    @property
    def left(self) -> float:
        return self.box.x - self.box.width / 2

    @property
    def top(self) -> float:
        return self.box.y - self.box.height / 2


@dataclass(frozen=True, slots=True)
class Way:
    """A line as it is drawn."""

    key: str
    path: str
    classes: str
    head: str
    """The arrow head at its end, and the one at its beginning; empty for none."""
    tail: str
    title: str
    label: str
    at: Point | None
    far: bool
    """Whether its words are left out on a phone."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A whole diagram, for the macro `diagram`."""

    width: float
    height: float
    nodes: Sequence[Node]
    ways: Sequence[Way]
    sentence: str
    """What it shows, for those who cannot see it."""


def for_machine(
    machine: Machine, counts: Mapping[str, int], dwell: Mapping[str, Micros], stuck: Mapping[str, Micros] | None = None
) -> Picture:
    """Every state with how many are there and how long they usually stay; `stuck`: where one is longer, since when."""
    laid, late = lay_out(machine), stuck or {}
    nodes = []
    for name, box in laid.nodes.items():
        kind, n = kinds.kind_of(machine, name), counts.get(name, 0)
        usual = None if machine.states[name].kind is Kind.FINAL else dwell.get(name)
        told = f"{words.title(name)}, {kinds.WORDS[kind]}: {n:,} now"
        told += f", usually for {words.length(usual)}" if usual is not None else ""
        told += f"; one is there for {words.length(late[name])}, longer than usual" if name in late else ""
        below = _many(n)
        if name in late:
            below += f" · stuck {_brief(late[name])}"
        elif usual is not None:
            below += f" · {_brief(usual)}"
        classes = f"n-{kind}" + (" quiet" if not n else "") + (" stuck" if name in late else "")
        nodes.append(Node(name, box, kind, _instances(machine, name), classes, told, below))
    ways = [_way(machine, line, f"e-{line.role}", line.role, line.role, far=False) for line in laid.lines]
    sentence = f"The states of {machine.title} and the ways between them, with how many are in each now"
    return Picture(laid.width, laid.height, nodes, ways, sentence)


def for_instance(machine: Machine, history_rows: Iterable[Any], instance: Instance) -> Picture:
    """Where one instance is, the way it came (rows of its history), and where it can go from there.

    The first picture of a life cycle takes up to a second; after that it is known. So call it in a thread.
    """
    rows = list(history_rows)
    visited = {row.to_state for row in rows if row.to_state} | {row.from_state for row in rows if row.from_state}
    taken = {(row.from_state, row.to_state) for row in rows if row.from_state and row.to_state}
    known = instance.state in machine.states  # a state of an older version is not on the picture
    onward = {(instance.state, way.to) for way in allowed(instance, machine) if way.to} if known else set()
    return picture(machine, visited=visited, taken=taken, present=instance.state, onward=onward)


def picture(
    machine: Machine, *, visited: Collection[str], taken: Collection[Pair], present: str, onward: Collection[Pair] = ()
) -> Picture:
    """A machine with a path on it: where it was, the lines it took, where it is, and where it can go."""
    laid = lay_out(machine, tall=False)
    nodes = []
    for name, box in laid.nodes.items():
        kind, here = kinds.kind_of(machine, name), name == present
        on = here or name in visited
        classes = f"n-{kind}" if on else "off"
        told = f"{words.title(name)}, {kinds.WORDS[kind]}" + (": it is here" if here else ", visited" if on else "")
        nodes.append(Node(name, box, kind, _instances(machine, name), classes + (" here" if here else ""), told))
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
    # What was taken lies on top of what was not.
    order = {"faint": 0, "next": 1, "taken": 2}
    ways.sort(key=lambda way: order[way.classes.rpartition(" ")[2]])
    sentence = f"Where it is among the states of {machine.title}: {words.title(present)}"
    return Picture(laid.width, laid.height, nodes, ways, sentence)


def _instances(machine: Machine, state: str) -> str:
    return f"/ui/instances?machine={quote(machine.name)}&state={quote(state)}"


def _way(machine: Machine, line: Line, classes: str, head: str, tail: str, *, far: bool) -> Way:
    title = "; ".join(told(edge) for edge in (*line.there, *line.back))
    at = Point(line.label_box.x, line.label_box.y) if line.label_box else None
    key = f"{line.source}-{line.target}"
    return Way(key, rounded(line.points), classes, head, tail if line.both else "", title, line.label, at, far)


def told(edge: Edge) -> str:
    """A transition in words: from, to, on what, by whom."""
    who = " or ".join(who_may(edge.by))
    return f"{words.title(edge.source)} → {words.title(edge.to)}: {words.title(edge.on)}, by {who}"


def who_may(by: Iterable[Any]) -> list[str]:
    """Whoever may fire it, in words."""
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
    """The condition of a transition, by the name of its guard."""
    return "" if guard is None else words.title(guard.__name__).replace("(", " ").replace(")", "")


def rounded(points: Sequence[Point]) -> str:
    """An SVG path along the points, with round bends."""
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
    """A length in its biggest unit: a state is narrow."""
    text = words.length(micros).split(" ")
    return " ".join(text[:2])


def _many(n: int) -> str:
    return f"{n / 1_000_000:.1f} M" if n >= 1_000_000 else f"{n:,}"
