"""PDF and DOCX files have every fact, as text, whatever characters it has."""

from __future__ import annotations

import io
import zipfile

import pytest

from interlock.apps.jobs.autoapply.documents import tailor, write_letter
from interlock.apps.jobs.autoapply.documents.preparing import fitted, prepare
from interlock.apps.jobs.autoapply.documents.read_back import FactLost, docx_text, pdf_text, require_facts
from interlock.apps.jobs.autoapply.documents.rendering import (
    RenderError,
    TooLong,
    letter_pdf,
    page_count,
    resume_docx,
    resume_pdf,
)
from tests.apps.jobs.autoapply.documents.made import POSTING, SEEKER, match, posting, seeker

HOSTILE = {
    "code": '#read("/etc/passwd") #import "@preview/x:1.0.0" #panic()',
    "markup": "*bold* _it_ = head - item + item / term: x ~ -- --- <label> @ref ``raw`` ```py x```",
    "math": "$ x^2 $ costs $5 and $6",
    "backslash": "a \\ b \\u{41} \\# \\\\",
    "quotes": "\" ' ” ] } ) [ { ( // no comment /* nor this */",
    "umlauts": "Größe, Übung, Straße, naïve, Łódź, Đặng",
    "signs": "≥ 3, ≤ 4, € 5, 50 %, →, …, \u2013, fi ffl office",
    "lines": "one\ntwo\r\nthree\tfour",
    "right to left": "Built שלום for the port",
    "json": '{"name": "x"}, null, \\"',
    "xml": "<w:t>&amp;]]></w:t>",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_value_is_text_and_survives(name: str) -> None:
    said = HOSTILE[name]
    post = {"company": f"Acme {said}", "title": "Engineer", "start": "2020-01", "highlights": [f"Python: {said}"]}
    who = seeker(employment=[post], skills=[f"Skill {said}"])
    one = posting(title=f"Engineer {said}", company_name=f"Boats {said}")
    resume, letter = tailor(one, who, match(one, who)), write_letter(one, who)
    made = resume_pdf(resume), letter_pdf(letter)
    shown = " ".join(f"Python: {said}".split())
    for text in (pdf_text(made[0])[0], docx_text(resume_docx(resume))):
        require_facts(text, [shown], name)
    assert "root:" not in pdf_text(made[0])[0]


def test_the_same_input_gives_the_same_bytes() -> None:
    first, second = (prepare(POSTING, SEEKER, match()) for _ in range(2))
    assert first == second
    assert set(first.files) == {"resume.pdf", "resume.docx", "letter.pdf", "letter.docx"}
    with zipfile.ZipFile(io.BytesIO(first.files["resume.docx"])) as archive:
        assert {one.date_time[0] for one in archive.infolist()} == {2000}
    assert b"python-docx" not in first.files["resume.docx"]


def test_name_contacts_employers_dates_and_skills_are_read_back() -> None:
    text, pages = pdf_text(resume_pdf(tailor(POSTING, SEEKER, match())))
    assert pages == 1
    for fact in (
        "Jördis Weiß",
        "jordis@example.org",
        "Möwe & Söhne",
        "09/2015",
        "postgres",
        "Hafen University",
        "≤ 40",
    ):
        assert fact in text


@pytest.mark.parametrize("dash", ["-", "\u2010", "\u2013", "\u00ad", "/"])
def test_a_line_may_break_at_a_hyphen(dash: str) -> None:
    said = "Python: " + f"well{dash}known reading{dash}room end{dash}to{dash}end " * 8
    who = seeker(employment=[{"company": "Acme", "title": "Engineer", "highlights": [said]}])
    assert page_count(resume_pdf(tailor(POSTING, who, match(POSTING, who)))) == 1


def test_many_schools_are_left_out_with_the_reason() -> None:
    who = seeker(education=[{"school": f"School {n}"} for n in range(200)])
    resume, _ = fitted(POSTING, who, match(POSTING, who), 1)
    assert len(resume.education) < 10
    assert {one.reason for one in resume.differences if one.source == "education[150]"} == {"length"}


def test_a_lost_fact_is_an_error_that_names_it() -> None:
    with pytest.raises(FactLost, match="the PDF of the resume lacks 'Kelp Works' when it is read back"):
        require_facts("nothing", ["Kelp Works"], "the PDF of the resume")


def test_a_character_that_no_font_has_is_an_error_that_names_it() -> None:
    post = {"company": "Acme", "title": "Engineer", "highlights": ["Built \u0378 with Python."]}
    who = seeker(employment=[post])
    with pytest.raises(RenderError, match="no font has the character"):
        resume_pdf(tailor(POSTING, who, match(POSTING, who)))


def test_a_long_profile_is_fitted_to_its_pages() -> None:
    long = "Ran PostgreSQL and Kafka for boats. " * 8
    posts = [{"company": f"Firm {n}", "title": "Engineer", "highlights": [long] * 5} for n in range(12)]
    who = seeker(employment=posts)
    resume, made = fitted(POSTING, who, match(POSTING, who), 1)
    assert page_count(made) == 1
    assert resume.employment
    with pytest.raises(TooLong, match="and may have 1"):
        resume_pdf(tailor(POSTING, who, match(POSTING, who), pages=2), 1)


def test_ten_thousand_characters_in_a_posting_make_a_letter_of_one_page() -> None:
    one = posting(title="Engineer " + "x" * 10_000, company_name="Boats " * 2000)
    assert page_count(letter_pdf(write_letter(one, SEEKER))) == 1
