"""Costs by day stand in sums that agree with the calls; a budget that is spent refuses calls of its application."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from interlock import ai
from interlock.ai.calls import Ended, Question, note
from interlock.config import AiSettings, BudgetSettings
from interlock.engine import Engine
from interlock.machine import FINAL, Application, InterlockError, Machine, Registry, State, Transition
from interlock.store import Store, micros, moment
from interlock.store.ai import ai_call, ai_cost
from interlock.store.migrations.versions import v0013_ai_cost
from interlock.testing import VirtualClock
from interlock.testing.model import Fails, FakeModel
from interlock.watch import alerts, costs, rules
from tests.ai.model_trial import GIVEN, JUDGE, ModelTrial, machine
from tests.ai.test_asking import PRICES

OTHER = Machine(
    "other",
    initial="asking",
    states=[State("asking"), State("done", FINAL)],
    transitions=[Transition("asking", "done", on="answered")],
)
FIFTEENTH = micros(datetime(2026, 6, 15, 12, tzinfo=UTC))
CENT = 10_000_000


@pytest.fixture
def engine(store: Store) -> Iterator[Engine]:
    """With the applications `one` and `two`, in the middle of a month."""
    registry = Registry([Application("one", machines=[machine]), Application("two", machines=[OTHER])])
    with Engine(store, registry, clock=VirtualClock(moment(FIFTEENTH))) as made:
        yield made


def spend(engine: Engine, machine: str, cents: int | None, *, workspace: str = "default", **how: Any) -> None:
    question = Question(None, workspace, None, None, "judge", "v1", "cheap", "openai", "m", 1, "h", None, machine)
    ended = Ended("m", input_tokens=3, output_tokens=2, cost=None if cents is None else cents * CENT, **how)
    engine.write(lambda unit: note(unit, None, question, ended))


def limits(**dollars: float) -> dict[str, BudgetSettings]:
    """Budgets by `name_period`."""
    found: dict[str, dict[str, float]] = {}
    for name, value in dollars.items():
        whose, _, period = name.rpartition("_")
        found.setdefault(whose, {})[period] = value
    return {whose: BudgetSettings.model_validate(value) for whose, value in found.items()}


def budgets(engine: Engine, **dollars: float) -> list[tuple[str, str, int]]:
    """Whose, for how long, cents used."""
    read = lambda conn: costs.budgets(conn, engine.registry, limits(**dollars), engine.clock.now())  # noqa: E731
    return [(one.whose, one.period, one.used // CENT) for one in engine.read(read)]


def test_the_sums_of_a_day_agree_with_its_calls(both: ModelTrial) -> None:
    with FakeModel({"score": 1}, Fails(503), {"score": 400}, {"score": 2}) as model:
        both.use(model.settings(prices=PRICES))
        both.ask(given={"n": 1}, workspace="north")
        both.ask(given={"n": 1}, workspace="north")
        with pytest.raises(ai.ModelUnavailable):
            both.ask(given={"n": 2})
        both.clock.advance(timedelta(days=1))
        both.ask(given={"n": 3})
    both.use(AiSettings())
    both.ask()
    day = ai_call.c.at - ai_call.c.at % costs.DAY
    counted = sa.select(
        day,
        ai_call.c.task,
        ai_call.c.model,
        sa.func.count(),
        sa.func.sum(ai_call.c.cached),
        sa.func.count(ai_call.c.error_type),
        sa.func.sum(sa.func.coalesce(ai_call.c.input_tokens, 0)),
        sa.func.sum(sa.func.coalesce(ai_call.c.output_tokens, 0)),
        sa.func.sum(sa.func.coalesce(ai_call.c.cost, 0)),
        sa.func.count() - sa.func.count(ai_call.c.cost),
    ).group_by(day, ai_call.c.task, ai_call.c.model)
    stored = sa.select(
        ai_cost.c.day, ai_cost.c.task, ai_cost.c.model, *(sa.func.sum(ai_cost.c[name]) for name in costs.SUMS)
    ).group_by(ai_cost.c.day, ai_cost.c.task, ai_cost.c.model)

    def rows(query: Any) -> list[tuple[Any, ...]]:
        return sorted(
            (row[0], row[1], row[2], *map(int, row[3:]))
            for row in both.engine.read(lambda conn: conn.execute(query).all())
        )

    expected = rows(counted)
    assert sum(row[3] for row in expected) == len(both.calls()) == 6
    assert rows(stored.where(ai_cost.c.workspace != costs.ALL)) == expected
    assert rows(stored.where(ai_cost.c.workspace == costs.ALL)) == expected
    assert {row.machine for row in both.engine.read(lambda conn: conn.execute(sa.select(ai_cost)).all())} == {
        "question"
    }


def test_the_migration_adds_up_the_calls_that_are_there(both: ModelTrial) -> None:
    with FakeModel({"score": 1}, Fails(503), {"score": 2}) as model:
        both.use(model.settings(prices=PRICES))
        both.ask(given={"n": 1}, workspace="north")
        both.ask(given={"n": 1}, workspace="north")
        with pytest.raises(ai.ModelUnavailable):
            both.ask(given={"n": 2})
        both.clock.advance(timedelta(days=1))
        ai.ask(ai.Outside(both.engine), JUDGE, {"n": 3})
    every = sa.select(ai_cost).order_by(*ai_cost.primary_key)
    added = both.engine.read(lambda conn: conn.execute(every).all())

    def again(conn: sa.Connection) -> None:
        conn.execute(sa.delete(ai_cost))
        conn.execute(sa.text(v0013_ai_cost.SUMS.format(workspace="c.workspace", group="c.workspace,")))
        conn.execute(sa.text(v0013_ai_cost.SUMS.format(workspace="''", group="")))

    both.engine.store.write(again)
    assert both.engine.read(lambda conn: conn.execute(every).all()) == added
    assert len(added) == 5


def test_days_are_listed_newest_first_and_only_of_the_chosen_workspaces(engine: Engine) -> None:
    spend(engine, "question", 1)
    spend(engine, "other", None, workspace="north", error_type="ModelTimeout")
    engine.clock.advance(timedelta(days=1))  # type: ignore[attr-defined]
    spend(engine, "other", 2)
    spend(engine, "other", 0, cached=True)
    everything = engine.read(lambda conn: costs.by_day(conn, [costs.ALL], FIFTEENTH))
    assert [(one.machine, one.calls, one.cached, one.failed, one.cost, one.unpriced) for one in everything] == [
        ("other", 2, 1, 0, 2 * CENT, 0),
        ("other", 1, 0, 1, 0, 1),
        ("question", 1, 0, 0, CENT, 0),
    ]
    here = engine.read(lambda conn: costs.by_day(conn, ["default"], FIFTEENTH))
    assert [(one.machine, one.calls) for one in here] == [("other", 2), ("question", 1)]
    today = engine.read(lambda conn: costs.by_day(conn, [costs.ALL], engine.clock.now()))
    assert [(one.machine, one.calls) for one in today] == [("other", 2)]


def test_budgets_count_their_application_their_day_and_their_month(engine: Engine) -> None:
    spend(engine, "question", 500)
    engine.clock.advance(timedelta(days=20))  # type: ignore[attr-defined]
    spend(engine, "question", 1)
    engine.clock.advance(timedelta(days=1))  # type: ignore[attr-defined]
    spend(engine, "question", 2)
    spend(engine, "other", 4, workspace="north")
    spend(engine, "", 8)
    assert budgets(engine, two_day=1, one_month=1, one_day=1, all_month=1, all_day=1) == [
        ("all", "day", 14),
        ("all", "month", 15),
        ("one", "day", 2),
        ("one", "month", 3),
        ("two", "day", 4),
    ]
    assert budgets(engine) == []


def test_the_next_period_begins_at_midnight_or_with_the_next_month(engine: Engine) -> None:
    found = engine.read(lambda conn: costs.budgets(conn, engine.registry, limits(all_day=1, all_month=0), FIFTEENTH))
    assert [one.until for one in found] == [
        micros(datetime(2026, 6, 16, tzinfo=UTC)),
        micros(datetime(2026, 7, 1, tzinfo=UTC)),
    ]
    assert [(one.share, one.spent) for one in found] == [(0.0, False), (1.0, True)]


@pytest.fixture
def asking(store: Store) -> Iterator[ModelTrial]:
    """A trial whose machine belongs to the application `shop`."""
    with ModelTrial(store) as made:
        made.engine.registry.applications["shop"] = Application("shop", machines=[machine])
        made.engine.registry.applications["idle"] = Application("idle", machines=[OTHER])
        yield made


@pytest.mark.parametrize("whose", ["all", "shop"])
def test_a_spent_budget_refuses_what_is_not_cached_until_its_next_period(asking: ModelTrial, whose: str) -> None:
    with FakeModel({"score": 1}) as model:
        asking.use(model.settings(prices=PRICES, budgets={whose: {"day": 0.001}, "idle": {"month": 0}}))
        asking.ask(given={"n": 1}, user="ann")
        asking.ask(given={"n": 2}, user="bob")
        with pytest.raises(ai.TotalBudgetSpent, match=rf"\(ai.budgets.{whose}.day\); the next one begins") as raised:
            asking.ask(given={"n": 3}, workspace="north")
        assert isinstance(raised.value, ai.BudgetSpent)
        assert raised.value.until is not None
        assert asking.ask(given={"n": 1}).cached is True
        assert len(model.requests) == 2
        asking.clock.advance(timedelta(days=1))
        assert asking.ask(given={"n": 3}).output.score == 1


def test_a_budget_of_no_application_is_refused_when_it_is_configured(trial: ModelTrial) -> None:
    with pytest.raises(InterlockError, match=r"ai\.budgets names 'shop', which is no application here; there are: all"):
        trial.use(AiSettings.model_validate({"budgets": {"shop": {"day": 1}}}))


def test_a_budget_needs_prices(trial: ModelTrial) -> None:
    given = {"provider": "anthropic", "api_key": "k", "cheap": "nobody-knows-it", "strong": "x"}
    trial.use(AiSettings.model_validate({**given, "budgets": {"all": {"day": 1}}}))
    with pytest.raises(ai.PriceUnknown, match=r"so ai\.budgets cannot be kept"):
        trial.ask(given=GIVEN)


def test_an_alert_opens_at_four_fifths_of_a_budget_and_says_of_which(engine: Engine) -> None:
    kept = limits(all_day=10, one_month=1)

    def found() -> list[tuple[bool, str]]:
        rule = [rule for rule in rules.built_in() if rule.name == "model_budget"]
        results = engine.read(lambda conn: alerts.evaluate_rules(conn, engine.registry, rule, engine.clock.now(), kept))
        return [(one.breached, one.sentence) for one in results]

    spend(engine, "question", 79)
    assert [breached for breached, _ in found()] == [False]
    spend(engine, "question", 1)
    assert found() == [(True, "the budget of one for the month is used to 80 %: $0.80 of $1.00")]
    kept = {}
    assert found() == [(False, "")]
