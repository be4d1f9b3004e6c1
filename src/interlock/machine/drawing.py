"""A machine as a table for a terminal, as Mermaid, and as JSON for other tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlock.machine.definition import Machine
from interlock.machine.states import Kind


def as_json(machine: Machine, version: int = 1) -> dict[str, Any]:
    """The machine as plain values, with one row for each pair of states."""
    return {
        "name": machine.name,
        "version": version,
        "initial": machine.initial,
        "created_through": machine.created_through,
        "states": [{"name": s.name, "kind": s.kind.value} for s in machine.states.values()],
        "transitions": [
            {"from": e.source, "to": e.to, "event": e.on, "by": sorted(by.value for by in e.by)} for e in machine.edges
        ],
    }


def as_mermaid(machine: Machine) -> str:
    """A Mermaid state diagram."""
    lines = ["stateDiagram-v2", f"    [*] --> {machine.initial}"]
    lines += [f"    {e.source} --> {e.to}: {e.on}" for e in machine.edges]
    lines += [f"    {s.name} --> [*]" for s in machine.states.values() if s.kind is Kind.FINAL]
    for s in machine.states.values():
        if s.kind is not Kind.WORK:
            lines.append(f"    class {s.name} {s.kind.value}")
    lines += [
        "    classDef waiting stroke-dasharray: 4 3",
        "    classDef failed stroke: #b3261e",
        "    classDef final stroke-width: 3px",
    ]
    return "\n".join(lines) + "\n"


def as_table(machine: Machine, version: int = 1) -> str:
    """Plain text: the states with their kinds, then a row for each transition and arm."""
    states = [(s.name, s.kind.value, s.waits_for) for s in machine.states.values()]
    moves = [
        (e.source, e.to, e.on, ", ".join(sorted(by.value for by in e.by)), e.guard.__name__ if e.guard else "")
        for e in machine.edges
    ]
    moves += [
        (
            a.state,
            "(runs its work)",
            a.on,
            ", ".join(sorted(by.value for by in a.by)),
            a.guard.__name__ if a.guard else "",
        )
        for a in machine.arms
    ]
    made = f"; created through {machine.created_through} only" if machine.created_through else ""
    head = f"{machine.name}, version {version}: starts in {machine.initial}{made}\n"
    return "\n".join(
        [head, columns(("state", "kind", "waits for"), states), columns(("from", "to", "event", "by", "if"), moves)]
    )


def columns(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Rows under a header, in columns as wide as they need. A name of a column may have several lines."""
    parts = [name.split("\n") for name in header]
    tall = max(map(len, parts), default=1)
    heads = [tuple(part[n - tall + len(part)] if n >= tall - len(part) else "" for part in parts) for n in range(tall)]
    widths = [max(len(row[i]) for row in [*heads, *rows]) for i in range(len(header))]

    def line(row: tuple[str, ...]) -> str:
        return "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()

    return "\n".join([*map(line, heads), line(tuple("-" * width for width in widths)), *map(line, rows)]) + "\n"
