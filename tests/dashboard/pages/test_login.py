"""The pages of a login: an old link leads to a page that says what to do, and who is logged in is sent on."""

from __future__ import annotations

from starlette.testclient import TestClient

from tests.support.site import Site

BROWSER = {"Accept": "text/html,application/xhtml+xml"}


def stranger(site: Site) -> TestClient:
    """A browser that nobody is logged in with."""
    return TestClient(site.app, raise_server_exceptions=False)


def test_an_old_link_leads_to_a_page_that_says_what_to_do(site: Site) -> None:
    browser = stranger(site)
    answer = browser.get("/login?link=used-before", headers=BROWSER, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui/login?link=refused")
    page = browser.get("/ui/login?link=refused")
    assert page.status_code == 200
    assert "This link is not valid any more" in page.text
    assert "interlock login-link" in page.text


def test_an_address_without_a_link_leads_to_the_login_and_speaks_of_no_link(site: Site) -> None:
    answer = stranger(site).get("/login", headers=BROWSER, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui/login")
    assert "not valid any more" not in stranger(site).get("/ui/login").text


def test_somebody_who_is_logged_in_is_sent_on(site: Site) -> None:
    answer = site.browser().get("/login?link=used-before", headers=BROWSER, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui")


def test_a_program_gets_the_refusal_as_a_problem(site: Site) -> None:
    answer = stranger(site).get("/login?link=used-before", headers={"Accept": "application/json"})
    assert (answer.status_code, answer.json()["type"]) == (401, "not-authenticated")


def test_the_page_shows_no_words_of_an_address(site: Site) -> None:
    page = stranger(site).get("/ui/login?link=Your+account+is+locked")
    assert "locked" not in page.text
