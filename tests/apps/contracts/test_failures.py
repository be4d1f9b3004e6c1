"""What goes wrong in a step: back to exactly that step, three times, without reading the file again."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from interlock.apps.contracts import steps as working
from interlock.apps.contracts.ingest import stored
from interlock.apps.contracts.reading import Reader
from interlock.machine import WorkError
from tests.support.contracts import CLEAR, DOUBTFUL, Contracts
from tests.support.files import pdf


class Outage(WorkError):
    """Something outside is away for a while."""


class Faults:
    """Makes a part of a step fail, as often as it is asked to; and counts how often files are read."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.left: dict[str, int] = {}
        self.reads = 0
        for step, part in (("extracting", "extract"), ("validating", "score"), ("comparing", "compare_template")):
            patch.setattr(working, part, self._failing(step, getattr(working, part)))
        read = self._failing("parsing_pdf", Reader.read)

        def counted(*args: Any) -> Any:
            self.reads += 1
            return read(*args)

        patch.setattr(Reader, "read", counted)

    def _failing(self, step: str, function: Any) -> Any:
        def run(*args: Any, **named: Any) -> Any:
            if self.left.get(step, 0) > 0:
                self.left[step] -= 1
                raise Outage(f"{step}: 503")
            return function(*args, **named)

        return run


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    return Faults(monkeypatch)


STEPS = ("parsing_pdf", "extracting", "validating", "comparing")
each_step = pytest.mark.parametrize("step", STEPS)


@pytest.mark.soak("postgresql")
@each_step
def test_a_failed_step_is_done_again_and_the_file_is_read_once(both: Contracts, faults: Faults, step: str) -> None:
    faults.left[step] = 3
    it = both.taken(CLEAR)
    body = both.look(it)
    assert (body["state"], body["failedAtStep"]) == ("failed", step)
    assert (body["lastError"]["code"], body["lastError"]["retryable"]) == ("OUTAGE", True)
    both.trial.advance(minutes=5)
    assert both.state(it) == "completed"
    path = both.path(it)
    assert path.count("failed") == 3
    assert all(path[at + 1] == step for at, state in enumerate(path) if state == "failed")
    assert faults.reads == (4 if step == "parsing_pdf" else 1)


@pytest.mark.soak("postgresql")
@each_step
def test_after_three_retries_it_is_rejected_and_says_why(both: Contracts, faults: Faults, step: str) -> None:
    faults.left[step] = 99
    it = both.taken(CLEAR)
    both.trial.advance(hours=1)
    body = both.look(it)
    assert (body["state"], body["rejectReason"], body["failedAtStep"]) == ("rejected", "retries_exhausted", step)
    assert (body["lastError"]["retryable"], body["lastError"]["details"]["attempts"]) == (False, 4)
    assert both.path(it).count("failed") == 4


def test_the_log_names_the_step_that_failed(contracts: Contracts, faults: Faults) -> None:
    faults.left["extracting"] = 1
    it = contracts.taken(CLEAR)
    log = contracts.api.get(f"/workflows/{it}/log").json()["data"]["log"]
    (row,) = (row for row in log if row["to"] == "failed")
    assert (row["metadata"]["failed_at_step"], row["metadata"]["error"]["type"]) == ("extracting", "Outage")


@pytest.mark.parametrize(
    ("step", "endpoint"), [("extracting", "extract"), ("validating", "extract"), ("comparing", "compare")]
)
@pytest.mark.parametrize("who", ["owner", "agent"])
def test_to_call_the_step_of_one_that_failed_tries_it_again_now(
    contracts: Contracts, faults: Faults, step: str, endpoint: str, who: str
) -> None:
    faults.left[step] = 1
    it = contracts.taken(CLEAR)
    assert contracts.state(it) == "failed"
    with contracts.working():
        response = contracts.call(it, endpoint, who=who)
    assert (response.status_code, response.json()["success"]) == (200, True), response.text
    assert contracts.api.clock.time.isoformat() == "2026-01-05T09:00:00+00:00", "nobody waited for the retry"
    assert contracts.state(it) == "completed"


def test_to_send_the_file_again_reads_it_again_now(contracts: Contracts, faults: Faults) -> None:
    faults.left["parsing_pdf"] = 1
    it = contracts.taken(CLEAR)
    assert contracts.state(it) == "failed"
    with contracts.working():
        response = contracts.upload(pdf(CLEAR))
    assert (response.status_code, response.json()["data"]["workflowId"]) == (200, str(it))


