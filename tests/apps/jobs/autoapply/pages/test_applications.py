"""The list of applications and the page of one: what is shown, what a person decides, and who may not."""

from __future__ import annotations

from email import message_from_bytes, policy
from html import unescape

import pytest

from interlock.apps.jobs.autoapply.pages.wording import marked
from interlock.apps.jobs.autoapply.records import answers, seekers
from interlock.apps.jobs.world import World
from tests.apps.jobs.autoapply.applicant import HERE
from tests.apps.jobs.autoapply.pages.conftest import LIST, PageApplicant, open_pages
from tests.apps.jobs.autoapply.steps import sending
from tests.support.site import EVIL


def test_what_waits_for_the_person_stands_on_top_the_oldest_first(applicant: PageApplicant) -> None:
    first = applicant.by_hand()
    applicant.trial.advance(hours=5)
    second = applicant.apply()
    text = unescape(applicant.site.get(LIST).text)
    top = text[text.index("Waiting for you") : text.index("All applications")]
    assert top.index(str(first)) < top.index(str(second))
    assert "Send it yourself" in top
    assert "Approve or reject its packet" in top
    assert "waits 5 h" in top
    assert 'aria-current="page">Applications' in text


def test_the_list_is_filtered_by_status_and_a_wrong_one_is_refused(applicant: PageApplicant) -> None:
    it = applicant.by_hand()
    assert str(it) in applicant.site.get(f"{LIST}?status=requires_review").text
    assert "No applications match." in applicant.site.get(f"{LIST}?status=submitted").text
    assert applicant.site.get(f"{LIST}?status=lost").status_code == 422
    assert applicant.site.get(f"{LIST}?after=x").status_code == 422


def test_the_packet_is_shown_as_it_will_be_sent_with_files_to_download(applicant: PageApplicant) -> None:
    it = applicant.apply()
    text = unescape(applicant.site.get(f"{LIST}/{it}").text)
    assert "Mika Sand" in text
    assert "Claim check</h2>" in text
    assert applicant.row(it).packet_hash in text
    assert "mika@sand.example" in text[text.index("Answers in the form's order") :]
    file = applicant.site.get(f"{LIST}/{it}/files/resume.pdf")
    assert file.content.startswith(b"%PDF")
    assert file.headers["content-disposition"].startswith("attachment")
    assert (file.headers["x-content-type-options"], "sandbox" in file.headers["content-security-policy"]) == (
        "nosniff",
        True,
    )
    assert applicant.site.get(f"{LIST}/{it}/files/passwd").status_code == 404


def test_an_approved_packet_is_sent_once_although_the_form_is_sent_twice(applicant: PageApplicant) -> None:
    it = applicant.apply()
    form = {**applicant.site.form(f"{LIST}/{it}", f"{LIST}/{it}"), "do": "approve"}
    form["packet_hash"] = applicant.row(it).packet_hash or ""
    for _ in range(2):
        assert applicant.site.browser().post(f"{LIST}/{it}", data=form).status_code == 200
        applicant.trial.run_until_idle()
    assert (applicant.trial.state(it), len(applicant.arrived)) == ("submitted", 1)


def test_a_packet_that_was_changed_meanwhile_is_refused_with_a_message(applicant: PageApplicant) -> None:
    it = applicant.apply()
    refused = applicant.act(it, "approve", packet_hash="0" * 64)
    assert refused.status_code == 409
    assert "look at it again" in unescape(refused.text)
    assert (applicant.trial.state(it), applicant.arrived) == ("requires_review", [])


@pytest.mark.parametrize(("do", "state"), [("later", "paused"), ("reject", "withdrawn"), ("withdraw", "withdrawn")])
def test_a_packet_is_put_aside_rejected_or_withdrawn(applicant: PageApplicant, do: str, state: str) -> None:
    it = applicant.apply()
    assert applicant.act(it, do, reason="too far away").status_code == 200
    assert applicant.trial.state(it) == state
    if state == "paused":
        applicant.act(it, "resume")
        assert applicant.trial.state(it) == "requires_review"


def test_it_is_sent_by_hand_with_the_claim_and_a_proof(applicant: PageApplicant) -> None:
    it = applicant.by_hand()
    assert "I submitted it" in applicant.site.get(f"{LIST}/{it}").text
    applicant.act(it, "open_form")
    assert applicant.trial.data(it)["run_id"]
    text = applicant.site.get(f"{LIST}/{it}").text
    assert "Go to the form" in text
    assert "Say how it ended" in text
    applicant.act(it, "submitted", proof="https://kind.example/thanks")
    assert applicant.trial.state(it) == "submitted"
    assert 'href="https://kind.example/thanks"' in applicant.site.get(f"{LIST}/{it}").text


