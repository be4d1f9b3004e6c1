"""The endpoints of agents and crawlers: what each request is answered, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from interlock.apps.jobs import registry
from interlock.apps.jobs.claims import followers
from interlock.store import Store, open_store
from interlock.watch import tracing
from tests.support.api import BY, Api, open_api

pytestmark = pytest.mark.slow

JOBS = "/api/crawler/jobs"


class ClaimsApi:
    """The API with the claims application, and short names for what agents do."""

    def __init__(self, api: Api) -> None:
        self.api = api

    def add(self, *numbers: str, board: str = "ramp", who: str = "agent", **more: Any) -> Any:
        jobs = [{"board": board, "job_id": number, "title": f"Job {number}", **more} for number in numbers]
        return self.api.post(JOBS, {"action": "add", "jobs": jobs}, who)

    def claim(
        self, number: str, run_id: str | None = None, who: str = "agent", board: str = "ramp", **more: Any
    ) -> Any:
        body = {"action": "run", "run_id": run_id or str(uuid4()), "job_id": number, "board": board, **more}
        return self.api.post(JOBS, body, who)

    def patch(self, who: str = "agent", **body: Any) -> Any:
        return self.api.call(who, "PATCH", JOBS, body)

    def runs(self, number: str, board: str = "") -> list[Any]:
        found = self.api.get(f"{JOBS}?runs_for={number}" + (f"&board={board}" if board else "")).json()["runs"]
        assert isinstance(found, list)
        return found

    def jobs(self, query: str = "", who: str = "agent") -> Any:
        return self.api.get(f"{JOBS}?{query}", who).json()

    def status(self, number: str) -> str:
        (found,) = (one for one in self.jobs("limit=1000")["jobs"] if one["job_id"] == number)
        return str(found["status"])

    def expire_leases(self) -> None:
        self.api.clock.advance(timedelta(seconds=300))
        followers.sweep(self.api.engine)


@pytest.fixture
def claims(store: Store) -> Iterator[ClaimsApi]:
    with open_api(store, applications=[registry]) as api:
        yield ClaimsApi(api)


@pytest.fixture(params=["direct", "traced"])
def quick(sqlite_url: str, request: pytest.FixtureRequest) -> Iterator[ClaimsApi]:
    """Each way that a request takes: past the framework's routes, and, where spans are collected, through them."""
    traced = request.param == "traced"
    tracer = tracing.start("http://unused", exporter=InMemorySpanExporter()) if traced else None
    with open_store(sqlite_url, durability="normal") as store:
        with open_api(store, applications=[registry], tracing=tracer) as api:
            yield ClaimsApi(api)
        if tracer is not None:
            tracer.shutdown()


def test_a_claim_runs_from_start_to_end_as_the_specification_has_it(claims: ClaimsApi) -> None:
    assert claims.add("12345").json() == {"added": 1, "updated": 0, "unchanged": 0}
    name = str(uuid4())
    made = claims.claim("12345", name, variant_id="resume-v2", artifacts={"resume_url": "s3://resumes/v2.pdf"})
    assert made.status_code == 201
    body = made.json()
    assert (body["run_id"], body["board"], body["job_id"], body["status"]) == (name, "ramp", "12345", "pending")
    assert body["lease"] == {"name": "lock:apply:ramp:12345", "seconds": 300}
    held = claims.api.engine.leases.find("lock:apply:ramp:12345")
    assert held is not None
    assert (held.holder, held.until - claims.api.clock.now()) == (name, 300_000_000)
    assert claims.status("12345") == "queued"

    assert claims.claim("12345").status_code == 409
    assert claims.patch(run_id=name, status="submitted", artifacts={"answers": {"yoe": "5"}}).status_code == 200
    ended = claims.patch(run_id=name, status="success", artifacts={"confirmation_url": "https://ramp.example/1"})
    assert (ended.status_code, ended.json()["status"]) == (200, "success")
    assert claims.status("12345") == "applied"
    assert claims.api.engine.leases.find("lock:apply:ramp:12345") is None

    (run,) = claims.runs("12345")
    assert run["artifacts"] == {
        "resume_url": "s3://resumes/v2.pdf",
        "answers": {"yoe": "5"},
        "confirmation_url": "https://ramp.example/1",
    }
    assert (run["status"], run["error"], run["variant_id"]) == ("success", None, "resume-v2")
    refused = claims.claim("12345")
    assert (refused.status_code, refused.json()["type"]) == (400, "job-status")


def test_a_failure_frees_the_job_for_the_next(claims: ClaimsApi) -> None:
    claims.add("1")
    first, second = str(uuid4()), str(uuid4())
    assert claims.claim("1", first).status_code == 201
    assert claims.patch(run_id=first, status="failed", error="Form submission timeout").json()["error"] == (
        "Form submission timeout"
    )
    assert claims.status("1") == "discovered"
    assert claims.claim("1", second).status_code == 201
    assert [(run["run_id"], run["status"]) for run in claims.runs("1")] == [(first, "failed"), (second, "pending")]


