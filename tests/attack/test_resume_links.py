"""Links to a review: for that review alone, and dead with its decision, its maker's token, and its time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit
from uuid import UUID

import pytest
from starlette.testclient import TestClient

from interlock.engine import reviews
from interlock.store import moment
from interlock.store.tables import review as R
from tests.apps.contracts.conftest import contracts, reader
from tests.support.api import BY
from tests.support.contracts import Contracts
from tests.support.site import Site

__all__ = ["contracts", "reader"]
PLACES = ("", "/pages/1", "/text")


class Stranger:
    """Somebody with nothing but the link."""

    def __init__(
        self, contracts: Contracts, it: UUID, who: str = "reviewer", *, client: TestClient | None = None
    ) -> None:
        self.contracts, self.it = contracts, it
        self.client = TestClient(Site(contracts.api).app, raise_server_exceptions=False)
        path = f"/workflows/{it}/resume-link"
        response = client.get(path) if client is not None else contracts.api.get(path, who)
        url = urlsplit(response.json()["data"]["url"])
        self.path, self.query = url.path, url.query

    def looks(self) -> set[int]:
        """What each page of the link answers."""
        more = {"": "", "/pages/1": "", "/text": "&page=1&box=70,80,200,95"}
        return {self.client.get(f"{self.path}{place}?{self.query}{more[place]}").status_code for place in PLACES}

    def decides(self, action: str = "approve") -> Any:
        return self.client.post(f"{self.path}?{self.query}", json={"action": action, "notes": "n"})


@pytest.fixture
def stranger(contracts: Contracts) -> Iterator[Stranger]:
    return Stranger(contracts, contracts.in_review())


def test_a_link_is_dead_once_its_review_is_decided_by_whomever(stranger: Stranger) -> None:
    assert stranger.looks() == {200}
    assert stranger.contracts.review(stranger.it, "approve").status_code == 200
    assert stranger.looks() == {409}
    assert stranger.decides("reject").status_code == 409


def test_a_link_decides_no_other_review_of_the_same_contract(stranger: Stranger) -> None:
    api = stranger.contracts.api

    def ask_anew(unit: Any) -> None:
        [old] = reviews.waiting(unit.conn, reviews.ReviewFilter(instance_id=stranger.it))
        unit.conn.execute(R.update().where(R.c.id == old.id).values(status="closed", decided_at=unit.now))
        again = dict(unit.conn.execute(R.select().where(R.c.id == old.id)).mappings().one())
        unit.insert(R, **{**again, "id": UUID(int=old.id.int + 1), "status": "open", "decided_at": None})

    api.engine.write(ask_anew)
    assert stranger.decides().status_code == 409
    assert stranger.looks() == {409}
    assert stranger.contracts.state(stranger.it) == "review_required"


def test_a_link_is_dead_with_the_token_that_made_it(stranger: Stranger) -> None:
    api = stranger.contracts.api
    [mine] = [t for t in api.people.tokens("default") if t.created_by and _owner(api, t.person_id) == "reviewer"]
    assert api.post(f"/api/tokens/{mine.id}/revoke").status_code == 200
    assert stranger.looks() == {403}
    assert stranger.decides().status_code == 403
    assert stranger.contracts.state(stranger.it) == "review_required"


def _owner(api: Any, person_id: UUID | None) -> str:
    return next((p.name for p in api.people.everyone() if p.id == person_id), "")


def test_a_link_is_dead_when_the_token_that_made_it_is_out_of_date(contracts: Contracts) -> None:
    api = contracts.api
    person = api.people.find("reviewer")
    end = moment(api.clock.now()) + timedelta(hours=1)
    _, api.tokens["brief"] = api.people.create_token(
        "default", "brief", kind="person", person_id=person.id, until=end, by=BY
    )
    stranger = Stranger(contracts, contracts.in_review(), "brief")
    assert stranger.looks() == {200}
    api.clock.advance(timedelta(hours=1))
    assert stranger.looks() == {403}
    assert stranger.decides().status_code == 403


def test_a_link_is_dead_with_the_login_that_made_it(contracts: Contracts) -> None:
    me = Site(contracts.api).browser("reviewer")
    stranger = Stranger(contracts, contracts.in_review(), client=me)
    assert stranger.looks() == {200}
    csrf = me.get("/api/me").json()["csrf"]
    assert me.post("/api/logout", headers={"X-CSRF-Token": csrf}).status_code == 204
    assert stranger.looks() == {403}
    assert stranger.decides().status_code == 403


def test_a_link_has_the_role_that_its_maker_has_now(contracts: Contracts) -> None:
    stranger = Stranger(contracts, contracts.in_review(), "owner")
    contracts.engine.write(lambda unit: unit.conn.execute(R.update().values(role="owner")))
    other = Stranger(contracts, stranger.it, "reviewer")
    assert other.decides().status_code == 403
    assert stranger.decides().status_code == 200


@pytest.mark.parametrize("part", ["review", "by", "via", "until", "signature"])
def test_no_part_of_a_link_can_be_left_out_or_changed(stranger: Stranger, part: str) -> None:
    given = {name: values[0] for name, values in parse_qs(stranger.query).items()}
    changed = given[part][:-1] + ("1" if given[part][-1] == "0" else "0")
    for query in ({**given, part: changed}, {n: v for n, v in given.items() if n != part}):
        assert stranger.client.get(f"{stranger.path}?{urlencode(query)}").status_code == 403
    assert stranger.contracts.state(stranger.it) == "review_required"


def test_a_claim_holds_for_links_too(stranger: Stranger) -> None:
    [task] = stranger.contracts.engine.reviews.waiting(instance_id=stranger.it)
    assert stranger.contracts.api.post(f"/api/reviews/{task.id}/claim", {}, "member").status_code == 200
    assert stranger.decides().status_code == 409
    assert stranger.contracts.state(stranger.it) == "review_required"
