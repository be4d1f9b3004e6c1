"""The pool of sandboxes and the dead letters of returns: what they show, and who may do what."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from uuid import uuid4

from interlock.apps.sessions.allocator import pool
from tests.apps.sessions.loans.test_dead_letters import stuck
from tests.apps.sessions.pages.conftest import ROOT, Pages

POOL, LETTERS = f"{ROOT}/pool", f"{ROOT}/dead-letters"


def figures(text: str) -> dict[str, int]:
    found = re.findall(r'<div class="figure[^"]*"><b>(\d+)</b><span>([a-z ]+)</span>', text)
    return {name: int(n) for n, name in found}


def counts(pages: Pages) -> pool.Counts:
    return pages.sessions.engine.read(lambda conn: pool.counts(conn, "local"))


def act(pages: Pages, item: str, what: str, who: str = "owner", **fields: Any) -> Any:
    csrf = pages.site.form("/ui/logout", "/ui/logout", who)["csrf"]
    sent = {"csrf": csrf, "key": uuid4().hex, "what": what, "reason": "looked at it", **fields}
    return pages.site.browser(who).post(f"{POOL}/{item}", data=sent)


def settle(pages: Pages, letter: dict[str, Any], action: str, who: str = "member", **fields: Any) -> Any:
    csrf = pages.site.form("/ui/logout", "/ui/logout", who)["csrf"]
    sent = {"csrf": csrf, "key": uuid4().hex, "action": action, **fields}
    return pages.site.browser(who).post(f"{LETTERS}/{letter['id']}", data=sent)


def test_the_counts_add_up_and_each_sandbox_says_who_has_it(pages: Pages) -> None:
    pages.sessions.set(return_after=3600)
    made = pages.run("Write about tea")
    text = unescape(pages.get(POOL))
    shown = figures(text)
    assert shown == {"free": 3, "borrowed": 1, "being returned": 0, "quarantined": 0, "total": 4}
    assert f'href="{ROOT}/{made}">Write about tea</a>' in text
    assert "Loans and the allocator agree." in text
    assert "renewal" in text
    token = pages.sessions.engine.read(lambda conn: conn.exec_driver_sql("SELECT token FROM sandbox_loan").scalar_one())
    assert token not in text


def test_an_owner_releases_by_force_and_takes_out_of_use_with_a_reason(pages: Pages) -> None:
    pages.sessions.set(return_after=3600)
    made = pages.run("Write about tea")
    item = pages.sessions.look(made)["lease"]["item_id"]
    assert f"{POOL}/{item}" in pages.get(POOL, "owner")
    assert act(pages, item, "release", reason=" ").status_code == 422
    assert act(pages, item, "explode").status_code == 422
    assert act(pages, item, "quarantine").status_code == 200
    assert (counts(pages).quarantined, counts(pages).borrowed) == (1, 0)
    assert "owner: looked at it" in unescape(pages.get(POOL))
    assert "It is free" in act(pages, item, "release").text
    assert counts(pages).free == 4
    assert item in pages.get("/ui/audit?what=sandbox.release", "owner")


def test_members_see_the_pool_and_change_nothing(pages: Pages) -> None:
    pages.run("Write about tea")
    text = pages.get(POOL)
    item = re.search(r'data-key="i([0-9a-f-]{36})"', text)
    assert item is not None
    assert f'action="{POOL}/' not in text
    for who in ("member", "viewer"):
        assert act(pages, item[1], "quarantine", who).status_code == 403
    assert counts(pages).free == 4


def test_the_pool_belongs_to_the_installation(pages: Pages) -> None:
    """A workspace beside the first one sees none of it; the first one sees no session of that workspace."""
    assert pages.site.get(POOL, "north-owner").status_code in {403, 404}
    assert POOL not in pages.get(ROOT, "north-owner")


def test_a_return_that_failed_for_good_is_shown_and_tried_again(pages: Pages) -> None:
    made, letter = stuck(pages.sessions)
    text = unescape(pages.get(LETTERS))
    assert "Giving it back failed" in text
    assert "cleaner failed" in text
    assert made in text
    page = pages.page(made)
    assert "5 of 5" in page
    assert LETTERS in page
    assert "sandbox stuck" in pages.get(ROOT)
    pages.sessions.set(allocator={})
    assert "It is tried again" in settle(pages, letter, "retry", note="the cleaner is back").text
    pages.sessions.go_on(20)
    assert pages.sessions.look(made)["lease"]["state"] == "returned"
    closed = unescape(pages.get(f"{LETTERS}?status=retried"))
    assert "the cleaner is back" in closed
    assert "No open dead letters." in pages.get(LETTERS)


def test_only_an_owner_releases_by_force_from_the_dead_letters(pages: Pages) -> None:
    made, letter = stuck(pages.sessions)
    assert 'value="release-force"' not in pages.get(LETTERS)
    assert 'value="release-force"' in pages.get(LETTERS, "owner")
    assert 'value="retry"' not in pages.get(LETTERS, "viewer")
    assert settle(pages, letter, "release-force").status_code == 403
    assert settle(pages, letter, "retry", "viewer").status_code == 403
    assert settle(pages, letter, "retry", "north-owner").status_code == 404
    assert settle(pages, letter, "explode", "owner").status_code == 422
    assert letter["id"] not in pages.get(LETTERS, "north-owner")
    after = settle(pages, letter, "release-force", "owner", note="nobody uses it")
    assert "Released by force" in after.text
    assert (counts(pages).free, pages.sessions.look(made)["lease"]["resolution"]) == (4, "released_by_force")
