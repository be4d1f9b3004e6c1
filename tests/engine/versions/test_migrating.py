"""Migrating: running instances move to another version of their machine, each with one history row, and back."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from pydantic import BaseModel

from interlock.engine import Engine, InvalidData, NotFound, NotServed, Result, secrets
from interlock.engine.versions import migrating
from interlock.engine.versions.batches import Report
from interlock.machine import (
    FAILED,
    FINAL,
    SYSTEM,
    USER,
    WAITING,
    Actor,
    Concurrent,
    Fail,
    Failures,
    Go,
    Machine,
    Reminder,
    Review,
    Rule,
    State,
    Timer,
    Transition,
    fixed,
)
from interlock.store import Store
from interlock.store import tables as t
from interlock.testing import VirtualClock
from interlock.testing.laws import broken_laws
from tests.engine.versions.test_versions import (
    STATES,
    TRANSITIONS,
    WITHOUT_ASKING,
    JobThatNeedsPlace,
    JobWithoutPay,
    JobWithPlace,
    Process,
    job,
    with_asking,
)

ANN = Actor(USER, "ann")
DAY = timedelta(days=1)
LATER = "hunter2hunter2"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def old(store: Store, clock: VirtualClock) -> Process:
    return Process(store, clock, job())


def moved(report: Report) -> dict[tuple[int, str, int, str], int]:
    return dict(report.moved)


def refusals(report: Report) -> dict[str, int]:
    return {reason: trouble.count for (_, _, reason), trouble in report.refused.items()}


def apply(process: Process, **options: Any) -> Report:
    way = migrating.route(process.engine, "job", **options)
    return migrating.apply(process.engine, way, ANN, reason="new release", patience=0)


def plan(process: Process, **options: Any) -> Report:
    return migrating.plan(process.engine, migrating.route(process.engine, "job", **options))


def back(process: Process, **options: Any) -> Report:
    return migrating.back(process.engine, "job", ANN, patience=0, **options)


def asked(store: Store, it: UUID) -> list[tuple[str, str, str]]:
    query = sa.select(t.review).where(t.review.c.instance_id == it).order_by(t.review.c.id)
    return [(r.state, r.title, r.status) for r in store.read(lambda conn: conn.execute(query).all())]


RENAMED = job(
    states=[State("new"), State("talking", WAITING, waits_for="an answer", timers=STATES[1].timers), *STATES[2:]],
    transitions=[
        Transition("new", "talking", on="ask"),
        *TRANSITIONS[1:3],
        Transition("talking", "done", on="answered", by=USER),
        Transition("talking", "done", on="expire", by=SYSTEM),
    ],
    arms=(),
)


# -- the version


def test_an_instance_of_an_older_version_becomes_one_of_the_new_with_one_history_row(
    old: Process, store: Store, clock: VirtualClock
) -> None:
    it = old.create()
    new = Process(store, clock, job(data=JobWithoutPay))
    assert moved(apply(new)) == {(1, "new", 2, "new"): 1}
    instance, rows = new.engine.get(it), new.engine.history(it)
    assert (instance.version, instance.state, instance.data) == (2, "new", {"name": "gardener"})
    assert [row.kind for row in rows] == ["created", "migrated"]
    assert (rows[1].actor, rows[1].payload["from_version"], rows[1].payload["to_version"]) == ("user:ann", 1, 2)
    assert (rows[1].payload["reason"], rows[1].payload["unset"]) == ("new release", ["pay"])


def test_what_was_stranded_is_worked_on_again(old: Process, store: Store, clock: VirtualClock) -> None:
    it = old.create()
    new = Process(store, clock, WITHOUT_ASKING)
    assert new.work(Go("done")) == []
    apply(new)
    assert new.work(Go("done")) == [it]
    assert (new.engine.get(it).state, broken_laws(new.engine)) == ("done", [])


def test_a_plan_tells_the_same_as_what_is_then_done_and_changes_nothing(
    old: Process, store: Store, clock: VirtualClock
) -> None:
    for _ in range(3):
        old.create()
    new = Process(store, clock, RENAMED)
    old.work()
    ready = old.create()
    before = new.engine.get(ready)
    preview = plan(new, renamed={"asking": "talking"})
    assert new.engine.get(ready) == before
    assert moved(preview) == {(1, "asking", 2, "talking"): 3, (1, "new", 2, "new"): 1}
    assert moved(apply(new, renamed={"asking": "talking"})) == moved(preview)


def test_doing_it_twice_does_it_once(old: Process, store: Store, clock: VirtualClock) -> None:
    it = old.create()
    new = Process(store, clock, job(data=JobWithoutPay))
    apply(new)
    assert moved(apply(new)) == {}
    assert [row.kind for row in new.engine.history(it)] == ["created", "migrated"]


def test_many_go_in_small_batches(old: Process, store: Store, clock: VirtualClock) -> None:
    made = old.engine.create_many("job", [{"name": f"n{n}"} for n in range(23)])
    new = Process(store, clock, job(data=JobWithoutPay))
    received: list[int] = []
    way = migrating.route(new.engine, "job")
    assert migrating.count(new.engine, way) == 23
    report = migrating.apply(new.engine, way, ANN, batch=5, progress=received.append)
    assert (report.moved.total(), sum(received), max(received)) == (23, 23, 5)
    assert {new.engine.get(i).version for i in made} == {2}
    assert migrating.count(new.engine, way) == 0


def test_what_is_over_stays_as_it_ended(old: Process, store: Store, clock: VirtualClock) -> None:
    it = old.create()
    old.work()
    old.engine.fire(it, "answered", actor=ANN)
    new = Process(store, clock, WITHOUT_ASKING)
    assert moved(apply(new)) == {}
    assert new.engine.get(it).version == 1


def test_only_one_workspace_if_it_is_named(old: Process, store: Store, clock: VirtualClock) -> None:
    here = old.create()
    there = old.engine.create("job", {"name": "cook"}, workspace="north").id
    new = Process(store, clock, job(data=JobWithoutPay))
    apply(new, workspace="north")
    assert (new.engine.get(here).version, new.engine.get(there).version) == (1, 2)


def test_the_past_before_and_after_is_shown_as_it_was(old: Process, store: Store, clock: VirtualClock) -> None:
    it = old.create()
    old.work()
    before = clock.time
    clock.advance(timedelta(hours=1))
    new = Process(store, clock, RENAMED)
    apply(new, renamed={"asking": "talking"})
    assert (new.engine.at(it, before).state, new.engine.at(it, clock.time).state) == ("asking", "talking")
    assert new.engine.verify().problems == ()


# -- states


def test_a_state_that_is_gone_needs_to_be_mapped(old: Process, store: Store, clock: VirtualClock) -> None:
    it = old.create()
    old.work()
    new = Process(store, clock, RENAMED)
    report = apply(new)
    assert refusals(report) == {"state 'asking' is gone; say where its instances go with --map asking=…": 1}
    assert [example for trouble in report.refused.values() for example, _ in trouble.examples] == [it]
    assert (new.engine.get(it).version, new.engine.get(it).seq) == (1, 2)
    apply(new, renamed={"asking": "talking"})
    new.engine.fire(it, "answered", actor=ANN)
    assert (new.engine.get(it).state, broken_laws(new.engine)) == ("done", [])


def test_a_renamed_state_keeps_since_when_it_is_there(old: Process, store: Store, clock: VirtualClock) -> None:
    it = old.create()
    old.work()
    entered = old.engine.get(it).entered_at
    clock.advance(timedelta(hours=5))
    new = Process(store, clock, RENAMED)
    apply(new, renamed={"asking": "talking"})
    instance = new.engine.get(it)
    assert (instance.entered_at, instance.state) == (entered, "talking")
    clock.advance(timedelta(days=7))
    new.tick()
    assert new.engine.get(it).state == "done"


def test_a_state_of_another_kind_is_entered_anew_if_that_is_meant(
    old: Process, store: Store, clock: VirtualClock
) -> None:
    it = old.create()
    old.work()
    clock.advance(timedelta(hours=5))
    working = job(
        states=[State("new"), State("asking"), *STATES[2:]],
        transitions=[*TRANSITIONS[:3], Transition("asking", "done", on="finish")],
        arms=(),
    )
    new = Process(store, clock, working)
    why = "state 'asking' was waiting and is work; say that this is meant with --map asking=asking"
    assert refusals(apply(new)) == {why: 1}
    apply(new, renamed={"asking": "asking"})
    assert new.engine.get(it).entered_at == clock.now()
    assert new.work(Go("done")) == [it]
    assert broken_laws(new.engine) == []


def test_a_state_that_is_final_now_ends_it_and_frees_its_key(old: Process, store: Store, clock: VirtualClock) -> None:
    it = old.engine.create("job", {"name": "cook"}, key="k").id
    old.work()
    new = Process(store, clock, WITHOUT_ASKING)
    apply(new, renamed={"asking": "done"})
    assert new.engine.get(it).finished_at == clock.now()
    assert new.engine.create("job", {"name": "cook"}, key="k").id != it
    assert broken_laws(new.engine) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [({"nowhere": "new"}, "none of the versions to leave has a state 'nowhere'"), ({"new": "moon"}, "no state 'moon'")],
)
def test_a_map_names_states_that_are_there(
    old: Process, store: Store, clock: VirtualClock, given: Mapping[str, str], said: str
) -> None:
    new = Process(store, clock, RENAMED)
    with pytest.raises(NotFound, match=said):
        migrating.route(new.engine, "job", renamed=given)


# -- versions to leave and to go to


def test_a_newer_version_is_left_alone_unless_it_is_named(old: Process, store: Store, clock: VirtualClock) -> None:
    new = Process(store, clock, job(data=JobWithoutPay))
    it = new.create()
    assert moved(apply(old)) == {}
    assert moved(apply(old, source=2)) == {(2, "new", 1, "new"): 1}
    assert (old.engine.get(it).version, old.engine.get(it).data) == (1, {"name": "gardener", "pay": 0})
    assert old.work() == [it]


def test_code_moves_instances_to_an_older_version_that_it_still_serves(
    old: Process, store: Store, clock: VirtualClock
) -> None:
    more = State("shelved", WAITING, waits_for="better times")
    ways = [
        *TRANSITIONS,
        Transition("asking", "shelved", on="shelve", by=USER),
        Transition("shelved", "done", on="drop", by=USER),
    ]
    new = Process(store, clock, job(states=[*STATES, more], transitions=ways))
    plain, shelved = new.create(), new.create()
    new.work()
    new.engine.fire(shelved, "shelve", actor=ANN)
    report = apply(new, to=1)
    assert moved(report) == {(2, "asking", 1, "asking"): 1}
    assert list(refusals(report)) == ["state 'shelved' is gone; say where its instances go with --map shelved=…"]
    assert (new.engine.get(plain).version, new.engine.get(shelved).version) == (1, 2)


def test_a_version_that_this_code_does_not_serve_is_no_goal(old: Process, store: Store, clock: VirtualClock) -> None:
    new = Process(store, clock, WITHOUT_ASKING)
    with pytest.raises(NotServed, match="state 'asking' is gone"):
        migrating.route(new.engine, "job", to=1)
    with pytest.raises(InvalidData, match="cannot be moved to itself"):
        migrating.route(new.engine, "job", source=2)
    with pytest.raises(NotFound, match="has no version 7; it has 1, 2"):
        migrating.route(new.engine, "job", source=7)


def test_whoever_only_plans_needs_no_version_in_the_database(old: Process, store: Store, clock: VirtualClock) -> None:
    old.create()
    looking = Engine(store, [WITHOUT_ASKING], clock=clock, register=False)
    way = migrating.route(looking, "job")
    assert moved(migrating.plan(looking, way)) == {(1, "new", 2, "new"): 1}
    with pytest.raises(NotFound, match="version 2 of job is not registered"):
        migrating.apply(looking, way, ANN)


# -- data


def test_data_that_does_not_fit_is_reported_with_examples_and_stays(
    old: Process, store: Store, clock: VirtualClock
) -> None:
    made = old.engine.create_many("job", [{"name": f"n{n}"} for n in range(5)])
    new = Process(store, clock, job(data=JobThatNeedsPlace))
    for report in (plan(new), apply(new)):
        [((version, state, reason), trouble)] = report.refused.items()
        assert (version, state, reason) == (1, "new", "the data does not fit: place: Field required")
        assert (trouble.count, [i for i, _ in trouble.examples]) == (5, made[:3])
    assert {new.engine.get(i).seq for i in made} == {1}


def test_an_upgrade_makes_the_data_fit(old: Process, store: Store, clock: VirtualClock) -> None:
    it = old.create()

    def settle(data: dict[str, Any]) -> dict[str, Any]:
        data["name"] = data["name"].upper()
        return {**data, "place": "here"}

    new = Process(store, clock, job(data=JobThatNeedsPlace, upgrades={1: settle}))
    report = apply(new)
    assert new.engine.get(it).data == {"name": "GARDENER", "pay": 0, "place": "here"}
    assert dict(report.fields) == {("changed", "name"): 1, ("added", "place"): 1}
    assert new.engine.verify().problems == ()


def test_an_upgrade_can_be_declared_by_the_digest_of_a_version(old: Process, store: Store, clock: VirtualClock) -> None:
    it = old.create()
    by_digest = {job().digest()[:12]: lambda data: {**data, "place": "there"}}
    new = Process(store, clock, job(data=JobThatNeedsPlace, upgrades=by_digest))
    apply(new)
    assert new.engine.get(it).data["place"] == "there"


@pytest.mark.parametrize(
    ("upgrade", "reason"),
    [
        (lambda data: {**data, "place": data["street"]}, "the upgrade of its data failed: KeyError"),
        (lambda data: None, "the upgrade of its data gave NoneType instead of a mapping"),
    ],
)
def test_an_upgrade_that_fails_leaves_the_instance_as_it_is(
    old: Process, store: Store, clock: VirtualClock, upgrade: Any, reason: str
) -> None:
    it = old.create()
    new = Process(store, clock, job(data=JobThatNeedsPlace, upgrades={1: upgrade}))
    assert refusals(apply(new)) == {reason: 1}
    assert new.engine.get(it).seq == 1


def test_big_data_beside_the_row_is_changed_there(old: Process, store: Store, clock: VirtualClock) -> None:
    it = old.engine.create("job", {"name": "x" * 5000}).id
    new = Process(store, clock, job(data=JobThatNeedsPlace, upgrades={1: lambda data: {"name": "small", "place": "p"}}))
    apply(new)
    assert new.engine.get(it).data == {"name": "small", "pay": 0, "place": "p"}
    back(new)
    assert new.engine.get(it).data == {"name": "x" * 5000, "pay": 0}
    assert new.engine.verify().problems == ()


# -- workers


def test_what_a_worker_holds_is_left_to_it_and_taken_when_it_is_done(
    old: Process, store: Store, clock: VirtualClock
) -> None:
    it = old.create()
    [claim] = old.claim()
    new = Process(store, clock, RENAMED)
    report = apply(new, renamed={"asking": "talking"})
    assert (moved(report), dict(report.busy)) == ({}, {(1, "new"): 1})

    def finish() -> None:
        old.engine.finish([Result(claim, Go("asking"))])

    later = threading.Timer(0.2, finish)
    later.start()
    way = migrating.route(new.engine, "job", renamed={"asking": "talking"})
    report = migrating.apply(new.engine, way, ANN, patience=10)
    later.join()
    assert (moved(report), dict(report.busy)) == ({(1, "asking", 2, "talking"): 1}, {})
    assert [row.kind for row in new.engine.history(it)] == ["created", "moved", "migrated"]


def test_beside_workers_of_both_versions_every_instance_is_done_once(
    old: Process, store: Store, clock: VirtualClock
) -> None:
    made = old.engine.create_many("job", [{"name": f"n{n}"} for n in range(60)])
    new = Process(store, clock, job(data=JobWithoutPay))
    stop = threading.Event()
    worked: list[UUID] = []

    def work(process: Process) -> None:
        while not stop.is_set():
            claims = process.engine.claim(process.worker, ["job"], 3)
            done = process.engine.finish([Result(claim, Go("asking")) for claim in claims])
            worked.extend(claim.id for claim, one in zip(claims, done, strict=True) if one)

    threads = [threading.Thread(target=work, args=(process,)) for process in (old, new)]
    for thread in threads:
        thread.start()
    way = migrating.route(new.engine, "job")
    report = migrating.apply(new.engine, way, ANN, batch=7, patience=20)
    stop.set()
    for thread in threads:
        thread.join()
    assert (report.moved.total(), report.refused) == (60, {})
    assert {new.engine.get(i).version for i in made} == {2}
    while more := new.work():
        worked += more
    assert len(worked) == len(set(worked)) == 60
    assert {new.engine.get(i).state for i in made} == {"asking"}
    assert [len([r for r in new.engine.history(i) if r.kind == "migrated"]) for i in made] == [1] * 60
    assert new.engine.verify().problems == ()


def test_two_operators_at_once_move_each_instance_once(old: Process, store: Store, clock: VirtualClock) -> None:
    made = old.engine.create_many("job", [{"name": f"n{n}"} for n in range(40)])
    new = Process(store, clock, job(data=JobWithoutPay))
    done: list[int] = []

    def run() -> None:
        way = migrating.route(new.engine, "job")
        done.append(migrating.apply(new.engine, way, ANN, batch=3).moved.total())

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(done) == 40
    assert {new.engine.get(i).seq for i in made} == {2}


# -- timers, pauses, failures


def test_other_timers_count_from_the_entry_and_what_went_off_does_not_go_off_again(
    old: Process, store: Store, clock: VirtualClock
) -> None:
    it = old.create()
    old.work()
    clock.advance(DAY)
    old.tick()
    new = Process(
        store, clock, with_asking(Reminder(DAY, "still"), Reminder(2 * DAY, "again"), Timer(3 * DAY, "expire"))
    )
    preview = plan(new)
    assert dict(preview.timers) == {
        ("asking", "reminder after 1 d, expire after 7 d → reminder after 1 d, reminder after 2 d, expire after 3 d"): 1
    }
    apply(new)
    entered = new.engine.get(it).entered_at
    assert new.engine.get(it).timer_at == entered + 2 * DAY // timedelta(microseconds=1)
    clock.advance(2 * DAY)
    new.tick()
    kinds = [row.kind for row in new.engine.history(it)]
    assert kinds == ["created", "moved", "reminded", "migrated", "reminded", "moved"]
    assert new.engine.get(it).state == "done"


def test_a_paused_instance_stays_paused(old: Process, store: Store, clock: VirtualClock) -> None:
    it = old.create()
    old.engine.pause(it, actor=ANN)
    new = Process(store, clock, job(data=JobWithoutPay))
    apply(new)
    assert new.work() == []
    new.engine.resume(it, actor=ANN)
    assert new.work() == [it]


def test_a_retry_that_is_due_later_stays_due_and_failures_stay_counted(
    old: Process, store: Store, clock: VirtualClock
) -> None:
    it = old.create()
    old.work(Fail(ValueError("no")))
    due = old.engine.get(it).due_at
    first = [
        Transition("first", "asking", on="ask"),
        Transition("first", "broken", on="fail"),
        Transition("broken", "first", on="retry", by=(SYSTEM, USER)),
        *TRANSITIONS[3:],
    ]
    states = [State("first"), *STATES[1:]]
    machine = Machine(
        "job",
        initial="first",
        states=states,
        transitions=first,
        data=JobWithoutPay,
        failures=Failures(state="broken", otherwise=Rule((Exception,), retries=1, backoff=fixed(DAY))),
    ).with_handlers({"first": lambda task: Go("asking")})
    new = Process(store, clock, machine)
    apply(new, renamed={"new": "first"})
    instance = new.engine.get(it)
    assert (instance.due_at, instance.failed_step, instance.failures_of("first")) == (due, "first", 1)
    clock.advance(timedelta(hours=1))
    new.tick()
    assert new.work(Fail(ValueError("no"))) == [it]
    assert new.engine.get(it).finished_at is not None


def test_a_retry_that_the_new_version_has_no_way_for_is_refused(
    old: Process, store: Store, clock: VirtualClock
) -> None:
    it = old.create()
    old.work(Fail(ValueError("no")))
    ways = [*TRANSITIONS[:2], Transition("broken", "new", on="again", by=SYSTEM), *TRANSITIONS[3:]]
    new = Process(store, clock, job(transitions=ways, failures=Failures(state="broken", retry="again")))
    assert refusals(apply(new)) == {"it is to be resumed with 'retry', which the system cannot fire in 'broken'": 1}
    assert new.engine.get(it).version == 1


def test_what_was_given_up_goes_along_and_can_be_retried(old: Process, store: Store, clock: VirtualClock) -> None:
    never = job(failures=Failures(state="broken", otherwise=Rule((Exception,), retries=0)))
    giving_up = Process(store, clock, never)
    it = giving_up.create()
    giving_up.work(Fail(ValueError("no")))
    new = Process(store, clock, job(data=JobWithoutPay))
    assert moved(apply(new)) == {(1, "broken", 2, "broken"): 1}
    [letter] = new.engine.dead_letters.find()
    new.engine.dead_letters.retry(letter.id, actor=ANN)
    assert new.work() == [it]


# -- reviews


def asking(review: Review | None, name: str = "asking") -> Machine:
    state = State(name, WAITING, waits_for="an answer", review=review)
    return job(
        states=[State("new"), state, State("broken", FAILED), State("done", FINAL)],
        transitions=[
            Transition("new", name, on="ask"),
            *TRANSITIONS[1:3],
            Transition(name, "done", on="answered", by=USER),
        ],
        arms=(),
        data=JobWithoutPay,
    )


def test_a_review_asks_in_the_words_of_the_new_version(old: Process, store: Store, clock: VirtualClock) -> None:
    first = Process(store, clock, asking(Review("Shall we?", {"yes": "answered"})))
    it = first.create()
    first.work()
    new = Process(store, clock, asking(Review("Shall we do it?", {"aye": "answered"}), "talking"))
    preview = plan(new, renamed={"asking": "talking"})
    apply(new, renamed={"asking": "talking"})
    assert dict(preview.reviews) == {("talking", "changed"): 1}
    assert asked(store, it) == [("talking", "Shall we do it?", "open")]
    [review] = new.engine.reviews.waiting()
    new.engine.reviews.decide(review.id, "aye", actor=ANN)
    assert new.engine.get(it).state == "done"


def test_a_review_that_is_gone_is_closed_and_a_new_one_is_opened(
    old: Process, store: Store, clock: VirtualClock
) -> None:
    first = Process(store, clock, asking(Review("Shall we?", {"yes": "answered"})))
    it = first.create()
    first.work()
    without = Process(store, clock, asking(None, "talking"))
    apply(without, renamed={"asking": "talking"})
    assert asked(store, it) == [("asking", "Shall we?", "closed")]
    again = Process(store, clock, asking(Review("Well?", {"yes": "answered"}), "listening"))
    apply(again, renamed={"talking": "listening"})
    assert asked(store, it) == [("asking", "Shall we?", "closed"), ("listening", "Well?", "open")]
    back(again)
    assert [status for _, _, status in asked(store, it)] == ["closed", "closed"]
    back(again)
    assert [status for _, _, status in asked(store, it)] == ["closed", "closed"], "only the last one is undone"


# -- back


def test_back_restores_state_data_and_due_times_as_they_were(old: Process, store: Store, clock: VirtualClock) -> None:
    it = old.create()
    old.work()
    before = old.engine.get(it)
    clock.advance(timedelta(hours=1))
    new = Process(
        store,
        clock,
        job(
            states=[State("new"), State("talking"), *STATES[2:]],
            transitions=[
                Transition("new", "talking", on="ask"),
                *TRANSITIONS[1:3],
                Transition("talking", "done", on="finish"),
            ],
            arms=(),
            data=JobWithoutPay,
        ),
    )
    apply(new, renamed={"asking": "talking"})
    assert (new.engine.get(it).wake, new.engine.get(it).data) == ("work", {"name": "gardener"})
    assert moved(back(new, dry=True)) == {(2, "talking", 1, "asking"): 1}
    assert new.engine.get(it).state == "talking"
    assert moved(back(new)) == {(2, "talking", 1, "asking"): 1}
    after = old.engine.get(it)
    same = ("version", "state", "data", "wake", "due_at", "timer_at", "timer_no", "entered_at", "previous", "key")
    assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same]
    assert [row.kind for row in old.engine.history(it)] == ["created", "moved", "migrated", "migrated"]
    assert broken_laws(old.engine) == []
    old.engine.fire(it, "answered", actor=ANN)
    assert old.engine.get(it).state == "done"


@pytest.mark.parametrize("field", ["extra", LATER])
def test_a_secret_that_is_learnt_meanwhile_is_hidden_there_and_back(
    store: Store, clock: VirtualClock, field: str
) -> None:
    """Whatever it lies in: the history tells what is kept."""
    loose = Process(store, clock, job(data=None))
    it = loose.engine.create("job", {"name": "x", field: f"is {LATER}"}).id
    upgrades = {1: lambda data: {**data, "place": "here"}}
    more = (*TRANSITIONS, Transition("asking", "done", on="drop", by=USER))
    new = Process(store, clock, job(transitions=more, data=None, upgrades=upgrades))
    try:
        secrets.learn([LATER])
        assert apply(new).moved
        assert new.engine.verify().problems == ()
        assert LATER not in str(new.engine.get(it).data)
        assert back(new).moved
        assert new.engine.verify().problems == ()
        assert "place" not in new.engine.get(it).data
    finally:
        secrets.forget()


def test_back_opens_a_closed_review_again_and_a_changed_one_says_what_it_said(
    old: Process, store: Store, clock: VirtualClock
) -> None:
    first = Process(store, clock, asking(Review("Shall we?", {"yes": "answered"})))
    it = first.create()
    first.work()
    for other in (asking(None), asking(Review("Do it?", {"yes": "answered"}), "talking")):
        name = list(other.states)[1]
        new = Process(store, clock, with_a_flag(other))
        apply(new, renamed={"asking": name}, source=first.engine.get(it).version)
        assert asked(store, it) != [("asking", "Shall we?", "open")]
        back(new)
        assert asked(store, it) == [("asking", "Shall we?", "open")]


class JobWithFlag(BaseModel):
    """Another model, so that it is another version."""

    name: str
    flag: bool = False


def with_a_flag(machine: Machine) -> Machine:
    return job(
        states=list(machine.states.values()),
        transitions=[Transition(e.source, e.to, on=e.on, by=tuple(e.by)) for e in machine.edges],
        arms=(),
        data=JobWithFlag,
    )


def test_back_is_refused_where_something_has_happened_since(old: Process, store: Store, clock: VirtualClock) -> None:
    went_on, waits = old.create(), old.create()
    new = Process(store, clock, job(data=JobWithoutPay))
    apply(new)
    new.engine.pause(went_on, actor=ANN)
    report = back(new)
    assert refusals(report) == {"something has happened to it since": 1}
    assert [detail for trouble in report.refused.values() for _, detail in trouble.examples] == [
        "it was migrated at seq 2 and is at seq 3"
    ]
    assert (new.engine.get(went_on).version, new.engine.get(waits).version) == (2, 1)


def test_back_twice_does_it_once_and_forward_again_works(old: Process, store: Store, clock: VirtualClock) -> None:
    it = old.create()
    new = Process(store, clock, job(data=JobWithoutPay))
    apply(new)
    back(new)
    assert (moved(back(new)), refusals(back(new))) == ({}, {})
    apply(new)
    assert [row.payload.get("to_version") for row in new.engine.history(it)[1:]] == [2, 1, 2]
    assert new.engine.verify().problems == ()


def test_back_undoes_only_what_was_done_since(old: Process, store: Store, clock: VirtualClock) -> None:
    first = old.create()
    new = Process(store, clock, job(data=JobWithoutPay))
    apply(new)
    clock.advance(timedelta(hours=1))
    second = old.create()
    since = clock.now()
    apply(new)
    back(new, since=since)
    assert (new.engine.get(first).version, new.engine.get(second).version) == (2, 1)


def test_back_leaves_only_the_version_that_is_named(old: Process, store: Store, clock: VirtualClock) -> None:
    second = Process(store, clock, job(data=JobWithoutPay))
    first_made = old.create()
    apply(second)
    second_made = second.create()
    third = Process(store, clock, job(data=JobWithPlace))
    apply(third, source=2)
    assert moved(back(third, source=2)) == {}
    assert moved(back(third, source=3)) == {(3, "new", 2, "new"): 2}
    assert {third.engine.get(i).version for i in (first_made, second_made)} == {2}
    with pytest.raises(NotFound, match="job has no version 9; it has 1, 2, 3"):
        back(third, source=9)


def test_back_gives_a_dead_letter_its_step_again(store: Store, clock: VirtualClock) -> None:
    never = Failures(state="broken", otherwise=Rule((Exception,), retries=0))
    first = Process(store, clock, job(failures=never))
    it = first.create()
    first.work(Fail(ValueError("no")))
    before = first.engine.get(it)
    states = [State("first"), *STATES[1:]]
    ways = [
        Transition("first", "asking", on="ask"),
        Transition("first", "broken", on="fail"),
        Transition("broken", "first", on="retry", by=(SYSTEM, USER)),
        *TRANSITIONS[3:],
    ]
    machine = Machine("job", initial="first", states=states, transitions=ways, failures=never)
    new = Process(store, clock, machine.with_handlers({"first": lambda task: Go("asking")}))
    apply(new, renamed={"new": "first"})
    assert [(letter.state, letter.step) for letter in new.engine.dead_letters.find()] == [("first", "first")]
    back(new)
    assert [(letter.state, letter.step) for letter in first.engine.dead_letters.find()] == [("new", "new")]
    after = first.engine.get(it)
    assert (after.failed_step, after.failures, after.finished_at) == ("new", before.failures, before.finished_at)


def test_back_takes_the_key_again_or_says_who_has_it(old: Process, store: Store, clock: VirtualClock) -> None:
    made = [old.engine.create("job", {"name": "cook"}, key=key).id for key in ("a", "b")]
    old.work()
    new = Process(store, clock, WITHOUT_ASKING)
    apply(new, renamed={"asking": "done"})
    new.engine.create("job", {"name": "cook"}, key="b")
    report = back(new)
    assert refusals(report) == {"another instance has its key by now": 1}
    assert [new.engine.get(i).version for i in made] == [1, 2]
    assert old.engine.find("job", "a") is not None
    assert new.engine.verify().problems == ()


def test_back_is_refused_where_entering_the_state_had_consequences(
    old: Process, store: Store, clock: VirtualClock
) -> None:
    it = old.create()
    old.work()
    machine = job(
        states=list(RENAMED.states.values()),
        transitions=[Transition(e.source, e.to, on=e.on, by=tuple(e.by)) for e in RENAMED.edges],
        arms=(),
    )
    entered: list[UUID] = []
    machine.entering("talking")(lambda unit, instance, edge, actor: entered.append(instance.id))
    new = Process(store, clock, machine)
    apply(new, renamed={"asking": "talking"})
    assert entered == [it]
    assert refusals(back(new)) == {"what was done when it entered 'talking' cannot be undone": 1}
    assert new.engine.get(it).state == "talking"


def test_what_refuses_to_be_entered_leaves_the_others_alone(old: Process, store: Store, clock: VirtualClock) -> None:
    bad, good = old.engine.create("job", {"name": "bad"}).id, old.create()
    old.work()
    machine = job(
        states=list(RENAMED.states.values()),
        transitions=[Transition(e.source, e.to, on=e.on, by=tuple(e.by)) for e in RENAMED.edges],
        arms=(),
    )

    @machine.entering("talking")
    def refuse(unit: Any, instance: Any, edge: Any, actor: Any) -> None:
        if instance.data["name"] == "bad":
            raise InvalidData("not this one")

    new = Process(store, clock, machine)
    report = apply(new, renamed={"asking": "talking"})
    assert refusals(report) == {"InvalidData on the way": 1}
    assert (new.engine.get(bad).state, new.engine.get(good).state) == ("asking", "talking")
    assert new.engine.verify().problems == ()


# -- broken off


def test_what_was_broken_off_goes_on_where_it_was(old: Process, store: Store, clock: VirtualClock) -> None:
    made = old.engine.create_many("job", [{"name": f"n{n}"} for n in range(20)])
    new = Process(store, clock, job(data=JobWithoutPay))
    way = migrating.route(new.engine, "job")

    class BrokenOff(Exception):
        """Somebody pressed the keys that end a program."""

    def stop(_: int) -> None:
        raise BrokenOff

    with pytest.raises(BrokenOff):
        migrating.apply(new.engine, way, ANN, batch=6, progress=stop)
    assert sorted(new.engine.get(i).version for i in made) == [1] * 14 + [2] * 6
    assert migrating.apply(new.engine, way, ANN, batch=6).moved.total() == 14
    assert {new.engine.get(i).seq for i in made} == {2}


def test_a_slot_that_it_waited_for_is_asked_for_again(store: Store, clock: VirtualClock) -> None:
    one = [Concurrent("hands", key="all", size=1, states=("new",))]
    old = Process(store, clock, job(limits=one))
    held, blocked = old.create(), old.create()
    [claim] = old.claim()
    waiting = blocked if claim.id == held else held
    assert old.engine.get(waiting).wake == "blocked"
    new = Process(store, clock, job(limits=one, data=JobWithoutPay))
    apply(new)
    assert (new.engine.get(waiting).version, new.engine.get(waiting).blocked_on) == (2, None)
    assert new.claim() == [], "the other still has the slot"
    old.engine.finish([Result(claim, Go("asking"))])
    assert new.work() == [waiting]


def test_armed_work_goes_along(old: Process, store: Store, clock: VirtualClock) -> None:
    it = old.create()
    old.work()
    old.engine.fire(it, "look", actor=ANN)
    unarmed = Process(store, clock, job(arms=()))
    assert refusals(apply(unarmed)) == {"its work was started by an event, and 'asking' has no such work any more": 1}
    new = Process(store, clock, job(data=JobWithoutPay))
    apply(new)
    [claim] = new.claim()
    assert (claim.id, claim.step) == (it, "asking")
