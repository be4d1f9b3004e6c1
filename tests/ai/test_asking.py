"""Asking: what is written down, what is kept, who pays, and what a crash costs."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa

from interlock import ai
from interlock.config import AiSettings
from interlock.engine import Instance
from interlock.machine import Fail, Go
from interlock.store.ai import ai_answer
from interlock.testing import broken_laws
from interlock.testing.model import Fails, FakeModel, Waits
from interlock.watch import costs
from interlock.worker import AsyncTask, Cancelled, Task
from interlock.worker.port import EnginePort
from interlock.worker.runner import Runner, invoke
from tests.ai.model_trial import GIVEN, JUDGE, ModelTrial, Verdict
from tests.support.waiting import eventually

PRICES = {"fake-small": {"input": 3, "output": 15}, "fake-big": {"input": 10, "output": 50}}
COST = Decimal("0.0006")
"""Of 100 tokens in and 20 out."""


# -- rules


def test_without_a_provider_rules_do_it_and_it_is_written_down(both: ModelTrial) -> None:
    answer = both.ask(user="ann")
    assert answer.output == Verdict(score=5)
    assert (answer.model, answer.by_rules, answer.cached, answer.cost) == ("rules", True, False, 0)
    [call] = both.calls()
    assert (call.id, call.model, call.provider, call.cost, call.for_user) == (answer.call, "rules", "none", 0, "ann")
    assert both.effects() == []


def test_rules_that_fail_fail_as_they_do_and_are_written_down(trial: ModelTrial) -> None:
    with pytest.raises(KeyError):
        trial.ask(given={"other": 1})
    assert [(c.model, c.error_type) for c in trial.calls()] == [("rules", "KeyError")]


def test_a_task_without_rules_says_what_to_configure(trial: ModelTrial) -> None:
    task = ai.ModelTask("hard", "Do it.", Verdict)
    with pytest.raises(ai.NoModel, match=r"'hard' has no rules; set ai.provider, ai.cheap, ai.strong"):
        trial.ask(task)


def test_it_can_be_asked_whether_a_model_is_there(trial: ModelTrial) -> None:
    assert trial.do(ai.configured) is False
    with FakeModel() as model:
        trial.use(model.settings())
        assert trial.do(ai.configured) is True
        assert ai.configured(trial.engine) is True


# -- what is written down


def test_every_call_is_written_down_with_what_it_used(both: ModelTrial) -> None:
    with FakeModel({"score": 1}) as model:
        both.use(model.settings("openai", prices=PRICES))
        answer = both.ask(user="ann")
    [call] = both.calls()
    it: Instance = both.get(call.instance_id)  # type: ignore[arg-type]
    assert (call.workspace, call.for_user, call.trace_id) == ("default", "ann", it.trace_id)
    assert (call.task, call.prompt_version, call.tier) == ("judge", JUDGE.version, "cheap")
    assert (call.provider, call.model, call.sample, call.attempt) == ("openai", "fake-small", 1, 1)
    assert (call.input_tokens, call.output_tokens, call.cached) == (100, 20, 0)
    assert (call.dollars, answer.cost) == (COST, COST)
    assert (call.error_type, call.error, call.at) == (None, None, both.clock.now())
    assert call.took > 0
    assert call.id == answer.call


def test_the_intent_is_an_effect_before_anything_is_sent_and_its_end_is_in_the_history(both: ModelTrial) -> None:
    waiting = Waits(threading.Event(), {"score": 1})
    with FakeModel(waiting) as model, ThreadPoolExecutor(1) as pool:
        both.use(model.settings())
        claim = both.claim_asking(lambda task: ai.ask(task, JUDGE, GIVEN))
        running = pool.submit(both.run, claim)
        assert waiting.came.wait(60)
        assert [e.status for e in both.engine.effects(claim.id)] == ["sent"]
        waiting.release.set()
        both.finish(claim, running.result(60))
    [effect] = both.engine.effects(claim.id)
    assert (effect.status, effect.kind, effect.answer["call"]) == ("confirmed", "ai_call", str(both.calls()[0].id))
    rows = [row.payload["status"] for row in both.engine.history(claim.id) if row.kind == "effect"]
    assert rows == ["intended", "confirmed"]
    assert broken_laws(both.engine) == []


# -- kept answers


def test_the_same_question_is_answered_from_what_was_kept(both: ModelTrial) -> None:
    with FakeModel({"score": 1}, {"score": 2}) as model:
        both.use(model.settings(prices=PRICES))
        first, second = both.ask(), both.ask()
    assert (second.output, second.cached, second.cost, second.input_tokens) == (first.output, True, 0, 0)
    assert len(model.requests) == 1
    assert [(c.cached, c.cost) for c in both.calls()] == [(0, 600_000), (1, 0)]


def test_what_was_kept_is_for_one_workspace_only(both: ModelTrial) -> None:
    with FakeModel({"score": 1}, {"score": 2}) as model:
        both.use(model.settings())
        assert both.ask().output.score == 1
        other = both.ask(workspace="north")
    assert (other.output.score, other.cached) == (2, False)


OTHER_PROMPT = ai.ModelTask("judge", "Judge it otherwise.", Verdict)
OTHER_NAME = ai.ModelTask("weigh", "Judge how well the text fits.", Verdict)


class Wider(Verdict):
    """The same with a word."""

    why: str = ""


OTHER_TYPE = ai.ModelTask("judge", "Judge how well the text fits.", Wider)


@pytest.mark.parametrize(
    ("task", "given", "settings"),
    [
        (JUDGE, {"text": "other"}, {}),
        (OTHER_PROMPT, GIVEN, {}),
        (OTHER_NAME, GIVEN, {}),
        (OTHER_TYPE, GIVEN, {}),
        (JUDGE, GIVEN, {"cheap": "another-model"}),
        (JUDGE, GIVEN, {"cache": False}),
    ],
    ids=["input", "prompt", "name", "type", "model", "cache off"],
)
def test_another_question_is_asked(trial: ModelTrial, task: Any, given: Any, settings: dict[str, Any]) -> None:
    with FakeModel({"score": 1}) as model:
        trial.use(model.settings())
        trial.ask()
        trial.use(model.settings(**settings))
        assert trial.ask(task, given).cached is False
    assert len(model.requests) == 2


def test_the_order_of_the_parts_is_no_other_question(trial: ModelTrial) -> None:
    with FakeModel({"score": 1}) as model:
        trial.use(model.settings())
        assert [trial.ask(given=g).cached for g in ({"a": 1, "b": 2}, {"b": 2, "a": 1})] == [False, True]


def test_a_fresh_answer_is_asked_for_though_one_is_kept(trial: ModelTrial) -> None:
    with FakeModel({"score": 1}, {"score": 2}, {"score": 3}) as model:
        trial.use(model.settings())
        assert [trial.ask(fresh=fresh).output.score for fresh in (False, True, True, False)] == [1, 2, 3, 1]


def test_a_failure_is_not_kept(trial: ModelTrial) -> None:
    with FakeModel(Fails(500), {"score": 2}) as model:
        trial.use(model.settings())
        with pytest.raises(ai.ModelUnavailable):
            trial.ask()
        assert trial.ask().output.score == 2


def test_a_kept_answer_that_no_longer_fits_is_asked_for_again(both: ModelTrial) -> None:
    with FakeModel({"score": 1}, {"score": 2}) as model:
        both.use(model.settings())
        both.ask()
        both.engine.store.write(lambda conn: conn.execute(sa.update(ai_answer).values(output='{"score":-1}')))
        assert [both.ask().output.score, both.ask().output.score] == [2, 2]
    assert len(model.requests) == 2


# -- crashes


def test_a_crash_after_the_answer_was_stored_does_not_pay_twice(both: ModelTrial) -> None:
    with FakeModel({"score": 1}, {"score": 2}) as model:
        both.use(model.settings(prices=PRICES))
        claim = both.claim_asking(lambda task: ai.ask(task, JUDGE, GIVEN, fresh=True))
        both.run(claim)  # the answer is stored, and the worker dies before it can say so
        both.lose(both.worker)
        both.worker = both.new_worker()
        both.run_until_idle()
    assert both.state(claim.id) == "done"
    assert [a.output.score for a in both.answers] == [1, 1]
    assert len(model.requests) == 1
    assert [(c.cached, c.cost) for c in both.calls()] == [(0, 600_000), (1, 0)]


def test_an_answer_that_was_lost_is_asked_for_again_and_counted_as_two(both: ModelTrial) -> None:
    lost = Waits(threading.Event(), {"score": 1})
    with FakeModel(lost, {"score": 2}) as model, ThreadPoolExecutor(1) as pool:
        both.use(model.settings())
        claim = both.claim_asking(lambda task: ai.ask(task, JUDGE, GIVEN))
        first = pool.submit(both.run, claim)
        assert lost.came.wait(10)
        both.lose(both.worker)  # as if its process had died while the model was at work
        both.worker = both.new_worker()
        both.run_until_idle()
        assert both.state(claim.id) == "done"
        assert both.answers[-1].output.score == 2
        assert [(c.error_type, c.cached) for c in both.calls()] == [("AnswerLost", 0), (None, 0)]
        assert [(e.status, e.sends) for e in both.engine.effects(claim.id)] == [("confirmed", 2)]
        # The worker was not dead after all: its answer is written down, changes nothing and needs nobody.
        lost.release.set()
        first.result(10)
    assert sorted(str(c.error_type) for c in both.calls()) == ["AnswerLost", "None", "None"]
    assert both.ask().output.score == 2
    assert both.engine.reviews.waiting() == []
    assert len(model.requests) == 2
    assert broken_laws(both.engine) == []


# -- budgets


def budgeted(model: FakeModel, **budget: Any) -> AiSettings:
    return model.settings(prices=PRICES, **budget)


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ({"budget_dollars": 0.001}, r"\$0.0012 of \$0.0010 \(ai.budget_dollars\)"),
        ({"budget_tokens": 200}, r"240 of 200 tokens \(ai.budget_tokens\)"),
    ],
    ids=["dollars", "tokens"],
)
def test_a_budget_that_is_spent_refuses_until_the_next_day(both: ModelTrial, budget: dict[str, Any], said: str) -> None:
    both.clock.set(costs.day_of(both.clock.now()) + costs.DAY - 3_600_000_000)
    with FakeModel({"score": 1}) as model:
        both.use(budgeted(model, **budget))
        both.ask(given={"n": 1}, user="ann")
        both.ask(given={"n": 2}, user="ann")
        with pytest.raises(ai.BudgetSpent, match=f"the budget of the user 'ann' is spent: {said}") as raised:
            both.ask(given={"n": 3}, user="ann")
        assert isinstance(raised.value, ai.ModelQuota)
        tomorrow = raised.value.until
        assert tomorrow is not None
        assert tomorrow - datetime.fromtimestamp(both.clock.now() / 1e6, UTC) == timedelta(hours=1)
        assert f"{tomorrow:%Y-%m-%d} 00:00 UTC" in str(raised.value)
        assert both.ask(given={"n": 4}, user="bob").output.score == 1, "another has a budget of their own"
        assert both.ask(given={"n": 1}, user="ann").cached is True, "what is kept costs nothing"
        assert len(model.requests) == 3
        both.clock.advance(timedelta(hours=1))
        assert both.ask(given={"n": 3}, user="ann").output.score == 1


def test_what_a_user_spends_counts_in_all_workspaces(both: ModelTrial) -> None:
    with FakeModel({"score": 1}) as model:
        both.use(budgeted(model, budget_tokens=100))
        both.ask(user="ann", workspace="north")
        with pytest.raises(ai.BudgetSpent):
            both.ask(user="ann")


def test_what_is_asked_for_nobody_counts_on_the_workspace(both: ModelTrial) -> None:
    with FakeModel({"score": 1}) as model:
        both.use(budgeted(model, budget_tokens=100))
        both.ask(user="ann")
        both.ask(given={"n": 1})
        with pytest.raises(ai.BudgetSpent, match="the budget of the workspace 'default' is spent"):
            both.ask(given={"n": 2})
        both.ask(workspace="north")


def test_a_budget_of_nothing_lets_nothing_out(trial: ModelTrial) -> None:
    with FakeModel({"score": 1}) as model:
        trial.use(budgeted(model, budget_dollars=0))
        with pytest.raises(ai.BudgetSpent):
            trial.ask()
    assert (model.requests, trial.calls()) == ([], [])


def test_a_budget_in_dollars_needs_a_price(trial: ModelTrial) -> None:
    trial.use(
        AiSettings.model_validate(
            {
                "provider": "anthropic",
                "api_key": "k",
                "cheap": "nobody-knows-it",
                "strong": "x",
                "budget_dollars": 1,
            }
        )
    )
    with pytest.raises(ai.PriceUnknown, match="no price is known for 'nobody-knows-it'"):
        trial.ask()


# -- samples


def test_samples_are_calls_of_their_own_and_all_are_given(both: ModelTrial) -> None:
    with FakeModel({"score": 1}, {"score": 2}, {"score": 3}) as model:
        both.use(model.settings())
        found = both.do(lambda task: ai.samples(task, JUDGE, GIVEN, 3))
        again = both.do(lambda task: ai.samples(task, JUDGE, GIVEN, 3))
        assert both.ask().cached is True, "the first sample is the answer to the plain question"
    assert sorted(a.output.score for a in found) == [1, 2, 3]
    assert [a.output for a in again] == [a.output for a in found]
    assert all(a.cached for a in again)
    assert len(model.requests) == 3
    assert sorted(c.sample for c in both.calls()) == [1, 1, 1, 2, 2, 3, 3]


def test_samples_that_are_paid_for_are_kept_though_one_fails(trial: ModelTrial) -> None:
    with FakeModel({"score": 1}, Fails(500), {"score": 3}) as model:
        trial.use(model.settings())
        with pytest.raises(ai.ModelUnavailable):
            trial.do(lambda task: ai.samples(task, JUDGE, GIVEN, 3))
        assert trial.kept() == 2
        trial.do(lambda task: ai.samples(task, JUDGE, GIVEN, 3))
    assert len(model.requests) == 4


def test_rules_give_one_sample(trial: ModelTrial) -> None:
    assert len(trial.do(lambda task: ai.samples(task, JUDGE, GIVEN, 3))) == 1


@pytest.mark.parametrize("count", [0, 21])
def test_a_wrong_number_of_samples_is_refused(trial: ModelTrial, count: int) -> None:
    with pytest.raises(ValueError, match=f"count is {count}; from 1 to 20"):
        trial.do(lambda task: ai.samples(task, JUDGE, GIVEN, count))


# -- where it can be asked


def test_an_async_handler_awaits_it(both: ModelTrial) -> None:
    async def handler(task: AsyncTask[Any]) -> Go:
        one, three = await asyncio.gather(ai.ask(task, JUDGE, GIVEN), ai.samples(task, JUDGE, {"n": 1}, 3))
        both.answers += [one, *three]
        return Go("done")

    with FakeModel({"score": 1}) as model:
        both.use(model.settings())
        claim = both.claim_with(both.create("question"), handler)
        assert both.run(claim) == Go("done")
    assert [a.output.score for a in both.answers] == [1] * 4
    assert len(both.calls(claim.id)) == 4


def test_it_can_be_asked_outside_of_a_handler(both: ModelTrial) -> None:
    with FakeModel({"score": 1}) as model:
        both.use(model.settings())
        outside = ai.Outside(both.engine, workspace="north")
        first, second = (ai.ask(outside, JUDGE, GIVEN, user="ann") for _ in range(2))
    assert (first.output.score, first.cached, second.cached) == (1, False, True)
    assert {(c.instance_id, c.effect_id, c.workspace, c.for_user) for c in both.calls()} == {
        (None, None, "north", "ann")
    }


# -- cancellation


def test_a_plain_handler_that_is_cancelled_breaks_its_call_off(trial: ModelTrial) -> None:
    silent = Waits(threading.Event())
    with FakeModel(silent) as model, ThreadPoolExecutor(1) as pool:
        trial.use(model.settings())
        claim = trial.claim_asking(lambda task: ai.ask(task, JUDGE, GIVEN))
        port = EnginePort(trial.engine, claim)
        running = pool.submit(invoke, claim, port)
        assert silent.came.wait(10)
        port.cancel()
        outcome = running.result(5)  # long before the model's own time is over
        silent.release.set()
    assert isinstance(outcome, Fail)
    assert isinstance(outcome.error, Cancelled)
    assert [c.error_type for c in trial.calls()] == ["Cancelled"]
    assert [e.status for e in trial.engine.effects(claim.id)] == ["failed"]


def test_an_async_handler_that_is_cancelled_breaks_its_call_off(trial: ModelTrial) -> None:
    silent = Waits(threading.Event())

    async def handler(task: AsyncTask[Any]) -> Go:
        await ai.ask(task, JUDGE, GIVEN)
        return Go("done")

    ended: list[Any] = []
    runner = Runner(trial.engine, 1, lambda running, outcome: ended.append(outcome))
    with FakeModel(silent) as model:
        trial.use(model.settings())
        running = runner.start([trial.claim_with(trial.create("question"), handler)])[0]
        assert silent.came.wait(10)
        running.cancel()
        eventually(lambda: ended, within=5)
        silent.release.set()
    runner.close()
    assert isinstance(ended[0], Fail)
    assert [c.error_type for c in trial.calls()] == ["Cancelled"]


def test_a_handler_that_lost_its_instance_sends_nothing(trial: ModelTrial) -> None:
    def handler(task: Task[Any]) -> Any:
        trial.lose(trial.worker)
        return ai.ask(task, JUDGE, GIVEN)

    with FakeModel({"score": 1}) as model:
        trial.use(model.settings())
        outcome = trial.run(trial.claim_asking(handler))
    assert isinstance(outcome, Fail)
    assert model.requests == []