def test_the_same_claim_again_is_answered_alike_and_the_run_id_of_another_refused(quick: ClaimsApi) -> None:
    quick.add("1", "2")
    name = str(uuid4())
    first, again = quick.claim("1", name), quick.claim("1", name)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert quick.claim("2", name).status_code == 409
    assert quick.claim("1", name, who="member").status_code == 409
    assert len(quick.runs("1")) == 1


def test_crawlers_record_what_they_see_once(claims: ClaimsApi) -> None:
    seen = {"location": "Berlin", "tags": ["python", "remote"], "url": "https://ramp.example/1"}
    assert claims.add("1", "2", **seen).json() == {"added": 2, "updated": 0, "unchanged": 0}
    assert claims.add("1", "2", "2", **seen).json() == {"added": 0, "updated": 0, "unchanged": 2}
    assert claims.add("1", **{**seen, "tags": ["go"]}).json() == {"added": 0, "updated": 1, "unchanged": 0}
    assert claims.add("1", board="stripe").json()["added"] == 1
    assert [one["board"] for one in claims.jobs("tag=go")["jobs"]] == ["ramp"]
    assert [one["job_id"] for one in claims.jobs("tag=python")["jobs"]] == ["2"]
    changed = next(one for one in claims.jobs("board=ramp")["jobs"] if one["job_id"] == "1")
    assert (changed["location"], changed["tags"], changed["title"]) == ("Berlin", ["go"], "Job 1")
    assert claims.api.engine.verify().problems == ()


def test_a_crawler_that_says_less_takes_nothing_away(quick: ClaimsApi) -> None:
    quick.add("1", location="Berlin", tags=["go"])
    body = {"action": "add", "jobs": [{"board": "ramp", "job_id": "1"}]}
    assert quick.api.post(JOBS, body, "agent").json() == {"added": 0, "updated": 0, "unchanged": 1}
    assert quick.jobs()["jobs"][0]["location"] == "Berlin"


def test_jobs_are_listed_in_pages_by_board_status_and_tag(claims: ClaimsApi) -> None:
    claims.add(*map(str, range(25)), tags=["go"])
    claims.add("7", board="stripe", tags=["go"])
    claims.claim("3")
    first = claims.jobs("board=ramp&limit=10")
    second = claims.jobs(f"board=ramp&limit=10&cursor={first['next']}")
    third = claims.jobs(f"board=ramp&limit=10&cursor={second['next']}")
    assert third["next"] is None
    numbers = [one["job_id"] for page in (first, second, third) for one in page["jobs"]]
    assert sorted(numbers, key=int) == list(map(str, range(25)))
    assert [one["job_id"] for one in claims.jobs("status=queued")["jobs"]] == ["3"]
    assert len(claims.jobs("board=ramp&status=discovered&tag=go")["jobs"]) == 24
    assert {one["board"] for one in claims.jobs("tag=go")["jobs"]} == {"ramp", "stripe"}


def test_runs_are_scoped_by_board(quick: ClaimsApi) -> None:
    """Claims 5: ids collide across boards."""
    quick.add("1")
    quick.add("1", board="stripe")
    assert quick.claim("1").status_code == quick.claim("1", board="stripe").status_code == 201
    assert [run["board"] for run in quick.runs("1")] == ["ramp", "stripe"]
    assert [run["board"] for run in quick.runs("1", "stripe")] == ["stripe"]
    assert quick.runs("2") == []


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"action": "run", "run_id": "r", "job_id": "1"}, "board"),
        ({"action": "run", "run_id": "", "job_id": "1", "board": "ramp"}, "run_id"),
        ({"action": "run", "run_id": "r", "job_id": 1, "board": "ramp"}, "job_id"),
        ({"action": "run", "run_id": "r", "job_id": "1", "board": "a:b"}, "board"),
        ({"action": "run", "run_id": "r", "job_id": "1", "board": "ramp", "artifacts": {"answers": "x"}}, "answers"),
        ({"action": "run", "run_id": "r", "job_id": "1", "board": "ramp", "artifcats": {}}, "artifcats"),
        ({"action": "apply"}, "action"),
        ({}, "action"),
        ({"action": "add", "jobs": []}, "jobs"),
        ({"action": "add", "jobs": [{"board": "ramp"}]}, "jobs.0.job_id"),
        ({"action": "add", "jobs": [{"board": "ramp", "job_id": "1", "url": "javascript:1"}]}, "jobs.0.url"),
        ([], "object"),
    ],
)
def test_a_body_that_is_not_what_it_says_answers_400_with_the_field(quick: ClaimsApi, body: Any, named: str) -> None:
    answer = quick.api.post(JOBS, body, "agent")
    assert (answer.status_code, named in answer.json()["detail"]) == (400, True), answer.text


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"status": "success"}, "run_id"),
        ({"run_id": "r", "board": "ramp", "job_id": "1", "status": "expired"}, "board"),
        ({"run_id": "r", "status": "won"}, "status"),
        ({"board": "ramp", "job_id": "1", "status": "gone"}, "status"),
        ({"board": "ramp", "status": "expired"}, "job_id"),
        ({"run_id": "r", "artifacts": ["x"]}, "artifacts"),
    ],
)
def test_a_patch_that_is_not_what_it_says_answers_400_with_the_field(quick: ClaimsApi, body: Any, named: str) -> None:
    answer = quick.api.call("agent", "PATCH", JOBS, body)
    assert (answer.status_code, named in answer.json()["detail"]) == (400, True), answer.text


