"""A signed link in a browser: one review, no login, in the name of whoever asked for it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from starlette.testclient import TestClient

from tests.support.contracts import CLEAR, Contracts
from tests.support.review_page import form_of
from tests.support.site import Site


class Stranger:
    """Somebody with a link and no login."""

    def __init__(self, contracts: Contracts, it: UUID) -> None:
        self.contracts, self.it = contracts, it
        self.client = TestClient(Site(contracts.api).app, raise_server_exceptions=False, follow_redirects=True)
        body = contracts.api.get(f"/workflows/{it}/resume-link", "reviewer").json()
        parts = urlsplit(body["data"]["url"])
        self.path, self.query = parts.path, parts.query

    def get(self, more: str = "", *, query: str | None = None) -> Any:
        return self.client.get(f"{self.path}{more}?{self.query if query is None else query}")

    def send(self, **entered: str) -> Any:
        action, values = form_of(self.get().text)
        assert action is not None
        return self.client.post(action, data={**values, **{n.replace("__", "."): v for n, v in entered.items()}})


@pytest.fixture
def stranger(contracts: Contracts) -> Stranger:
    return Stranger(contracts, contracts.in_review())


def test_the_link_opens_the_page_and_says_in_whose_name(stranger: Stranger) -> None:
    page = stranger.get()
    assert page.status_code == 200
    assert "in the name of reviewer" in page.text
    assert 'id="approve"' in page.text
    assert "/ui/instances" not in page.text


def test_it_decides_as_the_one_who_asked_for_the_link_and_then_says_only_that(stranger: Stranger) -> None:
    page = stranger.send(do__parties="accept", decision="approve")
    assert (page.status_code, "was decided: approve by user:reviewer" in page.text) == (409, True)
    assert "SUPPLY" not in page.text
    assert stranger.contracts.state(stranger.it) == "validated"
    assert stranger.contracts.engine.history(stranger.it)[-1].actor.startswith("user:reviewer")


def test_what_is_missing_is_said_and_kept(stranger: Stranger) -> None:
    page = stranger.send(notes="so far", decision="approve")
    assert page.status_code == 422
    assert "A decision is missing for: Parties." in page.text
    assert 'value="so far"' in page.text
    assert stranger.contracts.state(stranger.it) == "review_required"


def test_its_pages_and_their_text_come_with_the_link_alone(stranger: Stranger) -> None:
    assert stranger.get("/pages/1").content.startswith(b"\x89PNG")
    found = stranger.get("/text", query=f"{stranger.query}&page=1&box=70,80,200,95")
    assert found.json()["quote"] == "SUPPLY AGREEMENT"
    for path, query in (("/pages/1", ""), ("/text", "page=1&box=70,80,200,95")):
        assert stranger.get(path, query=query).status_code == 403


def test_nothing_else_is_visible_with_it(stranger: Stranger) -> None:
    other = stranger.contracts.taken(CLEAR)
    for path in (f"/workflows/{other}/resume", f"/workflows/{other}/resume/pages/1"):
        assert stranger.client.get(f"{path}?{stranger.query}").status_code == 403
    for path in (f"/workflows/{stranger.it}", f"/workflows/{stranger.it}/pages/1"):
        assert stranger.client.get(f"{path}?{stranger.query}").status_code == 422
        assert stranger.client.get(path).status_code == 401


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda q: q.replace("reviewer", "owner"), "not one of ours, or was changed"),
        (lambda q: q.replace("until=", "until=9"), "not one of ours, or was changed"),
        (lambda q: q[:-3], "not one of ours, or was changed"),
        (lambda q: q + "%C3%A9", "not one of ours, or was changed"),
        (lambda q: q.partition("&")[2], "incomplete"),
        (lambda q: "", "incomplete"),
    ],
    ids=["another name", "more time", "cut off", "other letters", "a part is missing", "empty"],
)
def test_a_changed_link_opens_nothing_and_says_so(stranger: Stranger, change: Any, said: str) -> None:
    page = stranger.get(query=change(stranger.query))
    assert page.status_code == 403
    assert page.headers["content-type"].startswith("text/html")
    assert said in page.text
    sent = stranger.client.post(f"{stranger.path}/form?{change(stranger.query)}", data={"decision": "approve"})
    assert (sent.status_code, stranger.contracts.state(stranger.it)) == (403, "review_required")


def test_an_old_link_opens_nothing_and_says_so(stranger: Stranger) -> None:
    stranger.contracts.api.clock.advance(timedelta(hours=24))
    page = stranger.get()
    assert page.status_code == 403
    assert "This link has expired" in page.text


def test_opening_the_link_holds_nothing(stranger: Stranger) -> None:
    stranger.get()
    assert stranger.contracts.engine.reviews.waiting(instance_id=stranger.it)[0].claimed_by is None
