"""Applications to the world are checked and recorded, whoever takes them and whatever becomes of the answer."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import httpx2
import pytest
from selectolax.lexbor import LexborHTMLParser

from interlock.apps.jobs.finder.sources import adapter_of
from interlock.apps.jobs.finder.sources.detection import detect
from interlock.apps.jobs.world import World
from interlock.apps.jobs.world.exchange import KEY
from interlock.apps.jobs.world.identity import code, number, uuid
from interlock.apps.jobs.world.server import MOST_BYTES

from .crawling import crawl

PERSON = {"name": "Robin Vale", "email": "robin.vale@example.org"}
PAPER = ("resume.pdf", b"%PDF-1.7 a resume", "application/pdf")


def received(http: httpx2.Client, world: World) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = http.get(f"{world.url}/_received").json()["received"]
    return found


def form_of(http: httpx2.Client, url: str) -> tuple[str, set[str]]:
    """The address of a page's form, and the names of its required fields."""
    form = LexborHTMLParser(http.get(url).text).css_first("form")
    assert form is not None
    return form.attributes["action"] or "", {one.attributes["name"] or "" for one in form.css("[required]")}


def test_a_form_is_recorded_with_its_files(http: httpx2.Client, world: World) -> None:
    url = f"{world.url}/tidewater/jobs/booking-backend"
    action, required = form_of(http, url)
    assert required == {"name", "email", "resume", "authorised"}
    got = http.post(action, data={**PERSON, "authorised": "Yes"}, files={"resume": PAPER})
    assert got.status_code == 200
    assert LexborHTMLParser(got.text).css_first(".reference") is not None
    (one,) = received(http, world)
    assert (one["key"], one["by"], one["company"], one["number"] > 0) == (
        "booking-backend",
        "form",
        "Tidewater Freight",
        True,
    )
    assert one["fields"] == {**PERSON, "authorised": "Yes"}
    assert one["files"] == [
        {
            "field": "resume",
            "filename": "resume.pdf",
            "content_type": "application/pdf",
            "size": len(PAPER[1]),
            "sha256": sha256(PAPER[1]).hexdigest(),
        }
    ]


def test_a_form_without_what_it_needs_is_not_recorded(http: httpx2.Client, world: World) -> None:
    action, _ = form_of(http, f"{world.url}/tidewater/jobs/booking-backend")
    got = http.post(action, data={"name": "Robin", "email": "nowhere"})
    assert got.status_code == 422
    assert [one.text() for one in LexborHTMLParser(got.text).css("ul.errors li")] == ["email", "resume", "authorised"]
    assert received(http, world) == []


def test_every_posting_has_a_form_except_where_an_account_is_wanted(http: httpx2.Client, world: World) -> None:
    seen = set()
    for company in world.described()["companies"]:
        for one in company["postings"]:
            if one["kind"] in seen:
                continue
            seen.add(one["kind"])
            page = LexborHTMLParser(http.get(one["url"]).text)
            if one["kind"] == "workday":
                assert page.css_first("form") is None
                assert "account" in http.get(f"{one['url']}/apply").text
            else:
                assert http.post(form_of(http, one["url"])[0]).status_code == 422
    assert len(seen) == 15


def test_an_answer_that_is_lost_was_recorded(http: httpx2.Client, world: World) -> None:
    action, _ = form_of(http, f"{world.url}/tidewater/jobs/yard-supervisor")
    world.faults.add("lost_answer", "/apply/", times=1, method="POST")
    with pytest.raises(httpx2.RemoteProtocolError):
        http.post(action, data=PERSON, files={"resume": PAPER})
    (one,) = received(http, world)
    assert one["fields"] == PERSON


def test_a_server_that_fails_records_nothing(http: httpx2.Client, world: World) -> None:
    action, _ = form_of(http, f"{world.url}/tidewater/jobs/yard-supervisor")
    world.faults.add("500", "/apply/")
    assert http.post(action, data=PERSON, files={"resume": PAPER}).status_code == 500
    assert received(http, world) == []


def offers(world: World) -> str:
    return f"{world.url}/recruitee-host/quillstack/api/offers"


