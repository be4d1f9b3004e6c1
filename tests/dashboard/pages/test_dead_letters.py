"""Dead letters: grouped by what went wrong; retried, resolved or discarded, one by one or all that match."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from interlock.engine import Result
from interlock.engine.deadletters import DeadLetter
from interlock.machine import Fail
from tests.support.api import Broken
from tests.support.site import EVIL, Site


def letter(site: Site, id: UUID) -> DeadLetter:
    return site.api.engine.dead_letters.get(id)


def group(site: Site, id: UUID) -> str:
    return f"/ui/dead-letters?group={letter(site, id).fingerprint}"


def test_an_empty_page_says_what_would_fill_it(site: Site) -> None:
    assert "failed for good" in site.get("/ui/dead-letters").text


def test_equal_failures_are_one_group_with_count_and_example(site: Site) -> None:
    first, second = site.api.dead(), site.api.dead()
    page = site.get("/ui/dead-letters").text
    assert page.count('data-key="' + letter(site, first).fingerprint) == 1
    assert "<b>2</b>" in page
    assert "Broken" in page
    opened = site.get(group(site, first)).text
    for one in (first, second):
        assert f'href="/ui/instances/{letter(site, one).instance_id}"' in opened


def test_each_sees_those_of_their_own_workspaces(site: Site) -> None:
    mine, theirs = site.api.dead(), site.api.dead(workspace="north")
    assert str(letter(site, theirs).instance_id) not in site.get(group(site, theirs)).text
    assert str(letter(site, mine).instance_id) not in site.get(group(site, mine), "north-owner").text
    page = site.get("/ui/dead-letters", "viewer")
    assert page.status_code == 200
    assert "<b>1</b>" in page.text


@pytest.mark.parametrize(
    ("action", "status", "said"),
    [
        ("retry", "retried", "Retrying the step new"),
        ("resolve", "resolved", "Resolved"),
        ("discard", "discarded", "Discarded"),
    ],
)
def test_one_is_acted_on_with_a_note(site: Site, action: str, status: str, said: str) -> None:
    dead, left = site.api.dead(), site.api.dead()
    answer = site.send(group(site, dead), f"/ui/dead-letters/{dead}/{action}", {"reason": "the scale is mended"})
    assert said in answer.text
    closed = letter(site, dead)
    assert (closed.status, closed.closed_by, closed.note) == (status, "owner:owner", "the scale is mended")
    assert letter(site, left).status == "open"
    tab = site.get(f"{group(site, dead)}&status={status}").text
    assert "the scale is mended" in tab


def test_a_retry_begins_at_the_failed_step(site: Site) -> None:
    dead = site.api.dead()
    site.send(group(site, dead), f"/ui/dead-letters/{dead}/retry")
    it = site.api.engine.get(letter(site, dead).instance_id)
    assert (it.state, it.wake) == ("new", "work")


def test_what_somebody_else_closed_meanwhile_is_left_alone(site: Site) -> None:
    dead = site.api.dead()
    fields = site.form(group(site, dead), f"/ui/dead-letters/{dead}/discard")
    site.send(group(site, dead), f"/ui/dead-letters/{dead}/resolve", who="member")
    answer = site.browser().post(f"/ui/dead-letters/{dead}/discard", data=fields)
    assert "already resolved by member" in answer.text
    assert letter(site, dead).status == "resolved"


def test_all_of_a_group_are_retried_in_a_bulk_action(site: Site) -> None:
    dead = [site.api.dead() for _ in range(3)]
    elsewhere = site.api.dead(workspace="north")
    page = site.send(group(site, dead[0]), "/ui/bulk", {"action": "retry", "reason": "mended"})
    assert page.url.path.startswith("/ui/bulk/")
    site.api.engine.bulk.step()
    assert {letter(site, one).status for one in dead} == {"retried"}
    assert letter(site, elsewhere).status == "open"
    assert "<b>3</b><span>retried</span>" in site.get(page.url.path).text


def test_who_may_only_look_has_no_buttons_and_is_refused(site: Site) -> None:
    dead = site.api.dead()
    for who in ("viewer", "reviewer"):
        page = site.get(group(site, dead), who).text
        assert "/retry" not in page
        token = site.form("/ui/logout", "/ui/logout", who)["csrf"]
        for action in ("retry", "resolve", "discard"):
            answer = site.browser(who).post(f"/ui/dead-letters/{dead}/{action}", data={"csrf": token})
            assert answer.status_code == 403
    assert letter(site, dead).status == "open"


def test_another_workspaces_letter_is_not_there(site: Site) -> None:
    dead = site.api.dead()
    token = site.form("/ui/logout", "/ui/logout", "north-owner")["csrf"]
    for id in (dead, uuid4()):
        answer = site.browser("north-owner").post(f"/ui/dead-letters/{id}/discard", data={"csrf": token})
        assert answer.status_code == 404
    assert letter(site, dead).status == "open"


def test_a_form_without_its_token_or_for_something_else_is_refused(site: Site) -> None:
    dead = site.api.dead()
    assert site.browser().post(f"/ui/dead-letters/{dead}/discard", data={}).status_code == 403
    token = site.form("/ui/logout", "/ui/logout")["csrf"]
    assert site.browser().post(f"/ui/dead-letters/{dead}/explode", data={"csrf": token}).status_code == 404
    assert letter(site, dead).status == "open"


def test_hostile_errors_data_and_notes_are_shown_as_text(site: Site) -> None:
    api = site.api
    made = api.new({"item": EVIL, "note": EVIL})
    while not api.engine.dead_letters.find():
        for claim in api.engine.claim(uuid4(), ["order"], 10):
            api.engine.finish([Result(claim, Fail(Broken(EVIL)))])
        api.clock.advance(timedelta(hours=24))
        api.engine.tick()
    dead = api.engine.dead_letters.find()[0].id
    pages = [
        site.get("/ui/dead-letters").text,
        site.get(group(site, dead)).text,
        site.get(f"/ui/instances/{made}").text,
    ]
    site.send(group(site, dead), f"/ui/dead-letters/{dead}/resolve", {"reason": EVIL})
    pages.append(site.get(f"{group(site, dead)}&status=resolved").text)
    for page in pages:
        assert "&lt;script&gt;" in page
        for part in ("<script>alert", "<img src=x"):
            assert part not in page
