"""The list of matches and the page of a posting: what they show, and what a person decides there."""

from __future__ import annotations

from html import unescape

from interlock.apps.jobs.finder.records import postings
from tests.apps.jobs.finder.pages.conftest import Finder
from tests.support.site import EVIL

MATCHES = "/ui/jobs/matches"


def test_a_match_has_its_score_reasons_age_pay_and_place(finder: Finder) -> None:
    finder.profile()
    asks = (
        "- 5+ years of experience with Python\n- PostgreSQL\n- GraphQL is a plus\nSalary\n$150,000 - $180,000 per year"
    )
    made = finder.match(asks=asks, salary=None)
    text = unescape(finder.site.get(MATCHES).text)
    row = finder.row(made)
    assert f'<b class="s-high">{row.score}</b>' in text
    assert "You have Python, PostgreSQL" in text
    assert "Missing: GraphQL" in text
    assert "posted 2 d ago, first seen" in text
    assert "read out of the text" in text
    assert "$150,000 - $180,000 per year”" in text
    assert "Place:</span> Remote" in text
    assert 'aria-current="page">Matches' in text


def test_badges_say_what_one_should_know_before_opening_it(finder: Finder) -> None:
    finder.profile()
    made = finder.match()
    text = finder.site.get(MATCHES).text
    assert "applied before" not in text
    job = {"board": "other", "job_id": "9", "company": "Kind Boats Inc.", "title": "Backend Engineer, Senior"}
    finder.applied(job)
    finder.match(title="Backend Engineer Senior", posted_date="2020-01-01")
    finder.write(lambda unit: postings.update(unit, made, state="uncertain", flag="scrape_failed"))
    text = finder.site.get(MATCHES).text
    for badge in ("applied before", "uncertain", "check it"):
        assert f"{badge}</span>" in text


def test_what_is_filtered_is_not_among_the_matches_and_stays_findable_with_its_rule(finder: Finder) -> None:
    finder.profile()
    made = finder.match(title="Unpaid Backend Engineer")
    assert str(made) not in finder.site.get(MATCHES).text
    text = unescape(finder.site.get("/ui/jobs/why-not?q=unpaid+kind").text)
    assert "Excluded keyword in the title: unpaid" in text
    assert "“Unpaid Backend Engineer”" in text or "<q>Unpaid Backend Engineer</q>" in text
    assert f"/ui/jobs/postings/{made}/unfilter" in text


def test_what_nearly_passed_is_listed_with_the_rules_that_cut(finder: Finder) -> None:
    finder.profile(match={"threshold": 99, "threshold_with_office": 99})
    made = finder.match(asks="- 5+ years of experience with Python\n- PostgreSQL\n- GraphQL is a plus")
    score = finder.row(made).score
    assert 94 <= score < 99
    text = finder.site.get("/ui/jobs/why-not?outcome=nearly").text
    assert str(made) in text
    assert "Rules that rejected them: score (1)" in text


def test_a_posting_is_dismissed_and_the_decision_is_undone(finder: Finder) -> None:
    finder.profile()
    made = finder.match()
    after = finder.site.send(MATCHES, "/ui/jobs/decide", {"decision": "dismiss"})
    assert finder.row(made).decision == "dismissed"
    assert "Dismissed: Senior Backend Engineer" in after.text
    assert f"undo={made}." in str(after.url)
    undo = finder.site.form(str(after.url), "/ui/jobs/decide")
    finder.site.browser().post("/ui/jobs/decide", data=undo)
    assert finder.row(made).decision is None


def test_undoing_gives_the_decision_before_back(finder: Finder) -> None:
    finder.profile()
    made = finder.match()
    for decision in ("save", "dismiss"):
        after = finder.site.send(f"/ui/jobs/postings/{made}", "/ui/jobs/decide", {"decision": decision})
        assert after.status_code == 200
    form = finder.site.form(f"/ui/jobs/postings/{made}", "/ui/jobs/decide")
    finder.site.browser().post("/ui/jobs/decide", data={**form, "decision": "undo", "undo": f"{made}.s"})
    assert finder.row(made).decision == "saved"


def test_several_postings_are_decided_about_at_once(finder: Finder) -> None:
    finder.profile()
    made = [finder.match(title=f"Senior Backend Engineer {one}") for one in ("north", "south")]
    form = finder.site.form(MATCHES, "/ui/jobs/decide")
    sent = {**form, "decision": "save", "posting": [str(one) for one in made]}
    after = finder.site.browser().post("/ui/jobs/decide", data=sent)
    assert "Saved: 2 postings" in after.text
    assert {finder.row(one).decision for one in made} == {"saved"}
    shown = finder.site.get(f"{MATCHES}?show=saved").text
    assert all(str(one) in shown for one in made)


