"""Checks of a declaration. Each problem names the place and says what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from string import Formatter
from typing import TYPE_CHECKING, TypeVar

from interlock.machine.errors import MachineError
from interlock.machine.failures import Rule
from interlock.machine.limits import Concurrent, Limit, Window, template_fields
from interlock.machine.states import Kind, Reminder, Review, State, Timer
from interlock.machine.transitions import ROLES, By, Transition

if TYPE_CHECKING:
    from interlock.machine.definition import Machine

T = TypeVar("T")
CRASH = "crash"
"""The name under which a step's crashes are counted. Failures are counted by the names of their rules."""


def check(
    machine: Machine, states: Sequence[State], transitions: Sequence[Transition], limits: Sequence[Limit]
) -> None:
    """Raise MachineError with every problem found."""
    problems = _names(machine) + _unknown(machine) + _doubled(machine, states, limits)
    # The other checks walk the graph, so every name must be known.
    if not problems:
        for check_graph in CHECKS:
            problems += check_graph(machine)
    if problems:
        raise MachineError(machine.name, problems)


def _names(machine: Machine) -> list[str]:
    """Names are joined to others: `state:stage` is a step, `limit/key` a limit's key, `step|rule` a counter."""
    problems = []

    def check(what: str, name: str, without: str, why: str) -> None:
        if not name or not name.isprintable():
            problems.append(f"name: {what} {name!r} needs a name of printable characters")
        elif any(character in name for character in without):
            problems.append(f"name: {what} {name!r} has {' or '.join(map(repr, without))} in it; {why}")

    for state in machine.states:
        check("state", state, ":|", "a step is spelled state:stage, so use another character such as _")
    for event in dict.fromkeys([*(e.on for e in machine.edges), *(a.on for a in machine.arms)]):
        check("event", event, "*", "such names are the engine's own, so use another character such as _")
    for limit in machine.limits.values():
        check("limit", limit.name, "/", "a limit's key is spelled limit/key, so use another character such as _")
        if template_fields(limit.key)[2]:
            problems.append(f"name: the key {limit.key!r} of limit {limit.name!r} needs something between its fields")
    check("queue", machine.queue, "@,", "a queue for one host is spelled queue@host, so use another character")
    problems += [
        f"name: failure rule {rule.name} names {error!r}, which is not the name of an error class"
        for rule in _rules(machine)
        for error in rule.errors
        if isinstance(error, str) and (not error.isidentifier() or error == CRASH)
    ]
    return problems


def _role(review: Review, place: str) -> list[str]:
    if review.role in ROLES:
        return []
    return [f"unknown: {place} is for the role {review.role!r}; there are {', '.join(ROLES)}"]


def _unknown(machine: Machine) -> list[str]:
    known, problems = machine.states, []

    def state(name: str, place: str) -> None:
        if name not in known:
            problems.append(f"unknown: {place} names state {name!r}; there are {', '.join(known)}")

    if not machine.name.isidentifier():
        problems.append(f"unknown: the name {machine.name!r} is not a word of letters, digits and underscores")
    state(machine.initial, "initial")
    for edge in machine.edges:
        state(edge.source, f"transition {edge.source} → {edge.to}")
        state(edge.to, f"transition {edge.source} → {edge.to}")
        problems += [
            f"unknown: transition {edge.source} → {edge.to} takes limit {name!r}, which is no window of the machine"
            for name in edge.takes
            if not isinstance(machine.limits.get(name), Window)
        ]
        problems += _fields(machine, edge.accepts, f"transition {edge.source} → {edge.to} accepts")
    for arm in machine.arms:
        state(arm.state, f"arm on {arm.on!r}")
        problems += _fields(machine, arm.accepts, f"arm on {arm.on!r} accepts")
    for s in known.values():
        if s.lost:
            state(s.lost, f"state {s.name!r} (lost)")
        events = {e.on for e in machine.edges if e.source == s.name}
        armed = {a.on for a in machine.arms if a.state == s.name}
        problems += [
            f"unknown: the timer of state {s.name!r} fires {t.fire!r}, which no transition from it has"
            for t in s.timers
            if isinstance(t, Timer) and t.fire not in events
        ]
        problems += [
            f"unknown: the review of state {s.name!r} decides {decision!r} by event {event!r}, which it does not have"
            for decision, event in (s.review.decisions.items() if s.review else ())
            if event not in events | armed
        ]
        problems += _role(s.review, f"the review of state {s.name!r}") if s.review else []
    for review in machine.reviews:
        problems += _role(review, f"the review {review.title!r}")
    if machine.cancel:
        state(machine.cancel, "cancel")
    if machine.failures.state:
        state(machine.failures.state, "failures")
    for rule in _rules(machine):
        for name in (rule.then, rule.pause.state if rule.pause else None, *rule.at):
            if name:
                state(name, f"failure rule {rule.name}")
        problems += _fields(machine, rule.sets, f"failure rule {rule.name} sets")
    for limit in machine.limits.values():
        sized = [limit.size] if isinstance(limit.size, str) else []
        keyed = [field for _, field, _, _ in Formatter().parse(limit.key) if field]
        problems += _fields(machine, sized + keyed, f"limit {limit.name!r} reads")
        for name in limit.states if isinstance(limit, Concurrent) else ():
            state(name, f"limit {limit.name!r}")
    if machine.created_through is not None and not machine.created_through.strip():
        problems.append("unknown: created_through is empty; name the endpoint or the command that creates instances")
    if machine.stage and machine.data and machine.stage not in machine.data.model_fields:
        problems.append(f"unknown: stage {machine.stage!r} is not a field of {machine.data.__name__}")
    return problems


