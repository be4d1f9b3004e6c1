"""Computes how an instance changes under another version of its machine: its state, data and timers.

It writes nothing. Planning and applying use the same functions, so a plan cannot differ from what is done.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pydantic
import sqlalchemy as sa

from interlock.engine import moves
from interlock.engine.error_details import message_of
from interlock.engine.errors import EngineError, InvalidData, NotFound
from interlock.engine.instance import Instance
from interlock.engine.last_resort import deferred_crash
from interlock.engine.text import canonical, shortened
from interlock.engine.values import alike, readable
from interlock.machine import SYSTEM, Kind, Machine, Reminder, Timer
from interlock.store import Micros, span
from interlock.store import tables as t

D, R = t.definition, t.review
Dated = tuple[str, int, str]
"""A timer in the specification of a version: Timer or Reminder, seconds, event."""


class Unfit(EngineError):
    """The instance cannot be moved to the other version. It stays as it is."""

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason = reason
        """Equal for all instances with the same problem."""
        super().__init__(detail or reason)


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a machine in the database."""

    number: int
    digest: str
    spec: Mapping[str, Any]
    kinds: Mapping[str, str]
    registered_at: Micros

    def timers(self, state: str) -> list[Dated]:
        timers = [timer for one in self.spec["states"] if one["name"] == state for timer in one["timers"]]
        return sorted(((kind, after, fire) for kind, after, fire in timers), key=lambda timer: timer[1])


def versions(conn: sa.Connection, machine: str) -> dict[int, Version]:
    """All versions of a machine in the database, by number."""
    rows = conn.execute(sa.select(D).where(D.c.machine == machine).order_by(D.c.version))
    found = {}
    for row in rows:
        spec = readable(row.spec)
        try:
            kinds = {state["name"]: state["kind"] for state in spec["states"]}
        except (KeyError, TypeError):  # edited by hand: it cannot be used
            continue
        found[row.version] = Version(row.version, row.digest, spec, kinds, row.registered_at)
    return found


@dataclass(frozen=True, slots=True)
class Route:
    """The versions to leave, the version to reach, and the states that are renamed."""

    machine: Machine
    to: Version
    current: bool
    """Whether the code here declares the version to reach: then its upgrades apply."""
    sources: Mapping[int, Version]
    renamed: Mapping[str, str]
    workspace: str | None = None

    def __post_init__(self) -> None:
        known = {state for source in self.sources.values() for state in source.kinds}
        for old, new in self.renamed.items():
            if self.sources and old not in known:
                raise NotFound(
                    f"none of the versions to leave has a state {old!r}; they have {', '.join(sorted(known))}"
                )
            if new not in self.to.kinds:
                raise NotFound(f"version {self.to.number} has no state {new!r}; it has {', '.join(self.to.kinds)}")

    def target_state(self, source: Version, state: str) -> str:
        """The state that instances in this state go to. Raises Unfit if it is unknown."""
        to = self.renamed.get(state, state)
        if to not in self.to.kinds:
            raise Unfit(f"state {state!r} is gone; say where its instances go with --map {state}=…")
        was, is_ = source.kinds[state], self.to.kinds[to]
        if was != is_ and state not in self.renamed:
            raise Unfit(f"state {state!r} was {was} and is {is_}; say that this is meant with --map {state}={to}")
        return to

    def step(self, name: str) -> str:
        """The name of a step in the other version."""
        # The longest first: states of old versions may contain a colon.
        for old in sorted(self.renamed, key=len, reverse=True):
            if name == old or name.startswith(f"{old}:"):
                return self.renamed[old] + name[len(old) :]
        return name


@dataclass(frozen=True, slots=True)
class Adapted:
    """An instance under the other version."""

    state: str
    enters: bool
    """Whether it enters the state again, because its kind changed. Otherwise it goes on."""
    data: dict[str, Any]
    sets: Mapping[str, Any]
    gone: Sequence[str]
    timer: tuple[int, Micros | None] | None = None
    """The number and the time of its next timer; None if that is unchanged."""
    timers: str = ""
    """How the timers changed, in words."""


def adapt(route: Route, instance: Instance) -> Adapted:
    """The instance under the other version. Raises Unfit if it cannot be moved."""
    source = route.sources[instance.version]
    state = route.target_state(source, instance.state)
    data = _data(route, source, instance)
    before = instance.data
    sets = {name: value for name, value in data.items() if name not in before or not alike(before[name], value)}
    gone = sorted(name for name in before if name not in data)
    enters = source.kinds[instance.state] != route.to.kinds[state]
    if enters:
        return Adapted(state, True, data, sets, gone)
    _can_go_on(route.machine, instance, state)
    return Adapted(state, False, data, sets, gone, *_timer(route.machine, instance, source, state))


