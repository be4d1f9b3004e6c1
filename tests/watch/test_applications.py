"""Metrics and alert rules that an application brings."""

from __future__ import annotations

import logging

import pytest
import sqlalchemy as sa

from interlock.config import AlertSettings
from interlock.engine import Engine, InvalidData, NotFound
from interlock.machine import FINAL, OWNER, USER, WAITING, Actor, Application, Machine, Registry, State, Transition
from interlock.store import Store
from interlock.watch import alerts, applications, prometheus, rollups, rule_values, rules
from interlock.watch.rules import Rule

BY = Actor(OWNER, "owner")
lamp = Machine(
    "lamp",
    initial="lit",
    states=[State("lit", WAITING, waits_for="the night watch"), State("out", FINAL)],
    transitions=[Transition("lit", "out", on="blow", by=USER)],
)
RULES = [
    Rule(name="street_oil", metric="street.oil", op="<", threshold=10),
    {"name": "street_lit", "metric": "state_count", "state": "lit", "machine": "lamp", "threshold": 1},
]
UNNAMED = [Rule(name="oil", metric="street.oil", threshold=1)]
ELSEWHERE = [Rule(name="broken_elsewhere", metric="state_count", state="sunk", threshold=1)]


def metrics(conn: sa.Connection, now: int) -> dict[str, float]:
    return {"oil": float(conn.execute(sa.text("SELECT 7")).scalar_one()), "seconds": now / 1e6}


def broken(conn: sa.Connection, now: int) -> dict[str, float]:
    conn.execute(sa.text("SELECT nothing FROM nowhere"))
    return {}


def ill_named(conn: sa.Connection, now: int) -> dict[str, float]:
    return {"Oil!": 1}


def endless(conn: sa.Connection, now: int) -> dict[str, float]:
    return {"oil": float("inf")}


HERE = __name__
STREET = Application("street", machines=[lamp], metrics=f"{HERE}:metrics", alerts=f"{HERE}:RULES")


@pytest.fixture
def engine(store: Store) -> Engine:
    applications._logged.clear()
    return Engine(store, Registry([Application("broken", metrics=f"{HERE}:broken"), STREET]))


def exposed(engine: Engine) -> str:
    now = engine.clock.now()
    return engine.read(lambda conn: prometheus.exposition(conn, engine.registry, now)).decode()


def test_a_metric_with_the_name_of_one_of_ours_is_left_out(store: Store) -> None:
    workers = Application("workers", metrics=f"{HERE}:alive")
    text = exposed(Engine(store, Registry([workers])))
    assert text.count("# TYPE interlock_workers_alive gauge") == 1
    assert "\ninterlock_workers_alive 0.0\n" in text


def alive(conn: sa.Connection, now: int) -> dict[str, float]:
    return {"alive": 99}


def test_metrics_are_exposed_under_the_applications_name(engine: Engine) -> None:
    text = exposed(engine)
    assert "\ninterlock_street_oil 7.0\n" in text
    assert "\n# TYPE interlock_street_oil gauge\n" in text


def test_metrics_that_fail_harm_nobody_and_are_logged_once(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "interlock.watch.applications"):
        text = exposed(engine)
        exposed(engine)
    assert "interlock_street_oil" in text
    assert "interlock_workers_alive" in text
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("the metrics of the application broken are left out: ")


@pytest.mark.parametrize("function", ["ill_named", "endless", "missing"])
def test_values_that_are_none_are_left_out(store: Store, function: str) -> None:
    registry = Registry([Application("other", metrics=f"{HERE}:{function}"), STREET])
    with_them = Engine(store, registry)
    found = with_them.read(lambda conn: applications.metrics(conn, registry, 0))
    assert set(found) == {("street", "oil"), ("street", "seconds")}


def test_its_rules_are_in_force_and_use_its_metrics(engine: Engine) -> None:
    found = engine.read(lambda conn: rules.every(conn, None, engine.registry))
    assert [rule.name for rule in found] == [*rules.BUILT_IN, "street_oil", "street_lit"]
    for _ in range(2):
        engine.create("lamp", {})
    while engine.write(rollups.roll):
        pass
    opened = engine.write(lambda unit: alerts.evaluate(unit, engine.registry, found)).opened
    assert {(alert.rule, alert.sentence) for alert in opened} == {
        ("street_oil", "street: oil is 7, less than 10"),
        ("street_lit", "lamp: the number in 'lit' is 2, more than 1"),
    }


def test_the_name_of_its_metric_tells_the_unit() -> None:
    slow = rules.Rule(name="slow", metric="street.walk_seconds", threshold=1800)
    bad = rules.Rule(name="bad", metric="street.failure_rate", threshold=0.2)
    assert rule_values.sentence(slow, None, 7200) == "street: walk is 2 hours, more than 30 minutes"
    assert rule_values.sentence(bad, None, 0.25) == "street: failure rate is 25 %, more than 20 %"


def test_its_rules_are_switched_off_by_name(engine: Engine) -> None:
    found = rules.built_in(AlertSettings(off=["street_oil", "no_worker"]), engine.registry)
    assert {"street_oil", "no_worker"} & {rule.name for rule in found} == set()
    assert "street_lit" in {rule.name for rule in found}


def test_users_neither_replace_nor_remove_its_rules(engine: Engine) -> None:
    with pytest.raises(InvalidData, match="'street_oil' comes with an application"):
        engine.write(lambda unit: rules.put(unit, RULES[0], BY))
    with pytest.raises(NotFound, match="switch it off in the configuration"):
        engine.write(lambda unit: rules.remove(unit, "street_oil", BY))


def test_users_make_rules_with_its_metrics(engine: Engine) -> None:
    made = engine.write(lambda unit: rules.put(unit, {"name": "dry", "metric": "street.oil", "threshold": 8}, BY))
    assert engine.read(rules.own) == [made]
    with pytest.raises(InvalidData, match="there is no application 'river' with metrics"):
        engine.write(lambda unit: rules.put(unit, {"name": "dry", "metric": "river.depth", "threshold": 8}, BY))
    with pytest.raises(InvalidData, match=r"street\.oil is about all machines"):
        engine.write(
            lambda unit: rules.put(unit, {"name": "x", "metric": "street.oil", "threshold": 8, "machine": "lamp"}, BY)
        )


@pytest.mark.parametrize("named", ["UNNAMED", "ELSEWHERE", "missing"])
def test_rules_that_are_wrong_harm_nobody(named: str) -> None:
    wrong = Application("broken", alerts=f"{HERE}:{named}")
    assert [rule.name for rule in rules.of_applications(Registry([wrong, STREET]))] == ["street_oil", "street_lit"]


def test_a_rule_of_a_user_that_was_there_before_the_application_wins(engine: Engine) -> None:
    mine = Rule(name="street_oil", metric="dead_letters", threshold=3)
    found = rules.in_force(rules.built_in(None, engine.registry), [mine])
    assert [rule for rule in found if rule.name == "street_oil"] == [mine]