def test_a_failure_by_hand_has_a_kind_and_is_tried_again_only_if_wanted(applicant: PageApplicant) -> None:
    it = applicant.by_hand()
    assert applicant.act(it, "failed", kind="weather").status_code == 422
    applicant.act(it, "failed", kind="other")
    assert applicant.trial.state(it) == "withdrawn"
    again = applicant.by_hand(1)
    applicant.act(again, "failed", kind="site_down", retry="yes")
    assert applicant.row(again).last_error == "by hand: site_down"


def test_a_submission_without_an_answer_is_verified_and_not_sent_again(applicant: PageApplicant) -> None:
    it = applicant.apply()
    applicant.world.faults.add("lost_answer", "/apply/", method="POST", times=1)
    applicant.act(it, "approve", packet_hash=applicant.row(it).packet_hash)
    assert "Find out whether it arrived" in applicant.site.get(LIST).text
    text = applicant.site.get(f"{LIST}/{it}").text
    assert "Did it arrive?" in text
    assert "Approve this packet" not in text
    applicant.act(it, "arrived")
    assert (applicant.trial.state(it), len(applicant.arrived)) == ("submitted", 1)


def test_an_open_question_is_answered_with_its_scope(applicant: PageApplicant) -> None:
    applicant.profile(identity={"name": "Mika Sand", "email": "mika@sand.example"})
    it = applicant.apply()
    page = f"{LIST}/{it}"
    assert "Answer 1 question" in applicant.site.get(page).text
    none = applicant.site.send(page, f"{page}/answers", {"value-0": "", "scope-0": "once"})
    assert none.status_code == 422
    wrong = applicant.site.send(page, f"{page}/answers", {"value-0": "Yes", "scope-0": "always"})
    assert wrong.status_code == 422
    applicant.site.send(page, f"{page}/answers", {"value-0": "Yes", "scope-0": "company"})
    applicant.trial.run_until_idle()
    assert applicant.trial.data(it)["open_questions"] == 0
    [saved] = applicant.engine.read(lambda conn: answers.page(conn, HERE))
    assert (saved.answer.value, saved.answer.scope) == ("Yes", "company")


def test_everything_is_paused_and_resumed(applicant: PageApplicant) -> None:
    applicant.apply()
    applicant.site.send(LIST, LIST, {"do": "pause"})
    assert applicant.engine.read(lambda conn: seekers.stopped(conn, HERE)) is not None
    assert "Everything is paused" in applicant.site.get(LIST).text
    applicant.site.send(LIST, LIST, {"do": "resume"})
    assert applicant.engine.read(lambda conn: seekers.stopped(conn, HERE)) is None


def test_a_posting_that_the_person_chose_is_queued(applicant: PageApplicant) -> None:
    posting = applicant.opening()
    answer = applicant.site.send(f"/ui/jobs/postings/{posting}", LIST, {"do": "apply"})
    assert answer.status_code == 200
    assert [one.posting_id for one in applicant.rows()] == [posting]


def test_a_viewer_reads_and_decides_nothing(applicant: PageApplicant) -> None:
    it = applicant.apply()
    text = applicant.site.get(f"{LIST}/{it}", "viewer").text
    assert "Mika Sand" in text
    assert f'action="{LIST}' not in text
    sent = {"do": "approve", "packet_hash": applicant.row(it).packet_hash, "workspace": HERE}
    assert applicant.forged(f"{LIST}/{it}", "viewer", **sent).status_code == 403
    assert applicant.forged(f"{LIST}/{it}/answers", "viewer", question="x").status_code == 403
    assert applicant.forged(LIST, "viewer", do="pause", workspace=HERE).status_code == 403
    assert applicant.site.browser().post(f"{LIST}/{it}", data=sent).status_code == 403, "a form without its token"
    assert (applicant.trial.state(it), applicant.arrived) == ("requires_review", [])


def test_it_does_not_exist_for_another_workspace(applicant: PageApplicant) -> None:
    it = applicant.apply()
    assert str(it) not in applicant.site.get(LIST, "north-owner").text
    for path in (f"{LIST}/{it}", f"{LIST}/{it}?workspace={HERE}", f"{LIST}/{it}/files/resume.pdf"):
        assert applicant.site.get(path, "north-owner").status_code == 404
    assert applicant.forged(f"{LIST}/{it}", "north-owner", do="withdraw").status_code == 404
    assert applicant.trial.state(it) == "requires_review"


def test_script_in_titles_companies_and_proofs_stays_text(applicant: PageApplicant) -> None:
    it = applicant.by_hand(title=f"Senior Backend Engineer {EVIL}", company=EVIL)
    applicant.act(it, "submitted", proof=f"javascript:alert(1) {EVIL}")
    for page in (LIST, f"{LIST}/{it}"):
        text = applicant.site.get(page).text
        assert "Senior Backend Engineer" in text
        assert "alert(1)</script>" not in text
        assert "<img src=x" not in text
        assert 'href="javascript:' not in text


