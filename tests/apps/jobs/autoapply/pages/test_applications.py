"""The list of applications and the page of one: what is shown, what a person decides, and who may not."""

from __future__ import annotations

from email import message_from_bytes, policy
from html import unescape

import pytest

from interlock.apps.jobs.autoapply.pages.wording import marked
from interlock.apps.jobs.autoapply.records import answers, seekers
from interlock.apps.jobs.world import World
from tests.apps.jobs.autoapply.office import HERE
from tests.apps.jobs.autoapply.pages.conftest import LIST, Desk, open_pages
from tests.apps.jobs.autoapply.steps import sending
from tests.support.site import EVIL


def test_what_waits_for_the_person_stands_on_top_the_oldest_first(desk: Desk) -> None:
    first = desk.by_hand()
    desk.trial.advance(hours=5)
    second = desk.apply()
    text = unescape(desk.site.get(LIST).text)
    top = text[text.index("Waits for you") : text.index("All applications")]
    assert top.index(str(first)) < top.index(str(second))
    assert "Send it yourself" in top
    assert "Approve or reject its packet" in top
    assert "waits 5 h" in top
    assert 'aria-current="page">Applications' in text


def test_the_list_is_filtered_by_status_and_a_wrong_one_is_refused(desk: Desk) -> None:
    it = desk.by_hand()
    assert str(it) in desk.site.get(f"{LIST}?status=requires_review").text
    assert "No application here." in desk.site.get(f"{LIST}?status=submitted").text
    assert desk.site.get(f"{LIST}?status=lost").status_code == 422
    assert desk.site.get(f"{LIST}?after=x").status_code == 422


def test_the_packet_is_shown_as_it_will_be_sent_with_files_to_download(desk: Desk) -> None:
    it = desk.apply()
    text = unescape(desk.site.get(f"{LIST}/{it}").text)
    assert "Mika Sand" in text
    assert "Claim check</h2>" in text
    assert desk.row(it).packet_hash in text
    assert "mika@sand.example" in text[text.index("Answers in the form's order") :]
    file = desk.site.get(f"{LIST}/{it}/files/resume.pdf")
    assert file.content.startswith(b"%PDF")
    assert file.headers["content-disposition"].startswith("attachment")
    assert (file.headers["x-content-type-options"], "sandbox" in file.headers["content-security-policy"]) == (
        "nosniff",
        True,
    )
    assert desk.site.get(f"{LIST}/{it}/files/passwd").status_code == 404


def test_an_approved_packet_is_sent_once_although_the_form_is_sent_twice(desk: Desk) -> None:
    it = desk.apply()
    form = {**desk.site.form(f"{LIST}/{it}", f"{LIST}/{it}"), "do": "approve"}
    form["packet_hash"] = desk.row(it).packet_hash or ""
    for _ in range(2):
        assert desk.site.browser().post(f"{LIST}/{it}", data=form).status_code == 200
        desk.trial.run_until_idle()
    assert (desk.trial.state(it), len(desk.arrived)) == ("submitted", 1)


def test_a_packet_that_was_changed_meanwhile_is_refused_with_a_message(desk: Desk) -> None:
    it = desk.apply()
    refused = desk.act(it, "approve", packet_hash="0" * 64)
    assert refused.status_code == 409
    assert "look at it again" in unescape(refused.text)
    assert (desk.trial.state(it), desk.arrived) == ("requires_review", [])


@pytest.mark.parametrize(("do", "state"), [("later", "paused"), ("reject", "withdrawn"), ("withdraw", "withdrawn")])
def test_a_packet_is_put_aside_rejected_or_withdrawn(desk: Desk, do: str, state: str) -> None:
    it = desk.apply()
    assert desk.act(it, do, reason="too far away").status_code == 200
    assert desk.trial.state(it) == state
    if state == "paused":
        desk.act(it, "resume")
        assert desk.trial.state(it) == "requires_review"


def test_it_is_sent_by_hand_with_the_claim_and_a_proof(desk: Desk) -> None:
    it = desk.by_hand()
    assert "I submitted it" in desk.site.get(f"{LIST}/{it}").text
    desk.act(it, "open_form")
    assert desk.trial.data(it)["run_id"]
    text = desk.site.get(f"{LIST}/{it}").text
    assert "Go to the form" in text
    assert "Say how it ended" in text
    desk.act(it, "submitted", proof="https://kind.example/thanks")
    assert desk.trial.state(it) == "submitted"
    assert 'href="https://kind.example/thanks"' in desk.site.get(f"{LIST}/{it}").text


