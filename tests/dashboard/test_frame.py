"""What every page shares: the login, who sees which part, safe headers, and files that browsers may keep."""

from __future__ import annotations

import re
from pathlib import Path
from uuid import uuid4

import pytest
from starlette.testclient import TestClient

import interlock.dashboard
from interlock.dashboard.site import bring
from interlock.dashboard.views import View
from interlock.engine import Instance
from interlock.machine import Application, InterlockError, PageLink, Registry, Scope
from interlock.people import Role
from interlock.store import open_store
from tests.support.api import BY, open_api
from tests.support.site import EVIL, Site

PAGES = ("/ui", "/ui/reviews", "/ui/schedules", "/ui/outbox", "/ui/costs", "/ui/settings", "/ui/logout")
OPERATORS = ("/ui/workers", "/ui/alerts")


def test_whoever_is_not_logged_in_is_asked_to_and_sent_back(site: Site) -> None:
    stranger = TestClient(site.app, follow_redirects=False)
    asked = stranger.get("/ui/reviews?machine=order")
    assert (asked.status_code, asked.headers["location"]) == (303, "/ui/login?after=/ui/reviews%3Fmachine%3Dorder")
    site.api.people.add("ann", role=Role.REVIEWER, password="correct horse battery", by=BY)
    form = {"name": "ann", "password": "correct horse battery", "after": "/ui/reviews?machine=order"}
    done = stranger.post("/ui/login", data=form)
    assert (done.status_code, done.headers["location"]) == (303, "/ui/reviews?machine=order")
    assert stranger.get("/ui/reviews").status_code == 200


@pytest.mark.parametrize("after", ["https://evil.example", "//evil.example", "/ui//evil", "/ui\\evil", "javascript:x"])
def test_a_login_leads_to_no_other_site(site: Site, after: str) -> None:
    site.api.people.add("ann", role=Role.REVIEWER, password="correct horse battery", by=BY)
    form = {"name": "ann", "password": "correct horse battery", "after": after}
    done = TestClient(site.app, follow_redirects=False).post("/ui/login", data=form)
    assert done.headers["location"] == "/ui"


def test_a_wrong_password_is_shown_on_the_page_and_guessing_ends(site: Site) -> None:
    stranger = TestClient(site.app, follow_redirects=False)
    for _ in range(5):
        wrong = stranger.post("/ui/login", data={"name": "owner", "password": "wrong password"})
        assert wrong.status_code == 401
        assert "name or the password is wrong" in wrong.text
    assert stranger.post("/ui/login", data={"name": "owner", "password": "wrong password"}).status_code == 429


@pytest.mark.parametrize("path", [*PAGES, *OPERATORS, "/ui/audit"])
def test_every_page_is_there_for_the_owner_with_headers_that_protect_it(site: Site, path: str) -> None:
    page = site.get(path)
    assert page.status_code == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["x-frame-options"] == "DENY"
    assert not re.search(r"<script(?! type=\"module\" src=\"/ui/static/)", page.text)
    assert " style=" not in page.text
    assert "<h1" in page.text


@pytest.mark.parametrize("path", OPERATORS)
def test_what_belongs_to_the_installation_is_for_the_first_workspace(site: Site, path: str) -> None:
    assert site.get(path, "viewer").status_code == 200
    assert site.get(path, "north-owner").status_code == 403
    assert f'href="{path}"' not in site.get("/ui", "north-owner").text


def test_a_page_that_was_not_changed_is_not_sent_again(site: Site) -> None:
    first = site.get("/ui/logout")
    assert first.headers["etag"]
    assert first.headers["cache-control"] == "no-store"


def test_a_live_page_that_is_gone_gets_an_answer_that_no_browser_reports_as_an_error(site: Site) -> None:
    missing, live = f"/ui/instances/{uuid4()}", {"X-Live": "1"}
    assert site.get(missing).status_code == 404
    gone = site.get(missing, headers=live)
    assert (gone.status_code, gone.headers["x-gone"], gone.content) == (204, "404", b"")
    assert site.get("/ui/workers", "north-owner", headers=live).headers["x-gone"] == "403"
    stranger = TestClient(site.app, follow_redirects=False)
    asked = stranger.get("/ui", headers=live)
    assert (asked.status_code, asked.headers["x-gone"]) == (204, "login")
    stream = stranger.get("/ui/live?topic=all")
    assert (stream.status_code, stream.text.splitlines()[0]) == (200, "event: ended")


def test_the_answer_to_a_form_is_live_only_if_its_address_can_be_loaded(site: Site) -> None:
    token = site.send("/ui/settings", "/ui/tokens/new", {"name": "robot", "kind": "person", "workspace": "default"})
    assert "It is not shown again" in token.text
    assert "<body data-no-live>" in token.text
    assert "<body>" in site.get("/ui/settings").text


def test_static_files_are_kept_for_ever_and_nothing_else_is_served(site: Site) -> None:
    page = site.get("/ui").text
    for address in re.findall(r"/ui/static/[^\"]+", page):
        found = site.get(address)
        assert found.status_code == 200, address
        assert "immutable" in found.headers["cache-control"]
    assert site.get("/ui/static/x/icons.txt").status_code == 404
    assert site.get("/ui/static/x/..%2Fsite.py").status_code == 404


