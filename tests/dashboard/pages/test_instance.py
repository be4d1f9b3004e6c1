"""The page of an instance: why it is where it is, exactly what one may do, and everything that happened to it."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa

from interlock.ai.calls import Ended, Question, note
from interlock.dashboard import evidence, family, timeline
from interlock.engine import Result
from interlock.engine.artifacts import Artifact
from interlock.engine.creating import create
from interlock.machine import FAILED, FINAL, OWNER, USER, Actor, Fail, Machine, Registry, State, Transition
from interlock.store import tables as t
from tests.support.api import Broken, order
from tests.support.site import EVIL, Site

BY = Actor(OWNER, "test")


def path(id: UUID) -> str:
    return f"/ui/instances/{id}"


def state(site: Site, id: UUID) -> str:
    return site.api.engine.get(id).state


def events(page: str) -> set[str]:
    return set(re.findall(r'name="event" value="([^"]*)"', page))


def words(page: str) -> str:
    """What is read, without the tags."""
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


# -- who sees it, and what they may do


def test_it_is_there_for_its_workspace_and_for_nobody_else(site: Site) -> None:
    it = site.api.asked().id
    for who in ("owner", "member", "reviewer", "viewer"):
        assert site.get(path(it), who).status_code == 200
    for who in ("north-owner", "north-viewer"):
        assert site.get(path(it), who).status_code == 404
    assert site.get(path(uuid4())).status_code == 404


def test_each_has_buttons_for_exactly_the_events_they_may_fire(site: Site) -> None:
    it = site.api.asked().id
    may = {who: events(site.get(path(it), who).text) for who in ("owner", "member", "reviewer", "viewer")}
    assert may == {
        "owner": {"approve", "refuse", "destroy", "cancel"},
        "member": {"approve", "refuse", "cancel"},
        "reviewer": set(),
        "viewer": set(),
    }


def test_pausing_is_for_members_and_forcing_for_owners(site: Site) -> None:
    it = site.api.asked().id
    offered = {
        who: {act for act in ("pause", "force") if f'action="{path(it)}/{act}"' in site.get(path(it), who).text}
        for who in ("owner", "member", "viewer")
    }
    assert offered == {"owner": {"pause", "force"}, "member": {"pause"}, "viewer": set()}


def test_an_event_is_fired_with_its_fields_and_reason_and_the_page_says_so(site: Site) -> None:
    it = site.api.asked().id
    answer = site.send(
        path(it), f"{path(it)}/fire", {"event": "approve", "f_note": "well done", "reason": "looks right"}
    )
    assert "Approve: now sent." in answer.text
    found = site.api.engine.get(it)
    assert (found.state, found.data["note"]) == ("sent", "well done")
    assert site.api.engine.history(it)[-1].payload["reason"] == "looks right"


def test_a_form_that_is_sent_twice_is_done_once(site: Site) -> None:
    it = site.api.asked().id
    fields = {**site.form(path(it), f"{path(it)}/fire"), "event": "approve"}
    first, second = (site.browser().post(f"{path(it)}/fire", data=fields).text for _ in range(2))
    assert "now sent" in first
    assert "now sent" in second
    assert [row.event for row in site.api.engine.history(it)].count("approve") == 1


@pytest.mark.parametrize("action", ["fire", "pause", "force"])
def test_a_stale_page_changes_nothing_and_says_so(site: Site, action: str) -> None:
    it = site.api.asked().id
    fields = {**site.form(path(it), f"{path(it)}/{action}"), "event": "approve", "to": "sent", "reason": "x"}
    site.api.engine.fire(it, "refuse", actor=BY)
    answer = site.browser().post(f"{path(it)}/{action}", data=fields)
    assert "Nothing changed: the instance has moved to refused" in answer.text
    assert (state(site, it), site.api.engine.get(it).paused_at) == ("refused", None)


@pytest.mark.parametrize("action", ["fire", "pause", "resume", "cancel", "force"])
def test_a_form_without_its_token_is_refused_and_so_is_who_may_not(site: Site, action: str) -> None:
    it = site.api.asked().id
    fields = {"event": "approve", "to": "sent", "reason": "x"}
    assert site.browser().post(f"{path(it)}/{action}", data=fields).status_code == 403
    for who, status in (("viewer", 403), ("reviewer", 403), ("north-owner", 404)):
        token = site.form("/ui/logout", "/ui/logout", who)["csrf"]
        answer = site.browser(who).post(f"{path(it)}/{action}", data={**fields, "csrf": token})
        assert answer.status_code == status
    assert state(site, it) == "asked"


def test_it_is_paused_until_a_moment_resumed_and_cancelled(site: Site) -> None:
    it = site.api.new()
    site.send(path(it), f"{path(it)}/pause", {"reason": "a strike", "until": "2099-01-01T10:00"})
    paused = site.api.engine.get(it)
    assert paused.paused_at is not None
    assert paused.wake == "resume"
    site.send(path(it), f"{path(it)}/resume")
    assert site.api.engine.get(it).paused_at is None


def test_it_is_cancelled_along_the_declared_way(site: Site) -> None:
    it = site.api.new()
    token = site.form("/ui/logout", "/ui/logout", "member")["csrf"]
    answer = site.browser("member").post(f"{path(it)}/cancel", data={"csrf": token, "back": path(it)})
    assert "It is now cancelled." in answer.text
    assert state(site, it) == "cancelled"


def test_a_moment_that_is_none_is_refused(site: Site) -> None:
    it = site.api.new()
    assert site.send(path(it), f"{path(it)}/pause", {"until": "soon"}).status_code == 422
    assert site.api.engine.get(it).paused_at is None


def test_an_owner_forces_it_with_a_reason(site: Site) -> None:
    it = site.api.asked().id
    assert site.send(path(it), f"{path(it)}/force", {"to": "sent", "reason": " "}).status_code == 422
    assert "Forced: now sent." in site.send(path(it), f"{path(it)}/force", {"to": "sent", "reason": "by hand"}).text
    assert "forced by owner" in words(site.get(path(it)).text)


# -- what it says


def test_it_says_why_it_waits_who_may_act_and_what_happens_by_itself(site: Site) -> None:
    it = site.api.asked().id
    site.api.clock.advance(timedelta(hours=2))
    page_text = words(site.get(path(it)).text)
    assert "It waits for a person to approve it, for 2 h" in page_text
    assert "Possible actions you: approve, " in page_text
    assert "agents: report" in page_text
    assert "Next it moves to refused (refuse), in 22 h" in page_text


def test_the_timeline_has_what_happened_and_what_comes(site: Site) -> None:
    it = site.api.asked({"item": "coffee"}).id
    page_text = words(site.get(path(it)).text)
    for part in ("new created by the system", "+ is item: coffee", "asked checked, by a worker", "Today"):
        assert part in page_text, part
    assert "automatic (refuse), if nobody acts" in page_text


def test_a_failure_is_in_the_timeline_with_where_and_how_it_goes_on(site: Site) -> None:
    it = site.api.new()
    [claim] = site.api.engine.claim(uuid4(), ["order"], 1)
    site.api.engine.finish([Result(claim, Fail(Broken("the scale is broken")))])
    page_text = words(site.get(path(it)).text)
    assert "new failed" in page_text
    assert "Broken: the scale is broken" in page_text
    assert "failure 1 of this step; retried in" in page_text


def test_a_long_history_comes_in_pages(site: Site) -> None:
    it = site.api.new()
    for _ in range(70):
        site.api.engine.pause(it, actor=BY)
        site.api.engine.resume(it, actor=BY)
    keys: list[int] = []
    url: str | None = path(it)
    while url:
        page = site.get(url).text
        keys += [int(key) for key in re.findall(r'data-key="h(\d+)"', page)]
        found = re.search(r'rel="next" href="([^"]*)"', page)
        url = found[1] if found else None
    assert keys == list(range(141, 0, -1))


def test_secrets_in_the_data_are_hidden_in_every_tab(site: Site) -> None:
    it = site.api.asked({"api_key": "very-secret-value"}).id
    for tab in ("timeline", "data", "artifacts", "effects", "family", "messages", "nothing-like-that"):
        page = site.get(f"{path(it)}?tab={tab}")
        assert page.status_code == 200
        assert "very-secret-value" not in page.text
    assert "[hidden]" in site.get(f"{path(it)}?tab=data").text


def test_hostile_text_is_shown_as_text_in_every_tab(site: Site) -> None:
    api = site.api
    it = api.asked({"item": EVIL, "note": EVIL}, key=EVIL[:90], labels={EVIL: EVIL}).id
    api.engine.pause(it, actor=BY, reason=EVIL)
    api.engine.keep_artifact(it, "evil<b>.html", EVIL.encode(), media_type="text/html")
    api.engine.keep_artifact(it, EVIL, EVIL.encode(), media_type="text/plain")
    api.engine.outbox.put("mail", EVIL, EVIL, {}, instance_id=it, workspace="default")
    for tab in ("timeline", "data", "artifacts", "effects", "family", "messages"):
        page = site.get(f"{path(it)}?tab={tab}").text
        assert EVIL[-7:] in page, tab
        for part in ("<script>alert", "<img src=x", "evil<b>", '"><img'):
            assert part not in page, (tab, part)


def test_its_chain_is_verified_on_demand(site: Site) -> None:
    it = site.api.asked().id
    assert "chain verified" not in site.get(path(it)).text
    assert "chain verified" in site.get(f"{path(it)}?verify=1").text
    change = sa.update(t.instance).where(t.instance.c.id == it).values(state="sent")
    site.api.engine.store.write(lambda conn: conn.execute(change))
    assert "chain broken" in site.get(f"{path(it)}?verify=1").text


def test_its_family_is_a_tree(site: Site) -> None:
    dead = site.api.dead()
    it = site.api.engine.dead_letters.get(dead).instance_id
    site.api.engine.force(it, "refused", actor=BY, reason="x")
    again = site.api.engine.dead_letters.retry(dead, actor=BY).id
    page = site.get(f"{path(again)}?tab=family").text
    assert page.index(f'data-key="{it}" class="deep-0"') < page.index(f'data-key="{again}" class="deep-1"')


def test_its_family_is_drawn_over_time_with_the_same_in_words(site: Site) -> None:
    it = site.api.asked().id
    assert 'class="lives"' not in site.get(f"{path(it)}?tab=family").text, "nothing to compare"
    site.api.clock.advance(timedelta(minutes=10))
    site.api.engine.fire(it, "refuse", actor=BY)
    child = site.api.engine.write(lambda unit: create(unit, order, {}, BY, parent=unit.lock(it))).id
    site.api.clock.advance(timedelta(minutes=30))
    page = site.get(f"{path(child)}?tab=family").text
    said = re.findall(r'<svg viewBox="0 0 1000 10"[^>]*aria-label="([^"]*)"', page)
    assert [one.partition(": ")[2] for one in said] == ["new 0 ms, then asked 10 min, then refused", "new 30 min"]
    assert f'data-key="life-{child}" aria-current="true"' in page
    assert re.search(r'x="0.0" y="1" width="250.0" height="8"><title>asked 10 min', page)


def test_a_large_family_is_drawn_in_part_and_short_stays_are_seen(site: Site) -> None:
    first = site.api.asked()
    line = [(first, "first", 0)] * (family.DRAWN + 1)
    now = first.created_at + 10_000_000
    entered = {first.id: [("new", first.created_at), ("asked", first.created_at + 1), ("new", now - 1), ("asked", now)]}
    found = family.lives(site.api.engine.registry, line, entered, now)
    assert (len(found.rows), found.whole, found.ends) == (family.DRAWN, False, "now")
    assert [(part.x, part.width) for part in found.rows[0].parts] == [(0.0, 1000.0), (995, 5)]
    many = {first.id: [("new", first.created_at + n) for n in range(100)]}
    assert "90 more, then" in family.lives(site.api.engine.registry, line[:2], many, now).rows[0].sentence


def test_a_relative_that_gave_up_is_drawn_as_failed_until_now(site: Site) -> None:
    stuck = Machine(
        "stuck",
        initial="new",
        states=[State("new"), State("broken", FAILED), State("done", FINAL)],
        transitions=[
            Transition("new", "broken", on="fail"),
            Transition("broken", "done", on="resolve", by=USER),
            Transition("new", "done", on="do"),
        ],
    )
    one = replace(site.api.asked(), machine="stuck", state="broken", created_at=0, finished_at=10)
    found = family.lives(Registry([stuck]), [(one, "one", 0)], {one.id: [("new", 0), ("broken", 10)]}, 100)
    drawn = [(part.kind, part.x, part.width) for part in found.rows[0].parts]
    assert drawn == [("work", 0.0, 100.0), ("failed", 100.0, 900.0)]
    assert found.ends == "now"


def test_its_messages_and_effects_are_listed(site: Site) -> None:
    it = site.api.asked().id
    site.api.engine.outbox.put("mail", "ann@example.org", "A reminder", {}, instance_id=it, workspace="default")
    assert "ann@example.org" in site.get(f"{path(it)}?tab=messages").text
    assert "No effects." in site.get(f"{path(it)}?tab=effects").text


# -- artifacts


def test_html_is_cleaned_and_shown_in_a_sandbox(site: Site) -> None:
    it = site.api.asked().id
    content = b"<h1>Offer</h1><script>alert(1)</script><a href='javascript:x'>go</a><img src=//evil onerror=x>"
    site.api.engine.keep_artifact(it, "offer.html", content, media_type="text/html")
    page = site.get(f"{path(it)}?tab=artifacts").text
    assert 'sandbox=""' in page
    assert "&lt;h1&gt;Offer&lt;/h1&gt;" in page
    for part in ("alert(1)", "javascript:", "onerror", "evil"):
        assert part not in page


@pytest.mark.parametrize(
    ("media_type", "kind", "disposition"),
    [
        ("image/png", "image/png", "inline"),
        ("application/pdf", "application/pdf", "inline"),
        ("text/html", "application/octet-stream", "attachment"),
        ("image/svg+xml", "application/octet-stream", "attachment"),
    ],
)
def test_the_content_is_served_so_that_nothing_in_it_runs(
    site: Site, media_type: str, kind: str, disposition: str
) -> None:
    it = site.api.asked().id
    digest = site.api.engine.keep_artifact(it, "a b", b"<svg onload=x>", media_type=media_type)
    answer = site.get(f"{path(it)}/artifacts/{digest}")
    assert answer.headers["content-type"] == kind
    assert answer.headers["content-disposition"] == f"{disposition}; filename*=UTF-8''a%20b"
    assert answer.headers.get_list("content-security-policy")[0].startswith("default-src 'none'")
    assert len(answer.headers.get_list("content-security-policy")) == 1
    assert answer.headers["x-frame-options"] == "SAMEORIGIN"
    assert site.get(f"{path(it)}/artifacts/{digest}", "north-owner").status_code == 404
    other = site.api.asked().id
    assert site.get(f"{path(other)}/artifacts/{digest}").status_code == 404


def test_every_other_page_cannot_be_framed(site: Site) -> None:
    headers = site.get(path(site.api.asked().id)).headers
    assert headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]


def test_what_is_too_big_or_unknown_is_only_saved() -> None:
    def artifact(media_type: str, size: int = 10) -> Artifact:
        return Artifact("a", media_type, "0", "", 0, size)

    assert evidence.how(artifact("text/plain")) == "text"
    assert evidence.how(artifact("text/plain", evidence.MOST_SHOWN + 1)) == "save"
    assert evidence.how(artifact("image/svg+xml")) == "save"
    assert evidence.how(artifact("application/zip")) == "save"
    assert evidence.show(artifact("application/json"), b"{").how == "text"
    assert evidence.show(artifact("application/json"), b'{"a": 1}').value == {"a": 1}


# -- words


def test_changes_go_down_to_the_fields_inside_and_hide_secrets() -> None:
    before = {"fields": {"term": "12", "same": 1}, "token": "old-secret", "gone": "x"}
    after = {"set": {"fields": {"term": "24", "same": 1, "new": True}, "token": "new-secret"}, "unset": ["gone"]}
    found = {(c.name, c.before, c.after) for c in timeline.changes(before, after)}
    assert found == {("fields.term", "12", "24"), ("fields.new", None, "true"), ("gone", "x", None)}


def test_calls_of_a_model_are_shown_with_task_model_tokens_cost_time_and_error(site: Site) -> None:
    it = site.api.new()
    asked = Question(it, "default", "ann", None, "read_terms", "v1", "strong", "anthropic", "some-model", 1, "h", None)
    found = (
        Ended("some-model", input_tokens=1234, output_tokens=56, cost=12_300_000, took=2_000_000),
        Ended("some-model", cached=True, input_tokens=0, output_tokens=0, cost=0),
        Ended("some-model", attempt=2, error_type="ModelTimeout", error=f"{EVIL} no answer"),
        Ended("rules", input_tokens=0, output_tokens=0, cost=0),
    )
    site.api.engine.write(lambda unit: [note(unit, None, asked, one) for one in found])
    page = site.get(f"/ui/instances/{it}?tab=ai").text
    shown = words(page)
    for text in ("Model calls 4", "read terms", "for ann", "some-model strong", "1,234, 56", "$0.0123", "2.0 s"):
        assert text in shown
    for text in ("cached", "ModelTimeout", "second try", "unknown", "no answer"):
        assert text in shown
    assert "<script>alert" not in page
    assert "some-model" not in site.get(f"/ui/instances/{it}?tab=effects").text


def test_an_instance_for_which_no_model_was_asked_has_no_tab_for_it(site: Site) -> None:
    assert "Model calls" not in site.get(f"/ui/instances/{site.api.new()}").text
