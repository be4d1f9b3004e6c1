"""Halting: a switch for all machines and one for each, for those who operate the installation."""

from __future__ import annotations

import re

from interlock.machine import OWNER, Actor
from tests.support.site import EVIL, Site

BY = Actor(OWNER, "test")


def halted(site: Site) -> list[str]:
    return [one.machine for one in site.api.engine.halts.all()]


def csrf(site: Site, who: str) -> str:
    return site.form("/ui/logout", "/ui/logout", who)["csrf"]


def test_everything_is_halted_and_resumed(site: Site) -> None:
    assert "All machines are running" in site.get("/ui/halt").text
    answer = site.send("/ui/halt", "/ui/halt", {"reason": "the disk is full", "machine": "*"})
    assert "All machines are halted" in answer.text
    assert "the disk is full" in answer.text
    assert halted(site) == ["*"]
    assert "All machines are halted" in site.get("/ui/instances", "viewer").text
    site.send("/ui/halt", "/ui/halt/resume", {"machine": "*"})
    assert halted(site) == []


def test_one_machine_is_halted_with_who_and_why(site: Site) -> None:
    page = site.send("/ui/halt", "/ui/halt", {"machine": "order", "reason": "a strike"}, who="member").text
    assert halted(site) == ["order"]
    assert re.search(r"member, <time[^>]*>now</time>: a strike", page)
    site.send("/ui/halt", "/ui/halt/resume", {"machine": "order"}, who="member")
    assert halted(site) == []


def test_every_page_says_who_halted_a_machine_and_why(site: Site) -> None:
    site.send("/ui/halt", "/ui/halt", {"machine": "order", "reason": "a strike"}, who="member")
    elsewhere = site.get("/ui/instances", "viewer").text
    assert "is halted by member: a strike." in elsewhere
    assert '<div id="halted-now" data-live="all"></div>' not in elsewhere
    site.send("/ui/halt", "/ui/halt/resume", {"machine": "order"}, who="member")
    assert '<div id="halted-now" data-live="all"></div>' in site.get("/ui/instances", "viewer").text


def test_halting_twice_says_who_was_first(site: Site) -> None:
    site.api.engine.halts.halt("order", actor=BY)
    fields = {"csrf": csrf(site, "owner"), "machine": "order", "back": "/ui/halt"}
    assert "already halted, by test" in site.browser().post("/ui/halt", data=fields).text
    site.api.engine.halts.resume("order", actor=BY)
    assert "not halted: nothing to resume" in site.browser().post("/ui/halt/resume", data=fields).text


def test_a_form_that_comes_again_after_the_work_was_resumed_halts_nothing(site: Site) -> None:
    fields = {**site.form("/ui/halt", "/ui/halt"), "machine": "*"}
    site.browser().post("/ui/halt", data=fields)
    site.api.engine.halts.resume("*", actor=BY)
    site.browser().post("/ui/halt", data=fields)
    assert halted(site) == []


def test_only_those_who_operate_the_installation_can_change_it(site: Site) -> None:
    site.api.engine.halts.halt("order", actor=BY)
    for who in ("viewer", "reviewer", "north-viewer", "north-owner"):
        page = site.get("/ui/halt", who)
        assert page.status_code == 200
        assert 'action="/ui/halt' not in page.text
        for path in ("/ui/halt", "/ui/halt/resume"):
            fields = {"csrf": csrf(site, who), "machine": "order"}
            assert site.browser(who).post(path, data=fields).status_code == 403
    assert halted(site) == ["order"]


def test_a_form_without_its_token_and_a_machine_that_nobody_knows_are_refused(site: Site) -> None:
    assert site.browser().post("/ui/halt", data={"machine": "*"}).status_code == 403
    assert site.send("/ui/halt", "/ui/halt", {"machine": EVIL}).status_code == 404
    assert halted(site) == []


def test_a_hostile_reason_is_shown_as_text(site: Site) -> None:
    site.send("/ui/halt", "/ui/halt", {"machine": "*", "reason": EVIL})
    page = site.get("/ui/halt").text
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
    assert "<img src=x" not in page


def test_the_instance_says_that_its_machine_is_halted(site: Site) -> None:
    it = site.api.new()
    site.send("/ui/halt", "/ui/halt", {"machine": "order", "reason": "a strike"})
    page = site.get(f"/ui/instances/{it}").text
    assert "All work of order is halted: owner stopped it" in page
    assert "(a strike)" in page


def test_a_machine_is_halted_on_its_page_and_everybody_reads_why(site: Site) -> None:
    site.send("/ui/machines/order", "/ui/halt", {"reason": "a strike"})
    assert halted(site) == ["order"]
    page = site.get("/ui/machines/order", "viewer").text
    assert ": a strike." in page
    assert "/ui/halt/resume" not in page
    site.send("/ui/machines/order", "/ui/halt/resume")
    assert halted(site) == []
    site.send("/ui/halt", "/ui/halt", {"reason": "the disk is full", "machine": "*"})
    assert "the disk is full" in site.get("/ui/instances", "viewer").text
