"""Logging in: a cookie that scripts cannot read, a CSRF token for every write, and an end to guessing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from interlock.http.caller import COOKIE
from interlock.people import Role
from tests.support.api import BY, Api

PASSWORD = "correct horse battery"


@pytest.fixture
def ann(api: Api) -> Any:
    return api.people.add("ann", role=Role.MEMBER, password=PASSWORD, by=BY)


def log_in(api: Api, name: str = "ann", password: str = PASSWORD) -> Any:
    return api.client.post("/api/login", json={"name": name, "password": password})


def test_a_login_gives_a_cookie_that_scripts_cannot_read_and_a_csrf_token(api: Api, ann: Any) -> None:
    answer = log_in(api)
    assert answer.status_code == 200
    set_cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in set_cookie
    assert "SameSite=lax" in set_cookie
    assert "Path=/" in set_cookie
    assert "Secure" not in set_cookie  # it came over http
    me = api.client.get("/api/me").json()
    assert (me["name"], me["workspaces"], me["csrf"]) == ("ann", {"default": "member"}, answer.json()["csrf"])


def test_over_https_the_cookie_is_sent_over_https_only(api: Api, ann: Any) -> None:
    answer = api.client.post("https://testserver/api/login", json={"name": "ann", "password": PASSWORD})
    assert "Secure" in answer.headers["set-cookie"]


def test_a_write_by_cookie_needs_the_csrf_token_of_this_login(api: Api, ann: Any) -> None:
    csrf = log_in(api).json()["csrf"]
    body = {"machine": "order"}
    assert api.client.post("/api/instances", json=body).status_code == 403
    assert api.client.post("/api/instances", json=body, headers={"X-CSRF-Token": "x" + csrf}).status_code == 403
    made = api.client.post("/api/instances", json=body, headers={"X-CSRF-Token": csrf})
    assert made.status_code == 201
    [row] = api.client.get(f"/api/instances/{made.json()['id']}/history").json()["rows"]
    assert row["actor"] == "user:ann"


def test_a_write_by_cookie_from_another_site_is_refused(api: Api, ann: Any) -> None:
    csrf = log_in(api).json()["csrf"]
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 201), ("none", 201)):
        headers = {"X-CSRF-Token": csrf, "Sec-Fetch-Site": site}
        assert api.client.post("/api/instances", json={"machine": "order"}, headers=headers).status_code == status


def test_a_wrong_password_and_an_unknown_name_are_answered_alike(api: Api, ann: Any) -> None:
    wrong, unknown = log_in(api, password="wrong password"), log_in(api, "nobody")
    assert (wrong.status_code, unknown.status_code) == (401, 401)
    assert wrong.json()["detail"] == unknown.json()["detail"]
    assert "set-cookie" not in wrong.headers


def test_guessing_ends_after_five_attempts_and_begins_anew_after_a_quarter_of_an_hour(api: Api, ann: Any) -> None:
    for _ in range(5):
        assert log_in(api, password="wrong password").status_code == 401
    refused = log_in(api)
    assert (refused.status_code, refused.json()["type"]) == (429, "too-many-attempts")
    assert 1 <= int(refused.headers["retry-after"]) <= 900
    api.clock.advance(timedelta(minutes=16))
    assert log_in(api).status_code == 200


def test_a_link_logs_in_once(api: Api, ann: Any) -> None:
    secret = api.people.login_link(ann.id)
    answer = api.client.get(f"/login?link={secret}", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert api.client.get("/api/me").json()["name"] == "ann"
    api.client.cookies.clear()
    assert api.client.get(f"/login?link={secret}", follow_redirects=False).status_code == 401


def test_after_the_logout_the_cookie_opens_nothing(api: Api, ann: Any) -> None:
    csrf = log_in(api).json()["csrf"]
    secret = api.client.cookies[COOKIE]
    assert api.client.post("/api/logout").status_code == 403
    assert api.client.post("/api/logout", headers={"X-CSRF-Token": csrf}).status_code == 204
    assert api.client.get("/api/me", headers={"Cookie": f"{COOKIE}={secret}"}).status_code == 401


def test_a_session_ends_after_a_day_without_use(api: Api, ann: Any) -> None:
    log_in(api)
    api.clock.advance(timedelta(hours=25))
    api.service.callers.forget()
    assert api.client.get("/api/me").status_code == 401


def test_who_is_disabled_is_out_at_once(api: Api, ann: Any) -> None:
    log_in(api)
    assert api.client.get("/api/me").status_code == 200
    assert api.post(f"/api/users/{ann.id}/disable").status_code == 200
    assert api.client.get("/api/me").status_code == 401


def test_a_new_password_needs_the_old_one_and_ends_the_other_sessions(api: Api, ann: Any) -> None:
    log_in(api)
    other = api.client.cookies[COOKIE]
    csrf = log_in(api).json()["csrf"]
    body = {"password": "a new long password", "old": "wrong"}
    headers = {"X-CSRF-Token": csrf}
    assert api.client.post(f"/api/users/{ann.id}/password", json=body, headers=headers).status_code == 403
    body["old"] = PASSWORD
    assert api.client.post(f"/api/users/{ann.id}/password", json=body, headers=headers).status_code == 200
    assert api.client.get("/api/me").status_code == 200
    api.client.cookies.clear()
    assert api.client.get("/api/me", headers={"Cookie": f"{COOKIE}={other}"}).status_code == 401
    assert log_in(api).status_code == 401
    assert log_in(api, password="a new long password").status_code == 200


def test_what_people_do_beside_instances_is_written_down(api: Api, ann: Any) -> None:
    log_in(api, password="wrong password")
    log_in(api)
    api.client.cookies.clear()
    api.post("/api/tokens", {"name": "robot", "scopes": ["read"]})
    body = api.get("/api/actions").json()["actions"]
    assert [(a["what"], a["actor"]) for a in body[:3]] == [
        (body[0]["what"], "owner:owner/setup"),
        (body[1]["what"], body[1]["actor"]),
        ("login_failed", "system:login"),
    ]
    assert "token" in body[0]["what"]
    assert PASSWORD not in api.get("/api/actions").text


def test_when_a_token_was_used_is_known_soon_after(api: Api) -> None:
    api.get("/api/me", "agent")
    api.service.callers.write_uses()
    [made] = [t for t in api.get("/api/tokens").json()["tokens"] if t["name"] == "agent"]
    assert made["used_at"] is not None
    assert made["secret"] is None
