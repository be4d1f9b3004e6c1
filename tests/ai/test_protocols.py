"""Both wire protocols, against a real server that does what servers do: answer, refuse, fail, break off, be silent."""

from __future__ import annotations

import json
import socket
import threading
from datetime import timedelta
from typing import Any

import pytest

from interlock import ai
from interlock.config import AiSettings
from interlock.engine import secrets
from interlock.machine import Rule, WorkError
from interlock.testing.model import Cuts, Drips, Fails, FakeModel, Garbles, Refuses, Says, Waits
from tests.ai.model_trial import JUDGE, PROVIDERS, STRONG, ModelTrial, Verdict

pytestmark = pytest.mark.parametrize("provider", PROVIDERS)


def test_a_model_answers_in_the_type_of_the_task(trial: ModelTrial, provider: Any) -> None:
    with FakeModel({"score": 7}, tokens=(120, 9)) as model:
        trial.use(model.settings(provider))
        answer = trial.ask()
    assert answer.output == Verdict(score=7)
    assert (answer.model, answer.cached, answer.by_rules) == ("fake-small", False, False)
    assert (answer.input_tokens, answer.output_tokens, answer.cost) == (120, 9, None)
    [seen] = model.requests
    assert seen.protocol == provider
    assert seen.system.startswith("Judge how well the text fits.")
    assert "hello" in seen.user
    assert seen.headers["authorization"] == "Bearer fake-key-123456"


def test_the_tier_chooses_the_model(trial: ModelTrial, provider: Any) -> None:
    with FakeModel({"score": 7}) as model:
        trial.use(model.settings(provider))
        assert [trial.ask(JUDGE).model, trial.ask(STRONG).model] == ["fake-small", "fake-big"]
    assert [seen.body["model"] for seen in model.requests] == ["fake-small", "fake-big"]


def test_an_invalid_answer_is_asked_again_once_with_what_is_wrong(trial: ModelTrial, provider: Any) -> None:
    with FakeModel({"score": 700}, {"score": 70}) as model:
        trial.use(model.settings(provider))
        answer = trial.ask()
    assert answer.output == Verdict(score=70)
    assert (answer.input_tokens, answer.output_tokens) == (200, 40)
    assert "score: Input should be less than or equal to 100" in model.requests[1].user
    first, second = trial.calls()
    assert (first.attempt, first.error_type, first.input_tokens) == (1, "ModelMalformed", 100)
    assert (second.attempt, second.error_type, second.input_tokens) == (2, None, 100)


@pytest.mark.parametrize(
    "nonsense",
    [{"score": "many"}, {}, Says("I think it fits well."), Says('{"score": ', called=True), Says('{"sc', cut=True)],
    ids=["wrong value", "nothing", "prose", "broken JSON", "cut off"],
)
def test_after_a_second_answer_that_does_not_fit_it_is_malformed(
    trial: ModelTrial, provider: Any, nonsense: Any
) -> None:
    with FakeModel(nonsense) as model:
        trial.use(model.settings(provider))
        with pytest.raises(ai.ModelMalformed, match="fake-small gave no Verdict: "):
            trial.ask()
    assert len(model.requests) == 2
    assert [(c.attempt, c.error_type) for c in trial.calls()] == [(1, "ModelMalformed"), (2, "ModelMalformed")]
    assert [e.status for e in trial.effects()] == ["failed"]
    assert trial.kept() == 0


def test_an_answer_that_was_cut_off_says_which_setting_cuts_it(trial: ModelTrial, provider: Any) -> None:
    with FakeModel(Says('{"sc', cut=True)) as model:
        trial.use(model.settings(provider))
        with pytest.raises(ai.ModelMalformed, match=r"more tokens than it may have \(ai.max_tokens\)"):
            trial.ask()


def test_broken_json_that_is_put_right_is_an_answer(trial: ModelTrial, provider: Any) -> None:
    with FakeModel(Says('{"score": ', called=True), {"score": 3}) as model:
        trial.use(model.settings(provider))
        assert trial.ask().output.score == 3


def test_a_small_model_that_writes_the_answer_instead_of_calling_the_tool_is_understood(
    trial: ModelTrial, provider: Any
) -> None:
    with FakeModel(Says('```json\n{"score": 4}\n```')) as model:
        trial.use(model.settings(provider))
        assert trial.ask().output.score == 4
    assert len(model.requests) == 1


