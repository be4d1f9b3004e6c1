"""Systems have more than one list; adapters fall back to the others."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from interlock.apps.jobs.finder.sources import adapter_of
from interlock.apps.jobs.finder.sources.answer import Answer, Request
from interlock.apps.jobs.finder.sources.detection import detect
from interlock.apps.jobs.world import World
from interlock.apps.jobs.world.exchange import KEY
from interlock.apps.jobs.world.identity import code, uuid

from .crawling import CLOCK, send, with_detail


def read(http: httpx2.Client, world: World, kind: str, path: str) -> tuple[Any, Any, Any]:
    """The adapter, the board, and what its other list gives when the first is not found."""
    adapter: Any = adapter_of(kind)
    board = detect(f"{world.url}/{kind}-host/{path}", [world.host])
    assert board is not None
    request: Request = adapter.first(board)
    other = adapter.instead(board, Answer(b"", request.url, 404, request=request))
    request = request if other is None else other
    answer: Answer = send(http, request)
    return (
        adapter,
        board,
        adapter.parse(Answer(answer.body, answer.url, answer.status, request=request), board, CLOCK.time),
    )


@pytest.mark.parametrize(
    ("kind", "path", "many"),
    [
        ("workable", "meridian-parcel", 4),
        ("teamtailor", "nordlicht/jobs", 4),
        ("personio", "nordlicht/", 4),
        ("jobvite", "meridian", 10),
    ],
)
def test_the_other_list_has_the_same_postings(
    http: httpx2.Client, world: World, kind: str, path: str, many: int
) -> None:
    adapter, board, found = read(http, world, kind, path)
    assert (found.verdict, len(found.postings)) == ("complete", many), found.reasons
    for one in found.postings:
        assert with_detail(http, adapter, board, one).title == one.title
        assert http.get(one.url or "").status_code == 200


def test_a_paged_list_goes_on_by_its_token(http: httpx2.Client, world: World) -> None:
    _, _, found = read(http, world, "workable", "dozens")
    assert (found.verdict, len(found.postings), found.counts.total) == ("partial", 10, 130)
    assert [one.body["token"] for one in found.follow] == ["10"]


def test_a_browser_gets_a_page_from_lever(http: httpx2.Client, world: World) -> None:
    where = f"{world.url}/lever-host/v0/postings/brightwater"
    page, asked = {"Accept": "text/html"}, {"mode": "json"}
    assert http.get(where, headers=page).headers["Content-Type"].startswith("text/html")
    assert http.get(where, headers=page, params=asked).json()[0]["id"] == uuid("records-backend")


def test_employers_can_read_their_forms(http: httpx2.Client, world: World) -> None:
    calls: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
        ("POST", "ashby-host/jobPosting.info", {"json": {"jobPostingId": uuid("search-backend")}}, {"auth": (KEY, "")}),
        (
            "GET",
            f"smartrecruiters-host/postings/{uuid('battery-control')}/configuration",
            {},
            {"headers": {"X-SmartToken": KEY}},
        ),
        (
            "GET",
            f"workable-host/spi/v3/jobs/{code('route-engine')}/application_form",
            {},
            {"headers": {"Authorization": f"Bearer {KEY}"}},
        ),
    ]
    for method, path, body, key in calls:
        assert http.request(method, f"{world.url}/{path}", **body).status_code == 401
        assert http.request(method, f"{world.url}/{path}", **body, **key).status_code == 200


def test_an_empty_and_a_dead_board_of_jobvite_redirect(http: httpx2.Client, world: World) -> None:
    got = http.get(f"{world.url}/jobvite-host/CompanyJobs/Xml.aspx?c=nobody")
    assert (got.status_code, "invalid=1" in got.headers["Location"]) == (302, True)


def test_an_unknown_company_of_smartrecruiters_is_an_empty_list(http: httpx2.Client, world: World) -> None:
    found = http.get(f"{world.url}/smartrecruiters-host/v1/companies/Nobody/postings").json()
    assert (found["totalFound"], found["content"]) == (0, [])


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"appliedFacets": {}, "limit": 21, "offset": 0, "searchText": ""}, 400),
        ({"appliedFacets": {}, "limit": "20", "offset": 0, "searchText": ""}, 422),
        ({"appliedFacets": {"locations": 7}, "limit": 20, "offset": 0, "searchText": ""}, 200),
        ({"appliedFacets": {}, "limit": 20, "offset": 60, "searchText": ""}, 200),
    ],
)
def test_workday_is_strict_about_its_request(
    http: httpx2.Client, world: World, body: dict[str, Any], status: int
) -> None:
    where = f"{world.url}/workday-host/lumenfield/wday/cxs/lumenfield/Lumenfield_Careers/jobs"
    assert http.post(where, json=body).status_code == status
