"""Versions: a counter over the declared life cycle. Code serves what it covers; the rest waits, and says why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, Literal
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from pydantic import BaseModel, Field

from interlock.engine import Engine, NotServed, Result
from interlock.machine import (
    FAILED,
    FINAL,
    SYSTEM,
    USER,
    WAITING,
    Arm,
    Fail,
    Failures,
    Go,
    Machine,
    Outcome,
    Reminder,
    Rule,
    State,
    Timer,
    Transition,
    Window,
    fixed,
)
from interlock.store import Store, open_store
from interlock.store import tables as t
from interlock.testing import VirtualClock
from tests.support.effects_and_reviews import ANN, parcel
from tests.support.racing import together


class Job(BaseModel):
    """What the first version keeps."""

    name: str
    pay: int = 0


class JobWithPlace(Job):
    """A field more, which may be left out."""

    place: str = ""


class JobThatNeedsPlace(Job):
    """A field more, which may not."""

    place: str


class JobWithPayInWords(BaseModel):
    """A field of another type."""

    name: str
    pay: str = ""


class JobWithoutPay(BaseModel):
    """A field less."""

    name: str


class JobWithALeast(Job):
    """A field that takes less."""

    pay: int = Field(0, ge=1)


class JobOfAKind(Job):
    """A field that takes certain values only."""

    name: Literal["gardener", "cook"]


class Tools(BaseModel):
    """A model inside."""

    spade: bool = False


class MoreTools(Tools):
    """The same with a field that is needed."""

    rake: bool


class JobWithTools(Job):
    """A model inside, and a list of them."""

    tools: Tools = Tools()
    spare: list[Tools] = []


class JobWithMoreTools(Job):
    """The same, with a field that is needed inside."""

    tools: MoreTools = MoreTools(rake=True)
    spare: list[MoreTools] = []


WEEK = Timer(timedelta(days=7), "expire")
DAY = Reminder(timedelta(days=1), "still waiting")
ASKING = State("asking", WAITING, waits_for="an answer", timers=(DAY, WEEK))
STATES = (State("new"), ASKING, State("broken", FAILED), State("done", FINAL))
TRANSITIONS = (
    Transition("new", "asking", on="ask"),
    Transition("new", "broken", on="fail"),
    Transition("broken", "new", on="retry", by=(SYSTEM, USER)),
    Transition("asking", "done", on="answered", by=USER),
    Transition("asking", "done", on="expire", by=SYSTEM),
)
ARMS = (Arm("asking", on="look"),)
AFTER_AN_HOUR = Rule((Exception,), retries=3, backoff=fixed(timedelta(hours=1)))


def work(_: Any) -> Outcome:
    return Go("asking")


def job(
    states: Sequence[State] = STATES,
    transitions: Sequence[Transition] = TRANSITIONS,
    data: type[BaseModel] | None = Job,
    arms: Sequence[Arm] = ARMS,
    **options: Any,
) -> Machine:
    """The first version, with whatever is said here changed."""
    failures = options.pop("failures", Failures(state="broken", otherwise=AFTER_AN_HOUR))
    made = Machine(
        "job", initial="new", states=states, transitions=transitions, data=data, arms=arms, failures=failures, **options
    )
    return made.with_handlers({name: work for name in ("new", "asking") if name in made.states})


def with_asking(*timers: Timer | Reminder) -> Machine:
    asking = State("asking", WAITING, waits_for="an answer", timers=timers)
    return job(states=[asking if state.name == "asking" else state for state in STATES])


MORE = State("shelved", WAITING, waits_for="better times")
BIGGER = job(
    states=[*STATES, MORE],
    transitions=[
        *TRANSITIONS,
        Transition("asking", "shelved", on="shelve", by=USER),
        Transition("shelved", "done", on="drop", by=USER),
    ],
    data=JobWithPlace,
)
WITHOUT_ASKING = job(
    states=[State("new"), State("broken", FAILED), State("done", FINAL)],
    transitions=[Transition("new", "done", on="finish"), *TRANSITIONS[1:3]],
    arms=(),
)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


class Process:
    """One process with the code that it has; several of them use one database."""

    def __init__(self, store: Store, clock: VirtualClock, *machines: Machine) -> None:
        self.engine = Engine(store, machines, clock=clock)
        self.worker = uuid4()

    @property
    def version(self) -> int:
        return self.engine.core.current["job"]

    def create(self) -> UUID:
        return self.engine.create("job", {"name": "gardener", "place": "here"}).id

    def claim(self) -> list[Any]:
        return self.engine.claim(self.worker, ["job", "parcel"], 16)

    def work(self, outcome: Outcome | None = None) -> list[UUID]:
        claims = self.claim()
        done = self.engine.finish([Result(claim, outcome or Go("asking")) for claim in claims])
        assert all(done)
        return [claim.id for claim in claims]

    def tick(self) -> None:
        """Until nothing is due at this moment."""
        for _ in range(20):
            if not self.engine.tick():
                return
        raise AssertionError("there is always something due")


@pytest.fixture
def old(store: Store, clock: VirtualClock) -> Iterator[Process]:
    process = Process(store, clock, job())
    yield process
    assert process.engine.verify().problems == ()


def definitions(store: Store) -> list[tuple[str, int]]:
    query = sa.select(t.definition.c.machine, t.definition.c.version).order_by(t.definition.c.machine, "version")
    return [tuple(row) for row in store.read(lambda conn: conn.execute(query).all())]


def test_the_first_version_is_one_and_the_same_life_cycle_stays_that_version(old: Process, store: Store) -> None:
    assert old.version == Process(store, VirtualClock(), job()).version == 1
    assert definitions(store) == [("job", 1)]


POLICIES: dict[str, Machine] = {
    "other handlers": job().with_handlers({"new": lambda task: Go("done")}),
    "more retries": job(failures=Failures(state="broken", otherwise=Rule((Exception,), retries=9))),
    "a limit": job(limits=[Window("daily", key="{name}", size=1, per=timedelta(days=1))]),
    "a title": job(title="A job"),
    "another queue": job(queue="jobs"),
}


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("name", POLICIES)
def test_numbers_of_policies_and_handlers_make_no_version(old: Process, store: Store, name: str) -> None:
    assert Process(store, VirtualClock(), POLICIES[name]).version == 1


CHANGES: dict[str, Machine] = {
    "a state more": BIGGER,
    "a state less": WITHOUT_ASKING,
    "a field more": job(data=JobWithPlace),
    "an arm less": job(arms=()),
    "another timer": with_asking(WEEK),
    "a guard": job(
        transitions=[
            *TRANSITIONS[:-2],
            Transition("asking", "done", on="answered", by=USER, guard=lambda facts: True),
            TRANSITIONS[-1],
        ]
    ),
    "somebody else may": job(
        transitions=[*TRANSITIONS[:-1], Transition("asking", "done", on="expire", by=(SYSTEM, USER))]
    ),
}


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_life_cycle_is_the_next_version(old: Process, store: Store, clock: VirtualClock, name: str) -> None:
    assert Process(store, clock, CHANGES[name]).version == 2
    assert Process(store, clock, CHANGES[name]).version == 2
    assert definitions(store) == [("job", 1), ("job", 2)]


def test_the_versions_of_one_machine_do_not_count_for_another(old: Process, store: Store, clock: VirtualClock) -> None:
    both = Process(store, clock, BIGGER, parcel)
    assert both.engine.core.current == {"job": 2, "parcel": 1}


def test_an_instance_keeps_the_version_that_it_was_started_with(
    old: Process, store: Store, clock: VirtualClock
) -> None:
    it = old.create()
    new = Process(store, clock, BIGGER)
    assert new.work() == [it]
    assert (new.engine.get(it).state, new.engine.get(it).version) == ("asking", 1)
    assert new.engine.get(new.create()).version == 2


def test_code_that_goes_back_has_its_old_version_again(old: Process, store: Store, clock: VirtualClock) -> None:
    Process(store, clock, BIGGER)
    assert Process(store, clock, job()).version == 1
    assert len(definitions(store)) == 2


def test_processes_that_bring_a_version_at_the_same_moment_agree_on_its_number(url: str, clock: VirtualClock) -> None:
    def start(_: int) -> int:
        with open_store(url, wakeup="poll") as store:
            return Process(store, clock, BIGGER).version

    assert together(6, start) == [1] * 6


def test_a_compatible_older_version_is_served(old: Process, store: Store, clock: VirtualClock) -> None:
    it = old.create()
    new = Process(store, clock, BIGGER)
    assert new.engine.core.unserved == {}
    assert new.work() == [it]
    new.engine.fire(it, "answered", actor=ANN)
    assert new.engine.get(it).state == "done"


INCOMPATIBLE: dict[str, tuple[Machine, str]] = {
    "a state is gone": (WITHOUT_ASKING, "state 'asking' is gone"),
    "a state has another kind": (
        job(
            states=[State("new"), State("asking"), *STATES[2:]],
            transitions=[*TRANSITIONS, Transition("asking", "done", on="finish")],
        ),
        "state 'asking' was waiting and is work",
    ),
    "a transition is gone": (
        job(transitions=[*TRANSITIONS[:3], TRANSITIONS[4]]),
        "transition 'asking' → 'done' on 'answered' is gone",
    ),
    "a field is gone": (job(data=JobWithoutPay), "field 'pay' of the data is gone"),
    "a field has another type": (
        job(data=JobWithPayInWords),
        "field 'pay' of the data has another type: it was integer and is string",
    ),
    "a field is required": (job(data=JobThatNeedsPlace), "field 'place' of the data is required now"),
    "a field is bounded": (job(data=JobWithALeast), "field 'pay' of the data has minimum 1 now"),
    "a field takes fewer values": (job(data=JobOfAKind), "field 'name' of the data may only be one of 2 values now"),
}


def test_a_field_that_is_needed_deep_inside_leaves_instances_to_code_that_covers_them(
    store: Store, clock: VirtualClock
) -> None:
    old = Process(store, clock, job(data=JobWithTools))
    it = old.create()
    new = Process(store, clock, job(data=JobWithMoreTools))
    assert new.engine.core.unserved["job", 1] == [
        "field 'spare[].rake' of the data is required now",
        "field 'tools.rake' of the data is required now",
    ]
    assert new.claim() == []
    assert new.engine.explain(it).waits_for == "code"
    assert old.work() == [it]
    assert new.engine.dead_letters.find() == []


@pytest.mark.parametrize("name", INCOMPATIBLE)
def test_an_older_version_that_the_code_does_not_cover_is_left_alone_and_explained(
    old: Process, store: Store, clock: VirtualClock, name: str
) -> None:
    it = old.create()
    machine, why = INCOMPATIBLE[name]
    new = Process(store, clock, machine)
    assert why in new.engine.core.unserved["job", 1]
    mine = new.create()
    assert [claim.id for claim in new.claim()] == [mine]
    with pytest.raises(NotServed, match=f"this process has no code for job version 1: .*{why}"):
        new.engine.fire(it, "ask")
    explanation = new.engine.explain(it)
    assert explanation.waits_for == "code"
    assert "No process here has code for version 1 of job" in explanation.sentence
    assert old.work() == [it], "the process with the old code still does its work"
    assert old.engine.get(it).state == "asking"


def test_an_older_version_whose_arm_is_gone_is_left_alone(old: Process, store: Store, clock: VirtualClock) -> None:
    assert ("job", 1) in Process(store, clock, job(arms=())).engine.core.unserved


def test_a_version_that_is_newer_than_the_code_is_left_alone(old: Process, store: Store, clock: VirtualClock) -> None:
    new = Process(store, clock, with_asking(WEEK))
    it = new.create()
    restarted = Process(store, clock, job())
    assert restarted.engine.core.unserved == {("job", 2): ["it is newer than this code"]}
    for process, why in ((restarted, "it is newer than this code"), (old, "it was never registered here")):
        assert process.claim() == []
        with pytest.raises(NotServed, match=why):
            process.engine.fire(it, "ask")
        assert process.engine.explain(it).waits_for == "code"
    assert new.work() == [it]


def _stranded_and_due(old: Process, clock: VirtualClock) -> dict[str, UUID]:
    """Instances of the old version with everything due by itself: a retry, a resume, a timer, a time limit."""
    found = {}
    for name in ("retry", "paused", "timer", "limit"):
        it = found[name] = old.create()
        if name == "retry":
            old.work(Fail(ValueError("no answer")))
        if name == "timer":
            old.work()
        if name == "paused":
            old.engine.pause(it, actor=ANN, resume_at=clock.time + timedelta(hours=1))
        if name == "limit":
            assert [claim.id for claim in old.claim()] == [it]
    return found


def test_what_is_due_of_a_version_without_code_here_holds_up_nothing(
    old: Process, store: Store, clock: VirtualClock
) -> None:
    stranded = _stranded_and_due(old, clock)
    new = Process(store, clock, WITHOUT_ASKING, parcel)
    mine = new.create()
    new.work(Fail(ValueError("no answer")))
    before = {name: old.engine.get(it) for name, it in stranded.items()}
    clock.advance(timedelta(days=8))
    assert new.engine.tick() == 1
    assert new.engine.get(mine).state == "new", "its own retry was due"
    assert {name: old.engine.get(it) for name, it in stranded.items()} == before
    old.tick()
    states = {name: old.engine.get(it).state for name, it in stranded.items()}
    assert states == {"retry": "new", "paused": "new", "timer": "done", "limit": "broken"}


def test_what_a_lost_worker_held_is_taken_back_by_whoever_sees_it(
    old: Process, store: Store, clock: VirtualClock
) -> None:
    it = old.create()
    assert [claim.id for claim in old.claim()] == [it]
    new = Process(store, clock, WITHOUT_ASKING)
    assert new.engine.take_back([old.worker]) == 1
    old.tick()  # its code says what follows from a crash
    assert old.engine.get(it).failures == {"new|crash": 1}
    assert old.work() == [it]


# -- timers of the new code on instances of the old

WAITS: dict[str, tuple[Machine, int]] = {
    "the reminder is gone": (with_asking(WEEK), 7),
    "the timer comes later": (with_asking(DAY, Timer(timedelta(days=14), "expire")), 14),
    "the timer comes earlier": (with_asking(DAY, Timer(timedelta(days=3), "expire")), 7),
    "another reminder comes first": (with_asking(DAY, Reminder(timedelta(days=5), "soon"), WEEK), 7),
}


@pytest.mark.parametrize("name", WAITS)
def test_an_instance_that_waits_is_timed_by_code_that_changed_its_timers(
    old: Process, store: Store, clock: VirtualClock, name: str
) -> None:
    machine, days = WAITS[name]
    it = old.create()
    old.work()
    start = clock.time
    clock.advance(timedelta(days=1))
    assert old.engine.tick() == 1
    new = Process(store, clock, machine)
    assert new.engine.explain(it).upcoming, "it says what is to come"
    for _ in range(2, 15):
        clock.advance(timedelta(days=1))
        new.tick()
        if new.engine.get(it).state == "done":
            break
    assert clock.time - start == timedelta(days=days)


def test_an_instance_whose_timers_are_all_gone_waits_for_its_event(
    old: Process, store: Store, clock: VirtualClock
) -> None:
    it = old.create()
    old.work()
    new = Process(store, clock, with_asking())
    clock.advance(timedelta(days=30))
    new.tick()
    assert (new.engine.get(it).state, new.engine.get(it).timer_at) == ("asking", None)
    assert new.engine.explain(it).waits_for == "person"


# -- versions that a setting chooses


def pair() -> tuple[Machine, Machine]:
    """Two versions of which neither covers the other."""
    plain, other = job(), WITHOUT_ASKING.with_handlers({"new": lambda task: Go("done")})
    plain.followed_by(other)
    return plain, other


def test_a_process_serves_both_versions_whichever_it_gives_to_new_instances(store: Store, clock: VirtualClock) -> None:
    plain, other = pair()
    first = Process(store, clock, plain)
    old = first.create()
    second = Process(store, clock, other)
    new = second.create()
    assert [process.engine.get(one).version for process, one in ((first, old), (second, new))] == [1, 2]
    for process in (second, Process(store, clock, plain)):
        assert process.engine.core.unserved == {}
    for claim in second.claim():
        assert second.engine.finish([Result(claim, Go("asking" if claim.id == old else "done"))]) == [True]
    assert [second.engine.get(one).state for one in (old, new)] == ["asking", "done"]


def test_the_earlier_one_has_the_lower_number_wherever_it_starts(store: Store, clock: VirtualClock) -> None:
    plain, other = pair()
    assert Process(store, clock, other).version == 2
    assert definitions(store) == [("job", 1), ("job", 2)]
    assert Process(store, clock, plain).version == 1


def test_a_version_is_one_of_the_same_machine() -> None:
    with pytest.raises(ValueError, match="'parcel' is another machine than 'job'"):
        job().followed_by(parcel)