FAULTS: list[tuple[Any, type[WorkError], timedelta | None]] = [
    (Fails(429, "slow down", retry_after=7), ai.ModelQuota, timedelta(seconds=7)),
    (Fails(429, "slow down"), ai.ModelQuota, None),
    (Fails(402, "no money"), ai.ModelQuota, None),
    (Fails(400, "bad request"), ai.ModelRefused, None),
    (Fails(401, "wrong key"), ai.ModelRefused, None),
    (Fails(403, "not for you"), ai.ModelRefused, None),
    (Fails(404, "no such model"), ai.ModelRefused, None),
    (Refuses("I would rather not."), ai.ModelRefused, None),
    (Fails(500, "oops"), ai.ModelUnavailable, None),
    (Fails(503, "later", retry_after=30), ai.ModelUnavailable, timedelta(seconds=30)),
    (Fails(529, "overloaded"), ai.ModelUnavailable, None),
    (Garbles(), ai.ModelUnavailable, None),
    (Garbles('{"hello": 1}'), ai.ModelUnavailable, None),
    (Cuts(), ai.ModelUnavailable, None),
]


@pytest.mark.parametrize(("fault", "kind", "later"), FAULTS, ids=lambda value: str(value)[:40])
def test_each_fault_has_its_type_and_is_tried_once(
    trial: ModelTrial, provider: Any, fault: Any, kind: type[WorkError], later: timedelta | None
) -> None:
    with FakeModel(fault) as model:
        trial.use(model.settings(provider))
        with pytest.raises(ai.ModelError) as raised:
            trial.ask()
    assert type(raised.value) is kind
    assert raised.value.retry_after == later
    assert len(model.requests) == 1, "no retry is hidden in a library"
    [call] = trial.calls()
    assert (call.error_type, call.error) == (kind.__name__, str(raised.value))
    assert [e.status for e in trial.effects()] == ["failed"]
    assert getattr(fault, "message", getattr(fault, "why", "")) in str(raised.value)
    assert Rule((kind,)).matches(raised.value, "asking")
    others = {ai.ModelTimeout, ai.ModelQuota, ai.ModelRefused, ai.ModelMalformed, ai.ModelUnavailable} - {kind}
    assert not any(Rule((other,)).matches(raised.value, "asking") for other in others)


def test_a_server_that_is_not_there_is_unavailable(trial: ModelTrial, provider: Any) -> None:
    with socket.socket() as taken:  # bound and not listening: nobody answers there
        taken.bind(("127.0.0.1", 0))
        where = f"http://127.0.0.1:{taken.getsockname()[1]}"
        trial.use(
            AiSettings.model_validate(
                {
                    "provider": provider,
                    "base_url": where,
                    "api_key": "k",
                    "cheap": "a",
                    "strong": "b",
                    "timeout": 5,
                }
            )
        )
        with pytest.raises(ai.ModelUnavailable):
            trial.ask()


def test_a_model_that_says_nothing_is_given_up_after_its_time(trial: ModelTrial, provider: Any) -> None:
    silent = Waits(threading.Event())
    with FakeModel(silent) as model:
        trial.use(model.settings(provider, timeout=0.2))
        with pytest.raises(ai.ModelTimeout, match=r"fake-small gave no answer within 0.2 s \(ai.timeout\)"):
            trial.ask()
        silent.release.set()
    [call] = trial.calls()
    assert (call.error_type, call.input_tokens, call.cost) == ("ModelTimeout", None, None)
    assert call.took >= 200_000


def test_a_model_that_never_comes_to_an_end_is_given_up_as_well(trial: ModelTrial, provider: Any) -> None:
    endless = Drips(threading.Event())
    with FakeModel(endless) as model:
        trial.use(model.settings(provider, timeout=0.3))
        with pytest.raises(ai.ModelTimeout):
            trial.ask()
        endless.release.set()


def test_a_secret_in_an_error_is_hidden_in_all_that_is_kept(trial: ModelTrial, provider: Any) -> None:
    secrets.learn(["sesame-opens-it"])
    try:
        with FakeModel(Fails(401, "the key sesame-opens-it is wrong")) as model:
            trial.use(model.settings(provider))
            with pytest.raises(ai.ModelRefused) as raised:
                trial.ask()
    finally:
        secrets.forget()
    [call] = trial.calls()
    for text in (str(raised.value), call.error, trial.effects()[0].error):
        assert "the key [hidden] is wrong" in str(text)


def test_nothing_but_the_question_is_sent(trial: ModelTrial, provider: Any) -> None:
    with FakeModel({"score": 1}) as model:
        trial.use(model.settings(provider, max_tokens=77))
        trial.ask()
    [seen] = model.requests
    most = "max_tokens" if provider == "anthropic" else "max_completion_tokens"
    assert seen.body[most] == 77
    assert set(seen.body) <= {"model", "messages", "system", "tools", "tool_choice", "stream", most}
    assert "default" not in json.dumps(seen.body), "neither workspace nor user leaves the house"
