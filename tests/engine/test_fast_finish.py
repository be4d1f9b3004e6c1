"""Plain moves: the short way writes what the long way writes, and takes nothing that needs the long one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.engine import Claim, Result, claiming, fast_finish, finishing, limits, moves
from interlock.engine.instance import COLUMNS, row_of
from interlock.engine.unit import FAST_COLUMNS, FAST_HISTORY, GUARDS, HISTORY, Unit
from interlock.machine import (
    FAILED,
    FINAL,
    WAITING,
    WORK,
    WORKER,
    Again,
    Ask,
    By,
    Concurrent,
    Edge,
    Fail,
    Failures,
    Go,
    KeyScope,
    Limit,
    Machine,
    Message,
    Outcome,
    Review,
    Spawn,
    State,
    Stay,
    Timer,
    Transition,
    Window,
)
from interlock.store import Store, moment
from interlock.store.tables import instance
from interlock.testing import Trial
from tests.support.machines import Unreachable, by_hand, kinds, pass_time, trial_of


class Enough(Exception):
    """Raised to undo a transaction."""


YES = Review("Is it good?", decisions={"good": "go"})


def route(name: str = "route", **options: Any) -> Machine:
    """From one place to each kind of place, in one move."""
    wait = timedelta(hours=1)
    return by_hand(
        Machine(
            name,
            initial="start",
            states=[
                State("start", WORK),
                State("desk", WORK),
                State("shelf", WAITING, waits_for="a person"),
                State("clock", WAITING, waits_for="its time", timers=(Timer(wait, "late"),)),
                State("asked", WAITING, waits_for="an answer", review=YES),
                State("lost", FAILED),
                State("end", FINAL),
            ],
            transitions=[
                Transition("start", "desk", on="pass"),
                Transition("start", "shelf", on="put"),
                Transition("start", "clock", on="time"),
                Transition("start", "asked", on="ask"),
                Transition(("start", "desk"), "end", on="end"),
                Transition(("shelf", "clock", "asked"), "end", on="late", by=(By.USER, By.SYSTEM)),
                Transition("asked", "end", on="go", by=By.USER),
                Transition("lost", "start", on="retry", by=(By.USER, By.SYSTEM)),
                Transition("start", "lost", on="lose"),
            ],
            failures=Failures(state="lost"),
            **options,
        )
    )


def _written(trial: Trial, results: list[Result], way: Callable[[Unit, list[Result]], object]) -> tuple[Any, Any]:
    """The rows and the history that a way would write; then all of it is undone."""

    got: list[tuple[Any, Any]] = []

    def job(unit: Unit) -> None:
        way(unit, results)
        rows = {i.id: dict(zip(COLUMNS, row_of(i), strict=True)) for i in unit.changed.values()}
        for moved in unit.fast_moves.values():
            for values in moved.rows:
                claim = next(r.claim for r in results if r.claim.id == values[0])
                assert claim.stored is not None
                as_claimed = dict(zip(COLUMNS, claim.stored, strict=True))
                assert values[len(FAST_COLUMNS) :] == tuple(as_claimed[name] for name in GUARDS)
                rows[claim.id] = {**as_claimed, **moved.same, **dict(zip(FAST_COLUMNS, values, strict=False))}
        for written in unit.fast_history.values():
            for values in written.rows:
                whole = {**written.same, **dict(zip(FAST_HISTORY, values, strict=True))}
                unit_history.append(tuple(whole[name] for name in HISTORY))
        unit.flush()  # the database takes it, too
        got.append((rows, sorted(unit_history)))
        raise Enough

    unit_history: list[tuple[Any, ...]] = []
    flush = Unit.flush

    def listen(unit: Unit) -> None:
        unit_history.extend(unit.history)
        flush(unit)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Unit, "flush", listen)
        with pytest.raises(Enough):
            trial.write(job)
    return got[0]


@pytest.mark.parametrize("to", ["desk", "shelf", "end"])
@pytest.mark.parametrize("scope", KeyScope)
@pytest.mark.parametrize("reason", ["", "weil es so ist: „gut“ \x01"])
def test_both_ways_write_the_same(store: Store, to: str, scope: KeyScope, reason: str) -> None:
    with trial_of(store, route(key=scope)) as trial:
        for number in range(3):
            trial.create("route", key=None if number == 0 else f"K-{number}", priority=number)
            pass_time(trial, seconds=1)
        results = [Result(claim, Go(to, reason=reason)) for claim in trial.claim(3)]
        pass_time(trial, seconds=1)
        short = _written(trial, results, fast_finish.finish)
        assert short == _written(trial, results, finishing._one_by_one)
        assert len(short[0]) == len(short[1]) == 3
        assert trial.engine.finish(results) == [True] * 3
        assert {trial.state(result.claim.id) for result in results} == {to}


def test_both_ways_write_the_same_after_a_clock_was_put_back(store: Store) -> None:
    with trial_of(store, route()) as trial:
        trial.create("route")
        results = [Result(trial.claim()[0], Go("shelf"))]
        trial.clock.step_back(timedelta(hours=1))
        assert _written(trial, results, fast_finish.finish) == _written(trial, results, finishing._one_by_one)


# -- what needs the long way

MACHINES: dict[str, Callable[[], Machine]] = {
    "a review that may be asked for": lambda: route(reviews=[YES]),
    "stages": lambda: route(stage="stage"),
}
OUTCOMES: dict[str, Outcome] = {
    "data": Go("shelf", data={"a": 1}),
    "no data": Go("shelf", data={}),
    "a child": Go("shelf", spawn=(Spawn("other"),)),
    "a message": Go("shelf", messages=(Message("mail", "ann"),)),
    "a question": Go("shelf", asks=(Ask("good", YES),)),
    "a moment": Go("desk", at=moment(2_000_000_000_000_000)),
    "work not started": Go("desk", unstarted=True),
    "two moves": Go(("shelf", "end")),
    "one move in a list": Go(("shelf",)),
    "a timer": Go("clock"),
    "a review": Go("asked"),
    "where failures rest": Go("lost"),
    "an unknown state": Go("nowhere"),
    "no transition": Go("start"),
    "a reason that is no text": Go("shelf", reason=7),  # type: ignore[arg-type]
    "a place that is no text": Go(["shelf"]),  # type: ignore[arg-type]
    "a reason with a NUL": Go("shelf", reason="a\x00b"),
    "a reason with half of a pair": Go("shelf", reason="a\ud800b"),
    "a reason too long": Go("shelf", reason="x" * 20_000),
    "stay": Stay(),
    "again": Again(timedelta(0)),
    "failure": Fail(ValueError("no")),
}


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, route(), route("other")) as trial:
        yield trial


def _is_plain(trial: Trial, result: Result) -> bool:
    def job(unit: Unit) -> bool:
        others = fast_finish.finish(unit, [result])
        unit._reset()
        return not others

    found: bool = trial.write(job)
    return found


@pytest.mark.parametrize("what", MACHINES)
def test_machines_that_need_the_long_way(store: Store, what: str) -> None:
    with trial_of(store, MACHINES[what]()) as trial:
        trial.create("route")
        claim = trial.claim()[0]
        assert not _is_plain(trial, Result(claim, Go("shelf")))
        assert trial.finish(claim, Go("shelf"))


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("what", OUTCOMES)
def test_outcomes_that_need_the_long_way(trial: Trial, what: str) -> None:
    trial.create("route")
    claim = trial.claim()[0]
    assert _is_plain(trial, Result(claim, Go("shelf")))
    assert not _is_plain(trial, Result(claim, OUTCOMES[what]))


def _short(name: str, *, limited: Sequence[Limit] = (), **options: Any) -> Machine:
    return by_hand(
        Machine(
            name,
            initial="start",
            states=[State("start"), State("end", FINAL)],
            transitions=[Transition("start", "end", on="go", **options)],
            limits=limited,
        )
    )


def test_a_guard_a_follower_and_what_a_move_sets_need_the_long_way(store: Store) -> None:
    seen: list[Any] = []
    followed = _short("followed")
    followed.entering("end")(lambda *given: seen.append(given))
    machines = [followed, _short("guarded", guard=lambda _: True), _short("set", sets={"a": 1})]
    with trial_of(store, *machines) as trial:
        for machine in machines:
            trial.create(machine.name)
        claims = trial.claim(3)
        assert [_is_plain(trial, Result(claim, Go("end"))) for claim in claims] == [False] * 3
        assert trial.engine.finish([Result(claim, Go("end")) for claim in claims]) == [True] * 3
        assert len(seen) == 1


PASSED_OVER = {
    *("name", "title", "initial", "states", "transitions", "arms", "failures", "data", "key", "queue", "max_depth"),
    *("cancel", "upgrades", "created_through", "limits"),
}
NEEDS_THE_LONG_WAY = {"reviews", "stage"}


def test_each_part_of_a_machine_is_known_to_be_plain_or_not() -> None:
    """Whoever adds one decides in `moves.is_plain` whether a plain move may pass it over."""
    assert set(inspect.signature(Machine).parameters) == PASSED_OVER | NEEDS_THE_LONG_WAY


PARTS: dict[str, Any] = {"guard": lambda _: True, "takes": ("many",), "sets": {"a": 1}}


@pytest.mark.parametrize(
    "part",
    sorted(
        {one.name for one in fields(Edge) if one.init} - {"source", "to", "on", "by", "accepts", "pick_up", "merges"}
    ),
)
def test_whatever_else_is_declared_on_a_transition_needs_the_long_way(part: str) -> None:
    machine = route()
    [plain] = machine.automatic_edges("start", "shelf", WORKER)
    assert moves.is_plain(machine, plain)
    assert not moves.is_plain(machine, replace(plain, **{part: PARTS[part]}))


def test_limits_need_the_long_way_only_where_a_transition_takes_them(store: Store) -> None:
    hourly = Window("hourly", "all", 5, timedelta(hours=1))
    desk = Concurrent("desk", "all", 5, ("start",))
    taken, not_taken = _short("taken", takes=("hourly",), limited=[hourly]), _short("not_taken", limited=[hourly, desk])
    with trial_of(store, taken, not_taken) as trial:
        for machine, plain in ((taken, False), (not_taken, True)):
            it = trial.create(machine.name)
            result = Result(trial.claim()[0], Go("end"))
            assert _is_plain(trial, result) is plain
            assert trial.engine.finish([result]) == [True]
            assert trial.state(it) == "end"
        machines, now = (taken, not_taken), trial.clock.now()
        used = trial.engine.read(lambda conn: limits.usage(conn, machines, now))
        assert [(one.key, one.kind) for one in used] == [("hourly/all", "window")]


def test_instances_that_need_the_long_way(trial: Trial) -> None:
    trial.create("route")
    claim = trial.claim()[0]
    good = Result(claim, Go("shelf"))
    assert _is_plain(trial, good)
    assert not _is_plain(trial, Result(claim, Go("shelf"), as_claimed=False))
    trial.engine.give_back([claim])
    for column, value in (
        ("due_event", "late"),
        ("timer_at", 5),
        ("timer_no", 1),
        ("failures", '{"start|E":1}'),
        ("blocked_on", "x"),
        ("paused_at", 5),
        ("finished_at", 5),
    ):
        with pytest.raises(Enough):  # and all of it is undone
            trial.write(partial(_claim_unusual, trial, column, value))
    assert len(trial.claim()) == 1


def _claim_unusual(trial: Trial, column: str, value: Any, unit: Unit) -> None:
    unit.conn.execute(sa.update(instance).values({column: value}))
    for whole in (True, False):
        [claim] = claiming.claim(unit, trial.worker, trial.queues, 1, whole=whole)
        assert fast_finish.finish(unit, [Result(claim, Go("shelf"))]) == [0], column
        unit.conn.execute(sa.update(instance).values({column: value, "wake": "work", "due_at": unit.now}))
    raise Enough


# -- together

MIXED: list[Callable[[Claim], Outcome]] = [
    lambda _: Go("shelf"),
    lambda _: Go("end", data={"a": 1}),
    lambda _: Fail(Unreachable("away")),
    lambda _: Go("desk"),
    lambda _: Again(timedelta(hours=1)),
]


def test_a_batch_of_both_is_written_whole(trial: Trial) -> None:
    ids = [trial.create("route", key=f"K-{n}") for n in range(20)]
    claims = {claim.id: claim for claim in trial.claim(20)}
    results = [Result(claims[it], MIXED[n % 5](claims[it])) for n, it in enumerate(ids)]
    assert trial.engine.finish(results) == [True] * 20
    assert [trial.state(it) for it in ids[:5]] == ["shelf", "end", "lost", "desk", "start"]
    assert kinds(trial, ids[0])[-1] == "moved"
    assert {claim.id for claim in trial.claim(20)} == {it for n, it in enumerate(ids) if n % 5 == 3}
    assert trial.engine.verify().problems == ()


class Touchy:
    """Raises whenever somebody looks at it."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("do not compare me")

    def __bool__(self) -> bool:
        raise ValueError("do not ask me")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("where", ["data", "spawn", "messages", "asks", "unstarted", "at", "reason", "to"])
def test_what_cannot_be_looked_at_does_not_hurt_those_beside_it(trial: Trial, where: str) -> None:
    ids = [trial.create("route") for _ in range(3)]
    claims = {claim.id: claim for claim in trial.claim(3)}
    given: dict[str, Any] = {"to": "shelf", where: Touchy()}
    results = [Result(claims[it], Go(**given) if n == 1 else Go("shelf")) for n, it in enumerate(ids)]
    assert trial.engine.finish(results) == [True] * 3
    assert [trial.state(it) for it in ids] == ["shelf", "lost", "shelf"]


def test_a_late_result_does_not_hurt_those_beside_it(trial: Trial) -> None:
    ids = [trial.create("route") for _ in range(3)]
    claims = {claim.id: claim for claim in trial.claim(3)}
    trial.engine.finish([Result(claims[ids[1]], Go("end"))])
    results = [Result(claims[it], Go("shelf")) for it in ids]
    assert trial.engine.finish(results) == [True, False, True]
    assert [trial.state(it) for it in ids] == ["shelf", "end", "shelf"]