def test_a_step_that_fails_while_it_is_waited_for_is_503_and_can_be_retried(
    contracts: Contracts, faults: Faults
) -> None:
    faults.left["extracting"] = 99
    it = contracts.taken(CLEAR, drive=False)
    statuses = []
    with contracts.working():
        for _ in range(4):
            answer = contracts.call(it, "extract")
            error = answer.json()["error"]
            statuses.append((answer.status_code, error["code"], error["retryable"], answer.json()["data"]["state"]))
    assert statuses[:3] == [(503, "OUTAGE", True, "failed")] * 3
    assert statuses[3] == (422, "OUTAGE", False, "rejected"), "each call is one of the three retries"
    assert contracts.call(it, "extract").status_code == 422


def test_steps_before_and_after_the_one_that_failed(contracts: Contracts, faults: Faults) -> None:
    faults.left["comparing"] = 99
    it = contracts.taken(CLEAR)
    done = contracts.call(it, "extract")
    assert (done.status_code, done.json()["data"]["state"]) == (200, "failed"), "that step was done"
    faults.left["extracting"] = 99
    other = contracts.taken(DOUBTFUL)
    refused = contracts.call(other, "compare")
    assert (refused.status_code, "failed at extracting" in refused.json()["error"]["message"]) == (409, True)


def test_a_person_tries_it_again_or_gives_it_up(contracts: Contracts, faults: Faults) -> None:
    faults.left["extracting"] = 2
    it = contracts.taken(CLEAR)
    assert contracts.call(it, "retry").json()["data"]["state"] == "extracting"
    assert contracts.call(it, "retry").status_code == 409
    contracts.trial.run_until_idle()
    assert contracts.api.post(f"/api/instances/{it}/events", {"event": "give_up"}).status_code == 200
    assert contracts.look(it)["rejectReason"] == "given_up"


def test_the_reader_is_ended_by_what_it_reads_and_the_next_file_is_read(contracts: Contracts) -> None:
    reader = stored.reader()
    first = contracts.taken(CLEAR)
    reader._child.kill()
    reader._child.join()
    second = contracts.taken(DOUBTFUL)
    assert (contracts.state(first), contracts.state(second)) == ("completed", "review_required")


# -- again


def rejected(contracts: Contracts) -> UUID:
    it = contracts.in_review()
    contracts.review(it, "reject")
    return it


@pytest.mark.parametrize("end", ["rejected", "timed_out"])
def test_one_that_was_rejected_or_timed_out_is_done_again_as_a_new_one(
    both: Contracts, faults: Faults, end: str
) -> None:
    old = both.in_review(compareWith="template")
    if end == "rejected":
        both.review(old, "reject")
    else:
        both.trial.advance(hours=24)
    made = both.call(old, "reprocess")
    body = made.json()["data"]
    assert (made.status_code, body["origin"], body["state"]) == (201, str(old), "pending")
    both.trial.run_until_idle()
    new = UUID(body["workflowId"])
    assert both.path(new) == ["pending", "parsing_pdf", "extracting", "validating", "review_required"]
    assert (faults.reads, both.state(old)) == (1, end)
    both.review(new, "approve")
    both.trial.run_until_idle()
    assert both.look(new)["comparisonKind"] == "template"
    again = both.send(pdf(DOUBTFUL))
    assert (again.status_code, again.json()["data"]["workflowId"]) == (200, str(new)), "the file's key went along"
    assert both.engine.get(new).parent == old
    assert both.engine.verify().problems == ()


def test_what_runs_or_is_done_is_not_done_again(contracts: Contracts) -> None:
    for it in (contracts.in_review(), contracts.taken(CLEAR)):
        refused = contracts.call(it, "reprocess")
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "WRONG_STATE")


def test_it_is_done_again_once(both: Contracts) -> None:
    old = rejected(both)
    new = both.call(old, "reprocess").json()["data"]["workflowId"]
    twice = both.call(old, "reprocess")
    assert (twice.status_code, twice.json()["error"]["code"]) == (409, "KEY_TAKEN")
    assert twice.json()["error"]["details"]["existing"] == new
    both.trial.run_until_idle()
    both.review(UUID(new), "reject")
    assert both.call(UUID(new), "reprocess").status_code == 201


def test_under_one_key_it_is_done_again_once(contracts: Contracts) -> None:
    old = rejected(contracts)
    made = [
        contracts.api.call("owner", "POST", f"/workflows/{old}/reprocess", {}, headers={"Idempotency-Key": "again"})
        for _ in range(2)
    ]
    assert [one.status_code for one in made] == [201, 201]
    assert len({one.json()["data"]["workflowId"] for one in made}) == 1


def test_to_do_it_again_closes_its_dead_letter(contracts: Contracts, faults: Faults) -> None:
    faults.left["extracting"] = 4
    it = contracts.taken(CLEAR)
    contracts.trial.advance(hours=1)
    (letter,) = contracts.engine.dead_letters.find()
    assert letter.instance_id == it
    new = contracts.call(it, "reprocess").json()["data"]["workflowId"]
    assert contracts.engine.dead_letters.find() == []
    contracts.trial.run_until_idle()
    assert contracts.state(UUID(new)) == "completed"