def test_filters_narrow_the_list_and_a_wrong_one_is_refused(finder: Finder) -> None:
    finder.profile()
    made = finder.match()
    assert str(made) in finder.site.get(f"{MATCHES}?q=backend&min_score=50&workplace=unknown").text
    assert str(made) not in finder.site.get(f"{MATCHES}?q=gardener").text
    assert finder.site.get(f"{MATCHES}?show=everything").status_code == 422
    assert finder.site.get(f"{MATCHES}?undo=nothing").status_code == 422


def test_a_viewer_sees_matches_and_changes_nothing(finder: Finder) -> None:
    finder.profile()
    made = finder.match()
    text = finder.site.get(MATCHES, "viewer").text
    assert str(made) in text
    assert "/ui/jobs/decide" not in text
    form = finder.site.form(MATCHES, "/ui/jobs/decide")
    csrf = finder.site.form("/ui/logout", "/ui/logout", "viewer")["csrf"]
    sent = {**form, "csrf": csrf, "decision": "save", "posting": str(made)}
    assert finder.site.browser("viewer").post("/ui/jobs/decide", data=sent).status_code == 403
    assert finder.row(made).decision is None


def test_a_form_without_its_token_is_refused(finder: Finder) -> None:
    finder.profile()
    made = finder.match()
    sent = {"decision": "save", "posting": str(made)}
    assert finder.site.browser().post("/ui/jobs/decide", data=sent).status_code == 403
    assert finder.row(made).decision is None


def test_another_workspace_sees_nothing_of_it(finder: Finder) -> None:
    finder.profile()
    made = finder.match()
    assert str(made) not in finder.site.get(MATCHES, "north-owner").text
    assert finder.site.get(f"/ui/jobs/postings/{made}", "north-owner").status_code == 404
    assert finder.site.get(f"{MATCHES}?workspace=default", "north-owner").status_code == 404


def test_a_posting_is_compared_with_the_profile_line_by_line(finder: Finder) -> None:
    finder.profile()
    made = finder.match(asks="- 5+ years of experience with Python\n- MySQL\n- Docker\n- GraphQL is a plus")
    text = unescape(finder.site.get(f"/ui/jobs/postings/{made}").text)
    for verdict in ("matched", "parallel", "missing"):
        assert f'<li class="r-{verdict}">' in text
    assert "main requirement · you: 8 years" in text
    assert "PostgreSQL in its place" in text
    assert "GraphQL is a plus" in text


def test_the_parts_of_the_score_sum_up_on_the_page(finder: Finder) -> None:
    finder.profile()
    made = finder.match()
    match = finder.row(made).match_result
    assert match is not None
    shown = [one["points"] for one in match["parts"] + match["adjustments"]]
    assert sum(shown) == match["match_score"]
    text = finder.site.get(f"/ui/jobs/postings/{made}").text
    assert f"<b>{match['match_score']}</b>" in text
    assert all(one["explanation"] in unescape(text) for one in match["parts"])


def test_a_filtered_posting_is_taken_after_all_with_a_reason(finder: Finder) -> None:
    finder.profile()
    made = finder.match(title="Unpaid Backend Engineer")
    page, action = f"/ui/jobs/postings/{made}", f"/ui/jobs/postings/{made}/unfilter"
    after = finder.site.send(page, action, {"reason": "I know them"})
    assert after.status_code == 200
    row = finder.row(made)
    assert (row.outcome, row.reason) == ("new", "taken after all")
    assert finder.engine.get(row.item_id).data["override"] == "owner: I know them"


def test_script_in_title_company_place_and_text_stays_text(finder: Finder) -> None:
    finder.profile()
    bad = f"<p>Fine</p><script>alert(1)</script><img src=x onerror=alert(2)><a href='javascript:alert(3)'>x</a>{EVIL}"
    made = finder.match(description=bad, title=EVIL, company=EVIL, location=EVIL)
    for page in (MATCHES, f"{MATCHES}?show=all", "/ui/jobs/why-not", f"/ui/jobs/postings/{made}", "/ui/jobs"):
        text = finder.site.get(page).text
        assert "alert(1)</script>" not in text
        assert "onerror=alert(2)>" not in text.replace("onerror=alert(2)&gt;", "")
        assert "javascript:" not in text
    assert "<p>Fine</p>" in finder.site.get(f"/ui/jobs/postings/{made}").text
