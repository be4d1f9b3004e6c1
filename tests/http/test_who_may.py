"""Each endpoint, tried as nobody, viewer, reviewer, member, agent, owner, and from another workspace."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest

from interlock.apps import sessions
from interlock.apps.jobs.autoapply.queueing.enqueueing import enqueue_by_person
from interlock.apps.jobs.autoapply.records import rules
from interlock.apps.jobs.autoapply.rules import check_rule
from interlock.engine import outbox
from interlock.engine.schedules import ScheduleSpec
from interlock.machine import OWNER, Actor
from interlock.people import Role
from interlock.store import migrate, open_store
from tests.apps.jobs.finder.rows import Finder
from tests.apps.jobs.finder.seekers import PROFILE
from tests.support.api import APPLICATIONS, BY, Api, open_api

pytestmark = pytest.mark.slow

PathOf = Callable[[Api], str]


def row(
    operation: str,
    place: PathOf | str,
    body: Any = None,
    *,
    nobody: int = 401,
    viewer: int,
    reviewer: int | None = None,
    member: int | None = None,
    agent: int,
    owner: int,
    north: int,
    north_owner: int | None = None,
    north_agent: int | None = None,
) -> tuple[str, PathOf | str, Any, dict[str, int]]:
    """What each of them is answered; a role that is not named is answered like the one below it."""
    second = reviewer if reviewer is not None else viewer
    statuses = {
        "nobody": nobody,
        "viewer": viewer,
        "reviewer": second,
        "member": member if member is not None else second,
        "agent": agent,
        "owner": owner,
        "north-viewer": north,
        "north-owner": north_owner if north_owner is not None else north,
        "north-agent": north_agent if north_agent is not None else north,
    }
    return operation, place, body, statuses


def instance(rest: str = "") -> PathOf:
    return lambda api: f"/api/instances/{api.asked().id}{rest}"


def review(rest: str = "") -> PathOf:
    def place(api: Api) -> str:
        it = api.asked()
        return f"/api/reviews/{api.engine.reviews.waiting(instance_id=it.id)[0].id}{rest}"

    return place


def letter(rest: str = "") -> PathOf:
    return lambda api: f"/api/dead-letters/{api.dead()}{rest}"


def schedule(rest: str = "") -> PathOf:
    def place(api: Api) -> str:
        api.engine.schedules.put(ScheduleSpec("nightly", "order", "0 2 * * *"), actor=BY)
        return f"/api/schedules/default/nightly{rest}"

    return place


def message(rest: str = "") -> PathOf:
    def place(api: Api) -> str:
        made = api.engine.outbox.put("mail", "a@b.c", "s", {}, workspace="default")
        if rest in {"/retry", "/discard"}:
            api.engine.store.write(
                lambda conn: conn.execute(outbox.O.update().where(outbox.O.c.id == made).values(status="dead"))
            )
        return f"/api/outbox/{made}{rest}"

    return place


def token(api: Api) -> str:
    made, _ = api.people.create_token("default", f"t{uuid4()}"[:30], kind="agent", scopes=["read"], by=BY)
    return f"/api/tokens/{made.id}/revoke"


def person(rest: str) -> PathOf:
    def place(api: Api) -> str:
        found = next((p for p in api.people.everyone() if p.name == "zoe"), None)
        found = found or api.people.add("zoe", role=Role.VIEWER, by=BY)
        return f"/api/users/{found.id}{rest}"

    return place


def bulk(rest: str) -> PathOf:
    def place(api: Api) -> str:
        api.new()
        made = api.engine.bulk.start(
            "instances", "pause", {"machine": "order"}, actor=Actor(OWNER, "o"), workspaces={"default"}
        )
        return f"/api/bulk/{made.id}{rest}"

    return place


def halted(api: Api) -> str:
    api.engine.halts.halt("order", actor=BY)
    return "/api/halts/order"


def workflow(state: str, rest: str = "") -> PathOf:
    """A contract, put where it is needed."""

    def place(api: Api) -> str:
        made = api.engine.create("contract", {"filename": "a.pdf"}, by_application=True)
        api.engine.force(made.id, state, actor=BY, reason="a test needs it there")
        return f"/workflows/{made.id}{rest}"

    return place


def posting(rest: str = "") -> PathOf:
    def place(api: Api) -> str:
        finder = Finder(api.engine)
        made = finder.posting(f"https://kind.example/{uuid4()}")
        finder.set(made, outcome="filtered")
        return f"/api/jobs/postings/{made}{rest}"

    return place


def board(rest: str = "") -> PathOf:
    return lambda api: f"/api/jobs/sources/{Finder(api.engine).source(board=f'b{uuid4().hex}').id}{rest}"


def employer(api: Api) -> str:
    return f"/api/jobs/companies/{Finder(api.engine).company('Kind Boats', None).id}"


def profile(api: Api) -> str:
    Finder(api.engine).profile()
    return "/api/jobs/profile"


def alert(api: Api) -> str:
    return f"/api/alerts/{uuid4()}/acknowledge"


def applied(rest: str = "") -> PathOf:
    """An application that is queued."""

    def place(api: Api) -> str:
        finder = Finder(api.engine)
        finder.profile()
        name = uuid4().hex
        made = finder.settled(f"https://{name}.example/1", company=f"Kind {name}")
        queued = api.engine.write(lambda unit: enqueue_by_person(unit, "default", made, BY))
        assert queued.application is not None
        return f"/api/auto-apply/applications/{queued.application.id}{rest}"

    return place


def apply_rule(api: Api) -> str:
    rule = check_rule({"name": "all", "paused": True})
    return f"/api/auto-apply/rules/{api.engine.write(lambda unit: rules.create(unit, 'default', rule, 'o')).id}"


WRITE = {"viewer": 403, "agent": 403, "north": 404}
READ = {"viewer": 200, "agent": 200, "owner": 200}
OPERATORS = {"viewer": 200, "agent": 200, "owner": 200, "north": 403}
MANAGE = {"viewer": 403, "agent": 403, "north": 403}
PEOPLE_READ = {"viewer": 200, "agent": 403, "owner": 200, "north": 200, "north_agent": 403}
STEP = {"viewer": 403, "member": 202, "agent": 202, "north": 404}
AGREEMENT = b64encode(
    b"This Supply Agreement is made as of March 1, 2026 between Kind Boats GmbH and Sea Foods Ltd. The parties agree "
    b"that Kind Boats GmbH delivers boats. It is governed by the laws of Bremen."
).decode()
NEW_RULE = {"metric": "dead_letters", "threshold": 5}
NEW_SCHEDULE = {"machine": "order", "cron": "0 2 * * *"}
BULK = {"action": "pause", "filter": {"machine": "order"}}
JOB = {"board": "ramp", "job_id": "1"}
ADDED = {"viewer": 403, "member": 201, "agent": 200, "owner": 200, "north": 403, "north_owner": 201, "north_agent": 200}
DONE = {"viewer": 403, "member": 200, "agent": 200, "owner": 200, "north": 404}
STARTED = {**DONE, "member": 201, "agent": 201, "owner": 201}
APPLY_RULE = {"rule": {"name": "all", "paused": True}}
NO_PACKET = {"viewer": 404, "agent": 404, "owner": 404, "north": 404}
GONE = {"viewer": 404, "member": 404, "agent": 404, "owner": 404, "north": 404}
ADDED_RULE = {**ADDED, "agent": 201, "owner": 201, "north_agent": 201}
SWEPT = {**ADDED, "member": 200, "north_owner": 200}
FORGET = {**GONE, "viewer": 403, "north": 403, "north_owner": 404, "north_agent": 404}
KIND = {"name": "Kind Boats", "website": "https://kind.example"}
TABLE = [
    row("GET /api/jobs/profile", profile, **READ, north=404),
    row(
        "PUT /api/jobs/profile",
        "/api/jobs/profile",
        PROFILE,
        viewer=403,
        member=200,
        agent=200,
        owner=200,
        north=403,
        north_owner=200,
        north_agent=200,
    ),
    row("POST /api/jobs/profile/preview", "/api/jobs/profile/preview", PROFILE, **READ, north=200),
    row("POST /api/jobs/companies", "/api/jobs/companies", KIND, **ADDED),
    row("POST /api/jobs/sources", "/api/jobs/sources", {"url": "https://kind.example/jobs"}, **ADDED),
    row("POST /api/jobs/listings", "/api/jobs/listings", {"url": "https://kind.example/1"}, **ADDED),
    row("GET /api/jobs/companies", "/api/jobs/companies", **READ, north=200),
    row("GET /api/jobs/sources", "/api/jobs/sources", **READ, north=200),
    row("GET /api/jobs/postings", "/api/jobs/postings", **READ, north=200),
    row("GET /api/jobs/companies/{id}", employer, **READ, north=404),
    row("GET /api/jobs/sources/{id}", board(), **READ, north=404),
    row("GET /api/jobs/postings/{id}", posting(), **READ, north=404),
    row("POST /api/jobs/postings/{id}/save", posting("/save"), **DONE),
    row("POST /api/jobs/postings/{id}/dismiss", posting("/dismiss"), **DONE),
    row("POST /api/jobs/postings/{id}/undo", posting("/undo"), **DONE),
    row("POST /api/jobs/postings/{id}/unfilter", posting("/unfilter"), {"reason": "it fits"}, **STARTED),
    row("POST /api/jobs/sources/{id}/crawl", board("/crawl"), **STARTED),
    row("POST /api/jobs/sources/{id}/enable", board("/enable"), {}, **DONE),
    row("POST /api/jobs/sources/{id}/disable", board("/disable"), {}, **DONE),
    row("GET /api/jobs/why", "/api/jobs/why?q=boats", **READ, north=200),
    row("GET /api/jobs/refusals", "/api/jobs/refusals", **READ, north=200),
    row("GET /api/auto-apply/applications", "/api/auto-apply/applications", **READ, north=200),
    row("GET /api/auto-apply/applications/{id}", applied(), **READ, north=404),
    row("GET /api/auto-apply/applications/{id}/packet", applied("/packet"), **NO_PACKET),
    row("GET /api/auto-apply/applications/{id}/artifacts/{name}", applied("/artifacts/resume.pdf"), **NO_PACKET),
    row(
        "POST /api/auto-apply/applications/{id}/answers",
        applied("/answers"),
        {"answers": [{"key": "a", "value": "b"}]},
        **{**WRITE, "agent": 409},
        member=409,
        owner=409,
    ),
    row("GET /api/auto-apply/answers", "/api/auto-apply/answers", **READ, north=200),
    row("DELETE /api/auto-apply/answers/{id}", f"/api/auto-apply/answers/{uuid4()}", **FORGET),
    row("GET /api/auto-apply/rules", "/api/auto-apply/rules", **READ, north=200),
    row("POST /api/auto-apply/rules", "/api/auto-apply/rules", APPLY_RULE, **ADDED_RULE),
    row("POST /api/auto-apply/rules/preview", "/api/auto-apply/rules/preview", APPLY_RULE, **READ, north=200),
    row("GET /api/auto-apply/rules/{id}", apply_rule, **READ, north=404),
    row("PUT /api/auto-apply/rules/{id}", apply_rule, APPLY_RULE, **DONE),
    row("PATCH /api/auto-apply/rules/{id}", apply_rule, APPLY_RULE, **DONE),
    row("DELETE /api/auto-apply/rules/{id}", apply_rule, **DONE),
    row("GET /api/auto-apply/decisions", "/api/auto-apply/decisions", **READ, north=200),
    row("GET /api/auto-apply/logs", "/api/auto-apply/logs", **READ, north=200),
    row("GET /api/auto-apply/metrics", "/api/auto-apply/metrics", **READ, north=200),
    *(
        row(f"POST /api/auto-apply/{name}", f"/api/auto-apply/{name}", {}, **SWEPT)
        for name in ("enqueue", "process-queue", "retry-handler")
    ),
    *(
        row(f"POST /api/auto-apply/{name}", f"/api/auto-apply/{name}", {"application_id": str(uuid4()), **more}, **GONE)
        for name, more in (
            ("prepare-application", {}),
            ("submit", {"arrived": True}),
            ("open-form", {}),
            ("reject", {}),
            ("later", {}),
            ("pause", {}),
            ("resume", {}),
            ("withdraw", {}),
        )
    ),
    row("GET /api/crawler/jobs", "/api/crawler/jobs", viewer=200, agent=200, owner=200, north=200),
    row(
        "POST /api/crawler/jobs",
        "/api/crawler/jobs",
        {"action": "add", "jobs": [JOB]},
        viewer=403,
        member=200,
        agent=200,
        owner=200,
        north=403,
        north_owner=200,
        north_agent=200,
    ),
    row(
        "PATCH /api/crawler/jobs",
        "/api/crawler/jobs",
        {**JOB, "status": "expired"},
        viewer=403,
        member=404,
        agent=404,
        owner=404,
        north=403,
        north_owner=404,
        north_agent=404,
    ),
    row("GET /workflows/{id}", workflow("extracting"), **READ, north=404),
    row("GET /workflows/{id}/log", workflow("extracting", "/log"), **READ, north=404),
    row(
        "GET /workflows/{id}/pages/{number}",
        workflow("extracting", "/pages/1"),
        viewer=404,
        agent=404,
        owner=404,
        north=404,
    ),
    row(
        "GET /workflows/{id}/pages/{number}/text",
        workflow("extracting", "/pages/1/text"),
        viewer=404,
        agent=404,
        owner=404,
        north=404,
    ),
    row("GET /workflows", "/workflows", **READ, north=200),
    row("GET /workflows/calendar.ics", "/workflows/calendar.ics", **READ, north=200),
    row(
        "POST /workflows/ingest",
        "/workflows/ingest?wait=0",
        {"pdfBase64": AGREEMENT},
        viewer=403,
        member=202,
        agent=202,
        owner=202,
        north=403,
        north_owner=202,
        north_agent=202,
    ),
    row("POST /workflows/{id}/extract", workflow("extracting", "/extract?wait=0"), {}, **STEP, owner=202),
    row("POST /workflows/{id}/compare", workflow("validated", "/compare?wait=0"), {}, **STEP, owner=202),
    row(
        "POST /workflows/{id}/retry",
        workflow("failed", "/retry"),
        {},
        viewer=403,
        member=409,
        agent=403,
        owner=409,
        north=404,
    ),
    row(
        "POST /workflows/{id}/reprocess",
        workflow("rejected", "/reprocess"),
        {},
        viewer=403,
        member=201,
        agent=201,
        owner=201,
        north=404,
    ),
    row(
        "POST /workflows/{id}/review",
        workflow("review_required", "/review"),
        {"action": "approve"},
        viewer=403,
        reviewer=200,
        agent=403,
        owner=200,
        north=404,
    ),
    row(
        "GET /workflows/{id}/resume-link",
        workflow("review_required", "/resume-link"),
        viewer=403,
        reviewer=200,
        agent=403,
        owner=200,
        north=404,
    ),
    row(
        "POST /workflows/{id}/resume",
        workflow("review_required", f"/resume?by=owner:owner&via=token:x&until=1&review={UUID(int=1)}&signature=x"),
        {"action": "approve"},
        nobody=403,
        viewer=403,
        agent=403,
        owner=403,
        north=403,
    ),
    row("GET /workflows/providers/{vertical}", "/workflows/providers/energy", **READ, north=200),
    row("PUT /workflows/providers/{vertical}/{name}", "/workflows/providers/energy/X", {}, **MANAGE, owner=200),
    row("GET /flows/process-contract.yaml", "/flows/process-contract.yaml", **READ, north=200),
    row("GET /healthz", "/healthz", nobody=200, **READ, north=200),
    row("GET /readyz", "/readyz", nobody=200, **READ, north=200),
    row("GET /metrics", "/metrics", **OPERATORS),
    row(
        "POST /api/login",
        "/api/login",
        lambda who: {"name": who, "password": "wrong"},
        nobody=401,
        viewer=401,
        agent=401,
        owner=401,
        north=401,
    ),
    row("POST /api/logout", "/api/logout", viewer=204, agent=204, owner=204, north=204),
    row("GET /api/me", "/api/me", **READ, north=200),
    row("GET /api/overview", "/api/overview", **READ, north=200),
    row("GET /api/overview/series/{measure}", "/api/overview/series/created", **READ, north=200),
    row("GET /api/overview/dwell/{machine}", "/api/overview/dwell/order", **READ, north=200),
    row("GET /api/machines", "/api/machines", **READ, north=200),
    row("GET /api/machines/{name}", "/api/machines/order", **READ, north=200),
    row(
        "GET /api/machines/{name}/migration",
        "/api/machines/order/migration",
        viewer=403,
        member=200,
        agent=403,
        owner=200,
        north=403,
    ),
    row(
        "POST /api/machines/{name}/migration",
        "/api/machines/order/migration",
        {},
        viewer=403,
        member=200,
        agent=403,
        owner=200,
        north=403,
    ),
    row("GET /api/events", "/api/events", **READ, north=200),
    row("GET /api/instances", "/api/instances", **READ, north=200),
    row(
        "POST /api/instances",
        "/api/instances",
        {"machine": "order", "workspace": "default"},
        viewer=403,
        member=201,
        agent=201,
        owner=201,
        north=404,
    ),
    row("GET /api/instances/{id}", instance(), **READ, north=404),
    row("GET /api/instances/{id}/history", instance("/history"), **READ, north=404),
    row("GET /api/instances/{id}/explain", instance("/explain"), **READ, north=404),
    row("GET /api/instances/{id}/lineage", instance("/lineage"), **READ, north=404),
    row("GET /api/instances/{id}/verify", instance("/verify"), **READ, north=404),
    row("GET /api/instances/{id}/effects", instance("/effects"), **READ, north=404),
    row("GET /api/instances/{id}/ai-calls", instance("/ai-calls"), **READ, north=404),
    row("GET /api/costs", "/api/costs?workspace=default", **READ, north=404),
    row("GET /api/instances/{id}/artifacts", instance("/artifacts"), **READ, north=404),
    row(
        "GET /api/instances/{id}/artifacts/{name}",
        instance("/artifacts/none"),
        viewer=404,
        agent=404,
        owner=404,
        north=404,
    ),
    row(
        "PUT /api/instances/{id}/artifacts/{name}",
        instance("/artifacts/a"),
        b"content",
        viewer=403,
        member=200,
        agent=200,
        owner=200,
        north=404,
    ),
    row("POST /api/instances/{id}/events", instance("/events"), {"event": "refuse"}, **WRITE, member=200, owner=200),
    row("POST /api/instances/{id}/pause", instance("/pause"), {}, **WRITE, member=200, owner=200),
    row("POST /api/instances/{id}/resume", instance("/resume"), {}, **WRITE, member=409, owner=409),
    row("POST /api/instances/{id}/cancel", instance("/cancel"), {}, **WRITE, member=200, owner=200),
    row("POST /api/instances/{id}/force", instance("/force"), {"to": "sent", "reason": "r"}, **WRITE, owner=200),
    row("POST /api/instances/{id}/erase", instance("/erase"), {"reason": "r"}, **WRITE, member=403, owner=409),
    row("GET /api/reviews", "/api/reviews", **READ, north=200),
    row("GET /api/reviews/{id}", review(), **READ, north=404),
    row("POST /api/reviews/{id}/claim", review("/claim"), {}, **WRITE, reviewer=200, owner=200),
    row("POST /api/reviews/{id}/release", review("/release"), {}, **WRITE, reviewer=200, owner=200),
    row("POST /api/reviews/{id}/assign", review("/assign"), {"to": None}, **WRITE, reviewer=200, owner=200),
    row("POST /api/reviews/{id}/snooze", review("/snooze"), {"until": None}, **WRITE, reviewer=200, owner=200),
    row(
        "POST /api/reviews/{id}/decide",
        review("/decide"),
        {"decision": "no", "answer": {"note": "n"}},
        **WRITE,
        reviewer=200,
        owner=200,
    ),
    row("GET /api/dead-letters", "/api/dead-letters", **READ, north=200),
    row("GET /api/dead-letters/groups", "/api/dead-letters/groups", **READ, north=200),
    row("GET /api/dead-letters/{id}", letter(), **READ, north=404),
    row("POST /api/dead-letters/{id}/retry", letter("/retry"), {}, **WRITE, member=200, owner=200),
    row("POST /api/dead-letters/{id}/resolve", letter("/resolve"), {}, **WRITE, member=200, owner=200),
    row("POST /api/dead-letters/{id}/discard", letter("/discard"), {}, **WRITE, member=200, owner=200),
    row("GET /api/bulk", "/api/bulk", **PEOPLE_READ),
    row(
        "POST /api/bulk/preview",
        "/api/bulk/preview",
        BULK,
        viewer=403,
        member=200,
        agent=403,
        owner=200,
        north=403,
        north_owner=200,
    ),
    row("POST /api/bulk", "/api/bulk", BULK, viewer=403, member=202, agent=403, owner=202, north=403, north_owner=202),
    row("GET /api/bulk/{id}", bulk(""), viewer=200, agent=404, owner=200, north=404),
    row("POST /api/bulk/{id}/stop", bulk("/stop"), {}, viewer=403, member=200, agent=404, owner=200, north=404),
    row("GET /api/halts", "/api/halts", **READ, north=200),
    row("PUT /api/halts/{machine}", "/api/halts/order", {}, viewer=403, member=200, agent=403, owner=200, north=403),
    row("DELETE /api/halts/{machine}", halted, viewer=403, member=200, agent=403, owner=200, north=403),
    row("GET /api/workers", "/api/workers", **OPERATORS),
    row("GET /api/leases", "/api/leases", **READ, north=200),
    row("GET /api/limits", "/api/limits", **OPERATORS),
    row("GET /api/schedules", "/api/schedules", **READ, north=200),
    row("GET /api/schedules/{workspace}/{name}", schedule(), **READ, north=404),
    row("PUT /api/schedules/{workspace}/{name}", schedule(), NEW_SCHEDULE, **WRITE, owner=200),
    row("DELETE /api/schedules/{workspace}/{name}", schedule(), **WRITE, owner=200),
    row("POST /api/schedules/{workspace}/{name}/pause", schedule("/pause"), {}, **WRITE, member=200, owner=200),
    row("POST /api/schedules/{workspace}/{name}/resume", schedule("/resume"), {}, **WRITE, member=200, owner=200),
    row("POST /api/schedules/{workspace}/{name}/run", schedule("/run"), {}, **WRITE, member=201, owner=201),
    row("GET /api/outbox", "/api/outbox", **PEOPLE_READ),
    row("GET /api/outbox/{id}", message(), viewer=200, agent=403, owner=200, north=404, north_agent=403),
    row(
        "GET /api/outbox/{id}/deliveries",
        message("/deliveries"),
        viewer=200,
        agent=403,
        owner=200,
        north=404,
        north_agent=403,
    ),
    row(
        "POST /api/outbox/{id}/retry",
        message("/retry"),
        {},
        viewer=403,
        member=200,
        agent=403,
        owner=200,
        north=404,
        north_agent=403,
    ),
    row(
        "POST /api/outbox/{id}/discard",
        message("/discard"),
        {},
        viewer=403,
        member=200,
        agent=403,
        owner=200,
        north=404,
        north_agent=403,
    ),
    row("GET /api/alerts", "/api/alerts", **OPERATORS),
    row("POST /api/alerts/{id}/acknowledge", alert, {}, viewer=403, member=404, agent=403, owner=404, north=403),
    row("GET /api/alert-rules", "/api/alert-rules", **OPERATORS),
    row("PUT /api/alert-rules/{name}", "/api/alert-rules/mine", NEW_RULE, **MANAGE, owner=200),
    row("DELETE /api/alert-rules/{name}", "/api/alert-rules/mine", **MANAGE, owner=404),
    row("GET /api/tokens", "/api/tokens", **READ, north=200),
    row(
        "POST /api/tokens",
        "/api/tokens",
        {"name": "t2", "scopes": ["read"], "workspace": "default"},
        viewer=403,
        agent=403,
        owner=201,
        north=404,
    ),
    row("POST /api/tokens/{id}/revoke", token, {}, **WRITE, owner=200),
    row("GET /api/users", "/api/users", **PEOPLE_READ),
    row("POST /api/users", "/api/users", {"name": "new"}, **MANAGE, owner=201),
    row("POST /api/users/{id}/role", person("/role"), {"role": "member"}, viewer=403, agent=403, owner=200, north=404),
    row("POST /api/users/{id}/password", person("/password"), {"password": "a long password"}, **MANAGE, owner=403),
    row("POST /api/users/{id}/disable", person("/disable"), {}, **MANAGE, owner=200),
    row("POST /api/users/{id}/enable", person("/enable"), {}, **MANAGE, owner=403),
    row("GET /api/workspaces", "/api/workspaces", **READ, north=200),
    row("POST /api/workspaces", "/api/workspaces", {"name": "south"}, **MANAGE, owner=201),
    row("GET /api/actions", "/api/actions", **MANAGE, owner=200),
]
ELSEWHERE = ("/api/auto-apply", "/auto-apply", "/contracts/calendar", "/api/contracts")
"""Endpoints whose rows are in the tests of their application, such as `test_board_api.py`."""
SESSIONS = ("/sessions", "/prompts", "/dead-letter-queue", "/borrow", "/return", "/submit", "/operations", "/admin")
SESSIONS += ("/handlers", "/webhook")
STREAM = "GET /api/events/stream"
"""It never ends, so it is tried on a real server."""


@pytest.fixture
def fresh(sqlite_url: str) -> Iterator[Api]:
    with open_store(sqlite_url, durability="normal") as store, open_api(store, applications=APPLICATIONS) as made:
        yield made


def operations(api: Api) -> set[str]:
    found = api.client.get("/openapi.json").json()["paths"]
    return {f"{method.upper()} {path}" for path, methods in found.items() for method in methods}


def assert_refused(path: str, answer: Any) -> None:
    """A refusal is a problem document; of a contract's workflow, an envelope."""
    body = answer.json()
    if path.startswith("/workflows"):
        assert (body["success"], set(body["error"])) == (False, {"code", "message", "details", "retryable"})
        assert body["error"]["message"]
        return
    assert answer.headers["content-type"] == "application/problem+json"
    assert body["detail"]


