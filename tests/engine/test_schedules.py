"""Schedules: when they run, over changes of the clock and downtimes, and what they do when a run cannot be."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from pydantic import BaseModel, field_validator

from interlock.engine import Engine, Instance, InvalidData, NotFound
from interlock.engine.schedules import Schedule, ScheduleSpec, upcoming
from interlock.machine import FINAL, Go, Machine, State, Transition, UnknownMachine
from interlock.store import Store, micros, moment, open_store, service_tables
from interlock.testing import Trial, VirtualClock
from tests.support.machines import ANN, BOSS, PARCEL, do
from tests.support.racing import race
from tests.support.waiting import eventually

BERLIN = "Europe/Berlin"
MIDNIGHT = datetime(2026, 1, 5, tzinfo=UTC)


def spec(name: str = "nightly", cron: str = "30 2 * * *", **options: Any) -> ScheduleSpec:
    return ScheduleSpec(name, options.pop("machine", "parcel"), cron, **options)


def begin(trial: Trial, at: datetime = MIDNIGHT, **options: Any) -> Schedule:
    """A schedule, put down at that moment."""
    trial.clock.set(micros(at))
    return trial.engine.schedules.put(spec(**options), actor=ANN)


def at(trial: Trial, when: datetime) -> int:
    """What is due at that moment, done."""
    trial.clock.set(micros(when))
    return trial.engine.schedules.due()


def instances(trial: Trial) -> list[Instance]:
    return trial.engine.page(limit=500).instances[::-1]


def runs(trial: Trial) -> list[str]:
    """The moments that the instances were started for, in order."""
    return [json.loads(i.labels or "{}")["scheduled_for"] for i in instances(trial)]


def day_by_day(trial: Trial, first: datetime, days: int) -> list[str]:
    """Look every ten minutes, and tell what was run."""
    for minutes in range(0, days * 24 * 60, 10):
        at(trial, first + timedelta(minutes=minutes))
    return runs(trial)


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with Trial([PARCEL], store=store, start=datetime(2025, 1, 1, tzinfo=UTC)) as made:
        yield made


# -- running


def test_it_starts_an_instance_when_its_moment_comes_and_not_before(trial: Trial) -> None:
    begin(trial, data={"item": "coffee"}, labels={"team": "red"}, priority=1, workspace="red")
    assert at(trial, MIDNIGHT + timedelta(hours=2, minutes=30) - timedelta(microseconds=1)) == 0
    assert at(trial, MIDNIGHT + timedelta(hours=2, minutes=30)) == 1
    [it] = instances(trial)
    assert (it.machine, it.workspace, it.priority, it.data["item"]) == ("parcel", "red", 1, "coffee")
    assert json.loads(it.labels or "") == {
        "schedule": "nightly",
        "scheduled_for": "2026-01-05T02:30:00Z",
        "team": "red",
    }
    assert trial.engine.history(it.id)[0].actor == "system:schedule nightly"
    found = trial.engine.schedules.get("nightly", workspace="red")
    assert (found.last_instance, found.runs, found.last_error) == (it.id, 1, None)
    assert moment(found.next_at or 0) == MIDNIGHT + timedelta(days=1, hours=2, minutes=30)
    assert moment(found.last_at or 0) == MIDNIGHT + timedelta(hours=2, minutes=30)
    assert trial.engine.schedules.due() == 0


def test_many_that_are_due_are_done_in_bounded_rounds(trial: Trial) -> None:
    for n in range(5):
        begin(trial, name=f"s{n}")
    trial.clock.set(micros(MIDNIGHT + timedelta(hours=3)))
    assert [trial.engine.schedules.due(limit=2) for _ in range(4)] == [2, 2, 1, 0]
    assert len(instances(trial)) == 5


def test_two_engines_that_look_at_once_start_each_run_once(engines: Callable[..., Engine]) -> None:
    clock = VirtualClock(MIDNIGHT)
    both = [engines(clock), engines(clock)]
    for n in range(10):
        both[0].schedules.put(spec(name=f"s{n}", cron="* * * * *"), actor=ANN)
    for _ in range(5):
        clock.advance(timedelta(minutes=1))
        race(2, lambda n: both[n].schedules.due(limit=3))
        while both[0].schedules.due():
            pass
    found = both[0].page(limit=500).instances
    started = [(json.loads(i.labels or "")["schedule"], json.loads(i.labels or "")["scheduled_for"]) for i in found]
    assert len(started) == len(set(started)) == 50


# -- the calendar


def test_in_autumn_a_run_in_the_repeated_hour_happens_once(trial: Trial) -> None:
    begin(trial, datetime(2026, 10, 24, 20, tzinfo=UTC), zone=BERLIN)
    assert day_by_day(trial, datetime(2026, 10, 24, 20, tzinfo=UTC), 3) == [
        "2026-10-25T00:30:00Z",  # 02:30 summer time; the second 02:30 is 01:30 UTC
        "2026-10-26T01:30:00Z",
        "2026-10-27T01:30:00Z",
    ]


def test_in_spring_a_run_in_the_hour_that_is_left_out_happens_at_its_end(trial: Trial) -> None:
    begin(trial, datetime(2026, 3, 27, 20, tzinfo=UTC), zone=BERLIN)
    assert day_by_day(trial, datetime(2026, 3, 27, 20, tzinfo=UTC), 3) == [
        "2026-03-28T01:30:00Z",
        "2026-03-29T01:00:00Z",  # 03:00, for there is no 02:30
        "2026-03-30T00:30:00Z",
    ]


@pytest.mark.parametrize("day", [datetime(2026, 10, 24, 22, tzinfo=UTC), datetime(2026, 3, 28, 22, tzinfo=UTC)])
def test_what_runs_every_hour_runs_every_hour_whatever_the_clock_does(trial: Trial, day: datetime) -> None:
    begin(trial, day, cron="0 * * * *", zone=BERLIN)
    found = [datetime.fromisoformat(text) for text in day_by_day(trial, day + timedelta(minutes=5), 1)]
    assert found == [day + timedelta(hours=n) for n in range(1, 24)]


def test_put_down_in_the_second_turn_of_the_repeated_hour_it_does_not_run_for_the_first(trial: Trial) -> None:
    made = begin(trial, datetime(2026, 10, 25, 1, 10, tzinfo=UTC), zone=BERLIN)  # 02:10 for the second time
    assert moment(made.next_at or 0) == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)


def test_a_preview_shows_what_comes_in_its_own_time_zone() -> None:
    found = upcoming(spec(cron="0 9 * * MON", zone="America/New_York"), datetime(2026, 3, 1, tzinfo=UTC), 3)
    assert [one.isoformat() for one in found] == [
        "2026-03-02T09:00:00-05:00",
        "2026-03-09T09:00:00-04:00",
        "2026-03-16T09:00:00-04:00",
    ]


# -- downtime


def test_after_a_downtime_it_runs_once_for_all_that_was_missed(trial: Trial) -> None:
    begin(trial, cron="0 * * * *")
    assert at(trial, MIDNIGHT + timedelta(days=3, minutes=30)) == 1
    assert runs(trial) == ["2026-01-08T00:00:00Z"]
    assert trial.engine.schedules.get("nightly").next_at == micros(MIDNIGHT + timedelta(days=3, hours=1))


def test_it_may_make_up_for_every_run_that_was_missed(trial: Trial) -> None:
    begin(trial, cron="0 * * * *", missed="all")
    at(trial, MIDNIGHT + timedelta(hours=4, minutes=30))
    assert runs(trial) == [f"2026-01-05T0{n}:00:00Z" for n in (1, 2, 3, 4)]
    assert trial.engine.schedules.get("nightly").runs == 4


def test_of_very_many_missed_runs_the_last_hundred_are_made_up_for(trial: Trial) -> None:
    begin(trial, cron="* * * * *", missed="all")
    end = MIDNIGHT + timedelta(days=400, seconds=1)
    at(trial, end)
    last = [(end - timedelta(minutes=n, seconds=1)).isoformat().replace("+00:00", "Z") for n in range(99, -1, -1)]
    assert runs(trial) == last


def test_it_may_skip_what_was_missed_but_not_what_is_a_moment_late(trial: Trial) -> None:
    begin(trial, cron="0 * * * *", missed="skip")
    at(trial, MIDNIGHT + timedelta(hours=1, seconds=50))
    assert runs(trial) == ["2026-01-05T01:00:00Z"]
    assert at(trial, MIDNIGHT + timedelta(hours=5, minutes=2)) == 1
    assert len(runs(trial)) == 1
    found = trial.engine.schedules.get("nightly")
    assert found.last_error == "the run of 2026-01-05T02:00:00Z was missed, and missed runs are skipped"
    at(trial, MIDNIGHT + timedelta(hours=6))
    assert runs(trial)[1:] == ["2026-01-05T06:00:00Z"]
    assert trial.engine.schedules.get("nightly").last_error is None


# -- overlap


def test_it_may_wait_until_the_run_before_is_finished(trial: Trial) -> None:
    begin(trial, cron="0 * * * *", overlap="skip")
    at(trial, MIDNIGHT + timedelta(hours=1))
    [first] = instances(trial)
    at(trial, MIDNIGHT + timedelta(hours=2))
    assert len(instances(trial)) == 1
    found = trial.engine.schedules.get("nightly")
    message = f"the run of 2026-01-05T02:00:00Z was skipped: instance {first.id} is not finished"
    assert (found.last_error, found.runs, found.last_instance) == (message, 1, first.id)
    do(trial, Go("shipped"))
    at(trial, MIDNIGHT + timedelta(hours=3))
    assert runs(trial) == ["2026-01-05T01:00:00Z", "2026-01-05T03:00:00Z"]


def test_of_many_missed_runs_that_must_not_overlap_the_first_is_started(trial: Trial) -> None:
    begin(trial, cron="0 * * * *", overlap="skip", missed="all")
    at(trial, MIDNIGHT + timedelta(hours=3))
    assert runs(trial) == ["2026-01-05T01:00:00Z"]


def test_without_that_runs_may_overlap(trial: Trial) -> None:
    begin(trial, cron="0 * * * *")
    for hour in (1, 2):
        at(trial, MIDNIGHT + timedelta(hours=hour))
    assert len(instances(trial)) == 2


# -- runs that cannot be


class Choosy(BaseModel):
    """Data that a later version of the code does not take any more."""

    item: str

    @field_validator("item")
    @classmethod
    def _tea(cls, value: str) -> str:
        if value == "bomb":
            raise RuntimeError("the validator itself breaks")
        if value != "tea":
            raise ValueError("only tea")
        return value


def choosy(data: type[BaseModel] | None) -> Machine:
    machine = Machine(
        "choosy",
        initial="open",
        states=[State("open"), State("done", FINAL)],
        transitions=[Transition("open", "done", on="finish")],
        data=data,
    )
    return machine.with_handlers({"open": lambda _: Go("done")})


@pytest.mark.parametrize(("item", "message"), [("coffee", "only tea"), ("bomb", "the validator itself breaks")])
def test_a_refused_run_is_reported_and_the_schedule_goes_on(store: Store, item: str, message: str) -> None:
    clock = VirtualClock(MIDNIGHT)
    old = Engine(store, [choosy(None), PARCEL], clock=clock)
    old.schedules.put(spec("a", machine="choosy", data={"item": item}), actor=ANN)
    old.schedules.put(spec("b"), actor=ANN)
    new = Engine(store, [choosy(Choosy), PARCEL], clock=clock)
    clock.advance(timedelta(hours=3))
    assert new.schedules.due() == 2
    found = new.schedules.get("a")
    assert message in (found.last_error or "")
    assert (found.runs, found.last_instance) == (0, None)
    assert found.next_at == micros(MIDNIGHT + timedelta(days=1, hours=2, minutes=30))
    assert [i.machine for i in new.page().instances] == ["parcel"], "the one beside it ran"
    assert new.verify().problems == ()


def test_a_removed_machine_is_reported_too(store: Store) -> None:
    clock = VirtualClock(MIDNIGHT)
    Engine(store, [choosy(None)], clock=clock).schedules.put(spec(machine="choosy"), actor=ANN)
    new = Engine(store, [PARCEL], clock=clock)
    clock.advance(timedelta(hours=3))
    new.schedules.due()
    assert "there is no machine 'choosy'" in (new.schedules.get("nightly").last_error or "")


# -- changing


def test_the_same_again_changes_nothing(trial: Trial) -> None:
    first = begin(trial, data={"weight": 1})
    trial.clock.advance(timedelta(hours=1))
    assert trial.engine.schedules.put(spec(data={"weight": 1}), actor=BOSS) == first
    assert len(_actions(trial)) == 1


def test_another_time_counts_from_now_and_other_data_leaves_the_time(trial: Trial) -> None:
    first = begin(trial)
    trial.clock.advance(timedelta(hours=1))
    changed = trial.engine.schedules.put(spec(data={"item": "coffee"}), actor=BOSS)
    assert (changed.next_at, changed.data, changed.created_by) == (first.next_at, {"item": "coffee"}, "user:ann")
    changed = trial.engine.schedules.put(spec(cron="15 * * * *"), actor=BOSS)
    assert changed.next_at == micros(MIDNIGHT + timedelta(hours=1, minutes=15))
    assert (changed.data, changed.updated_at) == ({}, trial.clock.now())


def test_true_is_not_one(trial: Trial) -> None:
    begin(trial, data={"weight": 1})
    assert trial.engine.schedules.put(spec(data={"weight": True}), actor=ANN).data["weight"] is True


def test_labels_may_be_added_and_taken_away(trial: Trial) -> None:
    begin(trial)
    assert trial.engine.schedules.put(spec(labels={"a": "b"}), actor=ANN).labels == {"a": "b"}
    assert trial.engine.schedules.put(spec(), actor=ANN).labels == {}


def test_two_who_put_the_same_schedule_at_once_make_one(postgres_url: str) -> None:
    """On PostgreSQL the second does not see the first before its commit; on SQLite it waits from the beginning."""
    store = open_store(postgres_url, wakeup="poll")
    mine = sa.create_engine(postgres_url)
    with store, mine.connect() as conn, ThreadPoolExecutor(1) as other:
        engine = Engine(store, [PARCEL])
        first = engine.within(conn).schedules.put(spec(), actor=ANN)
        second = other.submit(lambda: engine.schedules.put(spec(), actor=BOSS))
        waiting = "SELECT 1 FROM pg_locks WHERE NOT granted"
        eventually(lambda: store.read(lambda look: look.exec_driver_sql(waiting).first()))
        conn.commit()
        assert second.result(20) == first
        assert [found.created_by for found in engine.schedules.all()] == ["user:ann"]
    mine.dispose()


def test_while_paused_it_starts_nothing_and_resumed_it_goes_on_from_then(trial: Trial) -> None:
    begin(trial, cron="0 * * * *")
    paused = trial.engine.schedules.pause("nightly", actor=BOSS)
    assert (paused.paused_by, paused.paused_at) == ("owner:boss", trial.clock.now())
    assert at(trial, MIDNIGHT + timedelta(hours=5, minutes=30)) == 0
    resumed = trial.engine.schedules.resume("nightly", actor=BOSS)
    assert (resumed.paused_at, resumed.paused_by) == (None, None)
    assert at(trial, MIDNIGHT + timedelta(hours=5, minutes=59)) == 0
    assert at(trial, MIDNIGHT + timedelta(hours=6)) == 1
    assert runs(trial) == ["2026-01-05T06:00:00Z"]


def test_pausing_and_resuming_twice_changes_nothing(trial: Trial) -> None:
    begin(trial)
    first = trial.engine.schedules.pause("nightly", actor=ANN)
    trial.clock.advance(timedelta(hours=1))
    assert trial.engine.schedules.pause("nightly", actor=BOSS) == first
    back = trial.engine.schedules.resume("nightly", actor=ANN)
    trial.clock.advance(timedelta(hours=1))
    assert trial.engine.schedules.resume("nightly", actor=BOSS) == back


def test_what_is_removed_starts_nothing_more(trial: Trial) -> None:
    begin(trial)
    trial.engine.schedules.remove("nightly", actor=ANN)
    assert at(trial, MIDNIGHT + timedelta(days=1)) == 0
    assert trial.engine.schedules.all() == []


def test_one_may_be_started_now_beside_the_calendar(trial: Trial) -> None:
    made = begin(trial)
    it = trial.engine.schedules.run_now("nightly", actor=ANN)
    assert json.loads(it.labels or "")["scheduled_for"] == "2026-01-05T00:00:00Z"
    assert trial.engine.history(it.id)[0].actor == "user:ann"
    found = trial.engine.schedules.get("nightly")
    assert (found.last_instance, found.runs, found.next_at) == (it.id, 1, made.next_at)


def test_what_people_do_to_schedules_is_written_down(trial: Trial) -> None:
    begin(trial)
    trial.engine.schedules.pause("nightly", actor=BOSS)
    trial.engine.schedules.resume("nightly", actor=BOSS)
    trial.engine.schedules.run_now("nightly", actor=BOSS)
    trial.engine.schedules.remove("nightly", actor=BOSS)
    assert _actions(trial) == [
        ("user:ann", "schedule.put", "nightly", "default"),
        ("owner:boss", "schedule.pause", "nightly", "default"),
        ("owner:boss", "schedule.resume", "nightly", "default"),
        ("owner:boss", "schedule.run", "nightly", "default"),
        ("owner:boss", "schedule.remove", "nightly", "default"),
    ]


def _actions(trial: Trial) -> list[tuple[Any, ...]]:
    a = service_tables.action
    query = sa.select(a.c.actor, a.c.what, a.c.target, a.c.workspace).order_by(a.c.id)
    return [tuple(row) for row in trial.engine.read(lambda conn: conn.execute(query).all())]


def test_schedules_are_listed_by_name_and_by_workspace(trial: Trial) -> None:
    for name, workspace in (("b", "red"), ("a", "red"), ("a", "blue")):
        begin(trial, name=name, workspace=workspace)
    assert [(s.workspace, s.name) for s in trial.engine.schedules.all()] == [("blue", "a"), ("red", "a"), ("red", "b")]
    assert [s.name for s in trial.engine.schedules.all(workspaces={"red"})] == ["a", "b"]
    assert trial.engine.schedules.all(workspaces=()) == []


# -- what is refused


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("cron", ["", "@daily", "61 * * * *", "0 0 31 2 *", "* * * *", "*/0 * * * *", "9" * 300])
def test_a_wrong_cron_expression_is_refused_with_an_example(trial: Trial, cron: str) -> None:
    with pytest.raises(InvalidData, match=r"is not a cron expression: .* such as '30 6 \* \* 1-5'") as refusal:
        begin(trial, cron=cron)
    assert repr(cron) in str(refusal.value)


def test_what_never_comes_is_refused(trial: Trial) -> None:
    with pytest.raises(InvalidData, match=r"'0 0 \*/31 2 MON#5' never occurs; check its day and month"):
        begin(trial, cron="0 0 */31 2 MON#5")  # the first of February, as the month's fifth Monday


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("zone", ["Mars/Olympus", "Europe", "", "../secrets", "x\x00"])
def test_a_wrong_time_zone_is_refused(trial: Trial, zone: str) -> None:
    with pytest.raises(InvalidData, match="use a name such as Europe/Berlin"):
        begin(trial, zone=zone)


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": ""}, "1 to 100 printable characters"),
        ({"name": "a\nb"}, "1 to 100 printable characters"),
        ({"name": "x" * 101}, "1 to 100 printable characters"),
        ({"overlap": "maybe"}, "overlap 'maybe' is unknown; use allow or skip"),
        ({"missed": "twice"}, "missed 'twice' is unknown; use once, all, skip"),
        ({"priority": 9}, "priority 9 is not one of"),
        ({"data": {"weight": 0}}, "the data does not fit parcel: weight"),
        ({"labels": {"a": "\x00"}}, "the label"),
    ],
)
def test_a_wrong_schedule_is_refused_by_name(trial: Trial, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidData, match=message):
        begin(trial, **options)
    assert trial.engine.schedules.all() == []


def test_a_machine_that_is_not_there_is_refused(trial: Trial) -> None:
    with pytest.raises(UnknownMachine, match="there is no machine 'pigeon'"):
        begin(trial, machine="pigeon")


@pytest.mark.parametrize("action", ["pause", "resume", "remove", "run_now"])
def test_a_schedule_that_is_not_there_is_not_found(trial: Trial, action: str) -> None:
    begin(trial, workspace="red")
    with pytest.raises(NotFound, match="there is no schedule 'nightly' in workspace 'default'"):
        getattr(trial.engine.schedules, action)("nightly", actor=ANN)
