"""Whoever has somebody's token has no more than that token: no page, no way in that outlives it."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from interlock.people import Role
from tests.attack.addresses import EACH, filled
from tests.attack.test_scopes import agent
from tests.dashboard.site import Site
from tests.http.desk import BY, Desk

LONG = "correct horse battery"
OPEN = {"/ui/login", "/ui/logout", "/ui/static/{digest}/{name:path}", "/ui/static/{tag}/{name:path}"}
"""Pages that anybody may look at."""


def pages() -> list[str]:
    return sorted({path for method, path in EACH if method == "GET" and path.startswith("/ui")} - OPEN)


# -- pages


def test_no_page_answers_to_a_token(site: Site) -> None:
    assert len(pages()) > 20
    for who in (agent(site.desk, "create"), agent(site.desk, "read"), "owner", "north-owner"):
        headers = {"Authorization": f"Bearer {site.desk.tokens[who]}"}
        stranger = TestClient(site.app, raise_server_exceptions=False, follow_redirects=False)
        wrong = {path: stranger.get(filled(path), headers=headers).status_code for path in pages()}
        assert {path: status for path, status in wrong.items() if status not in {403, 404, 422}} == {}
        assert wrong["/ui"] == wrong["/ui/settings"] == wrong["/ui/outbox"] == wrong["/ui/live"] == 403


def test_a_token_beside_a_login_opens_no_page_either(site: Site) -> None:
    headers = {"Authorization": f"Bearer {site.desk.tokens['owner']}"}
    assert site.browser("viewer").get("/ui", headers=headers).status_code == 403


def test_settings_show_nobody_the_tokens_of_others(site: Site) -> None:
    agent(site.desk, "read:order")
    assert "a-read.order" in site.get("/ui/settings", "owner").text
    for who in ("viewer", "member", "north-owner"):
        assert "a-read.order" not in site.get("/ui/settings", who).text


# -- another's password


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/users", {"name": "mal", "role": "owner", "password": LONG}),
        ("/api/users/{id}/password", {"password": LONG}),
        ("/api/users/{id}/enable", {}),
    ],
)
def test_a_token_gives_nobody_a_way_to_log_in(both: Desk, path: str, body: dict[str, str]) -> None:
    person = both.people.add("ann", role=Role.OWNER, by=BY, password=LONG + LONG)
    where = path.format(id=person.id)
    if path.endswith("enable"):
        both.people.disable(person.id, by=BY)
    refused = both.post(where, body)
    assert (refused.status_code, "in a login, not through a token" in refused.json()["detail"]) == (403, True)
    for name in ("ann", "mal"):
        assert both.client.post("/api/login", json={"name": name, "password": LONG}).status_code == 401
    in_a_login = both.post(where, body, None, headers=both.logged_in("owner"))
    assert in_a_login.status_code in {200, 201}
