"""The Windmill flow: its shape, its scripts run against the service, and the signed link that it hands to a person."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import timedelta
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from interlock.config import Settings
from tests.support.contracts import CLEAR, DOUBTFUL, Contracts, served
from tests.support.files import pdf

TYPES = {"rawscript", "script", "flow", "forloopflow", "whileloopflow", "branchone", "branchall", "identity", "aiagent"}
MODULE = {
    "id",
    "summary",
    "value",
    "retry",
    "timeout",
    "suspend",
    "stop_after_if",
    "skip_if",
    "sleep",
    "cache_ttl",
    "mock",
    "continue_on_error",
    "priority",
}
SUSPEND = {
    "required_events",
    "timeout",
    "continue_on_disapprove_timeout",
    "user_auth_required",
    "self_approval_disabled",
    "hide_cancel",
    "resume_form",
}


def every(modules: list[Any]) -> Iterator[Any]:
    for one in modules:
        yield one
        for branch in one["value"].get("branches", ()):
            yield from every(branch["modules"])
        yield from every(one["value"].get("default", []))


def the_flow(contracts: Contracts) -> dict[str, Any]:
    answer = contracts.api.get("/flows/process-contract.yaml", "viewer")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/yaml")
    found: dict[str, Any] = yaml.safe_load(answer.text)
    return found


def test_the_flow_has_the_shape_that_windmill_takes(contracts: Contracts) -> None:
    flow = the_flow(contracts)
    assert set(flow) == {"summary", "description", "value", "schema"}
    found = list(every(flow["value"]["modules"]))
    ids = [one["id"] for one in found]
    assert ids == ["ingest", "extract", "route", "approval", "review", "look", "compare"]
    assert len(set(ids)) == len(ids)
    for one in found:
        assert set(one) <= MODULE
        assert one["value"]["type"] in TYPES
        if one["value"]["type"] == "rawscript":
            assert one["value"]["language"] == "python3"
            compile(one["value"]["content"], one["id"], "exec")
            for given in one["value"]["input_transforms"].values():
                assert set(given) == {"type", "expr"}
    assert set(flow["schema"]["required"]) <= set(flow["schema"]["properties"])
    assert "&id" not in contracts.api.get("/flows/process-contract.yaml").text, "no references"


def test_the_person_is_asked_where_one_is_needed_and_time_runs_out_into_the_next_step(contracts: Contracts) -> None:
    modules = {one["id"]: one for one in every(the_flow(contracts)["value"]["modules"])}
    (branch,) = modules["route"]["value"]["branches"]
    assert branch["expr"] == "results.extract.needsReview === true"
    suspend = modules["approval"]["suspend"]
    assert set(suspend) <= SUSPEND
    assert (suspend["required_events"], suspend["timeout"], suspend["continue_on_disapprove_timeout"]) == (
        1,
        86400,
        True,
    )
    assert "continue_on_error" not in modules["approval"], "its failure would be the next step's"
    actions = suspend["resume_form"]["schema"]["properties"]["action"]["enum"]
    assert sorted(actions) == ["approve", "correct", "reject"]


def test_the_address_is_the_one_that_others_reach(contracts: Contracts) -> None:
    assert the_flow(contracts)["schema"]["properties"]["base"]["default"] == "http://127.0.0.1:8420"
    contracts.api.service.settings = Settings(http={"url": "https://contracts.example.org"})
    assert the_flow(contracts)["schema"]["properties"]["base"]["default"] == "https://contracts.example.org"
    it = contracts.in_review()
    link = contracts.api.get(f"/workflows/{it}/resume-link").json()["data"]["url"]
    assert link.startswith(f"https://contracts.example.org/workflows/{it}/resume?")


# -- its scripts, as Windmill would run them


class Windmill:
    """Runs the scripts of the flow against a real server."""

    def __init__(self, contracts: Contracts, base: str) -> None:
        self.modules = {one["id"]: one for one in every(the_flow(contracts)["value"]["modules"])}
        self.base, self.token = base, contracts.api.tokens["member"]

    def run(self, id: str, path: str, **inputs: Any) -> Any:
        scope: dict[str, Any] = {}
        exec(compile(self.modules[id]["value"]["content"], id, "exec"), scope)
        return scope["main"](base=self.base, token=self.token, path=path, **inputs)


@pytest.fixture
def windmill(contracts: Contracts, monkeypatch: pytest.MonkeyPatch) -> Iterator[Windmill]:
    wmill = ModuleType("wmill")
    wmill.get_resume_urls = lambda who: {"resume": f"https://windmill/resume/{who}"}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wmill", wmill)
    with served(contracts) as base, contracts.working():
        yield Windmill(contracts, base)


def sent(pages: Any) -> dict[str, Any]:
    import base64

    return {"pdfBase64": base64.b64encode(pdf(pages)).decode(), "vertical": "commercial", "drive": False}


def test_the_flow_takes_a_clear_contract_to_its_comparison(windmill: Windmill) -> None:
    it = windmill.run("ingest", "/workflows/ingest", body=sent(CLEAR))["workflowId"]
    assert windmill.run("extract", f"/workflows/{it}/extract?wait=0.01")["needsReview"] is False, "202 is asked again"
    assert windmill.run("look", f"/workflows/{it}", method="GET")["state"] == "validated"
    assert windmill.run("compare", f"/workflows/{it}/compare")["state"] == "completed"


@pytest.mark.parametrize(
    ("resume", "state"),
    [
        ({"action": "approve"}, "validated"),
        ({"action": "reject", "notes": "no"}, "rejected"),
        ({"error": {"name": "SuspendedDisapproved", "message": "Disapproved by ann"}}, "rejected"),
        ({"error": {"name": "SuspendedTimedOut", "message": "Timed out waiting to be resumed"}}, "review_required"),
    ],
    ids=["approved", "rejected", "disapproved", "timed out"],
)
def test_the_flow_tells_the_service_what_was_decided(windmill: Windmill, resume: Any, state: str) -> None:
    it = windmill.run("ingest", "/workflows/ingest", body=sent(DOUBTFUL))["workflowId"]
    assert windmill.run("extract", f"/workflows/{it}/extract")["needsReview"] is True
    links = windmill.run("approval", f"/workflows/{it}/resume-link")
    assert set(links) == {"resume", "review"}
    windmill.run("review", f"/workflows/{it}/review", resume=resume)
    assert windmill.run("look", f"/workflows/{it}", method="GET")["state"] == state


def test_what_the_service_decided_meanwhile_stands(windmill: Windmill, contracts: Contracts) -> None:
    it = windmill.run("ingest", "/workflows/ingest", body=sent(DOUBTFUL))["workflowId"]
    windmill.run("extract", f"/workflows/{it}/extract")
    assert contracts.review(it, "approve").status_code == 200
    assert windmill.run("review", f"/workflows/{it}/review", resume={"action": "reject"}) == {"reported": False}
    assert windmill.run("compare", f"/workflows/{it}/compare")["state"] == "completed"


def test_an_error_says_whether_windmill_should_try_again(windmill: Windmill) -> None:
    with pytest.raises(RuntimeError, match='"retryable": false'):
        windmill.run("ingest", "/workflows/ingest", body={"pdfBase64": "aGk=", "vertical": "poems"})
    assert '/"retryable": false/.test' in windmill.modules["ingest"]["retry"]["retry_if"]["expr"]


# -- the signed link


def link_of(contracts: Contracts, it: Any, who: str = "reviewer") -> str:
    url = urlsplit(contracts.api.get(f"/workflows/{it}/resume-link", who).json()["data"]["url"])
    return f"{url.path}?{url.query}"


def test_the_link_decides_without_a_login_and_once(both: Contracts) -> None:
    it = both.in_review()
    link = link_of(both, it)
    assert link == link_of(both, it), "the same key"
    made = both.api.post(link, {"action": "approve", "notes": "by mail"}, None)
    assert (made.status_code, made.json()["data"]) == (200, {"workflowId": str(it), "state": "validated"})
    moved = next(row for row in both.engine.history(it) if row.to_state == "validated")
    assert moved.actor == "user:reviewer/t", "in the name of whoever asked for it"
    for action in ("approve", "reject"):
        again = both.api.post(link, {"action": action}, None)
        assert (again.status_code, again.json()["error"]["code"]) == (409, "ALREADY_DECIDED")


@pytest.mark.parametrize("part", ["review", "by", "via", "until", "signature", "path"])
def test_a_link_that_was_changed_opens_nothing(contracts: Contracts, part: str) -> None:
    it = contracts.in_review()
    link = urlsplit(link_of(contracts, it))
    query = {name: values[0] for name, values in parse_qs(link.query).items()}
    path = link.path
    if part == "path":
        path = f"/workflows/{contracts.taken(CLEAR)}/resume"
    else:
        changed = {
            "review": str(it),
            "by": "owner:owner",
            "via": "login:x",
            "until": str(int(query["until"]) + 1),
            "signature": "Ünsinn",
        }
        query[part] = changed[part]
    refused = contracts.api.call(None, "POST", path, {"action": "approve"}, params=query)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "NOT_ALLOWED")
    assert contracts.state(it) == "review_required"


def test_a_link_is_good_until_the_review_is_over(contracts: Contracts) -> None:
    link = link_of(contracts, contracts.in_review())
    contracts.api.clock.advance(timedelta(hours=24))  # nobody looked at the clock yet
    refused = contracts.api.post(link, {"action": "approve"}, None)
    assert (refused.status_code, "this link has expired" in refused.text) == (403, True)


def test_a_link_is_no_better_than_whoever_made_it(contracts: Contracts) -> None:
    it = contracts.in_review()
    link = link_of(contracts, it)
    person = next(one for one in contracts.api.people.everyone() if one.name == "reviewer")
    assert contracts.api.post(f"/api/users/{person.id}/disable").status_code == 200
    refused = contracts.api.post(link, {"action": "approve"}, None)
    assert (refused.status_code, contracts.state(it)) == (403, "review_required")


def test_no_link_is_made_where_nothing_is_to_be_decided(contracts: Contracts) -> None:
    assert contracts.api.get(f"/workflows/{contracts.taken(CLEAR)}/resume-link").status_code == 409
    assert contracts.api.get(f"/workflows/{contracts.in_review()}/resume-link", "viewer").status_code == 403


@pytest.mark.parametrize(
    "body", [{"action": "timeout"}, {"action": "correct"}, {}], ids=["timeout", "nothing", "empty"]
)
def test_a_wrong_decision_by_link_is_refused(contracts: Contracts, body: Any) -> None:
    it = contracts.in_review()
    assert contracts.api.post(link_of(contracts, it), body, None).status_code == 422
    assert contracts.state(it) == "review_required"