def test_a_failure_by_hand_has_a_kind_and_is_tried_again_only_if_wanted(desk: Desk) -> None:
    it = desk.by_hand()
    assert desk.act(it, "failed", kind="weather").status_code == 422
    desk.act(it, "failed", kind="other")
    assert desk.trial.state(it) == "withdrawn"
    again = desk.by_hand(1)
    desk.act(again, "failed", kind="site_down", retry="yes")
    assert desk.row(again).last_error == "by hand: site_down"


def test_a_submission_without_an_answer_is_verified_and_not_sent_again(desk: Desk) -> None:
    it = desk.apply()
    desk.world.faults.add("lost_answer", "/apply/", method="POST", times=1)
    desk.act(it, "approve", packet_hash=desk.row(it).packet_hash)
    assert "Find out whether it arrived" in desk.site.get(LIST).text
    text = desk.site.get(f"{LIST}/{it}").text
    assert "Did it arrive?" in text
    assert "Approve this packet" not in text
    desk.act(it, "arrived")
    assert (desk.trial.state(it), len(desk.arrived)) == ("submitted", 1)


def test_an_open_question_is_answered_with_its_scope(desk: Desk) -> None:
    desk.profile(identity={"name": "Mika Sand", "email": "mika@sand.example"})
    it = desk.apply()
    page = f"{LIST}/{it}"
    assert "Answer 1 question" in desk.site.get(page).text
    none = desk.site.send(page, f"{page}/answers", {"value-0": "", "scope-0": "once"})
    assert none.status_code == 422
    wrong = desk.site.send(page, f"{page}/answers", {"value-0": "Yes", "scope-0": "always"})
    assert wrong.status_code == 422
    desk.site.send(page, f"{page}/answers", {"value-0": "Yes", "scope-0": "company"})
    desk.trial.run_until_idle()
    assert desk.trial.data(it)["open_questions"] == 0
    [saved] = desk.engine.read(lambda conn: answers.page(conn, HERE))
    assert (saved.answer.value, saved.answer.scope) == ("Yes", "company")


def test_everything_is_paused_and_resumed(desk: Desk) -> None:
    desk.apply()
    desk.site.send(LIST, LIST, {"do": "pause"})
    assert desk.engine.read(lambda conn: seekers.stopped(conn, HERE)) is not None
    assert "Everything is paused" in desk.site.get(LIST).text
    desk.site.send(LIST, LIST, {"do": "resume"})
    assert desk.engine.read(lambda conn: seekers.stopped(conn, HERE)) is None


def test_a_posting_that_the_person_chose_is_queued(desk: Desk) -> None:
    posting = desk.opening()
    answer = desk.site.send(f"/ui/jobs/postings/{posting}", LIST, {"do": "apply"})
    assert answer.status_code == 200
    assert [one.posting_id for one in desk.rows()] == [posting]


def test_a_viewer_reads_and_decides_nothing(desk: Desk) -> None:
    it = desk.apply()
    text = desk.site.get(f"{LIST}/{it}", "viewer").text
    assert "Mika Sand" in text
    assert f'action="{LIST}' not in text
    sent = {"do": "approve", "packet_hash": desk.row(it).packet_hash, "workspace": HERE}
    assert desk.forged(f"{LIST}/{it}", "viewer", **sent).status_code == 403
    assert desk.forged(f"{LIST}/{it}/answers", "viewer", question="x").status_code == 403
    assert desk.forged(LIST, "viewer", do="pause", workspace=HERE).status_code == 403
    assert desk.site.browser().post(f"{LIST}/{it}", data=sent).status_code == 403, "a form without its token"
    assert (desk.trial.state(it), desk.arrived) == ("requires_review", [])


def test_it_does_not_exist_for_another_workspace(desk: Desk) -> None:
    it = desk.apply()
    assert str(it) not in desk.site.get(LIST, "north-owner").text
    for path in (f"{LIST}/{it}", f"{LIST}/{it}?workspace={HERE}", f"{LIST}/{it}/files/resume.pdf"):
        assert desk.site.get(path, "north-owner").status_code == 404
    assert desk.forged(f"{LIST}/{it}", "north-owner", do="withdraw").status_code == 404
    assert desk.trial.state(it) == "requires_review"


def test_script_in_titles_companies_and_proofs_stays_text(desk: Desk) -> None:
    it = desk.by_hand(title=f"Senior Backend Engineer {EVIL}", company=EVIL)
    desk.act(it, "submitted", proof=f"javascript:alert(1) {EVIL}")
    for page in (LIST, f"{LIST}/{it}"):
        text = desk.site.get(page).text
        assert "Senior Backend Engineer" in text
        assert "alert(1)</script>" not in text
        assert "<img src=x" not in text
        assert 'href="javascript:' not in text


