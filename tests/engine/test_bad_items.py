"""One bad item never stops another: each is served for itself, and the bad one goes to the dead letters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from pydantic import BaseModel, field_validator

from interlock.engine import Instance, Refused, leases
from interlock.engine.unit import Unit
from interlock.machine import (
    FAILED,
    FINAL,
    SYSTEM,
    USER,
    WAITING,
    Actor,
    Concurrent,
    Edge,
    Facts,
    Fail,
    Failures,
    Go,
    KeyScope,
    Machine,
    Outcome,
    Rule,
    State,
    Timer,
    Transition,
    Window,
    fixed,
)
from interlock.store import Store
from interlock.store import tables as t
from interlock.testing import Trial, broken_laws
from interlock.worker.port import EnginePort
from interlock.worker.task import make_task

ANN = Actor(USER, "ann")
HOUR = timedelta(hours=1)
AT_ONCE = Failures(otherwise=Rule((Exception,), retries=0))


def sound() -> Machine:
    """Waits for its timer, then works: what must go on beside every bad item."""
    machine = Machine(
        "sound",
        initial="waiting",
        states=[
            State("waiting", WAITING, waits_for="its time", timers=(Timer(HOUR, "begin"),)),
            State("working"),
            State("done", FINAL),
        ],
        transitions=[
            Transition("waiting", "working", on="begin", by=SYSTEM),
            Transition("working", "done", on="end"),
        ],
    )
    machine.work("working")(lambda task: Go("done"))
    return machine


def simple(name: str = "bad", **options: Any) -> Machine:
    machine = Machine(
        name,
        initial="working",
        states=[State("working"), State("done", FINAL)],
        failures=AT_ONCE,
        transitions=[Transition("working", "done", on="end")],
        **options,
    )
    machine.work("working")(lambda task: Go("done"))
    return machine


def picked_up(**edge: Any) -> Machine:
    machine = Machine(
        "bad",
        initial="queued",
        states=[State("queued"), State("working"), State("done", FINAL)],
        failures=AT_ONCE,
        transitions=[
            Transition("queued", "working", on="pick", pick_up=True, **edge),
            Transition("working", "done", on="end"),
        ],
    )
    machine.work("working")(lambda task: Go("done"))
    return machine


def raising(error: BaseException) -> Callable[..., Any]:
    def follower(*_: object) -> None:
        raise error

    return follower


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even its message can be read")


def with_follower(follower: Callable[..., None]) -> Machine:
    machine = picked_up()
    machine.entering("working")(follower)
    return machine


def statement_of_its_own(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
    unit.conn.execute(sa.text("SELECT nothing FROM nowhere"))


class Small(BaseModel):
    n: int = 0

    @field_validator("n")
    @classmethod
    def small(cls, n: int) -> int:
        if n > 5:
            raise ValueError("too big")
        return n


def stages() -> Machine:
    machine = Machine(
        "bad",
        initial="working",
        stage="stage",
        states=[State("working"), State("done", FINAL)],
        failures=AT_ONCE,
        transitions=[Transition("working", "done", on="end")],
    )
    machine.work("working")(lambda task: Go("done"))
    return machine


UNCLAIMABLE: dict[str, tuple[Callable[[], Machine], dict[str, Any]]] = {
    "a slot's key of an empty list": (
        lambda: simple(limits=[Concurrent("c", "{tags[0]}", 1, ("working",))]),
        {"tags": []},
    ),
    "a slot's key of a field that is no object": (
        lambda: simple(limits=[Concurrent("c", "{user.name}", 1, ("working",))]),
        {"user": {"name": "x"}},
    ),
    "a slot's key that no index takes": (
        lambda: simple(limits=[Concurrent("c", "{user}", 1, ("working",))]),
        {"user": "é" * 9000},
    ),
    "a window's key of a missing field": (
        lambda: with_window(),
        {},
    ),
    "a stage that is a list": (stages, {"stage": ["x"]}),
    "a follower that raises": (lambda: with_follower(raising(ValueError("no"))), {}),
    "a follower that exits": (lambda: with_follower(raising(SystemExit(3))), {}),
    "a follower that is cancelled": (lambda: with_follower(raising(asyncio.CancelledError())), {}),
    "a follower with an unreadable error": (lambda: with_follower(raising(Unprintable())), {}),
    "a follower with a wrong statement": (lambda: with_follower(statement_of_its_own), {}),
    "sets that do not fit the model": (lambda: fitting_model(), {"n": 1}),
}


def with_window() -> Machine:
    machine = Machine(
        "bad",
        initial="queued",
        states=[State("queued"), State("working"), State("done", FINAL)],
        failures=AT_ONCE,
        limits=[Window("w", "{nobody}", 1, HOUR)],
        transitions=[
            Transition("queued", "working", on="pick", pick_up=True, takes=("w",)),
            Transition("working", "done", on="end"),
        ],
    )
    machine.work("working")(lambda task: Go("done"))
    return machine


def fitting_model() -> Machine:
    machine = Machine(
        "bad",
        initial="queued",
        states=[State("queued"), State("working"), State("done", FINAL)],
        failures=AT_ONCE,
        data=Small,
        transitions=[
            Transition("queued", "working", on="pick", pick_up=True, sets={"n": 9}),
            Transition("working", "done", on="end"),
        ],
    )
    machine.work("working")(lambda task: Go("done"))
    return machine


@pytest.fixture
def opened(store: Store) -> Iterator[Callable[..., Trial]]:
    trials: list[Trial] = []

    def make(*machines: Machine) -> Trial:
        trials.append(Trial([*machines, sound()], store=store))
        return trials[-1]

    yield make
    for trial in trials:
        assert broken_laws(trial.engine) == []


def in_the_dead_letters(trial: Trial, it: UUID) -> str:
    """The message of its dead letter; explain names it too."""
    [letter] = [one for one in trial.engine.dead_letters.find() if one.instance_id == it]
    explanation = trial.engine.explain(it)
    assert "dead letter" in explanation.sentence, explanation.sentence
    return str(letter.error["message"])


@pytest.mark.parametrize("case", UNCLAIMABLE)
def test_what_cannot_be_claimed_goes_to_the_dead_letters_and_the_rest_is_claimed(
    opened: Callable[..., Trial], case: str
) -> None:
    make, data = UNCLAIMABLE[case]
    trial = opened(make())
    good = [trial.create("sound"), trial.create("sound")]
    trial.clock.advance(HOUR)
    trial.engine.tick()
    bad = [trial.create("bad", data) for _ in range(2)]  # its neighbours are claimed in the same batch
    for claim in trial.claim(16):
        trial.finish(claim, Go("done"))
    assert [trial.state(one) for one in good] == ["done", "done"]
    for it in bad:
        assert in_the_dead_letters(trial, it)
        assert trial.get(it).wake is None


@pytest.mark.parametrize("how", ["its data", "its data beside the row", "its state"])
def test_a_row_that_cannot_be_read_is_claimed_by_nobody_and_stops_nobody(
    opened: Callable[..., Trial], how: str
) -> None:
    machine = simple(limits=[Concurrent("c", "all", 5, ("working",))])
    trial = opened(machine)
    text = "x" * 3000 if how == "its data beside the row" else "x"
    it, beside = trial.create("bad", {"text": text}), trial.create("bad", {"text": text})
    statements = {
        "its data": sa.update(t.instance).where(t.instance.c.id == it).values(data='{"a": '),
        "its data beside the row": sa.update(t.instance_data)
        .where(t.instance_data.c.instance_id == it)
        .values(data='{"a": '),
        "its state": sa.update(t.instance).where(t.instance.c.id == it).values(state="nowhere"),
    }
    trial.engine.store.write(lambda conn: conn.execute(statements[how]))
    for claim in trial.claim(16):
        trial.finish(claim, Go("done"))
    assert trial.state(beside) == "done"
    [letter] = trial.engine.dead_letters.find()
    assert letter.instance_id == it
    # The laws are about what the engine writes: what was planted is taken away again.
    trial.engine.store.write(
        lambda conn: (
            conn.execute(sa.update(t.instance).where(t.instance.c.id == it).values(state="working")),
            conn.execute(
                sa.update(t.instance)
                .where(t.instance.c.id == it, t.instance.c.data.is_not(None))
                .values(data=f'{{"text":"{text}"}}')
            ),
            conn.execute(
                sa.update(t.instance_data)
                .where(t.instance_data.c.instance_id == it)
                .values(data=f'{{"text":"{text}"}}')
            ),
        )
    )


# -- what is due


def timed(**options: Any) -> Machine:
    return Machine(
        "bad",
        initial="waiting",
        states=[
            State("waiting", WAITING, waits_for="its time", timers=(Timer(HOUR, "late"),)),
            State("late", FINAL),
        ],
        transitions=[Transition("waiting", "late", on="late", by=SYSTEM, **options)],
    )


def missing(about: Facts) -> bool:
    return bool(about.data["n"] > 3)


def late_follower(error: BaseException) -> Machine:
    machine = timed()
    machine.entering("late")(raising(error))
    return machine


def wrong_statement() -> Machine:
    machine = timed()
    machine.entering("late")(statement_of_its_own)
    return machine


UNTIMELY: dict[str, Callable[[], Machine]] = {
    "a guard that raises": lambda: timed(guard=missing),
    "a follower that raises": lambda: late_follower(ValueError("no")),
    "a follower that exits": lambda: late_follower(SystemExit(1)),
    "a follower with a wrong statement": wrong_statement,
}


@pytest.mark.parametrize("case", UNTIMELY)
def test_a_timer_that_cannot_fire_goes_to_the_dead_letters_and_the_others_fire(
    opened: Callable[..., Trial], case: str
) -> None:
    trial = opened(UNTIMELY[case]())
    it, good = trial.create("bad"), trial.create("sound")
    trial.clock.advance(2 * HOUR)
    trial.engine.tick()
    assert trial.state(good) == "working"
    assert trial.state(it) == "waiting"
    assert in_the_dead_letters(trial, it)
    assert trial.engine.tick() == 0


def test_a_timer_that_a_guard_declines_is_no_dead_letter(opened: Callable[..., Trial]) -> None:
    trial = opened(timed(guard=lambda about: False))
    it = trial.create("bad")
    trial.advance(hours=2)
    assert trial.engine.history(it)[-1].kind == "refused"
    assert trial.engine.dead_letters.find() == []


def test_the_retry_of_a_timers_dead_letter_fires_its_event(opened: Callable[..., Trial]) -> None:
    broken = [True]

    def guard(about: Facts) -> bool:
        if broken[0]:
            raise KeyError("n")
        return True

    trial = opened(timed(guard=guard))
    it = trial.create("bad")
    trial.advance(hours=2)
    [letter] = trial.engine.dead_letters.find()
    with pytest.raises(Refused, match="guard 'guard' of 'late' raised KeyError: 'n'"):
        trial.engine.dead_letters.retry(letter.id, actor=ANN)
    assert [one.id for one in trial.engine.dead_letters.find()] == [letter.id]
    broken[0] = False
    trial.engine.dead_letters.retry(letter.id, actor=ANN)
    assert trial.state(it) == "late"
    assert trial.engine.dead_letters.find() == []


def test_a_person_sees_which_guard_raised_and_pages_survive_it(opened: Callable[..., Trial]) -> None:
    machine = Machine(
        "bad",
        initial="waiting",
        states=[State("waiting", WAITING, waits_for="a person"), State("done", FINAL)],
        transitions=[Transition("waiting", "done", on="go", by=USER, guard=missing)],
    )
    trial = opened(machine)
    it = trial.create("bad")
    with pytest.raises(Refused, match="the guard 'missing' of 'go' raised KeyError: 'n'"):
        trial.engine.fire(it, "go", actor=ANN)
    assert trial.engine.explain(it).sentence


def test_a_timer_into_a_key_that_was_taken_meanwhile_stops_nobody(opened: Callable[..., Trial]) -> None:
    machine = Machine(
        "bad",
        initial="working",
        key=KeyScope.LIVE,
        failures=Failures(state="failed", otherwise=Rule((Exception,), retries=0)),
        states=[
            State("working"),
            State("failed", FAILED, timers=(Timer(HOUR, "reopen"),)),
            State("done", FINAL),
        ],
        transitions=[
            Transition("working", "done", on="end"),
            Transition("working", "failed", on="fail", by=SYSTEM),
            Transition("failed", "working", on="reopen", by=(SYSTEM, USER)),
        ],
    )
    machine.work("working")(lambda task: Go("done"))
    trial = opened(machine)
    it, good = trial.create("bad", key="K"), trial.create("sound")
    [claim] = trial.claim(1)
    trial.finish(claim, Fail(RuntimeError("x")))
    trial.create("bad", key="K")
    trial.clock.advance(2 * HOUR)
    trial.engine.tick()
    assert trial.state(good) == "working"
    assert trial.state(it) == "failed"
    assert any("'K'" in str(one.error["message"]) for one in trial.engine.dead_letters.find())


def test_a_retry_whose_guard_raises_stops_nobody(opened: Callable[..., Trial]) -> None:
    machine = Machine(
        "bad",
        initial="working",
        failures=Failures(state="failed", otherwise=Rule((Exception,), retries=3, backoff=fixed(HOUR))),
        states=[State("working"), State("failed", FAILED), State("done", FINAL)],
        transitions=[
            Transition("working", "done", on="end"),
            Transition("working", "failed", on="fail", by=SYSTEM),
            Transition("failed", "working", on="retry", by=(SYSTEM, USER), guard=missing),
        ],
    )
    machine.work("working")(lambda task: Go("done"))
    trial = opened(machine)
    it, good = trial.create("bad"), trial.create("sound")
    [claim] = trial.claim(1)
    trial.finish(claim, Fail(RuntimeError("x")))
    trial.clock.advance(2 * HOUR)
    trial.engine.tick()
    assert trial.state(good) == "working"
    assert "raised KeyError" in in_the_dead_letters(trial, it)


def lost(follower: Callable[..., None] | None = None, **edge: Any) -> Machine:
    machine = Machine(
        "bad",
        initial="working",
        states=[State("working", lost="back"), State("back", WAITING, waits_for="a person"), State("done", FINAL)],
        limits=[Window("none", "all", 0, HOUR)],
        transitions=[
            Transition("working", "done", on="end"),
            Transition("working", "back", on="lost", by=SYSTEM, **edge),
            Transition("back", "done", on="go", by=USER),
        ],
    )
    machine.work("working")(lambda task: Go("done"))
    if follower is not None:
        machine.entering("back")(follower)
    return machine


LOST: dict[str, Callable[[], Machine]] = {
    "a follower that raises": lambda: lost(raising(ValueError("no"))),
    "a follower with a wrong statement": lambda: lost(statement_of_its_own),
    "a limit that is used up": lambda: lost(takes=("none",)),
}


@pytest.mark.parametrize("case", LOST)
def test_what_a_lost_worker_held_is_taken_back_each_for_itself(opened: Callable[..., Trial], case: str) -> None:
    trial = opened(LOST[case](), simple("good"))
    gone = trial.new_worker()
    it, good = trial.create("bad"), trial.create("good")
    assert len(trial.claim(16, worker=gone)) == 2
    trial.lose(gone)
    assert trial.get(good).wake == "work"
    assert (trial.get(it).holder, trial.get(it).wake) == (None, None)
    assert in_the_dead_letters(trial, it)


def test_a_time_limit_whose_rule_raises_stops_nobody(opened: Callable[..., Trial]) -> None:
    machine = simple("good")
    bad = Machine(
        "bad",
        initial="working",
        states=[State("working"), State("given_up", FINAL), State("done", FINAL)],
        failures=Failures(otherwise=Rule((Exception,), retries=0, then="given_up")),
        transitions=[
            Transition("working", "done", on="end"),
            Transition("working", "given_up", on="give_up", by=SYSTEM),
        ],
    )
    bad.work("working")(lambda task: Go("done"))
    bad.entering("given_up")(statement_of_its_own)
    trial = opened(bad, machine)
    it, good = trial.create("bad"), trial.create("good")
    assert len(trial.claim(16)) == 2
    trial.clock.advance(24 * HOUR)
    trial.engine.tick()
    assert trial.get(good).holder is None
    assert in_the_dead_letters(trial, it)


def test_a_forgotten_effect_that_nobody_can_be_asked_about_hides_no_other(opened: Callable[..., Trial]) -> None:
    machine = Machine(
        "bad",
        initial="working",
        cancel="gone",
        states=[State("working"), State("gone", FINAL), State("done", FINAL)],
        transitions=[Transition("working", "done", on="end"), Transition("working", "gone", on="cancel", by=USER)],
    )
    machine.work("working")(lambda task: Go("done"))
    trial = opened(machine)
    bad, good = trial.create("bad"), trial.create("bad")
    for claim in trial.claim(2):
        task = make_task(claim, EnginePort(trial.engine, claim))
        task.sent(task.intend("payment", {"to": str(claim.id)}))
        trial.engine.cancel(claim.id, actor=ANN)
    no_time = sa.update(t.effect).where(t.effect.c.instance_id == bad).values(sent_at=-(10**17))
    trial.engine.store.write(lambda conn: conn.execute(no_time) and None)
    trial.clock.advance(HOUR)
    trial.engine.tick()
    assert [review.instance_id for review in trial.engine.reviews.waiting()] == [good]
    assert [letter.instance_id for letter in trial.engine.dead_letters.find()] == [bad]
    assert trial.engine.tick() == 0


# -- what is undone


def leasing(machine: Machine, state: str, name: str) -> None:
    @machine.entering(state)
    def take(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
        leases.take(unit.conn, unit.now, name, str(instance.id), timedelta(days=9), instance.id)


def test_what_followers_wrote_is_undone_with_the_move_that_another_refuses(opened: Callable[..., Trial]) -> None:
    machine = simple()
    leasing(machine, "done", "door")
    machine.entering("done")(raising(Refused("not today")))
    trial = opened(machine)
    it = trial.create("bad")
    [claim] = trial.claim(1)
    trial.finish(claim, Go("done"))
    assert trial.state(it) == "working"
    assert trial.engine.leases.find("door") is None


def test_what_a_follower_changed_in_other_instances_is_undone_with_it(opened: Callable[..., Trial]) -> None:
    from interlock.engine import firing

    other = Machine(
        "other",
        initial="off",
        states=[State("off", WAITING, waits_for="x"), State("on", FINAL)],
        transitions=[Transition("off", "on", on="go", by=(USER, SYSTEM))],
    )
    leasing(other, "on", "switch")
    machine = simple()

    @machine.entering("done")
    def follow(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
        firing.fire(unit, UUID(instance.data["other"]), "go", Actor(SYSTEM))
        raise Refused("not today")

    trial = opened(other, machine)
    beside = trial.create("other")
    trial.create("bad", {"other": str(beside)})
    [claim] = trial.claim(1)
    trial.finish(claim, Go("done"))
    assert trial.state(beside) == "off"
    assert [row.kind for row in trial.engine.history(beside)] == ["created"]
    assert trial.engine.leases.find("switch") is None


def test_an_attempt_inside_an_attempt_is_undone_with_the_outer_one(opened: Callable[..., Trial]) -> None:
    machine = simple()
    leasing(machine, "done", "door")
    trial = opened(machine)
    it = trial.create("bad")

    def job(unit: Unit) -> None:
        from interlock.engine import moves

        instance = unit.lock(it)
        edge = machine.edge("working", "done")
        assert edge is not None
        try:
            with unit.attempt(instance):
                with unit.attempt(instance):
                    moves.move(unit, instance, machine, edge, Actor(SYSTEM))
                raise Refused("after all")
        except Refused:
            pass

    trial.engine.write(job)
    assert trial.state(it) == "working"
    assert trial.engine.leases.find("door") is None
    assert [row.kind for row in trial.engine.history(it)] == ["created"]


def test_many_dead_letters_are_retried_each_for_itself(opened: Callable[..., Trial]) -> None:
    from interlock.engine import Filter

    def outcome(task: Any) -> Outcome:
        raise RuntimeError("no")

    machine = Machine(
        "bad",
        initial="working",
        failures=Failures(state="failed", otherwise=Rule((Exception,), retries=0)),
        states=[State("working"), State("failed", FAILED), State("done", FINAL)],
        transitions=[
            Transition("working", "done", on="end"),
            Transition("working", "failed", on="fail", by=SYSTEM),
            Transition("failed", "working", on="retry", by=(SYSTEM, USER), guard=lambda about: about.data["ok"]),
        ],
    )
    machine.work("working")(outcome)
    trial = opened(machine)
    bad, good = trial.create("bad"), trial.create("bad", {"ok": True})
    trial.run_until_idle()
    done = trial.engine.dead_letters.many("retry", Filter(machine="bad"), actor=ANN)
    assert len(done) == 1
    assert trial.state(good) == "working"
    assert trial.state(bad) == "failed"


def diverting() -> Machine:
    """Two that fail at the same time; the follower of the first retry sends the other one elsewhere."""
    machine = Machine(
        "bad",
        initial="working",
        failures=Failures(state="failed", otherwise=Rule((Exception,), retries=3, backoff=fixed(HOUR))),
        states=[State("working"), State("other"), State("failed", FAILED), State("done", FINAL)],
        transitions=[
            Transition("working", "done", on="end"),
            Transition("working", "failed", on="fail", by=SYSTEM),
            Transition("failed", "working", on="retry", by=(SYSTEM, USER)),
            Transition("failed", "other", on="divert", by=SYSTEM),
            Transition("other", "done", on="end"),
        ],
    )
    machine.work("working")(lambda task: Go("done"))
    machine.work("other")(lambda task: Go("done"))

    @machine.entering("working")
    def divert(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
        from interlock.engine import firing

        if edge.on == "retry" and instance.data.get("other"):
            firing.fire(unit, UUID(instance.data["other"]), "divert", Actor(SYSTEM))

    return machine


def test_what_a_neighbours_follower_moved_in_the_same_round_is_not_served_as_it_was(
    opened: Callable[..., Trial],
) -> None:
    trial = opened(diverting())
    second = trial.create("bad")
    first = trial.create("bad", {"other": str(second)}, priority=0)
    for claim in trial.claim(2):
        trial.finish(claim, Fail(RuntimeError("x")))
        if claim.id == first:
            trial.clock.advance(timedelta(seconds=1))  # the other one is due a moment later
    trial.clock.advance(2 * HOUR)
    trial.engine.tick()
    assert [trial.state(one) for one in (first, second)] == ["working", "other"]
    assert trial.get(second).wake == "work"
    assert trial.engine.dead_letters.find() == []


def test_a_dead_letter_of_an_event_is_not_fired_where_the_instance_went_on_to(opened: Callable[..., Trial]) -> None:
    machine = Machine(
        "bad",
        initial="a",
        states=[
            State("a", WAITING, waits_for="its time", timers=(Timer(HOUR, "expire"),)),
            State("b", WAITING, waits_for="its time"),
            State("gone", FINAL),
        ],
        transitions=[
            Transition("a", "gone", on="expire", by=SYSTEM, guard=missing),
            Transition("b", "gone", on="expire", by=SYSTEM),
            Transition("a", "b", on="extend", by=USER),
        ],
    )
    trial = opened(machine)
    it = trial.create("bad")
    trial.advance(hours=2)
    [letter] = trial.engine.dead_letters.find()
    trial.engine.fire(it, "extend", actor=ANN)
    with pytest.raises(Refused, match="has moved on to 'b' since"):
        trial.engine.dead_letters.retry(letter.id, actor=ANN)
    assert trial.state(it) == "b"


def test_a_letter_of_a_waiting_row_that_could_not_be_read_fires_its_timer_when_it_is_retried(
    opened: Callable[..., Trial],
) -> None:
    trial = opened(timed(guard=lambda about: "n" in about.data))
    it = trial.create("bad", {"n": 1})

    def plant(text: str) -> None:
        row = sa.update(t.instance).where(t.instance.c.id == it).values(data=text)
        trial.engine.store.write(lambda conn: conn.execute(row) and None)

    plant('{"n": ')
    trial.clock.advance(2 * HOUR)
    trial.engine.tick()
    [letter] = trial.engine.dead_letters.find()
    plant('{"n":1}')
    trial.engine.dead_letters.retry(letter.id, actor=ANN)
    assert trial.state(it) == "late"


def test_a_follower_whose_own_look_up_is_not_served_is_undone_whole(opened: Callable[..., Trial]) -> None:
    from interlock.engine import NotServed

    trial = opened(lost(raising(NotServed("no code for another machine"))))
    gone = trial.new_worker()
    it = trial.create("bad")
    assert trial.claim(1, worker=gone)
    trial.lose(gone)
    assert [row.kind for row in trial.engine.history(it)] == ["created", "failed"]
    assert trial.state(it) == "working"
