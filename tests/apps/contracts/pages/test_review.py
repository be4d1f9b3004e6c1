"""The review beside the page, without a script: what it shows, what it takes, what it refuses."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest

from interlock.apps.contracts.fields.confidence import grade as words_of
from interlock.dashboard.confidence import grade
from interlock.dashboard.names import names
from tests.support.contracts import DOUBTFUL, OPENING, Contracts
from tests.support.review_page import Paper
from tests.support.site import EVIL, Site

BLANK = (
    "SUPPLY AGREEMENT",
    'This Supply Agreement (this "Agreement") is made and entered into as of ________, 2024',
    *OPENING[2:],
    "The undersigned have executed this Agreement on November 23, 2023.",
)


@pytest.fixture
def paper(contracts: Contracts) -> Paper:
    return Paper(contracts, contracts.in_review(filename="supply.pdf"))


def opened(text: str) -> list[str]:
    return re.findall(r'<details class="field[^>]*data-field="(\w+)"[^>]* open>', text)


def order(text: str) -> list[str]:
    return re.findall(r'<details class="field[^>]*data-field="(\w+)"', text)


# -- what it shows


def test_the_fields_stand_by_risk_and_only_the_doubtful_one_is_open(paper: Paper) -> None:
    fields = paper.contracts.look(paper.it)["fields"]
    assert paper.page.status_code == 200
    assert order(paper.text)[:3] == ["parties", "agreement_date", "governing_law"]
    others = [name for name in order(paper.text)[3:] if name in fields]
    assert others == sorted(others, key=lambda name: fields[name]["confidence"])
    assert opened(paper.text) == ["parties"]


def test_a_field_has_its_value_quote_signals_and_how_sure_it_is(paper: Paper) -> None:
    text = unescape(paper.text)
    field = paper.contracts.look(paper.it)["fields"]["parties"]
    assert field["value"] in text
    assert field["quote"] in text
    assert field["words"] in text
    assert f'value="{100 * field["confidence"]:.0f}" aria-label="Parties:' in text
    assert "Show on page 1" in text


def test_the_box_of_the_chosen_field_is_lit_on_its_page_in_points(paper: Paper) -> None:
    assert f'src="/workflows/{paper.it}/pages/1?scale=2"' in paper.text
    assert 'viewBox="0 0 612.0 792.0"' in paper.text
    assert len(re.findall(r'<rect class="lit"', paper.text)) == len(
        paper.contracts.look(paper.it)["fields"]["parties"]["boxes"]
    )
    paper.open("?field=governing_law")
    left, top, right, bottom = paper.contracts.look(paper.it)["fields"]["governing_law"]["boxes"][0]
    assert f'src="/workflows/{paper.it}/pages/2?scale=2"' in paper.text
    lit = re.search(r'<rect class="lit" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', paper.text)
    assert lit is not None
    assert [float(part) for part in lit.groups()] == pytest.approx(
        [left - 1, top - 1, right - left + 2, bottom - top + 2]
    )


def test_the_head_says_how_sure_what_that_means_how_long_and_who_holds_it(paper: Paper) -> None:
    data = paper.contracts.look(paper.it)
    assert f'<span class="percent">{data["finalConfidence"]} %</span> <span class="badge' in paper.text
    assert f"by the calibration {data['calibrationVersion']}" in paper.text
    assert ">1 d left<" in paper.text
    assert "claimed by you until" in paper.text
    paper.contracts.api.clock.advance(timedelta(hours=3))
    paper.open()
    assert ">21 h left<" in paper.text


def test_plain_text_is_shown_with_the_quote_marked(contracts: Contracts) -> None:
    made = contracts.upload("\n\n".join(OPENING).encode(), "plain.txt", query="?wait=0")
    contracts.trial.run_until_idle()
    paper = Paper(contracts, made.json()["data"]["workflowId"])
    paper.open("?field=agreement_date")
    marked = re.search(r'<mark class="lit">(.*?)</mark>', paper.text, re.DOTALL)
    assert marked is not None
    field = next(f for f in contracts.look(paper.it)["fields"].values() if f["quote"] == unescape(marked[1]))
    assert field["page"] == 1
    assert "<img" not in paper.text


def test_before_its_fields_are_read_it_says_so(contracts: Contracts) -> None:
    paper = Paper(contracts, contracts.taken(DOUBTFUL, read=False))
    assert paper.page.status_code == 200
    assert "not extracted yet" in paper.text


def test_what_comes_from_outside_is_shown_as_text(contracts: Contracts) -> None:
    pages = [[line.replace("Nordwind Tools, Inc.", "Nord <script>alert(1)</script> Tools, Inc.") for line in OPENING]]
    paper = Paper(contracts, contracts.taken(pages, filename=EVIL))
    assert "&lt;script&gt;alert(1)" in paper.text
    paper.decide("approve", notes=EVIL, value__parties=EVIL, do__parties="correct", at__parties=EVIL)
    assert paper.page.status_code == 422
    assert paper.form["notes"] == EVIL
    for text in (paper.text, paper.site.get("/ui/reviews").text, paper.site.get(f"/ui/instances/{paper.it}").text):
        assert "<script>alert" not in text
        assert "<img src=x" not in text


# -- who may


def claimed_by(paper: Paper) -> str | None:
    return paper.contracts.engine.reviews.waiting(instance_id=paper.it)[0].claimed_by


def test_opening_holds_nothing_and_taking_does(contracts: Contracts) -> None:
    it = contracts.in_review()
    site = Site(contracts.api)
    page = site.get(f"/ui/contracts/{it}/review", "reviewer")
    assert "claimed by nobody" in page.text
    assert 'id="approve"' not in page.text
    paper = Paper(contracts, it)
    assert claimed_by(paper) == "user:reviewer"
    other = Paper(contracts, it, "owner")
    assert "<strong>reviewer</strong> has claimed it" in other.text
    assert other.form == {}
    assert claimed_by(paper) == "user:reviewer"


def test_a_button_gives_it_back_to_everybody(paper: Paper) -> None:
    answer = paper.site.send(paper.path, f"{paper.path}/release", who="reviewer")
    assert answer.url.path == "/ui/reviews"
    assert claimed_by(paper) is None
    assert Paper(paper.contracts, paper.it, "owner").form != {}


def test_nobody_releases_what_somebody_else_has(paper: Paper) -> None:
    csrf = paper.site.form("/ui/halt", "/ui/halt", "owner")["csrf"]
    paper.site.browser("owner").post(f"{paper.path}/release", data={"csrf": csrf})
    assert claimed_by(paper) == "user:reviewer"
    taken = paper.site.browser("owner").post(f"{paper.path}/take", data={"csrf": csrf})
    assert "reviewer took it before you" in taken.text
    assert claimed_by(paper) == "user:reviewer"


def test_whoever_takes_it_late_sees_who_decided_and_reads_only(paper: Paper) -> None:
    late = paper.site.form("/ui/halt", "/ui/halt", "owner")
    paper.decide("approve", do__parties="accept")
    answer = paper.site.browser("owner").post(f"{paper.path}/take", data={"csrf": late["csrf"]})
    assert "Too late: reviewer has decided already (approve)." in answer.text
    assert 'id="approve"' not in answer.text


@pytest.mark.parametrize("who", ["viewer", "north-owner"])
def test_who_may_not_decide_can_neither_take_nor_release(paper: Paper, who: str) -> None:
    csrf = paper.site.browser(who).get("/ui/settings").text
    token = re.search(r'name="csrf" value="([^"]+)"', csrf)
    assert token is not None
    for what in ("take", "release"):
        answer = paper.site.browser(who).post(f"{paper.path}/{what}", data={"csrf": token[1]})
        assert answer.status_code == (403 if who == "viewer" else 404)
    assert claimed_by(paper) == "user:reviewer"


def test_a_viewer_looks_and_holds_nothing(contracts: Contracts) -> None:
    paper = Paper(contracts, contracts.in_review(), "viewer")
    assert paper.page.status_code == 200
    assert paper.form == {}
    assert "needs the role reviewer" in paper.text
    assert contracts.engine.reviews.waiting(instance_id=paper.it)[0].claimed_by is None


def test_a_page_that_only_keeps_itself_up_to_date_holds_nothing(contracts: Contracts) -> None:
    it = contracts.in_review()
    Site(contracts.api).get(f"/ui/contracts/{it}/review", "reviewer", headers={"X-Live": "1"})
    assert contracts.engine.reviews.waiting(instance_id=it)[0].claimed_by is None


def test_in_another_workspace_it_is_not_there(paper: Paper) -> None:
    for page in ("review", "comparison", "text?page=1&box=1,1,9,9"):
        assert paper.site.get(f"/ui/contracts/{paper.it}/{page}", "north-owner").status_code == 404


def test_a_form_without_its_token_is_refused(paper: Paper) -> None:
    paper.decide("approve", do__parties="accept", csrf="")
    assert paper.page.status_code == 403
    assert paper.contracts.state(paper.it) == "review_required"


# -- deciding


def test_accepted_it_goes_on_with_who_said_so(paper: Paper) -> None:
    paper.decide("approve", do__parties="accept", notes="as on page 1")
    assert paper.page.url.path == "/ui/reviews"
    assert "supply.pdf · Nordwind Tools, Inc., Harbor Retail LLC and 1 more" in paper.text
    assert paper.contracts.state(paper.it) == "validated"
    human = paper.contracts.look(paper.it)["fields"]["parties"]["human"]
    assert (human["action"], human["by"]) == ("accept", "user:reviewer")
    assert paper.contracts.look(paper.it)["notes"] == "as on page 1"


def test_sent_twice_it_is_decided_once(paper: Paper) -> None:
    sent = {**paper.form, "do.parties": "accept", "decision": "approve"}
    answers = [paper.site.browser("reviewer").post(paper.path, data=sent) for _ in range(2)]
    assert [str(a.url) for a in answers] == [str(answers[0].url)] * 2
    assert paper.contracts.path(paper.it).count("validated") == 1


def test_a_doubtful_field_without_a_decision_is_named_and_nothing_is_lost(paper: Paper) -> None:
    paper.decide("approve", notes="half done", value__agreement_date="2024-03-06")
    assert paper.page.status_code == 422
    assert "A decision is missing for: Parties." in paper.text
    assert paper.form["notes"] == "half done"
    assert paper.form["value.agreement_date"] == "2024-03-06"
    assert paper.form["do.agreement_date"] == "correct"
    assert paper.contracts.state(paper.it) == "review_required"


def test_a_corrected_value_has_no_tick_beside_the_wrong_one(paper: Paper) -> None:
    paper.press("look", "field:parties", do__parties="correct", value__parties="Nordwind Tools, Inc.")
    summary = paper.text.partition('data-field="parties"')[2].partition("</summary>")[0]
    shown = re.findall(r'data-decided="(\w+)"(?! hidden)', summary)
    assert shown == ["correct"]
    assert re.search(r"<del>Nordwind Tools, Inc.; Harbor.*?</del> <span>Nordwind Tools, Inc.</span>", summary)
    paper.decide("approve")
    paper.open()
    summary = paper.text.partition('data-field="parties"')[2].partition("</summary>")[0]
    assert "<del>Nordwind Tools, Inc.; Harbor" in summary
    assert "k-done" not in summary


def test_the_words_and_the_colour_of_a_confidence_are_the_same_everywhere(paper: Paper) -> None:
    percent = paper.contracts.look(paper.it)["finalConfidence"]
    said = grade(percent)
    shown = f'{percent} %</span> <span class="badge k-{said.kind}">{said.word}</span>'
    assert shown in paper.text
    field = 100 * paper.contracts.look(paper.it)["fields"]["parties"]["confidence"]
    both = f'{field:.0f} %</span> <span class="badge k-{grade(field).kind}">{grade(field).word}</span>'
    assert both in paper.text
    assert both in paper.site.get("/ui/reviews", "reviewer").text


def test_the_grades_are_those_of_the_machine() -> None:
    assert [n for n in range(101) if grade(n).word != words_of(n)] == []


def test_it_is_called_by_its_file_and_its_parties_and_never_by_a_hash(paper: Paper) -> None:
    digest = paper.contracts.engine.get(paper.it).key
    assert digest is not None
    title = "supply.pdf · Nordwind Tools, Inc., Harbor Retail LLC and 1 more"
    for path in (paper.path, "/ui/reviews", "/ui/instances", f"/ui/instances/{paper.it}"):
        text = paper.site.get(path, "owner").text
        named = text.partition('<nav class="tabs"')[0]  # the data of an instance has the hash of its file
        named = re.sub(r'(src|href)="[^"]*"', "", named)  # and so has the address of the file
        assert title in named, path
        assert digest.partition(":")[0][:12] not in named, path
    registry = paper.contracts.engine.registry  # on the overview, and on the machine's page
    assert paper.contracts.engine.read(lambda conn: names(conn, registry, [paper.it])) == {paper.it: title}


# -- search in the document


def test_words_are_found_on_their_pages_without_a_script(paper: Paper) -> None:
    paper.press("look", "find", q="governing   LAW", do__parties="accept")
    assert "1 place</span>" in paper.text
    assert "<mark>Governing Law</mark>" in paper.text
    assert paper.form["do.parties"] == "accept", "nothing that was entered is lost"


def test_the_search_says_where_the_words_stand_with_their_boxes(paper: Paper) -> None:
    found = paper.site.get(f"/ui/contracts/{paper.it}/find?q=laws%20of&page=2", "reviewer").json()
    assert [hit["page"] for hit in found["hits"]] == [2]
    assert len(found["boxes"][0]) >= 1
    assert paper.site.get(f"/ui/contracts/{paper.it}/find?q=nowhere%20at%20all", "reviewer").json()["hits"] == []
    assert paper.site.get(f"/ui/contracts/{paper.it}/find?q=law", "north-owner").status_code == 404


def test_a_value_of_the_wrong_kind_is_named_at_its_field_and_kept(paper: Paper) -> None:
    paper.decide("approve", do__parties="accept", do__agreement_date="correct", value__agreement_date="some day")
    assert paper.page.status_code == 422
    assert "Agreement date: 'some day' is not a date" in unescape(paper.text)
    assert paper.form["value.agreement_date"] == "some day"
    assert "agreement_date" in opened(paper.text)
    assert paper.contracts.state(paper.it) == "review_required"


def test_a_changed_value_is_a_correction_and_the_machines_stays_beside_it(paper: Paper) -> None:
    paper.decide("approve", do__parties="accept", value__agreement_date="6 March 2024")
    field = paper.contracts.look(paper.it)["fields"]["agreement_date"]
    assert (field["normalised"], field["machine"]["normalised"]) == ("2024-03-06", "2024-03-05")
    row = next(row for row in paper.contracts.engine.history(paper.it) if row.event == "approve")
    assert row.payload["decision"] == "correct"
    paper.open()
    assert "Corrected by reviewer; the machine had read: March 5, 2024" in paper.text


@pytest.mark.parametrize("action", ["clear", "absent"])
def test_a_field_is_cleared_or_marked_absent(paper: Paper, action: str) -> None:
    paper.decide("approve", do__parties="accept", do__renewal_term=action)
    field = paper.contracts.look(paper.it)["fields"]["renewal_term"]
    assert (field["value"], field["human"]["action"]) == (None, action)


def test_evidence_is_taken_as_a_rectangle_in_points(paper: Paper) -> None:
    paper.decide("approve", do__parties="accept", at__parties="1@70,80,200,95")
    human = paper.contracts.look(paper.it)["fields"]["parties"]["human"]
    assert human["evidence"]["quote"] == "SUPPLY AGREEMENT"


@pytest.mark.parametrize("place", ["1@500,10,600,20", "9:1-5", "1:5-1", "nonsense"])
def test_evidence_where_nothing_stands_is_refused_at_its_field(paper: Paper, place: str) -> None:
    paper.decide("approve", do__parties="accept", at__parties=place)
    assert paper.page.status_code == 422
    assert paper.form["do.parties"] == "accept"
    assert re.search(r'class="wrong" role="alert".*?<span>[Pp]arties: ', paper.text)
    assert paper.contracts.state(paper.it) == "review_required"


def test_another_value_that_was_found_can_be_taken(contracts: Contracts) -> None:
    paper = Paper(contracts, contracts.taken([BLANK, DOUBTFUL[1]]))
    other = contracts.look(paper.it)["fields"]["agreement_date"]["alternatives"][0]
    paper.press("take", "agreement_date:0", notes="so far")
    assert paper.page.status_code == 200
    assert paper.form["do.agreement_date"] == "correct"
    assert paper.form["value.agreement_date"] == other["value"]
    assert paper.form["notes"] == "so far"
    paper.decide("approve", do__parties="accept")
    field = contracts.look(paper.it)["fields"]["agreement_date"]
    assert (field["normalised"], field["quote"]) == (other["normalised"], other["quote"])


def test_turning_the_page_loses_nothing_that_was_entered(paper: Paper) -> None:
    paper.press("look", "page:2", do__parties="accept", value__renewal_term="2 years", notes="so far")
    assert f'src="/workflows/{paper.it}/pages/2?scale=2"' in paper.text
    assert (paper.form["do.parties"], paper.form["value.renewal_term"]) == ("accept", "2 years")
    paper.press("look", "field:governing_law")
    assert paper.form["field"] == "governing_law"
    assert (paper.form["do.parties"], paper.form["notes"]) == ("accept", "so far")
    assert paper.contracts.state(paper.it) == "review_required"


def test_rejecting_needs_a_word_why(paper: Paper) -> None:
    assert paper.decide("reject").status_code == 422
    assert "Enter a note with the reason" in paper.text
    assert paper.contracts.state(paper.it) == "review_required"
    paper.decide("reject", notes="not our contract")
    assert paper.contracts.state(paper.it) == "rejected"


def test_a_second_decision_is_refused_with_who_was_faster(paper: Paper) -> None:
    paper.contracts.api.clock.advance(timedelta(minutes=31))  # the first claim is over
    faster = Paper(paper.contracts, paper.it, "owner")
    faster.decide("approve", do__parties="accept")
    paper.decide("approve", do__parties="correct", value__parties="Nordwind Tools, Inc.; Harbor LLC")
    assert paper.page.status_code == 409
    assert "your decision was not accepted" in paper.text.lower()
    assert "Decided: <strong>approve</strong> by owner" in paper.text
    assert "Parties: corrected to Nordwind Tools, Inc.; Harbor LLC" in paper.text
    assert paper.form == {}


def test_somebody_elses_claim_is_shown_and_what_was_entered_is_named(paper: Paper) -> None:
    paper.contracts.api.clock.advance(timedelta(minutes=31))
    Paper(paper.contracts, paper.it, "owner")
    paper.decide("approve", do__parties="accept")
    assert paper.page.status_code == 409
    assert "<strong>owner</strong> has claimed it" in paper.text
    assert paper.contracts.state(paper.it) == "review_required"


def test_a_page_that_is_out_of_date_decides_nothing_and_keeps_what_was_entered(paper: Paper) -> None:
    paper.decide("approve", do__parties="accept", notes="mine", seq="1")
    assert paper.page.status_code == 409
    assert "The contract has changed since you opened this page" in paper.text
    assert (paper.form["do.parties"], paper.form["notes"]) == ("accept", "mine")
    paper.decide("approve")
    assert paper.contracts.state(paper.it) == "validated"


# -- what a drag asks for


def test_a_drag_takes_whole_words_also_along_one_line(paper: Paper) -> None:
    def words(box: str) -> str:
        quote: str = paper.site.get(f"/ui/contracts/{paper.it}/text?page=1&box={box}").json()["quote"]
        return quote

    first = paper.site.get(f"/ui/contracts/{paper.it}/text?page=1&box=70,80,200,95").json()["boxes"][0]
    left, top, right, bottom = first
    middle = (top + bottom) / 2
    assert words(f"{left + 12},{top},{right - 12},{bottom}") == "SUPPLY AGREEMENT", "half of a word is all of it"
    assert words(f"{left + 12},{middle},{right - 12},{middle + 0.5}") == "SUPPLY AGREEMENT", "a flat drag"
    assert words(f"{left + 12},{bottom + 1},{right - 12},{bottom + 1.5}") == "SUPPLY AGREEMENT", "just below the line"
    assert words(f"{left + 5},{middle},{left + 9},{middle + 0.5}") == "SUPPLY"


def test_the_text_under_a_rectangle_comes_with_its_exact_place(paper: Paper) -> None:
    found = paper.site.get(f"/ui/contracts/{paper.it}/text?page=1&box=70,80,200,95").json()
    assert (found["quote"], found["place"]) == ("SUPPLY AGREEMENT", "1:0-16")
    assert 70 < found["boxes"][0][0] < found["boxes"][0][2] < 200
    assert paper.site.get(f"/ui/contracts/{paper.it}/text?page=1&box=500,1,600,9").json()["quote"] == ""


@pytest.mark.parametrize(("asked", "status"), [("page=1&box=x", 422), ("page=9&box=1,1,9,9", 404), ("page=1", 422)])
def test_what_is_no_rectangle_is_refused(paper: Paper, asked: str, status: int) -> None:
    assert paper.site.get(f"/ui/contracts/{paper.it}/text?{asked}").status_code == status


# -- where it is linked from


def test_the_inbox_shows_fields_and_quotes_and_sends_to_the_page(paper: Paper) -> None:
    text = unescape(paper.site.get("/ui/reviews", "reviewer").text)
    assert f'href="/ui/contracts/{paper.it}/review"' in text
    assert "Open review page" in text
    field = paper.contracts.look(paper.it)["fields"]["governing_law"]
    assert " ".join(field["quote"].split())[:60] in text
    assert "/decide" not in text


def test_the_instance_page_links_there_instead_of_deciding_itself(paper: Paper) -> None:
    text = paper.site.get(f"/ui/instances/{paper.it}", "owner").text
    assert f'href="/ui/contracts/{paper.it}/review"' in text
    assert 'id="do-approve"' not in text


def test_the_comparison_stands_in_the_frame(contracts: Contracts) -> None:
    site = Site(contracts.api)
    it = contracts.in_review(filename=EVIL)
    assert "not compared yet" in site.get(f"/ui/contracts/{it}/comparison").text
    Paper(contracts, it).decide("approve", do__parties="accept")
    contracts.trial.run_until_idle()
    page = site.get(f"/ui/contracts/{it}/comparison")
    assert page.status_code == 200
    assert '<div class="comparison">' in page.text
    assert "<script>alert" not in page.text
    assert f'href="/ui/contracts/{it}/comparison"' in site.get(f"/ui/instances/{it}").text
    style = re.search(r'href="(/ui/static/\w+/comparison/comparison.css)"', page.text)
    assert style is not None
    assert site.get(style[1]).headers["content-type"].startswith("text/css")


@pytest.mark.parametrize("name", ["comparison/commercial.yaml", "contracts/../x.css", "nobody/x.css", "contracts/x.js"])
def test_other_files_of_an_application_are_not_served(contracts: Contracts, name: str) -> None:
    assert Site(contracts.api).get(f"/ui/static/0/{name}").status_code == 404