def test_every_operation_has_a_row_here(fresh: Api) -> None:
    rows = {operation for operation, *_ in TABLE}
    here = {one for one in operations(fresh) if one in rows or not one.partition(" ")[2].startswith(ELSEWHERE)}
    assert here == rows | {STREAM}


def test_applications_answer_nobody_and_let_viewers_change_nothing(sqlite_url: str) -> None:
    """What each role may do there is in the tests of the applications; this holds for endpoints that are forgotten."""
    answered, changed = [], []
    with open_store(sqlite_url, durability="normal") as store:
        migrate.upgrade(store, sessions.registry.applications.values())
        with open_api(store, applications=(*APPLICATIONS, sessions.registry)) as api:
            described = api.client.get("/openapi.json").json()["paths"]
            for operation in sorted(operations(api) - {STREAM}):
                method, _, path = operation.partition(" ")
                if not path.startswith((*ELSEWHERE, *SESSIONS)) or described[path][method.lower()]["security"] == []:
                    continue
                place = re.sub(r"\{[^}]*\}", str(uuid4()), path)
                if (status := api.call(None, method, place).status_code) != 401:
                    answered.append(f"{operation}: {status}")
                if method != "GET" and (status := api.call("viewer", method, place, body={}).status_code) < 400:
                    changed.append(f"{operation}: {status}")
    assert (answered, changed) == ([], [])


