"""The other loops that serve many serve each for itself: schedules, bulk actions, alert rules, the retention."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from pydantic import BaseModel, model_validator

from interlock.engine import isolation
from interlock.engine.listing import Where
from interlock.engine.retention.policies import Policy, Retention
from interlock.engine.schedules import ScheduleSpec
from interlock.machine import FINAL, USER, WAITING, Actor, Facts, Machine, State, Transition
from interlock.store import Store, span
from interlock.store import service_tables as s
from interlock.store import tables as t
from interlock.testing import Trial
from interlock.watch import alerts, rules

ANN = Actor(USER, "ann")
WAYS_OUT: dict[str, BaseException] = {
    "an error": ValueError("no"),
    "an exit": SystemExit(1),
    "a cancellation": asyncio.CancelledError(),
}


class Touchy(BaseModel, extra="allow"):
    how: str | None = None

    @model_validator(mode="after")
    def now_and_then(self) -> Touchy:
        if self.how is not None:
            raise WAYS_OUT[self.how]
        return self


def guard(about: Facts) -> bool:
    if "trap" in about.data:
        raise WAYS_OUT[about.data["trap"]]
    return True


def machines() -> list[Machine]:
    states = [State("waiting", WAITING, waits_for="a person"), State("done", FINAL)]
    way = Transition("waiting", "done", on="go", by=USER, guard=guard)
    return [
        Machine("touchy", initial="waiting", data=Touchy, states=states, transitions=[way]),
        Machine("plain", initial="waiting", states=states, transitions=[way]),
    ]


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with Trial(machines(), store=store) as trial:
        yield trial


def write(trial: Trial, *statements: Any) -> None:
    trial.engine.store.write(lambda conn: [conn.execute(one) for one in statements] and None)


@pytest.mark.parametrize("how", WAYS_OUT)
def test_a_schedule_that_raises_is_reported_and_the_others_run(trial: Trial, how: str) -> None:
    def put(name: str, machine: str, data: dict[str, Any]) -> None:
        trial.engine.schedules.put(ScheduleSpec(name=name, machine=machine, cron="0 * * * *", data=data), actor=ANN)

    put("a bad one", "touchy", {})
    put("a sound one", "plain", {})
    # As a model of a later version would see what was written for an earlier one.
    write(trial, sa.update(s.schedule).where(s.schedule.c.name == "a bad one").values(data=f'{{"how":"{how}"}}'))
    trial.clock.advance(timedelta(hours=1))
    assert trial.engine.schedules.due() == 2
    assert trial.engine.schedules.get("a sound one").runs == 1
    assert trial.engine.schedules.get("a bad one").runs == 0
    assert trial.engine.schedules.get("a bad one").last_error


@pytest.mark.parametrize("how", WAYS_OUT)
def test_a_bulk_action_goes_on_past_what_raises(trial: Trial, how: str) -> None:
    bad, good = trial.create("plain", {"trap": how}), trial.create("plain")
    bulk = trial.engine.bulk
    begun = bulk.start("instances", "fire", Where(machine="plain"), actor=ANN, arguments={"event": "go"})
    while bulk.step() is not None:
        pass
    ended = bulk.get(begun.id)
    assert (ended.status, ended.done, ended.refused) == ("done", 1, 1)
    assert [trial.state(one) for one in (bad, good)] == ["waiting", "done"]


def test_an_alert_rule_that_cannot_be_read_leaves_the_others_in_force(trial: Trial) -> None:
    rule = {"name": "mine", "metric": "dead_letters", "threshold": 3}
    trial.engine.write(lambda unit: rules.put(unit, rule, ANN))
    made = {"created_by": "user:ann", "created_at": 1}
    write(trial, sa.insert(s.alert_rule).values(name="broken", spec='{"metric": ', **made))
    assert [one.name for one in trial.engine.read(rules.own)] == ["mine"]


def test_the_retention_keeps_what_it_cannot_read_and_removes_the_rest(trial: Trial, tmp_path: Path) -> None:
    ids: list[UUID] = [trial.create("plain", {"n": n}) for n in range(3)]
    for one in ids:
        trial.engine.fire(one, "go", actor=ANN)
    bad = ids[1]
    write(trial, sa.update(t.instance).where(t.instance.c.id == bad).values(data='{"n": '))
    trial.clock.advance(timedelta(days=10))
    policy = Policy(tmp_path, machines={"plain": span(timedelta(days=1))})
    report = Retention(trial.engine, policy).run()
    assert report.instances["plain"] == 2
    assert sum(report.held_back.values()) == 1
    kept = trial.engine.read(lambda conn: conn.execute(sa.select(t.instance.c.id)).scalars().all())
    assert kept == [bad]


def alerting(trial: Trial) -> list[tuple[str | None, float]]:
    """The machines whose dead letters an alert is about, with how many."""
    now, built_in = trial.clock.now(), rules.built_in()
    found = trial.engine.read(lambda conn: alerts.evaluate_rules(conn, trial.engine.registry, built_in, now))
    return [(one.machine, one.value) for one in found if one.rule.name == "dead_letters" and one.breached]


def test_what_was_set_aside_is_counted_and_raises_an_alert(trial: Trial) -> None:
    it = trial.create("plain")
    assert alerting(trial) == []
    isolation.set_aside(trial.engine, it, ValueError("it cannot be worked out"), "timer")
    assert alerting(trial) == [("plain", 1)]
    assert "it cannot be worked out" in trial.engine.explain(it).sentence
