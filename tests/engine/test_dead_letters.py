"""Dead letters: work that failed for good, with all that is needed to understand it and to do it again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from interlock.engine import DeadLetter, Forbidden, KeyTaken, NotFound, Refused
from interlock.machine import Fail, Failures, Go, KeyScope, Rule, WorkError, fixed
from interlock.store import Store, micros
from interlock.testing import Trial, broken_laws
from tests.support.machines import (
    ANN,
    BOSS,
    ROBOT,
    Unreachable,
    claim_one,
    do,
    job,
    kinds,
    last_row,
    pass_time,
    trial_of,
)
from tests.support.racing import race


def at_once(then: str | None = None) -> Rule:
    return Rule((Exception,), then=then, sets={"why": "it failed"} if then else {})


IN_PLACE = job(Failures(otherwise=at_once()), key=KeyScope.LIVE)
IN_FAILED = job(Failures(state="failed", otherwise=at_once()), key=KeyScope.LIVE)
IN_THE_END = job(Failures(state="failed", otherwise=at_once("given_up")), key=KeyScope.FOREVER)


def failed(trial: Trial, *, step: str = "first", error: BaseException | None = None, key: str | None = None) -> UUID:
    it = trial.create("job", {"n": 1}, key=key, labels={"team": "a"}, priority=1, queue="jobs")
    trial.queues = ["jobs"]
    if step == "second":
        do(trial, Go("second"))
    do(trial, Fail(error or Unreachable("no answer")))
    return it


def the_letter(trial: Trial) -> DeadLetter:
    [letter] = trial.engine.dead_letters.find()
    return letter


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    """Failures stay in their step."""
    with trial_of(store, IN_PLACE) as trial:
        yield trial


@pytest.fixture
def resting(store: Store) -> Iterator[Trial]:
    """Failures rest in the state for failures."""
    with trial_of(store, IN_FAILED) as trial:
        yield trial


@pytest.fixture
def ended(store: Store) -> Iterator[Trial]:
    """Failures end in a final state."""
    with trial_of(store, IN_THE_END) as trial:
        yield trial


# -- contents


def test_a_letter_tells_what_failed_where_when_and_with_what_data(ended: Trial) -> None:
    it = failed(ended, step="second", error=Unreachable("no answer from 10.0.0.1"))
    letter = the_letter(ended)
    assert (letter.instance_id, letter.machine, letter.workspace) == (it, "job", "default")
    assert (letter.state, letter.step, letter.status) == ("second", "second", "open")
    assert (letter.error_type, letter.error["message"]) == ("Unreachable", "no answer from 10.0.0.1")
    assert (letter.data, letter.at) == ({"n": 1}, ended.clock.now())
    assert (letter.closed_at, letter.closed_by, letter.retried_as) == (None, None, None)


def test_a_letter_tells_where_in_the_code_it_was_raised(store: Store) -> None:
    def handler(_: object) -> Go:
        raise Unreachable("no answer")

    with trial_of(store, IN_PLACE.with_handlers({"first": handler})) as trial:
        trial.create("job")
        trial.run_until_idle()
        assert the_letter(trial).error["where"][-1].startswith("test_dead_letters.py:")
        assert the_letter(trial).error["where"][-1].endswith(" in handler")


def test_a_letter_counts_the_attempts_at_its_step(store: Store) -> None:
    patient = Rule((Exception,), retries=3, backoff=fixed(timedelta(minutes=1)))
    with trial_of(store, job(Failures(otherwise=patient))) as trial:
        trial.create("job")
        for _ in range(4):
            do(trial, Fail(Unreachable()))
            pass_time(trial, minutes=1)
        assert the_letter(trial).attempts == 4


def fingerprint(trial: Trial, error: BaseException, step: str = "first") -> str:
    it = failed(trial, step=step, error=error)
    [letter] = [letter for letter in trial.engine.dead_letters.find() if letter.instance_id == it]
    return letter.fingerprint


def test_errors_that_differ_in_numbers_ids_and_quoted_words_have_one_fingerprint(trial: Trial) -> None:
    one = fingerprint(trial, Unreachable(f"no answer for {uuid4()} in 30 s from 'a.example' at 0xdeadbeef"))
    two = fingerprint(trial, Unreachable(f"no answer for {uuid4()} in 7 s from 'b.example' at 0xcafe"))
    assert one == two


def test_other_words_another_type_or_another_step_is_another_fingerprint(trial: Trial) -> None:
    prints = [
        fingerprint(trial, Unreachable("no answer")),
        fingerprint(trial, Unreachable("no route")),
        fingerprint(trial, WorkError("no answer")),
        fingerprint(trial, Unreachable("no answer"), step="second"),
    ]
    assert len(set(prints)) == 4


def test_an_unknown_letter_is_not_found(trial: Trial) -> None:
    with pytest.raises(NotFound, match="there is no dead letter"):
        trial.engine.dead_letters.get(uuid4())


# -- retry at the failed step


def test_a_retry_does_the_failed_step_again_where_it_rests(trial: Trial) -> None:
    it = failed(trial, step="second")
    letter = the_letter(trial)
    pass_time(trial, hours=3)
    assert trial.engine.dead_letters.retry(letter.id, actor=ANN, reason="it is back").id == it
    after = trial.get(it)
    assert (after.state, after.wake, after.due_at) == ("second", "work", trial.clock.now())
    row = last_row(trial, it)
    assert (row.kind, row.actor, row.payload["reason"]) == ("retried", "user:ann", "it is back")
    do(trial, Go("done"))
    assert trial.state(it) == "done"


def test_a_retry_closes_the_letter_and_says_who_did_it(trial: Trial) -> None:
    failed(trial)
    letter = the_letter(trial)
    trial.engine.dead_letters.retry(letter.id, actor=ANN, reason="it is back")
    after = trial.engine.dead_letters.get(letter.id)
    assert (after.status, after.closed_by, after.note) == ("retried", "user:ann", "it is back")
    assert (after.closed_at, after.retried_as) == (trial.clock.now(), None)
    assert trial.engine.dead_letters.find() == []
    with pytest.raises(Refused, match="was retried by user:ann"):
        trial.engine.dead_letters.retry(letter.id, actor=ANN)


def test_a_retry_starts_the_counters_of_its_step_anew(store: Store) -> None:
    patient = Rule((Exception,), retries=1, backoff=fixed(timedelta(minutes=1)))
    with trial_of(store, job(Failures(otherwise=patient))) as trial:
        it = trial.create("job")
        for _ in range(2):
            do(trial, Fail(Unreachable()))
            pass_time(trial, minutes=1)
        trial.engine.dead_letters.retry(the_letter(trial).id, actor=ANN)
        assert trial.get(it).failures == {}
        do(trial, Fail(Unreachable()))
        assert trial.engine.dead_letters.find() == []


def test_from_the_state_for_failures_a_retry_takes_the_declared_way_to_its_step(resting: Trial) -> None:
    it = failed(resting, step="second", key="k")
    assert resting.get(it).unique_key is None
    resting.engine.dead_letters.retry(the_letter(resting).id, actor=ANN)
    row = last_row(resting, it)
    assert (row.from_state, row.to_state, row.event, row.actor) == ("failed", "second", "retry", "user:ann")
    assert (resting.get(it).finished_at, resting.get(it).unique_key) == (None, "k")
    assert claim_one(resting).step == "second"


def test_whoever_may_not_take_that_way_may_not_retry(resting: Trial) -> None:
    it = failed(resting)
    with pytest.raises(Forbidden, match="'retry' is for system, user, not for agent"):
        resting.engine.dead_letters.retry(the_letter(resting).id, actor=ROBOT)
    assert (resting.state(it), the_letter(resting).status) == ("failed", "open")


def test_what_lost_its_key_to_another_cannot_be_retried(resting: Trial) -> None:
    it = failed(resting, key="k")
    other = resting.create("job", key="k")
    with pytest.raises(KeyTaken) as refusal:
        resting.engine.dead_letters.retry(the_letter(resting).id, actor=ANN)
    assert (refusal.value.existing, resting.state(it), the_letter(resting).status) == (other, "failed", "open")


def test_what_went_on_by_another_way_cannot_be_retried(trial: Trial) -> None:
    it = failed(trial)
    trial.engine.fire(it, "skip", actor=ANN)
    with pytest.raises(Refused, match="has moved on to 'second' since; resolve the dead letter"):
        trial.engine.dead_letters.retry(the_letter(trial).id, actor=ANN)
    assert trial.state(it) == "second"


def test_what_is_worked_on_again_already_cannot_be_retried(trial: Trial) -> None:
    it = failed(trial)
    trial.engine.fire(it, "skip", actor=ANN)
    do(trial, Go("first"))
    claim = claim_one(trial)
    with pytest.raises(Refused, match="its work is already running or ready; resolve the dead letter"):
        trial.engine.dead_letters.retry(the_letter(trial).id, actor=ANN)
    assert trial.get(it).holder == claim.worker
    assert trial.finish(claim, Go("second")) is True


def test_what_is_paused_is_retried_when_its_pause_is_over(trial: Trial) -> None:
    it = failed(trial)
    trial.engine.pause(it, actor=ANN)
    trial.engine.dead_letters.retry(the_letter(trial).id, actor=ANN)
    assert trial.claim() == []
    trial.engine.resume(it, actor=ANN)
    assert claim_one(trial).id == it


def test_of_many_who_retry_at_once_one_does(trial: Trial) -> None:
    it = failed(trial)
    letter = the_letter(trial)

    def retry(_: int) -> bool:
        try:
            trial.engine.dead_letters.retry(letter.id, actor=ANN)
        except Refused:
            return False
        return True

    assert race(6, retry).count(True) == 1
    assert kinds(trial, it).count("retried") == 1


# -- retry as a new linked instance


def test_from_a_final_state_a_retry_starts_a_new_linked_instance_at_the_failed_step(ended: Trial) -> None:
    it = failed(ended, step="second")
    again = ended.engine.dead_letters.retry(the_letter(ended).id, actor=ANN, reason="it is back")
    assert (again.id != it, again.state, again.wake) == (True, "second", "work")
    assert (again.parent, again.root, again.depth) == (it, it, 1)
    [row] = ended.engine.history(again.id)
    assert (row.kind, row.actor, row.payload["retry_of"]) == ("created", "user:ann", str(it))
    assert ended.state(it) == "given_up"
    assert last_row(ended, it).payload["as"] == str(again.id)
    assert ended.engine.dead_letters.find(status="retried")[0].retried_as == again.id
    do(ended, Go("done"))
    assert ended.state(again.id) == "done"


def test_the_new_one_has_the_data_of_the_failed_step_not_the_reason_of_its_end(ended: Trial) -> None:
    it = failed(ended)
    assert ended.data(it) == {"n": 1, "why": "it failed"}
    again = ended.engine.dead_letters.retry(the_letter(ended).id, actor=ANN)
    assert ended.data(again.id) == {"n": 1}


def test_the_new_one_has_the_queue_the_priority_and_the_labels_of_the_old(ended: Trial) -> None:
    it = failed(ended)
    again = ended.engine.dead_letters.retry(the_letter(ended).id, actor=ANN)
    old = ended.get(it)
    assert (again.queue, again.priority, again.workspace) == ("jobs", 1, old.workspace)
    assert again.labels == old.labels == '{"team":"a"}'


def test_the_new_one_has_the_artifacts_of_the_old(ended: Trial) -> None:
    it = failed(ended)
    digest = ended.engine.keep_artifact(it, "scan", b"big", media_type="image/png")
    again = ended.engine.dead_letters.retry(the_letter(ended).id, actor=ANN)
    [artifact] = ended.engine.artifacts(again.id)
    assert (artifact.name, artifact.media_type, artifact.hash) == ("scan", "image/png", digest)


def test_the_new_one_takes_over_the_key_for_ever(ended: Trial) -> None:
    it = failed(ended, key="k")
    again = ended.engine.dead_letters.retry(the_letter(ended).id, actor=ANN)
    found = ended.engine.find("job", "k")
    assert found is not None
    assert (found.id, ended.get(it).key, ended.get(it).unique_key) == (again.id, "k", None)
    with pytest.raises(KeyTaken):
        ended.create("job", key="k")


def test_the_new_one_that_fails_again_has_a_letter_of_its_own(ended: Trial) -> None:
    failed(ended, key="k")
    again = ended.engine.dead_letters.retry(the_letter(ended).id, actor=ANN)
    do(ended, Fail(Unreachable()))
    third = ended.engine.dead_letters.retry(the_letter(ended).id, actor=ANN)
    assert (third.parent, third.depth, third.root) == (again.id, 2, again.root)


# -- resolve and discard


@pytest.mark.parametrize(("action", "status"), [("resolve", "resolved"), ("discard", "discarded")])
def test_a_letter_is_closed_with_a_note_and_the_instance_stays(resting: Trial, action: str, status: str) -> None:
    it = failed(resting)
    seq = resting.get(it).seq
    letter = the_letter(resting)
    after = getattr(resting.engine.dead_letters, action)(letter.id, actor=ANN, note="done by hand")
    assert (after.status, after.closed_by, after.note) == (status, "user:ann", "done by hand")
    assert after.closed_at == micros(resting.clock.time)
    row = last_row(resting, it)
    assert (row.seq, row.kind, row.payload["as"]) == (seq + 1, "dead_letter_closed", status)
    assert resting.state(it) == "failed"
    with pytest.raises(Refused, match=f"was {status} by user:ann"):
        resting.engine.dead_letters.retry(letter.id, actor=ANN)
    resting.engine.force(it, "given_up", actor=BOSS, reason="tidy up")


@pytest.mark.parametrize("action", ["resolve", "discard"])
def test_closing_the_letter_of_what_rests_in_its_step_does_not_leave_it_in_silence(store: Store, action: str) -> None:
    with Trial([IN_PLACE], store=store) as trial:
        it = failed(trial)
        with suppress(Refused):
            getattr(trial.engine.dead_letters, action)(the_letter(trial).id, actor=ANN)
        assert broken_laws(trial.engine) == []
        assert "no event" not in trial.engine.explain(it).sentence