@pytest.mark.parametrize(("operation", "place", "body", "wanted"), TABLE, ids=[entry[0] for entry in TABLE])
def test_each_is_answered_as_their_role_says(
    fresh: Api, operation: str, place: PathOf | str, body: Any, wanted: dict[str, int]
) -> None:
    method = operation.partition(" ")[0]
    found = {}
    for who in wanted:
        path = place if isinstance(place, str) else place(fresh)
        sent = body(who) if callable(body) else body
        how: dict[str, Any] = {"content": sent} if isinstance(sent, bytes) else {"body": sent}
        answer = fresh.call(None if who == "nobody" else who, method, path, **how)
        found[who] = answer.status_code
        if answer.status_code >= 400:
            assert_refused(path, answer)
    assert found == wanted


def test_lists_have_only_what_is_in_the_callers_workspaces(fresh: Api) -> None:
    fresh.dead()
    fresh.dead(workspace="north")
    mine, theirs = fresh.asked(), fresh.asked(workspace="north")

    def ids(path: str, key: str, field: str, who: str) -> set[str]:
        return {one[field] for one in fresh.get(path, who).json()[key]}

    for who, workspace in (
        ("viewer", "default"),
        ("agent", "default"),
        ("north-viewer", "north"),
        ("north-agent", "north"),
    ):
        assert ids("/api/instances", "instances", "workspace", who) == {workspace}
        assert ids("/api/reviews", "reviews", "workspace", who) == {workspace}
        assert ids("/api/dead-letters", "dead_letters", "workspace", who) == {workspace}
        assert ids("/api/events", "events", "workspace", who) == {workspace}
    assert str(theirs.id) not in fresh.get("/api/instances").text
    assert str(mine.id) not in fresh.get("/api/instances", "north-owner").text
    assert fresh.get("/api/instances?workspace=north").json()["instances"] == []
    counts = fresh.get("/api/overview", "north-viewer").json()
    assert counts["totals"]["reviews"]["open"] == 1


def test_a_scope_for_one_machine_opens_only_that(fresh: Api) -> None:
    _, secret = fresh.people.create_token("default", "narrow", kind="agent", scopes=["read:other", "fire:other"], by=BY)
    fresh.tokens["narrow"] = secret
    it = fresh.asked()
    assert fresh.get(f"/api/instances/{it.id}", "narrow").status_code == 404
    assert fresh.get("/api/instances", "narrow").json()["instances"] == []
    assert fresh.post(f"/api/instances/{it.id}/events", {"event": "report"}, "narrow").status_code == 404


def test_a_revoked_token_opens_nothing(fresh: Api) -> None:
    assert fresh.get("/api/me", "agent").status_code == 200
    [made] = [t for t in fresh.people.tokens("default") if t.name == "agent"]
    assert fresh.post(f"/api/tokens/{made.id}/revoke").status_code == 200
    assert fresh.get("/api/me", "agent").status_code == 401


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic abc", "Bearer il_wrong", "Bearer " + "x" * 10_000])
def test_what_is_no_token_is_answered_401_and_how_to_show_one(fresh: Api, header: str) -> None:
    refused = fresh.client.get("/api/me", headers={"Authorization": header})
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
