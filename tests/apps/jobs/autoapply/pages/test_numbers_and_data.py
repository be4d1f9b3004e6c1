"""The numbers, the answer bank, and the person's data as a whole."""

from __future__ import annotations

import json
import zipfile
from html import unescape
from io import BytesIO
from typing import Any

from interlock.apps.jobs.autoapply.answers import SavedAnswer
from interlock.apps.jobs.autoapply.board import cards
from interlock.apps.jobs.autoapply.board.stages import Stage
from interlock.apps.jobs.autoapply.records import answers
from tests.apps.jobs.autoapply.applicant import HERE
from tests.apps.jobs.autoapply.pages.conftest import PageApplicant
from tests.support.site import EVIL

ANSWERS, NUMBERS, DATA = "/ui/jobs/answers", "/ui/jobs/numbers", "/ui/jobs/apply-data"
PAST = b"company,title,date\nKelp Works,Cook,2026-03-01\nGull,Pilot,someday\n"


def remember(applicant: PageApplicant, label: str, value: Any) -> None:
    saved = SavedAnswer(label=label, value=value)
    applicant.engine.write(lambda unit: answers.remember(unit, HERE, saved, "user:owner"))


def test_the_numbers_of_few_applications_are_grey(applicant: PageApplicant) -> None:
    assert "No applications sent yet." in applicant.site.get(NUMBERS).text
    for number in range(2):
        applicant.act(applicant.by_hand(number), "submitted")
    it = applicant.rows()[0].id
    applicant.engine.write(lambda unit: cards.move_card(unit, HERE, it, Stage.INTERVIEW, "user:owner"))
    text = unescape(applicant.site.get(NUMBERS).text)
    assert '<b class="faint">100 %</b><span>submitted, of 2 that ended' in text
    rows = text[text.index("Replies</h2>") :]
    assert '<tr class="few"><th scope="row">html</th><td class="num">2</td><td class="num">1</td>' in rows
    assert "21 % to 100 % by chance" in rows
    assert '<th scope="row">90 to 100</th>' in applicant.site.get(f"{NUMBERS}?by=score").text
    assert applicant.site.get(f"{NUMBERS}?by=weather").status_code == 422


def test_answers_are_listed_with_contradictions_and_forgotten(applicant: PageApplicant) -> None:
    remember(applicant, "What is your notice period?", "4 weeks")
    remember(applicant, "Notice period", "8 weeks")
    remember(applicant, f"Why us? {EVIL}", EVIL)
    text = unescape(applicant.site.get(ANSWERS).text)
    assert "These answers contradict each other." in text
    assert "notice period</b>: 4 weeks or 8 weeks" in text or "notice period</b>: 8 weeks or 4 weeks" in text
    assert "<img src=x" not in applicant.site.get(ANSWERS).text
    assert "1 answer<" in applicant.site.get(f"{ANSWERS}?q=why").text
    wrong = next(
        one for one in applicant.engine.read(lambda conn: answers.page(conn, HERE)) if one.answer.value == "8 weeks"
    )
    assert applicant.forged(ANSWERS, "owner", answer=str(wrong.id), workspace=HERE).status_code == 200
    assert "contradict" not in applicant.site.get(ANSWERS).text
    assert applicant.forged(ANSWERS, "viewer", answer=str(wrong.id), workspace=HERE).status_code == 403
    assert 'name="answer"' not in applicant.site.get(ANSWERS, "viewer").text
    assert "4 weeks" not in applicant.site.get(ANSWERS, "north-owner").text


def test_everything_is_exported_as_zip_json_and_csv(applicant: PageApplicant) -> None:
    it = applicant.apply()
    archive = zipfile.ZipFile(BytesIO(applicant.site.get(f"{DATA}/export?format=zip").content))
    assert any(name.endswith("resume.pdf") for name in archive.namelist())
    whole = json.loads(applicant.site.get(f"{DATA}/export?format=json").text)
    assert str(it) in json.dumps(whole)
    assert str(it) in applicant.site.get(f"{DATA}/export?format=csv&what=applications").text
    assert applicant.site.get(f"{DATA}/export?format=csv&what=secrets").status_code == 422
    assert str(it) not in applicant.site.get(f"{DATA}/export?format=json", "north-owner").text


def test_past_applications_are_shown_before_they_are_imported(applicant: PageApplicant) -> None:
    form = applicant.site.form(DATA, DATA)
    file = {"file": ("past.csv", PAST, "text/csv")}
    owner = applicant.site.browser()
    shown = owner.post(DATA, data={**form, "do": "preview", "first": ""}, files=file)
    assert "past.csv: 1 new, 0 known, 1 unreadable." in unescape(shown.text)
    assert applicant.rows() == []
    done = owner.post(DATA, data={**form, "do": "import", "first": ""}, files=file)
    assert "Imported: 1 application; 1 row could not be read." in unescape(done.text)
    assert [(one.company, one.origin) for one in applicant.rows()] == [("Kelp Works", "import")]
    assert owner.post(DATA, data={**form, "do": "preview", "first": ""}).status_code == 422
    assert "Import</button>" not in applicant.site.get(DATA, "viewer").text


def test_everything_is_deleted_only_by_an_owner_who_writes_so(applicant: PageApplicant) -> None:
    applicant.apply()
    applicant.rule(name="mine")
    path = f"{DATA}/delete"
    assert applicant.site.send(DATA, path, {"confirm": "yes"}).status_code == 422
    for who in ("viewer", "member"):
        assert 'name="confirm"' not in applicant.site.get(DATA, who).text
        assert applicant.forged(path, who, confirm="delete everything", workspace=HERE).status_code == 403
    assert len(applicant.rows()) == 1
    answer = applicant.site.send(DATA, path, {"confirm": "Delete everything"})
    assert answer.status_code == 200
    [row] = applicant.rows()
    assert (row.title, row.company, row.url) == ("", "", ""), "only that it was applied for is known"
    assert "No rules yet." in applicant.site.get("/ui/jobs/apply-rules").text