def test_recruitee_takes_json_without_a_key(http: httpx2.Client, world: World) -> None:
    board = detect(f"{world.url}/recruitee-host/quillstack/", [world.host])
    assert board is not None
    posting = next(
        one for one in crawl(http, adapter_of("recruitee"), board).postings if one.title == "Senior Backend Engineer"
    )
    asked = {one.key: one for one in posting.questions}
    assert {name for name, one in asked.items() if one.required} == {
        "cv",
        *(key for key in asked if asked[key].label in ("Notice period",) or asked[key].type == "bool"),
    }
    answers = [
        {
            "open_question_id": int(one.key),
            "flag" if one.type == "bool" else "content": True if one.type == "bool" else "4",
        }
        for one in posting.questions
        if one.source == "open_questions" and one.required
    ]
    where = f"{offers(world)}/{posting.external_id}/candidates"
    candidate = {**PERSON, "remote_cv_url": "https://example.org/cv.pdf", "open_question_answers_attributes": answers}
    got = http.post(where, json={"candidate": candidate})
    assert (got.status_code, got.json()["candidate"]["name"]) == (201, "Robin Vale")
    (one,) = received(http, world)
    assert (one["by"], one["kind"], one["fields"]) == ("recruitee", "recruitee", candidate)


def test_recruitee_takes_a_form_and_names_what_is_missing(http: httpx2.Client, world: World) -> None:
    slug = http.get(f"{offers(world)}/").json()["offers"][2]["slug"]
    where = f"{offers(world)}/{slug}/candidates"
    missing = http.post(where, data={"candidate[name]": "Robin"})
    assert (missing.status_code, sorted(missing.json()["errors"])) == (422, ["cv", "email"])
    sent = {f"candidate[{name}]": value for name, value in PERSON.items()}
    assert http.post(where, data=sent, files={"candidate[cv]": PAPER}).status_code == 201
    assert [one["files"][0]["filename"] for one in received(http, world)] == ["resume.pdf"]


def test_endpoints_of_employers_want_their_key(http: httpx2.Client, world: World) -> None:
    two = {"first_name": "Robin", "last_name": "Vale", "email": PERSON["email"]}
    token, bearer = {"X-SmartToken": KEY}, {"Authorization": f"Bearer {KEY}"}
    smart = {"firstName": "Robin", "lastName": "Vale", "email": PERSON["email"]}
    able = {"candidate": {"firstname": "Robin", "lastname": "Vale", "email": PERSON["email"]}}
    person = {"jobBoard": "Quillstack", "jobPostingId": uuid("search-backend")} | {
        f"_systemfield_{name}": value for name, value in PERSON.items()
    }
    personio = {**two, "job_position_id": number("crane-remote")}
    calls: dict[str, tuple[str, dict[str, Any], dict[str, Any], int]] = {
        "greenhouse": (
            f"v1/boards/tidewater/jobs/{number('booking-backend')}",
            {"json": two},
            {"auth": (KEY, "")},
            200,
        ),
        "lever": (
            f"v0/postings/brightwater/{uuid('records-backend')}",
            {"json": PERSON},
            {"params": {"key": KEY}},
            200,
        ),
        "ashby": ("applicationForm.submit", {"data": person}, {"auth": (KEY, "")}, 200),
        "smartrecruiters": (f"postings/{uuid('battery-control')}/candidates", {"json": smart}, {"headers": token}, 201),
        "workable": (f"spi/v3/jobs/{code('route-engine')}/candidates", {"json": able}, {"headers": bearer}, 201),
        "personio": (
            "nordlicht/v1/recruiting/applications",
            {"json": personio},
            {"headers": {**bearer, "X-Company-ID": "1"}},
            201,
        ),
    }
    for kind, (path, body, key, status) in calls.items():
        where = f"{world.url}/{kind}-host/{path}"
        assert http.post(where, **body).status_code == 401, kind
        assert http.post(where, **body, **key).status_code == status, kind
    assert [one["by"] for one in received(http, world)] == list(calls)


def test_ashby_says_in_the_body_that_it_did_not_take_it(http: httpx2.Client, world: World) -> None:
    got = http.post(
        f"{world.url}/ashby-host/applicationForm.submit",
        data={"jobBoard": "Quillstack", "jobPostingId": uuid("search-backend")},
        auth=(KEY, ""),
    )
    assert (got.status_code, got.json()["success"]) == (200, False)
    assert received(http, world) == []


def test_a_request_that_is_too_large_is_refused(http: httpx2.Client, world: World) -> None:
    action, _ = form_of(http, f"{world.url}/tidewater/jobs/yard-supervisor")
    big = ("resume.pdf", b"x" * (MOST_BYTES + 1), "application/pdf")
    assert http.post(action, data=PERSON, files={"resume": big}).status_code == 413
    many = {f"field{at}": "x" for at in range(300)}
    assert http.post(action, data=many, files={"resume": PAPER}).status_code == 400
    assert received(http, world) == []
    assert http.delete(f"{world.url}/_received").status_code == 204