def test_the_words_that_a_claim_check_found_are_marked() -> None:
    found = [{"start": 2, "end": 4, "why": "invented"}, {"start": 3, "end": 6, "why": "more"}, {"start": 90, "end": 99}]
    assert marked("0123456789", found) == [("01", ""), ("23", "invented"), ("45", "more"), ("6789", "")]
    assert marked("", found) == []


def test_a_posting_that_takes_mail_is_sent_with_a_draft(desk: Desk) -> None:
    text = "Requirements\n- Python\n- PostgreSQL\nSend your application to crew@kind.example."
    it = desk.by_hand(description=text)
    page = desk.site.get(f"{LIST}/{it}").text
    assert ("Start the mail" in page, "draft.eml" in page) == (True, False), "first the claim"
    desk.act(it, "open_form")
    page = unescape(desk.site.get(f"{LIST}/{it}").text)
    assert f"{LIST}/{it}/draft.eml" in page
    assert 'href="mailto:crew@kind.example?subject=' in page
    assert "you, by mail" in page
    answer = desk.site.get(f"{LIST}/{it}/draft.eml")
    draft = message_from_bytes(answer.content, policy=policy.default)
    assert (draft["To"], draft["From"]) == ("crew@kind.example", "Mika Sand <mika@sand.example>")
    assert [one.get_filename() for one in draft.iter_attachments()] == ["resume.pdf", "letter.pdf"]
    assert answer.headers["content-disposition"].startswith("attachment")
    other = desk.apply()
    assert desk.site.get(f"{LIST}/{other}/draft.eml").status_code == 409


def test_a_time_is_chosen_with_the_approval_and_changed_while_it_waits(sqlite_url: str, world: World) -> None:
    with open_pages(sqlite_url, world, planned=True) as desk:
        it = desk.apply()
        assert "Approve for this time" in desk.site.get(f"{LIST}/{it}").text
        packet = desk.row(it).packet_hash or ""
        # The clock stands at 2026-05-20 12:00 UTC, which is 05:00 in Los Angeles.
        answer = desk.act(it, "schedule", packet_hash=packet, at="2026-05-20T08:30")
        assert "it is sent at that time" in answer.text
        page = unescape(desk.site.get(f"{LIST}/{it}").text)
        assert ("2026-05-20 08:30 PDT" in page, 'value="2026-05-20T08:30"' in page) == (True, True)
        assert (desk.trial.state(it), desk.arrived) == ("scheduled", [])
        assert desk.act(it, "schedule", at="2026-05-19T08:30").status_code == 409, "in the past"
        desk.act(it, "schedule", at="2026-05-20T06:00")
        desk.trial.advance(hours=1)
        assert (desk.trial.state(it), len(desk.arrived)) == ("submitted", 1)
        assert "When it is sent" not in desk.site.get(f"{LIST}/{it}").text


def test_version_1_offers_no_time(desk: Desk) -> None:
    it = desk.apply()
    assert "When it is sent" not in desk.site.get(f"{LIST}/{it}").text


def test_what_may_reject_is_shown_before_work_is_spent(desk: Desk) -> None:
    desk.profile(**{**sending.PERSON, "work_authorisation": [], "years": 2})
    posting = desk.opening(description="Requirements\n- 15+ years of experience with Python\n")
    desk.finder.set(posting, outcome="matched")
    page = unescape(desk.site.get(f"/ui/jobs/postings/{posting}").text)
    part = page[page.index('id="applying"') :]
    assert "This may reject you" in part
    assert "15" in part[: part.index("Sent by")]
    assert "Interlock, to demo world" in part
    it = desk.choose(posting)
    part = desk.site.get(f"/ui/jobs/postings/{posting}").text
    assert f"/ui/jobs/applications/{it}" in part[part.index('id="applying"') :]


def test_what_was_given_up_is_on_the_page_of_the_day(desk: Desk) -> None:
    it = desk.apply()
    desk.world.faults.add("server_error", "/tidewater/jobs/")
    desk.approve(it)
    desk.trial.advance(hours=2)
    assert desk.row(it).withdraw_reason == "retries_exhausted"
    page = desk.site.get("/ui/jobs").text
    assert f"/ui/jobs/applications/{it}" in page[page.index("Given up</h2>") :]
    desk.trial.advance(days=8)
    assert "Given up</h2>" not in desk.site.get("/ui/jobs").text
