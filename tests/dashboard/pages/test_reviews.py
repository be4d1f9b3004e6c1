"""The inbox: what waits, what is needed to decide, deciding, and what another may not see."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from interlock.dashboard.schema import answer, fields
from interlock.engine import InvalidData
from interlock.machine import Registry
from interlock.store import open_store
from tests.support.api import open_api
from tests.support.effects_and_reviews import leaflet
from tests.support.site import EVIL, Site


def open_review(site: Site, instance_id: UUID) -> str:
    [found] = site.api.engine.reviews.waiting(instance_id=instance_id)
    return str(found.id)


def decide(site: Site, review: str, decision: str, who: str = "owner", **more: str) -> Any:
    fields = {"decision": decision, "f_note": "fine", **more}
    return site.send(f"/ui/reviews?review={review}", f"/ui/reviews/{review}/decide", fields, who)


def test_what_waits_is_listed_with_its_name_and_the_first_is_open(site: Site) -> None:
    it = site.api.asked({"item": "a grand piano"})
    page = site.get("/ui/reviews").text
    assert page.count("a grand piano") >= 2
    assert "Send it?" in page
    assert f"/ui/instances/{it.id}" in page
    assert 'data-hotkey="a"' in page
    assert 'data-hotkey="r"' in page


def test_the_most_urgent_comes_first_and_the_late_stand_apart(site: Site) -> None:
    site.api.asked({"item": "first"})
    site.api.clock.advance(timedelta(hours=1))
    site.api.asked({"item": "second"})
    page = site.get("/ui/reviews").text
    assert page.index("first") < page.index("second")


def test_a_decision_moves_the_instance_and_the_next_is_shown(site: Site) -> None:
    one, two = site.api.asked({"item": "one"}), site.api.asked({"item": "two"})
    first = open_review(site, one.id)
    after = decide(site, first, "yes", reason="looks right")
    assert after.status_code == 200
    assert "Decided: yes" in after.text
    assert site.api.engine.get(one.id).state == "sent"
    last = site.api.engine.history(one.id)[-1]
    assert (last.actor, last.payload["reason"], last.payload["answer"]) == (
        "owner:owner",
        "looks right",
        {"note": "fine"},
    )
    assert open_review(site, two.id) in after.text


def test_an_unknown_decision_is_refused_and_nothing_moves(site: Site) -> None:
    it = site.api.asked()
    refused = decide(site, open_review(site, it.id), "perhaps")
    assert (refused.status_code, "perhaps" in refused.text) == (422, True)
    assert site.api.engine.get(it.id).state == "asked"


def test_a_decision_for_what_moved_on_changes_nothing_and_says_so(site: Site) -> None:
    it = site.api.asked()
    review = open_review(site, it.id)
    form = site.form(f"/ui/reviews?review={review}", f"/ui/reviews/{review}/decide")
    site.api.engine.pause(it.id)
    late = site.browser().post(f"/ui/reviews/{review}/decide", data={**form, "decision": "yes", "f_note": "n"})
    assert late.status_code == 409
    assert "Changed in the meantime" in late.text
    assert site.api.engine.get(it.id).state == "asked"


def test_sending_the_same_form_twice_decides_once(site: Site) -> None:
    it = site.api.asked()
    review = open_review(site, it.id)
    data = {
        **site.form(f"/ui/reviews?review={review}", f"/ui/reviews/{review}/decide"),
        "decision": "yes",
        "f_note": "n",
    }
    answers = [site.browser().post(f"/ui/reviews/{review}/decide", data=data) for _ in range(2)]
    assert [a.status_code for a in answers] == [200, 200]
    assert [row.kind for row in site.api.engine.history(it.id)].count("moved") == 2


def test_a_form_without_its_token_is_refused(site: Site) -> None:
    it = site.api.asked()
    review = open_review(site, it.id)
    data = site.form(f"/ui/reviews?review={review}", f"/ui/reviews/{review}/decide")
    for wrong in ({**data, "csrf": ""}, {**data, "csrf": "x" * 64}):
        refused = site.browser().post(f"/ui/reviews/{review}/decide", data={**wrong, "decision": "yes", "f_note": "n"})
        assert refused.status_code == 403
    other = site.browser().post(
        f"/ui/reviews/{review}/decide", data={**data, "decision": "yes"}, headers={"Sec-Fetch-Site": "cross-site"}
    )
    assert other.status_code == 403
    assert site.api.engine.get(it.id).state == "asked"


def test_a_viewer_sees_it_without_buttons_and_cannot_decide(site: Site) -> None:
    it = site.api.asked()
    review = open_review(site, it.id)
    page = site.get("/ui/reviews", "viewer").text
    assert "/decide" not in page
    assert "role reviewer or higher" in page
    data = {"csrf": site.form("/ui/settings", "/ui/theme", "viewer")["csrf"], "decision": "yes", "f_note": "n"}
    assert site.browser("viewer").post(f"/ui/reviews/{review}/decide", data=data).status_code == 403


def test_another_workspaces_reviews_are_not_there(site: Site) -> None:
    it = site.api.asked({"item": "secret piano"})
    review = open_review(site, it.id)
    assert "secret piano" not in site.get("/ui/reviews", "north-owner").text
    assert site.get(f"/ui/reviews?review={review}", "north-owner").status_code == 404
    data = {"csrf": site.form("/ui/settings", "/ui/theme", "north-owner")["csrf"], "decision": "yes"}
    assert site.browser("north-owner").post(f"/ui/reviews/{review}/decide", data=data).status_code == 404


def test_who_takes_it_holds_it_and_others_see_that(site: Site) -> None:
    it = site.api.asked()
    review = open_review(site, it.id)
    site.send(f"/ui/reviews?review={review}", f"/ui/reviews/{review}/claim", who="reviewer")
    page = site.get(f"/ui/reviews?review={review}", "member").text
    assert "Claimed by reviewer" in page
    assert f"/ui/reviews/{review}/decide" not in page
    site.send(f"/ui/reviews?review={review}", f"/ui/reviews/{review}/release", who="reviewer")
    assert f"/ui/reviews/{review}/decide" in site.get(f"/ui/reviews?review={review}", "member").text


def listed(site: Site, query: str = "", who: str = "owner") -> str:
    """The list of the inbox, without the open review."""
    return site.get(f"/ui/reviews{query}", who).text.partition('id="inbox-detail"')[0]


def test_filters_by_machine_age_and_person(site: Site) -> None:
    mine = open_review(site, site.api.asked({"item": "my piano"}).id)
    site.api.clock.advance(timedelta(hours=2))
    site.api.asked({"item": "a fresh flute"})
    site.send(f"/ui/reviews?review={mine}", f"/ui/reviews/{mine}/assign", {"to": "reviewer"})
    for query, old, fresh in (
        ("", True, True),
        ("?age=3600", True, False),
        ("?person=nobody", False, True),
        ("?machine=order", True, True),
        ("?machine=none", False, False),
    ):
        shown = listed(site, query)
        assert ("my piano" in shown, "a fresh flute" in shown) == (old, fresh), query
    assert "my piano" in listed(site, "?person=me", "reviewer")
    assert "a fresh flute" not in listed(site, "?person=me", "reviewer")
    assert "No open review matches." in listed(site, "?person=me", "member")
    assert site.get("/ui/reviews?age=x").status_code == 422


def test_a_decision_keeps_the_filters(site: Site) -> None:
    first = open_review(site, site.api.asked({"item": "one"}).id)
    site.api.asked({"item": "two"})
    path = f"/ui/reviews?machine=order&person=nobody&review={first}"
    after = site.send(path, f"/ui/reviews/{first}/decide", {"decision": "yes", "f_note": "n"})
    assert {"machine=order", "person=nobody"} < set(str(after.url.query, "ascii").split("&"))


def test_a_review_is_assigned_to_those_who_may_decide_it(site: Site) -> None:
    review = open_review(site, site.api.asked().id)
    path = f"/ui/reviews?review={review}"
    page = site.send(path, f"/ui/reviews/{review}/assign", {"to": "reviewer"}).text
    assert "assigned to reviewer" in page
    assert "assigned to you" in site.get(path, "reviewer").text
    assert "<option>viewer</option>" not in page
    refused = site.send(path, f"/ui/reviews/{review}/assign", {"to": "viewer"})
    assert (refused.status_code, "may not decide review" in refused.text) == (422, True)
    assert site.send(path, f"/ui/reviews/{review}/assign", {"to": ""}).text.count("assigned to") == 0


def test_a_snoozed_review_stands_last_until_its_time_and_counts_as_open(site: Site) -> None:
    first = open_review(site, site.api.asked({"item": "first"}).id)
    site.api.clock.advance(timedelta(minutes=1))
    site.api.asked({"item": "second"})
    path = f"/ui/reviews?review={first}"
    after = site.send(path, f"/ui/reviews/{first}/snooze", {"for": "3600"}).text
    assert "Snoozed until" in after
    shown = listed(site)
    assert shown.index("second") < shown.index("Snoozed") < shown.index("first")
    assert "2 open" in shown
    assert "End snooze" in site.get(path).text
    site.api.clock.advance(timedelta(hours=1))
    again = listed(site)
    assert again.index("first") < again.index("second")
    assert "Snoozed" not in again


def test_a_snooze_is_ended_and_one_in_the_past_is_refused(site: Site) -> None:
    review = open_review(site, site.api.asked({"item": "first"}).id)
    path, action = f"/ui/reviews?review={review}", f"/ui/reviews/{review}/snooze"
    refused = site.send(path, action, {"until": "2001-01-01T10:00"})
    assert (refused.status_code, "in the future" in refused.text) == (422, True)
    site.send(path, action, {"for": "3600"})
    site.send(path, action)
    assert "Snoozed" not in listed(site)


def test_every_decision_says_what_happens_next(site: Site) -> None:
    review = open_review(site, site.api.asked().id)
    leads = site.get(f"/ui/reviews?review={review}").text.partition('id="leads"')[2].partition("</dl>")[0]
    assert leads.count("<dt>") == 2
    assert "it moves to sending" in leads or "it moves to sent" in leads


def test_documents_are_shown_inside_the_evidence(site: Site) -> None:
    it = site.api.asked().id
    keep = site.api.engine.keep_artifact
    keep(it, "letter.txt", b"an older letter", media_type="text/plain")
    keep(it, "letter.txt", f"Dear {EVIL}".encode(), media_type="text/plain")
    keep(it, "scan.pdf", b"%PDF-1.4", media_type="application/pdf")
    keep(it, "long.txt", b"word " * 20_000, media_type="text/plain")
    page = site.get(f"/ui/reviews?review={open_review(site, it)}").text
    assert "Dear &lt;script&gt;" in page
    assert "an older letter" not in page
    assert f'<iframe class="paper" src="/ui/instances/{it}/artifacts/' in page
    assert "Open long.txt" in page, "a long text is only linked"
    assert "word word" not in page


def test_the_last_review_has_no_next_one(site: Site) -> None:
    one, two = (open_review(site, site.api.asked({"item": item}).id) for item in ("one", "two"))
    assert 'data-hotkey="j"' in site.get(f"/ui/reviews?review={one}").text
    last = site.get(f"/ui/reviews?review={two}").text
    assert 'data-hotkey="j"' not in last
    assert 'data-hotkey="k"' in last


def test_the_inbox_and_the_navigation_count_the_same(site: Site) -> None:
    for item in ("one", "two", "three"):
        site.api.asked({"item": item})
    page = site.get("/ui/reviews").text
    assert '<span class="pill person">3</span>' in page
    assert "3 open" in page


def test_hostile_text_is_shown_as_text(site: Site) -> None:
    site.api.asked({"item": EVIL[:70], "note": EVIL}, key=EVIL, labels={"x": EVIL})
    page = site.get("/ui/reviews").text
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "{{7*7}}" in page


def test_an_empty_inbox_says_what_would_fill_it(site: Site) -> None:
    assert "No open reviews." in site.get("/ui/reviews").text


def test_an_unknown_review_is_reported(site: Site) -> None:
    assert site.get("/ui/reviews?review=nonsense").status_code == 422
    assert site.get("/ui/reviews?review=0198b5d2-7c1e-7a3b-9f3e-0c5d2a6b1e4f").status_code == 404


SCHEMA = {
    "required": ["note", "many"],
    "properties": {
        "note": {"type": "string"},
        "many": {"type": "integer"},
        "sure": {"type": "boolean"},
        "kind": {"anyOf": [{"$ref": "#/$defs/Kind"}, {"type": "null"}]},
        "part": {"type": "number"},
        "more": {"type": "object"},
    },
    "$defs": {"Kind": {"enum": ["a", "b"], "type": "string"}},
}


def test_a_schema_becomes_fields_and_what_is_posted_an_answer() -> None:
    assert [(f.name, f.kind, f.required) for f in fields(SCHEMA, {})] == [
        ("note", "text", True),
        ("many", "integer", True),
        ("sure", "check", False),
        ("kind", "choice", False),
        ("part", "number", False),
        ("more", "json", False),
    ]
    posted = {"f_note": "n", "f_many": "3", "f_sure": "yes", "f_kind": "b", "f_part": "1,5", "f_more": '{"x": 1}'}
    assert answer(SCHEMA, posted) == {"note": "n", "many": 3, "sure": True, "kind": "b", "part": 1.5, "more": {"x": 1}}
    assert answer(SCHEMA, {"f_note": "", "f_many": "3"}) == {"note": "", "many": 3, "sure": False}
    with pytest.raises(InvalidData, match=r"'three' is not a whole number"):
        answer(SCHEMA, {"f_note": "n", "f_many": "three"})


@pytest.fixture
def undoing(sqlite_url: str) -> Iterator[Site]:
    with (
        open_store(sqlite_url, durability="normal") as store,
        open_api(store, applications=[Registry([leaflet])]) as api,
    ):
        yield Site(api)


def test_only_who_decided_may_undo_it_without_the_permission_to_fire_events(undoing: Site) -> None:
    it = undoing.api.engine.create("leaflet", {}).id
    review = open_review(undoing, it)
    page = undoing.send(
        f"/ui/reviews?review={review}", f"/ui/reviews/{review}/decide", {"decision": "print"}, "reviewer"
    )
    assert "Undo: back to proof" in page.text
    fields = undoing.form(f"/ui/reviews?undo={review}&event=withdraw", "/ui/reviews/undo", "reviewer")
    assert "Undo" not in undoing.get(f"/ui/reviews?undo={review}&event=withdraw", "viewer").text
    csrf = undoing.browser("viewer").get("/api/me").json()["csrf"]
    assert undoing.browser("viewer").post("/ui/reviews/undo", data={**fields, "csrf": csrf}).status_code == 403
    other = {**fields, "event": "print"}  # where the decision did not come from
    assert undoing.browser("reviewer").post("/ui/reviews/undo", data=other).status_code == 403
    assert undoing.api.engine.get(it).state == "approved"
    undoing.api.clock.advance(timedelta(minutes=11))
    assert "Undo" not in undoing.get(f"/ui/reviews?undo={review}&event=withdraw", "reviewer").text
    assert undoing.browser("reviewer").post("/ui/reviews/undo", data={**fields, "key": "later"}).status_code == 403
    assert "Undo: back to proof" in undoing.get(f"/ui/reviews?undo={review}&event=withdraw", "member").text