def _data(route: Route, source: Version, instance: Instance) -> dict[str, Any]:
    upgrade = route.machine.upgrade_from(source.number, source.digest) if route.current else None
    data: Any = instance.data
    if upgrade is not None:
        try:
            data = upgrade(json.loads(canonical(data)))  # a copy, which the function may change
        except Exception as error:
            said = shortened(message_of(error), 300)
            raise Unfit(
                f"the upgrade of its data failed: {type(error).__name__}", f"{type(error).__name__}: {said}"
            ) from error
        if not isinstance(data, Mapping):
            raise Unfit(f"the upgrade of its data gave {type(data).__name__} instead of a mapping")
    try:
        return moves.validated(route.machine, data)
    except InvalidData as error:
        raise Unfit(_shape(error), str(error)) from error


def _shape(error: InvalidData) -> str:
    """Which fields do not fit and why, without their values."""
    cause = error.__cause__
    if not isinstance(cause, pydantic.ValidationError):
        return "the data cannot be kept as JSON"
    places = sorted({f"{'.'.join(map(str, e['loc'])) or 'data'}: {e['msg']}" for e in cause.errors()})
    return f"the data does not fit: {'; '.join(places)}"


def _can_go_on(machine: Machine, instance: Instance, state: str) -> None:
    """Raise Unfit if what it waits for no longer exists."""
    event = instance.due_event if deferred_crash(instance) is None else None
    if event and not any(SYSTEM in edge.by for edge in machine.edges_on(state, event)):
        raise Unfit(f"it is to be resumed with {instance.due_event!r}, which the system cannot fire in {state!r}")
    ready = instance.wake in {"work", "blocked"} or instance.paused_wake == "work"
    if ready and machine.states[state].kind is not Kind.WORK and not machine.runs_when_armed(state):
        raise Unfit(f"its work was started by an event, and {state!r} has no such work any more")


def _timer(
    machine: Machine, instance: Instance, source: Version, state: str
) -> tuple[tuple[int, Micros | None] | None, str]:
    """The next of the new timers. Those that have fired do not fire again."""
    old = source.timers(instance.state)
    timers = machine.states[state].ordered_timers
    new = [(type(timer).__name__, int(timer.after.total_seconds()), getattr(timer, "fire", "")) for timer in timers]
    if old == new or instance.finished_at is not None:
        return None, ""
    passed = old[min(instance.timer_no, len(old)) - 1][1] if instance.timer_no and old else -1
    number = next(
        (n for n, timer in enumerate(timers) if isinstance(timer, Timer) or timer.after.total_seconds() > passed),
        len(timers),
    )
    at = instance.entered_at + span(timers[number].after) if number < len(timers) else None
    return (number, at), f"{_listed(old)} → {_listed(new)}"


def _listed(timers: Sequence[Dated]) -> str:
    return (
        ", ".join(
            f"{'reminder' if kind == Reminder.__name__ else fire} after {_length(after)}"
            for kind, after, fire in timers
        )
        or "none"
    )


def _length(seconds: int) -> str:
    for size, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds // size} {name}"
    return f"{seconds} s"


# -- reviews


@dataclass(frozen=True, slots=True)
class ReviewChange:
    """A change of the state's review: opened, closed or reworded."""

    what: str
    review: sa.Row[Any] | None
    values: Mapping[str, Any]


WORDING = ("name", "state", "title", "role", "form", "decisions", "settles", "due_at")


def reviews_of(conn: sa.Connection, instances: Iterable[Instance]) -> dict[Any, list[sa.Row[Any]]]:
    """Reviews that states have opened, by instance."""
    found: dict[Any, list[sa.Row[Any]]] = {}
    ids = [instance.id for instance in instances]
    if ids:
        for row in conn.execute(sa.select(R).where(R.c.instance_id.in_(ids), R.c.state.is_not(None))):
            found.setdefault(row.instance_id, []).append(row)
    return found


def review_changes(
    machine: Machine, instance: Instance, adapted: Adapted, reviews: Sequence[sa.Row[Any]], now: Micros
) -> list[ReviewChange]:
    """How the state's review changes, for an instance that goes on in its state."""
    declared = machine.states[adapted.state].review
    open_ = [row for row in reviews if row.status == "open"]
    if declared is None:
        return [ReviewChange("closed", row, {"status": "closed", "decided_at": now}) for row in open_]
    if not open_:
        # A review that was decided, or closed by armed work, is not opened again.
        over = any(row.state == instance.state and row.opened_at >= instance.entered_at for row in reviews)
        started = instance.wake in {"work", "blocked"} or instance.paused_wake == "work"
        return [] if over or started or instance.finished_at is not None else [ReviewChange("opened", None, {})]
    changes = []
    for row in open_:
        values = {
            "name": adapted.state,
            "state": adapted.state,
            "title": declared.title,
            "role": declared.role,
            "form": canonical(declared.form.model_json_schema()) if declared.form else None,
            "decisions": canonical(dict(declared.decisions)),
            "settles": canonical(dict(declared.settles)) if declared.settles else None,
            "due_at": row.opened_at + span(declared.due) if declared.due else None,
        }
        different = {name: value for name, value in values.items() if getattr(row, name) != value}
        if different:
            changes.append(ReviewChange("changed", row, different))
    return changes