def _fields(machine: Machine, names: Iterable[str], place: str) -> list[str]:
    if machine.data is None:
        return []
    return [
        f"unknown: {place} field {name!r}, which {machine.data.__name__} does not have"
        for name in names
        if name not in machine.data.model_fields
    ]


def _rules(machine: Machine) -> tuple[Rule, ...]:
    return (*machine.failures.rules, machine.failures.otherwise)


def _doubled(machine: Machine, states: Sequence[State], limits: Sequence[Limit]) -> list[str]:
    problems = [f"doubled: state {n!r} is declared {c} times" for n, c in _repeats(s.name for s in states)]
    rows = _repeats((e.source, e.to, e.on) for e in machine.edges)
    problems += [f"doubled: transition {a} → {b} on {on!r} is declared {c} times" for (a, b, on), c in rows]
    problems += [f"doubled: limit {n!r} is declared {c} times" for n, c in _repeats(limit.name for limit in limits)]
    arms = _repeats((a.state, a.on) for a in machine.arms)
    problems += [f"doubled: arm {on!r} of state {s!r} is declared {c} times" for (s, on), c in arms]
    events = {(e.source, e.on) for e in machine.edges}
    problems += [
        f"doubled: event {a.on!r} of state {a.state!r} is a transition and an arm"
        for a in machine.arms
        if (a.state, a.on) in events
    ]
    pick_ups = _repeats(e.source for e in machine.edges if e.pick_up)
    problems += [f"doubled: state {s!r} has {c} pick-ups" for s, c in pick_ups]
    return problems


def _repeats(values: Iterable[T]) -> list[tuple[T, int]]:
    return [(value, count) for value, count in Counter(values).items() if count > 1]


def _ambiguous(machine: Machine) -> list[str]:
    problems = []
    for name in machine.states:
        edges = [e for e in machine.edges if e.source == name]
        for event in {e.on for e in edges}:
            targets = [e for e in edges if e.on == event]
            unguarded = [e.to for e in targets if e.guard is None]
            if len(targets) > 1 and unguarded:
                problems.append(
                    f"ambiguous: event {event!r} in state {name!r} leads to {', '.join(e.to for e in targets)}; "
                    f"give {', '.join(unguarded)} a guard"
                )
    return problems


def _unreachable(machine: Machine) -> list[str]:
    seen, todo = {machine.initial}, [machine.initial]
    while todo:
        here = todo.pop()
        for edge in machine.edges:
            if edge.source == here and edge.to not in seen:
                seen.add(edge.to)
                todo.append(edge.to)
    return [f"unreachable: no way leads to state {name!r}" for name in machine.states if name not in seen]


def _dead_ends(machine: Machine) -> list[str]:
    out = {e.source for e in machine.edges}
    problems = [
        f"dead end: state {s.name!r} is {s.kind.value} and has no way out; make it final or give it a transition"
        for s in machine.states.values()
        if s.kind is not Kind.FINAL and s.name not in out
    ]
    finals = {s.name for s in machine.states.values() if s.kind is Kind.FINAL}
    if not finals:
        return [*problems, "dead end: no state is final, so nothing ever ends"]
    ends, grew = set(finals), True
    while grew:
        grew = False
        for edge in machine.edges:
            if edge.to in ends and edge.source not in ends:
                ends.add(edge.source)
                grew = True
    problems += [
        f"dead end: no way leads from state {name!r} to a final state"
        for name in machine.states
        if name in out and name not in ends
    ]
    return problems