def test_what_is_no_json_answers_400(quick: ClaimsApi) -> None:
    for method in ("POST", "PATCH"):
        answer = quick.api.call("agent", method, JOBS, content=b"{", headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["detail"]) == (400, "the body is not JSON")


def test_what_is_not_there_answers_404(quick: ClaimsApi) -> None:
    assert quick.claim("1").status_code == 404
    assert quick.patch(run_id="r", status="success").status_code == 404
    assert quick.patch("owner", board="ramp", job_id="1", status="expired").status_code == 404
    heartbeat = quick.api.post(JOBS, {"action": "heartbeat", "run_id": "r"}, "agent")
    assert heartbeat.status_code == 404


STATES = ("discovered", "queued", "applied", "expired", "rejected")


@pytest.mark.soak("traced")
@pytest.mark.parametrize("to", STATES)
@pytest.mark.parametrize("at", STATES)
def test_every_pair_of_a_job_by_hand(quick: ClaimsApi, at: str, to: str) -> None:
    """A person puts a job aside from any state; the others are what runs report."""
    quick.add("1")
    if at in {"queued", "applied"}:
        name = str(uuid4())
        quick.claim("1", name)
        if at == "applied":
            quick.patch(run_id=name, status="success")
    elif at != "discovered":
        quick.patch("owner", board="ramp", job_id="1", status=at)
    assert quick.status("1") == at
    answer = quick.patch("owner", board="ramp", job_id="1", status=to)
    by_hand = to in {"expired", "rejected"}
    assert answer.status_code == (200 if by_hand else 409), answer.text
    assert quick.status("1") == (to if by_hand else at)


RUNS = ("pending", "submitted", "success", "failed", "lost")
LEGAL = {
    ("pending", "submitted"),
    ("pending", "success"),
    ("pending", "failed"),
    ("submitted", "success"),
    ("submitted", "failed"),
} | {(state, state) for state in ("pending", "submitted", "success", "failed", "lost")}


@pytest.mark.soak("traced")
@pytest.mark.parametrize("to", RUNS)
@pytest.mark.parametrize("at", RUNS)
def test_every_pair_of_a_run(quick: ClaimsApi, at: str, to: str) -> None:
    quick.add("1")
    name = str(uuid4())
    quick.claim("1", name)
    if at == "lost":
        quick.expire_leases()
    elif at != "pending":
        assert quick.patch(run_id=name, status=at).status_code == 200
    answer = quick.patch(run_id=name, status=to)
    assert answer.status_code == (200 if (at, to) in LEGAL else 409), answer.text
    assert quick.runs("1")[0]["status"] == (to if (at, to) in LEGAL else at)


def test_a_heartbeat_and_a_patch_renew_the_lease(quick: ClaimsApi) -> None:
    quick.add("1")
    name = str(uuid4())
    quick.claim("1", name)
    for renew in (
        lambda: quick.api.post(JOBS, {"action": "heartbeat", "run_id": name}, "agent"),
        lambda: quick.patch(run_id=name, artifacts={"notes": "x"}),
        lambda: quick.patch(run_id=name, status="submitted"),
    ):
        quick.api.clock.advance(timedelta(seconds=299))
        assert renew().status_code == 200
        held = quick.api.engine.leases.find("lock:apply:ramp:1")
        assert held is not None
        assert held.until - quick.api.clock.now() == 300_000_000