def test_errors_are_pages_too(site: Site) -> None:
    missing = site.get("/ui/nothing")
    assert (missing.status_code, "Not found" in missing.text) == (404, True)
    assert missing.headers["content-type"].startswith("text/html")


def test_the_theme_is_set_on_the_server(site: Site) -> None:
    assert "data-theme" not in site.get("/ui").text
    site.send("/ui/settings", "/ui/theme", {"theme": "dark"})
    assert 'data-theme="dark"' in site.get("/ui").text
    site.browser().cookies.set("interlock_theme", EVIL.encode("ascii", "ignore").decode().replace(";", ""))
    assert "<script>alert" not in site.get("/ui").text


def test_after_the_logout_the_pages_ask_for_a_login(site: Site) -> None:
    done = site.send("/ui/logout", "/ui/logout")
    assert "Log in" in done.text
    assert "Log in" in site.get("/ui/reviews").text


CSS = (Path(interlock.dashboard.__file__).parent / "static" / "app.css").read_text()
TOKENS = {
    name: (light, dark)
    for name, light, dark in re.findall(r"--([a-z-]+):light-dark\((#[0-9a-f]{3,6}),(#[0-9a-f]{3,6})\)", CSS)
}


def contrast(one: str, other: str) -> float:
    def light(colour: str) -> float:
        text = colour[1:] if len(colour) == 7 else "".join(c * 2 for c in colour[1:])
        parts = [int(text[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1])
def test_every_text_can_be_read_on_every_surface(theme: int) -> None:
    kinds = ("work", "wait", "person", "failed", "done", "ended")
    for surface in ("bg", "surface", "sunken", "hover"):
        for text in ("text", "muted", "accent", *kinds):
            assert contrast(TOKENS[text][theme], TOKENS[surface][theme]) >= 4.5, (text, surface)
    for kind in kinds:
        assert contrast(TOKENS[kind][theme], TOKENS[f"{kind}-soft"][theme]) >= 4.5, kind
        assert contrast(TOKENS["text"][theme], TOKENS[f"{kind}-soft"][theme]) >= 4.5, kind
    assert contrast(TOKENS["on-accent"][theme], TOKENS["accent"][theme]) >= 4.5
    for line in ("edge", "person-line", "failed-line", "wait-line", "done-line", "work-line"):
        assert contrast(TOKENS[line][theme], TOKENS["surface"][theme]) >= 3, line


def test_pages_of_applications_are_in_the_navigation_of_those_who_have_the_role(sqlite_url: str) -> None:
    pages = [PageLink("All letters", "/ui/letters"), PageLink("Postage & <fees>", "/ui/postage", role="owner")]
    letters = Registry([Application("letters", pages=pages)])
    with open_store(sqlite_url, durability="normal") as store, open_api(store, applications=[letters]) as api:
        site = Site(api)
        owner, viewer = site.get("/ui").text, site.get("/ui", "viewer").text
    assert '<a class="item" href="/ui/letters">' in owner
    assert '<a class="item" href="/ui/letters">' in viewer
    assert "Postage &amp; &lt;fees&gt;" in owner
    assert "/ui/postage" not in viewer


class BrokenView(View):
    def title(self, instance: Instance) -> str:
        return str(instance.data["nothing"])

    summary = links = evidence = review_page = property(lambda self: 1 / 0)  # type: ignore[assignment]


def test_a_view_that_fails_hides_no_instance(sqlite_url: str) -> None:
    broken = Registry(views={"order": BrokenView()})
    with open_store(sqlite_url, durability="normal") as store, open_api(store, applications=[broken]) as api:
        site, it = Site(api), api.engine.create("order", {"item": "a lamp"}).id
        for path in ("/ui/instances", f"/ui/instances/{it}", "/ui/reviews"):
            page = site.get(path)
            assert page.status_code == 200, path
        assert "a lamp" in site.get("/ui/instances").text


@pytest.mark.parametrize("name", ["", "../static", "kept"])
def test_templates_take_no_place_of_others(name: str) -> None:
    bring("kept", "interlock.dashboard", templates=None, static=None)
    with pytest.raises(InterlockError, match="cannot name the templates of elsewhere"):
        bring(name, "elsewhere")


def test_scopes_are_shown_with_their_meaning_where_tokens_are_made(sqlite_url: str) -> None:
    letters = Registry([Application("letters", scopes=[Scope("post", "send letters")])])
    with open_store(sqlite_url, durability="normal") as store, open_api(store, applications=[letters]) as api:
        page = Site(api).get("/ui/settings").text
    assert 'value="post"><span class="mono">post</span> <span class="small muted">send letters</span>' in page
    assert "create instances</span>" in page


@pytest.mark.parametrize("path", ["/ui/instances/nope", "/ui/outbox/7", "/ui/bulk/<b>"])
def test_an_address_that_is_none_is_a_page_that_is_not_there(site: Site, path: str) -> None:
    page = site.get(path)
    assert page.status_code == 404
    assert "There is no such page: " in page.text
    assert "is not an id." in page.text
    assert "UUID" not in page.text
    assert "<b>" not in page.text