def _stuck(machine: Machine) -> list[str]:
    problems = []
    outsiders = {By.USER, By.OWNER, By.AGENT}
    for s in machine.states.values():
        edges = [e for e in machine.edges if e.source == s.name]
        if s.kind is Kind.FINAL and any(isinstance(t, Reminder) for t in s.timers):
            problems.append(f"stuck: final state {s.name!r} has a reminder; nobody can do anything about it")
        if not edges:
            continue
        armed = any(a.state == s.name for a in machine.arms)
        timed = any(isinstance(t, Timer) for t in s.timers)
        if s.kind is Kind.WAITING:
            if not s.waits_for:
                problems.append(f"stuck: waiting state {s.name!r} does not say for what; set waits_for")
            if not armed and not timed and not any(e.by & (outsiders | {By.SYSTEM}) for e in edges):
                problems.append(f"stuck: nobody but a worker may move waiting state {s.name!r}, and none works there")
        if s.kind is Kind.WORK and not any(e.by & {By.WORKER, By.SYSTEM} for e in edges):
            problems.append(f"stuck: no transition from work state {s.name!r} is for a worker or the system")
        if s.kind is Kind.FAILED and not any(
            e.by & outsiders or (By.SYSTEM in e.by and machine.failures.state == s.name) for e in edges
        ):
            problems.append(f"stuck: nothing moves state {s.name!r} on: no retry by the system, no person")
        if s.kind is Kind.FINAL and any(isinstance(t, Timer) for t in s.timers):
            problems.append(f"stuck: final state {s.name!r} has a timer; nothing may move an ended instance")
        if s.lost and not any(e.to == s.lost and By.SYSTEM in e.by for e in edges):
            problems.append(
                f"stuck: state {s.name!r} goes to {s.lost!r} when its worker is lost, "
                "but has no such transition for the system"
            )
    return problems


def _states_of(machine: Machine, rule: Rule) -> list[str]:
    """The states in which an instance is when the rule applies: the state for failures, or those with work."""
    resting = machine.failures.state
    onward = any(e.source == resting and e.to == rule.then and e.by & {By.SYSTEM, By.WORKER} for e in machine.edges)
    if resting and (onward or rule.pause or not rule.at):
        return [resting]
    armed = {arm.state for arm in machine.arms}
    picked_up = {edge.source for edge in machine.edges if edge.pick_up}
    return list(rule.at) or [
        s.name for s in machine.states.values() if (s.kind is Kind.WORK or s.name in armed) and s.name not in picked_up
    ]


def _failure_paths(machine: Machine) -> list[str]:
    failures, problems = machine.failures, []
    pairs = {(e.source, e.to) for e in machine.edges if e.automatic}

    def way(source: str, to: str, place: str) -> None:
        if source != to and (source, to) not in pairs:
            problems.append(f"stuck: {place} moves {source} → {to}, and no such transition is for worker or system")

    if failures.crashes < 1:
        problems.append(f"unbounded retry: crashes is {failures.crashes}; poison needs at least 1")
    for rule in _rules(machine):
        place = f"failure rule {rule.name}"
        if rule.retries is None and (rule.pause is None or rule.pause.wait is not None):
            problems.append(f"unbounded retry: {place} has no number of retries")
        if rule.retries is not None and rule.retries < 0:
            problems.append(f"unbounded retry: {place} has {rule.retries} retries; use 0 for none")
        if rule.retries and rule.backoff.base.total_seconds() <= 0 and rule.pause is None:
            problems.append(f"unbounded retry: {place} retries without any wait")
        if rule.then:
            for source in _states_of(machine, rule):
                way(source, rule.then, place)
    for rule in _rules(machine):
        if rule.pause:
            for source in _states_of(machine, rule):
                way(source, rule.pause.state, f"failure rule {rule.name}")
        if rule.pause and not any(
            e.on == rule.pause.resume and By.SYSTEM in e.by for e in machine.edges if e.source == rule.pause.state
        ):
            problems.append(
                f"stuck: failure rule {rule.name} pauses in {rule.pause.state!r}, "
                f"where the system may not fire {rule.pause.resume!r}"
            )
    if failures.state:
        retried = any(rule.retries and not rule.pause for rule in _rules(machine))
        ways = [e for e in machine.edges if e.source == failures.state and e.on == failures.retry]
        if retried and not any(By.SYSTEM in e.by for e in ways):
            problems.append(
                f"stuck: no transition from {failures.state!r} on {failures.retry!r} is for the system, "
                "so no retry can start"
            )
    return problems


CHECKS: tuple[Callable[[Machine], list[str]], ...] = (
    _ambiguous,
    _unreachable,
    _dead_ends,
    _stuck,
    _failure_paths,
)