def test_the_words_that_a_claim_check_found_are_marked() -> None:
    found = [{"start": 2, "end": 4, "why": "invented"}, {"start": 3, "end": 6, "why": "more"}, {"start": 90, "end": 99}]
    assert marked("0123456789", found) == [("01", ""), ("23", "invented"), ("45", "more"), ("6789", "")]
    assert marked("", found) == []


def test_a_posting_that_takes_mail_is_sent_with_a_draft(applicant: PageApplicant) -> None:
    text = "Requirements\n- Python\n- PostgreSQL\nSend your application to crew@kind.example."
    it = applicant.by_hand(description=text)
    page = applicant.site.get(f"{LIST}/{it}").text
    assert ("Start the mail" in page, "draft.eml" in page) == (True, False), "first the claim"
    applicant.act(it, "open_form")
    page = unescape(applicant.site.get(f"{LIST}/{it}").text)
    assert f"{LIST}/{it}/draft.eml" in page
    assert 'href="mailto:crew@kind.example?subject=' in page
    assert "you, by mail" in page
    answer = applicant.site.get(f"{LIST}/{it}/draft.eml")
    draft = message_from_bytes(answer.content, policy=policy.default)
    assert (draft["To"], draft["From"]) == ("crew@kind.example", "Mika Sand <mika@sand.example>")
    assert [one.get_filename() for one in draft.iter_attachments()] == ["resume.pdf", "letter.pdf"]
    assert answer.headers["content-disposition"].startswith("attachment")
    other = applicant.apply()
    assert applicant.site.get(f"{LIST}/{other}/draft.eml").status_code == 409


def test_a_time_is_chosen_with_the_approval_and_changed_while_it_waits(sqlite_url: str, world: World) -> None:
    with open_pages(sqlite_url, world, planned=True) as applicant:
        it = applicant.apply()
        assert "Approve for this time" in applicant.site.get(f"{LIST}/{it}").text
        packet = applicant.row(it).packet_hash or ""
        # The clock stands at 2026-05-20 12:00 UTC, which is 05:00 in Los Angeles.
        answer = applicant.act(it, "schedule", packet_hash=packet, at="2026-05-20T08:30")
        assert "it is sent at that time" in answer.text
        page = unescape(applicant.site.get(f"{LIST}/{it}").text)
        assert ("2026-05-20 08:30 PDT" in page, 'value="2026-05-20T08:30"' in page) == (True, True)
        assert (applicant.trial.state(it), applicant.arrived) == ("scheduled", [])
        assert applicant.act(it, "schedule", at="2026-05-19T08:30").status_code == 409, "in the past"
        applicant.act(it, "schedule", at="2026-05-20T06:00")
        applicant.trial.advance(hours=1)
        assert (applicant.trial.state(it), len(applicant.arrived)) == ("submitted", 1)
        assert "When it is sent" not in applicant.site.get(f"{LIST}/{it}").text


def test_version_1_offers_no_time(applicant: PageApplicant) -> None:
    it = applicant.apply()
    assert "When it is sent" not in applicant.site.get(f"{LIST}/{it}").text


def test_what_may_reject_is_shown_before_work_is_spent(applicant: PageApplicant) -> None:
    applicant.profile(**{**sending.PERSON, "work_authorisation": [], "years": 2})
    posting = applicant.opening(description="Requirements\n- 15+ years of experience with Python\n")
    applicant.finder.set(posting, outcome="matched")
    page = unescape(applicant.site.get(f"/ui/jobs/postings/{posting}").text)
    part = page[page.index('id="applying"') :]
    assert "This may reject you" in part
    assert "15" in part[: part.index("Sent by")]
    assert "Interlock, to demo world" in part
    it = applicant.choose(posting)
    part = applicant.site.get(f"/ui/jobs/postings/{posting}").text
    assert f"/ui/jobs/applications/{it}" in part[part.index('id="applying"') :]


def test_what_was_given_up_is_on_the_page_of_the_day(applicant: PageApplicant) -> None:
    it = applicant.apply()
    applicant.world.faults.add("server_error", "/tidewater/jobs/")
    applicant.approve(it)
    applicant.trial.advance(hours=2)
    assert applicant.row(it).withdraw_reason == "retries_exhausted"
    page = applicant.site.get("/ui/jobs").text
    assert f"/ui/jobs/applications/{it}" in page[page.index("Given up</h2>") :]
    applicant.trial.advance(days=8)
    assert "Given up</h2>" not in applicant.site.get("/ui/jobs").text