def test_a_late_writer_is_answered_409_and_changes_nothing(claims: ClaimsApi) -> None:
    claims.add("1")
    late, next_one = str(uuid4()), str(uuid4())
    claims.claim("1", late, artifacts={"notes": "mine"})
    claims.expire_leases()
    assert claims.status("1") == "discovered"
    assert claims.claim("1", next_one, who="member").status_code == 201
    for status in ("submitted", "success", "failed", None):
        refused = claims.patch(run_id=late, artifacts={"notes": "late"}, **({"status": status} if status else {}))
        assert refused.status_code == 409
    assert claims.api.post(JOBS, {"action": "heartbeat", "run_id": late}, "agent").status_code == 409
    first, second = claims.runs("1")
    assert (first["status"], first["artifacts"], second["status"]) == ("lost", {"notes": "mine"}, "pending")
    held = claims.api.engine.leases.find("lock:apply:ramp:1")
    assert held is not None
    assert held.holder == next_one


def test_a_submission_whose_agent_vanished_waits_in_the_inbox(claims: ClaimsApi) -> None:
    claims.add("1")
    name = str(uuid4())
    claims.claim("1", name)
    claims.patch(run_id=name, status="submitted")
    claims.expire_leases()
    (run,) = claims.runs("1")
    assert (run["status"], run["requires_verification"], claims.status("1")) == ("submitted", True, "queued")
    assert claims.claim("1").status_code == 409
    (review,) = claims.api.get("/api/reviews", "reviewer").json()["reviews"]
    assert review["title"].startswith("Requires verification")
    decided = claims.api.post(f"/api/reviews/{review['id']}/decide", {"decision": "it_did_not"}, "reviewer")
    assert decided.status_code == 200, decided.text
    assert claims.status("1") == "discovered"
    assert claims.claim("1").status_code == 201


def test_an_agent_puts_aside_only_what_nobody_is_at(quick: ClaimsApi) -> None:
    quick.add("1", "2")
    quick.claim("2")
    assert quick.patch(board="ramp", job_id="1", status="expired").status_code == 200
    assert quick.patch(board="ramp", job_id="2", status="expired").status_code == 403
    assert quick.patch(board="ramp", job_id="2", status="rejected").status_code == 403
    assert quick.status("2") == "queued"


def test_a_token_for_claims_can_do_just_this(quick: ClaimsApi) -> None:
    api = quick.api
    api.tokens["kit"] = api.people.create_token("default", "kit", kind="agent", scopes=["claims"], by=BY)[1]
    quick.add("1", who="kit")
    name = str(uuid4())
    assert quick.claim("1", name, who="kit").status_code == 201
    assert quick.patch("kit", run_id=name, status="submitted").status_code == 200
    assert [one["job_id"] for one in quick.jobs(who="kit")["jobs"]] == ["1"]
    it = api.engine.find("run", name)
    assert it is not None
    assert api.get(f"/api/instances/{it.id}", "kit").status_code == 403
    assert api.post(f"/api/instances/{it.id}/events", {"event": "succeed"}, "kit").status_code == 403
    assert api.post("/api/instances", {"machine": "job"}, "kit").status_code == 403


def test_each_workspace_has_its_own_jobs_and_locks(quick: ClaimsApi) -> None:
    quick.add("1")
    quick.add("1", who="north-agent")
    assert quick.claim("1").status_code == 201
    theirs = quick.claim("1", who="north-agent")
    assert (theirs.status_code, theirs.json()["lease"]["name"]) == (201, "lock@north:apply:ramp:1")
    assert len(quick.runs("1")) == 1
    body = {"action": "add", "jobs": [{"board": "x", "job_id": "1"}], "workspace": "north"}
    assert quick.api.post(JOBS, body, "agent").status_code == 404


def test_a_run_gives_back_no_lease_that_somebody_else_has_by_now(claims: ClaimsApi) -> None:
    claims.add("1")
    claims.claim("1", "mine")
    claims.api.clock.advance(timedelta(seconds=300))
    claims.api.engine.leases.take("lock:apply:ramp:1", "somebody", timedelta(minutes=5))
    refused = claims.patch(run_id="mine", status="success")
    assert refused.status_code == 409
    assert "does not hold the lease" in refused.json()["detail"]
    held = claims.api.engine.leases.find("lock:apply:ramp:1")
    assert held is not None
    assert held.holder == "somebody"
    assert (claims.status("1"), claims.runs("1")[0]["status"]) == ("queued", "pending")


def test_a_person_who_verifies_a_run_takes_no_lease_from_somebody_else(claims: ClaimsApi) -> None:
    claims.add("1")
    claims.claim("1", "mine")
    claims.patch(run_id="mine", status="submitted")
    claims.expire_leases()
    claims.api.clock.advance(timedelta(days=2))
    claims.api.engine.leases.take("lock:apply:ramp:1", "somebody", timedelta(minutes=5))
    (found,) = claims.api.engine.reviews.waiting()
    claims.api.engine.reviews.decide(found.id, "it_did_not", actor=BY, answer={})
    assert claims.runs("1")[0]["status"] == "failed"
    held = claims.api.engine.leases.find("lock:apply:ramp:1")
    assert held is not None
    assert held.holder == "somebody"
