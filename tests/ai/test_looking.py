"""Looking at what was asked and spent: through the API, and as metrics."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from interlock import ai
from interlock.ai.calls import Ended, Question, note
from interlock.config import AiSettings
from interlock.testing.model import FakeModel
from interlock.watch import costs
from interlock.watch.prometheus import exposition
from tests.ai.model_trial import JUDGE, ModelTrial
from tests.support.api import Api, open_api


@pytest.fixture
def api(store: Any) -> Any:
    with open_api(store) as made:
        yield made


def asked(api: Api, *body: Ended, task: str = "judge", workspace: str = "default", it: Any = None) -> None:
    question = Question(it, workspace, "ann", "t1", task, "v1", "cheap", "openai", "m", 1, "h", None, "order")
    api.engine.write(lambda unit: [note(unit, None, question, one) for one in body])


ANSWERED = Ended("m", input_tokens=100, output_tokens=20, cost=600_001, took=1_500_000)
FAILED = Ended("m", attempt=2, error_type="ModelTimeout", error="no answer", took=3_000_000)
KEPT = Ended("m", input_tokens=0, output_tokens=0, cost=0, cached=True)


def test_the_calls_of_an_instance_are_listed_in_order(api: Api) -> None:
    it = api.new()
    asked(api, ANSWERED, FAILED, KEPT, it=it)
    asked(api, ANSWERED, it=api.new())
    first, second, third = api.get(f"/api/instances/{it}/ai-calls", "viewer").json()["calls"]
    assert {name: first[name] for name in ("task", "model", "tier", "user", "trace_id", "prompt_version")} == {
        "task": "judge",
        "model": "m",
        "tier": "cheap",
        "user": "ann",
        "trace_id": "t1",
        "prompt_version": "v1",
    }
    assert (first["input_tokens"], first["output_tokens"], first["cost"], first["seconds"]) == (
        100,
        20,
        "0.000600001",
        1.5,
    )
    assert (second["error_type"], second["error"], second["cost"], second["attempt"]) == (
        "ModelTimeout",
        "no answer",
        None,
        2,
    )
    assert (first["cached"], third["cached"]) == (False, True)


def test_costs_are_listed_by_day_task_and_model(api: Api) -> None:
    asked(api, ANSWERED)
    api.clock.advance(timedelta(days=1))
    asked(api, ANSWERED, FAILED, KEPT)
    asked(api, ANSWERED, task="weigh")
    asked(api, ANSWERED, workspace="north")
    body = api.get("/api/costs?workspace=default", "viewer").json()
    assert [(s["task"], s["calls"], s["cached"], s["failed"], s["unpriced"]) for s in body["costs"]] == [
        ("judge", 3, 1, 1, 1),
        ("weigh", 1, 0, 0, 0),
        ("judge", 1, 0, 0, 0),
    ]
    today = body["costs"][0]
    assert (today["input_tokens"], today["output_tokens"], today["cost"]) == (100, 20, "0.000600001")
    assert (today["application"], today["machine"]) == (None, "order")
    assert today["day"] > body["costs"][2]["day"]
    assert today["day"].endswith("T00:00:00Z")
    assert (body["workspace"], body["total"], body["budgets"]) == ("default", "0.001800003", [])
    assert len(api.get("/api/costs?workspace=default&days=1", "viewer").json()["costs"]) == 2


def test_the_first_workspace_sees_the_costs_and_budgets_of_all(api: Api) -> None:
    api.engine.core.settings["ai"] = AiSettings.model_validate({"budgets": {"all": {"day": 0.0012}}})
    asked(api, ANSWERED)
    asked(api, ANSWERED, workspace="north")
    body = api.get("/api/costs", "viewer").json()
    assert (body["workspace"], body["total"], body["costs"][0]["calls"]) == (None, "0.001200002", 2)
    [budget] = body["budgets"]
    assert (budget["of"], budget["period"], budget["limit"], budget["used"]) == ("all", "day", "0.0012", "0.001200002")
    assert budget["share"] > 1
    north = api.get("/api/costs", "north-owner").json()
    assert (north["workspace"], north["total"], north["budgets"]) == ("north", "0.000600001", [])


def test_calls_tokens_and_cost_are_metrics(trial: ModelTrial) -> None:
    task = ai.ModelTask("measured", JUDGE.prompt, JUDGE.output)
    with FakeModel({"score": 1}) as model:
        trial.use(model.settings(prices={"fake-small": {"input": 3, "output": 15}}))
        trial.ask(task)
        trial.ask(task)
    engine = trial.engine
    text = engine.read(lambda conn: exposition(conn, engine.registry, engine.clock.now())).decode()
    of = 'model="fake-small"'
    assert f'interlock_model_calls_total{{{of},outcome="answered",task="measured"}} 1.0' in text
    assert f'interlock_model_calls_total{{{of},outcome="cached",task="measured"}} 1.0' in text
    assert f'interlock_model_tokens_total{{direction="in",{of},task="measured"}} 100.0' in text
    assert f'interlock_model_dollars_total{{{of},task="measured"}} 0.0006' in text


def test_a_day_begins_at_midnight_in_utc() -> None:
    assert costs.day_of(5 * costs.DAY) == 5 * costs.DAY
    assert costs.day_of(6 * costs.DAY - 1) == 5 * costs.DAY
