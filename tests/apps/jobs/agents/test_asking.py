"""What a client asks, how it takes what it is answered, and what it never tells."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, date, datetime
from typing import Any

import pytest

from interlock.apps.jobs.agents import (
    Added,
    AgentError,
    AlreadyClaimed,
    AsyncClient,
    BadAnswer,
    BadRequest,
    Client,
    LeaseLost,
    NotAllowed,
    NotClaimable,
    Refused,
    Unavailable,
    UnknownJob,
)
from interlock.apps.jobs.agents.service_api import (
    Exchange,
    NoResponse,
    Request,
    Response,
    ServiceApi,
    Wait,
    claim_request,
)
from interlock.machine import InterlockError
from tests.apps.jobs.agents.claims_service import ClaimsService, Kind, agent, job

TOKEN = "il_a_secret_that_nobody_must_see"
RUN = {
    "run_id": "r",
    "board": "ramp",
    "job_id": "1",
    "status": "pending",
    "artifacts": {},
    "created_at": "2026-01-05T09:00Z",
    "updated_at": "2026-01-05T09:00Z",
}
CLAIMED = {**RUN, "lease": {"name": "lock:apply:ramp:1", "seconds": 300}, "something": "new"}


def asking(workspace: str | None = None) -> ServiceApi:
    return ServiceApi("http://service", TOKEN, workspace)


def answered(steps: Exchange[Any], *answers: Response | NoResponse) -> tuple[Any, list[Request], list[float]]:
    """Play the service: what came of it, what was asked, and how long was waited."""
    asks: list[Request] = []
    waits: list[float] = []
    left = iter(answers)
    given: Response | NoResponse | None = None
    while True:
        try:
            wanted = steps.send(given)
        except StopIteration as end:
            assert next(left, None) is None
            return end.value, asks, waits
        if isinstance(wanted, Wait):
            waits.append(wanted.seconds)
            given = None
        else:
            asks.append(wanted)
            given = next(left)


def says(code: int, /, **body: Any) -> Response:
    return Response(code, json.dumps(body).encode())


def claiming() -> Exchange[Any]:
    return asking().claim(claim_request("ramp", "1", "r", None, None))


# -- again and again, with a bound


@pytest.mark.parametrize(
    "trouble", [NoResponse("gone"), Response(500, b""), Response(503, b"<html>"), Response(429, b"")]
)
def test_what_is_not_answered_is_asked_again_with_the_same_run_id(trouble: Response | NoResponse) -> None:
    made, asks, waits = answered(claiming(), trouble, trouble, says(201, **CLAIMED))
    assert (made.run_id, made.lease.seconds, len(asks)) == ("r", 300, 3)
    assert asks[0] == asks[1] == asks[2]
    assert 0.1 <= waits[0] <= 0.2
    assert 0.4 <= waits[1] <= 0.8


def test_after_four_attempts_it_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="cannot be reached: ConnectError; try again later"):
        answered(claiming(), *[NoResponse("ConnectError")] * 4)
    with pytest.raises(Unavailable, match="answered 503: the database is away"):
        answered(claiming(), *[says(503, type="database", detail="the database is away")] * 4)


def test_as_long_as_the_service_asks_for_is_waited_within_reason() -> None:
    busy = (
        Response(503, b"", retry_after="3"),
        Response(503, b"", retry_after="3600"),
        Response(503, b"", retry_after="soon"),
    )
    _, _, waits = answered(claiming(), *busy, says(201, **CLAIMED))
    assert waits[:2] == [3, 10]
    assert waits[2] < 4


def test_jobs_are_added_a_thousand_at_a_time_each_under_a_key_of_its_own() -> None:
    added = {"added": 1, "updated": 0, "unchanged": 2}
    steps = asking().add({"board": "ramp", "job_id": str(n), "posted_date": date(2026, 1, 5)} for n in range(1500))
    total, asks, _ = answered(steps, says(200, **added), NoResponse("lost"), says(200, **added))
    assert total == Added(added=2, updated=0, unchanged=4)
    sizes = [len(json.loads(ask.content or b"")["jobs"]) for ask in asks]
    keys = [ask.headers["Idempotency-Key"] for ask in asks]
    assert sizes == [1000, 500, 500]
    assert keys[0] != keys[1] == keys[2]
    assert json.loads(asks[0].content or b"")["jobs"][0]["posted_date"] == "2026-01-05"


# -- what is answered


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (says(409, type="refused", detail="held"), AlreadyClaimed),
        (says(400, type="job-status", detail="applied"), NotClaimable),
        (says(404, type="not-found", detail="there is no job '1'"), UnknownJob),
        (says(401, type="not-authenticated", detail="who?"), NotAllowed),
        (says(403, type="not-allowed", detail="no"), NotAllowed),
        (says(400, type="invalid", detail="board: Field required"), BadRequest),
        (says(413, type="too-large", detail="too much"), BadRequest),
        (says(404, type="not-found", detail="Not Found"), BadAnswer),
        (Response(404, b"<html>"), BadAnswer),
        (Response(302, b""), BadAnswer),
        (Response(201, b"<html>"), BadAnswer),
        (says(201, **RUN), BadAnswer),
        (says(201, **{**CLAIMED, "lease": {"name": "x", "seconds": 0}}), BadAnswer),
    ],
)
def test_each_refusal_of_a_claim_is_an_error_of_its_own(answer: Response, error: type[AgentError]) -> None:
    with pytest.raises(error) as caught:
        answered(claiming(), answer)
    assert type(caught.value) is error
    assert isinstance(caught.value, InterlockError)


def test_a_report_that_is_refused_means_that_the_lease_is_lost() -> None:
    for status in (404, 409):
        with pytest.raises(LeaseLost):
            answered(asking().report("r", "success", None, None), says(status, type="refused", detail="late"))
    with pytest.raises(Refused):
        answered(asking().decide("ramp", "1", "expired", ""), says(409, type="refused", detail="no"))


def test_a_malformed_request_names_its_fields() -> None:
    body = says(400, type="invalid", detail="board: Field required; artifacts.answers: Input should be an object")
    with pytest.raises(BadRequest) as caught:
        answered(claiming(), body)
    assert caught.value.fields == ("board", "artifacts.answers")


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), object()])
def test_what_is_no_json_is_refused_before_it_is_sent(value: Any) -> None:
    with pytest.raises(BadRequest, match="artifacts: it cannot be written as JSON"):
        answered(asking().report("r", None, {"notes": value}, None))


def test_an_error_is_cut_and_cleaned_before_it_is_sent() -> None:
    long = f"{TOKEN} \ud800 " + "x" * 20_000
    _, (ask,), _ = answered(asking().report("r", "failed", None, long), says(200, **RUN))
    sent = json.loads(ask.content or b"")["error"]
    assert (len(sent), sent[:12]) == (10_000, "******** ? x")


def test_the_workspace_is_named_in_every_request() -> None:
    north = asking("north")
    _, (read,), _ = answered(north.runs("1", None), says(200, runs=[RUN]))
    _, (write,), _ = answered(north.heartbeat("r"), says(200, **RUN))
    assert read.params == {"workspace": "north", "runs_for": "1"}
    assert json.loads(write.content or b"")["workspace"] == "north"


# -- what is never shown


@pytest.mark.parametrize("url", ["", "service", "ftp://service", "http://", "http://service?x=1"])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(BadRequest, match="url"):
        ServiceApi(url, TOKEN, None)


@pytest.mark.parametrize("token", ["", "two words", "line\nbreak", "ümlaut"])
def test_a_token_that_is_none_is_refused_without_being_shown(token: str) -> None:
    with pytest.raises(BadRequest) as caught:
        ServiceApi("http://service", token, None)
    assert not token or token not in str(caught.value)


def test_a_password_in_the_address_is_refused_without_being_shown() -> None:
    with pytest.raises(BadRequest, match="password") as caught:
        ServiceApi("http://ann:sesame@service", TOKEN, None)
    assert "sesame" not in str(caught.value)


def test_the_token_is_in_no_repr_and_no_error() -> None:
    with Client("http://127.0.0.1:9", TOKEN, "north") as client:
        texts = [repr(client), repr(client._api), repr(client.claim("ramp", "1")), repr(client._http.headers)]
    texts.append(repr(AsyncClient("http://127.0.0.1:9", TOKEN)))
    for answer in (NoResponse(f"bad header {TOKEN}"), says(503, type="x", detail=TOKEN)):
        with pytest.raises(Unavailable) as caught:
            answered(claiming(), *[answer] * 4)
        texts.append(repr(caught.value))
    with pytest.raises(BadRequest) as refused:
        answered(claiming(), says(422, type="x", detail=TOKEN))
    texts.append(repr(refused.value))
    assert "Client('http://127.0.0.1:9', workspace='north')" in texts
    assert not [text for text in texts if TOKEN in text]


def test_importing_it_loads_neither_engine_nor_server() -> None:
    code = "import sys, interlock.apps.jobs.agents; print(*{m.partition('.')[0] for m in sys.modules}, *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "httpx2" in loaded
    assert not loaded & {
        "sqlalchemy",
        "fastapi",
        "uvicorn",
        "mcp",
        "interlock.engine",
        "interlock.http",
        "interlock.store",
    }


# -- against the service


async def test_jobs_are_found_page_by_page_and_put_aside(both: ClaimsService, kind: Kind) -> None:
    kit = agent(kind, both)
    assert await kit.add([job(str(n), tags=["go"] if n % 2 else []) for n in range(7)]) == Added(added=7)
    assert await kit.add([job("3", tags=["go"])]) == Added(unchanged=1)
    assert [one.job_id async for one in kit.find(page=3)] == list("0123456")
    assert [one.job_id async for one in kit.find("ramp", tag="go", page=2)] == list("135")
    assert [one.job_id async for one in kit.find("stripe")] == []
    aside = await kit.expire("ramp", "3", "the page is gone")
    assert (aside.status, aside.updated_at) == ("expired", datetime(2026, 1, 5, 9, tzinfo=UTC))
    assert [one.job_id async for one in kit.find(status="expired")] == ["3"]
    assert len([one async for one in kit.find(status=None)]) == 7
    with pytest.raises(NotAllowed):
        await kit.reject("ramp", "4")
    with pytest.raises(UnknownJob):
        await kit.expire("ramp", "9")
    assert await kit.runs_for("4") == ()
    await kit.close()
    owner = agent(kind, both, both.api.tokens["owner"])
    assert (await owner.reject("ramp", "4")).status == "rejected"
    await owner.close()


async def test_a_token_without_the_scope_is_not_allowed(service: ClaimsService, kind: Kind) -> None:
    for token in (service.new_token("reader", ["read"]), "il_nobody"):
        kit = agent(kind, service, token)
        with pytest.raises(NotAllowed, match="scope `claims`"):
            await kit.add([job()])
        await kit.close()


async def test_a_service_that_is_not_there_is_unavailable(service: ClaimsService, kind: Kind) -> None:
    kit = agent(kind, service)
    service.stop()
    with pytest.raises(Unavailable, match="cannot be reached"):
        await kit.runs_for("1")
    assert len(kit.pauses) == 3
    await kit.close()
