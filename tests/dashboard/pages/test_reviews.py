"""The inbox: what waits, what is needed to decide, deciding, and what another may not see."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from interlock.dashboard.schema import answer, fields
from interlock.engine import InvalidData
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


def test_a_decision_that_is_none_of_its_own_is_told_and_nothing_moves(site: Site) -> None:
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
    site.send(f"/ui/reviews?review={review}", f"/ui/reviews/{review}/later", who="reviewer")
    assert f"/ui/reviews/{review}/decide" in site.get(f"/ui/reviews?review={review}", "member").text


def test_hostile_text_is_shown_as_text(site: Site) -> None:
    site.api.asked({"item": EVIL[:70], "note": EVIL}, key=EVIL, labels={"x": EVIL})
    page = site.get("/ui/reviews").text
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "{{7*7}}" in page


def test_an_empty_inbox_says_what_would_fill_it(site: Site) -> None:
    assert "No open reviews." in site.get("/ui/reviews").text


def test_a_review_that_is_none_is_told(site: Site) -> None:
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
