"""Rules are data: built-in ones can be changed and switched off, a user's own are checked before they are kept."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.config import AlertSettings, settings
from interlock.engine import Engine, InvalidData, NotFound
from interlock.store import Store
from interlock.store import service_tables as s
from interlock.testing import VirtualClock
from interlock.watch import rules
from interlock.watch.rules import METRICS, Rule
from tests.support.machines import ANN, PARCEL


@pytest.fixture
def engine(store: Store) -> Engine:
    return Engine(store, [PARCEL], clock=VirtualClock())


def put(engine: Engine, given: Rule | Mapping[str, Any]) -> Rule:
    return engine.write(lambda unit: rules.put(unit, given, ANN))


def test_five_rules_are_built_in() -> None:
    by_name = {rule.name: rule for rule in rules.built_in()}
    assert tuple(by_name) == rules.BUILT_IN == settings.BUILT_IN_RULES
    assert rules.CHANNELS == settings.CHANNELS
    assert (by_name["queue_lag"].threshold, by_name["review_age"].threshold) == (30 * 60, 48 * 3600)
    failing = by_name["failure_rate"]
    assert (failing.threshold, failing.window, failing.min_count) == (0.2, timedelta(hours=1), 10)
    assert by_name["no_worker"].for_ == timedelta(seconds=60)
    assert {rule.repeat_every for rule in by_name.values()} == {timedelta(hours=4)}


def test_the_configuration_changes_thresholds_and_switches_rules_off() -> None:
    settings = AlertSettings(queue_lag_minutes=5, repeat_hours=1, off=["no_worker", "dead_letters"])
    by_name = {rule.name: rule for rule in rules.built_in(settings)}
    assert set(by_name) == {"queue_lag", "failure_rate", "review_age", "model_budget"}
    assert (by_name["queue_lag"].threshold, by_name["queue_lag"].repeat_every) == (300, timedelta(hours=1))


def test_a_rule_of_ones_own_is_kept_as_it_was_given(engine: Engine) -> None:
    given = Rule(
        name="crowd",
        metric="state_count",
        op=">=",
        threshold=5,
        machine="parcel",
        state="checking",
        for_=timedelta(minutes=5),
        notify=("mail:ops@example.org", "webhook:chat"),
        repeat_every=timedelta(hours=1),
    )
    assert put(engine, given) == given
    assert engine.read(rules.own) == [given]
    assert [rule.name for rule in engine.read(rules.every)] == [*rules.BUILT_IN, "crowd"]


def test_times_can_be_given_as_json_has_them(engine: Engine) -> None:
    put(engine, {"name": "slow", "metric": "queue_lag", "threshold": 5, "window": "PT10M", "for": 90})
    [kept] = engine.read(rules.own)
    assert (kept.window, kept.for_) == (timedelta(minutes=10), timedelta(seconds=90))


def test_a_rule_of_the_same_name_is_replaced_and_can_be_removed(engine: Engine) -> None:
    put(engine, Rule(name="slow", metric="queue_lag", threshold=5))
    put(engine, Rule(name="slow", metric="queue_lag", threshold=7))
    assert [rule.threshold for rule in engine.read(rules.own)] == [7]
    engine.write(lambda unit: rules.remove(unit, "slow", ANN))
    assert engine.read(rules.own) == []
    done = sa.select(s.action.c.what, s.action.c.actor, s.action.c.target).order_by(s.action.c.id)
    assert [tuple(row) for row in engine.read(lambda conn: conn.execute(done).all())] == [
        ("alert_rule.add", "user:ann", "slow"),
        ("alert_rule.change", "user:ann", "slow"),
        ("alert_rule.remove", "user:ann", "slow"),
    ]


@pytest.mark.parametrize("name", ["nobody", "queue_lag"])
def test_what_is_not_ones_own_cannot_be_removed(engine: Engine, name: str) -> None:
    with pytest.raises(NotFound, match=f"no alert rule {name!r} of your own"):
        engine.write(lambda unit: rules.remove(unit, name, ANN))


def test_a_wrong_metric_is_refused_with_the_right_ones(engine: Engine) -> None:
    with pytest.raises(InvalidData) as refusal:
        put(engine, {"name": "x", "metric": "happiness", "threshold": 1})
    assert "happiness" in str(refusal.value)
    assert all(metric in str(refusal.value) for metric in METRICS)


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"name": "queue_lag"}, "built in"),
        ({"name": "No Good"}, "name: use up to 60 lower-case letters"),
        ({"op": "=="}, "op: "),
        ({"threshold": float("nan")}, "threshold: must be a finite number"),
        ({"metric": "failure_rate", "threshold": 20}, "0.2 means 20 %"),
        ({"metric": "state_count"}, "state_count needs a state"),
        ({"state": "ordered"}, "no other metric takes one"),
        (
            {"metric": "state_count", "state": "nowhere", "machine": "parcel"},
            "no state 'nowhere'; there are: canc",
        ),
        ({"machine": "ship"}, "no machine 'ship'; there are: parcel"),
        ({"metric": "workers_alive", "machine": "parcel"}, "leave machine out"),
        ({"notify": ["pigeon:joe"]}, "neither mail:ADDRESS nor webhook:NAME"),
        ({"notify": ["mail:"]}, "neither mail:ADDRESS nor webhook:NAME"),
        ({"window": 1}, "window must be between"),
        ({"for": -1}, "for must be between"),
        ({"repeat_every": 1}, "repeat_every must be at least one minute"),
        ({"colour": "red"}, "colour: Extra inputs"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(engine: Engine, change: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidData) as refusal:
        put(engine, {"name": "x", "metric": "queue_lag", "threshold": 1, **change})
    assert why in str(refusal.value)
    assert engine.read(rules.own) == []
