"""Every address that changes something asks who it is, also one that is added tomorrow."""

from __future__ import annotations

from starlette.testclient import TestClient

from tests.attack.addresses import EACH, filled
from tests.support.site import Site

OPEN = {
    "POST /api/login": 422,  # a name and a password are the question
    "POST /ui/login": 422,
    "POST /workflows/{id}/resume": 422,  # a signed link is; test_resume_links tries those
    "POST /workflows/{id}/resume/form": 403,
}
WRITES = [(method, path) for method, path in EACH if method not in {"GET", "HEAD", "OPTIONS"}]


def test_nobody_writes_without_showing_who_they_are(site: Site) -> None:
    nobody, wrong = TestClient(site.app, raise_server_exceptions=False, follow_redirects=False), []
    for method, path in WRITES:
        place = f"{method} {path}"
        for sent in ({"json": {}}, {"data": {"a": "b"}}):
            answer = nobody.request(method, filled(path), **sent)  # type: ignore[arg-type]
            status, text = answer.status_code, answer.text
            if place in OPEN:
                good = status in {OPEN[place], 403}
            elif path.startswith("/ui"):
                good = status == 303 and answer.headers["location"].startswith("/ui/login")
            else:  # where it is 422, its body was read first, and nothing else
                good = status == 401 or (status == 422 and ("body" in text or "Field" in text))
            if not good:
                wrong.append((place, status, text[:200]))
    assert wrong == []
    assert len(WRITES) > 70


def test_a_login_from_another_site_writes_nothing(site: Site) -> None:
    me, wrong = site.browser("member"), []
    for method, path in WRITES:
        if f"{method} {path}" in OPEN:
            continue
        for headers in ({}, {"Sec-Fetch-Site": "cross-site"}):
            answer = me.request(method, filled(path), json={}, headers=headers, follow_redirects=False)
            if answer.status_code not in {403, 422}:
                wrong.append((method, path, answer.status_code, answer.text[:200]))
    assert wrong == []
