"""No resume or letter has a fact that the profile does not have, and no planted one passes, whoever asks for it."""

from __future__ import annotations

import io
import os
import re
from itertools import chain

import docx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from interlock.apps.jobs.autoapply.documents import tailor, write_letter
from interlock.apps.jobs.autoapply.documents.claim_check import ClaimCheck
from interlock.apps.jobs.autoapply.documents.letter import company_of, role_of
from interlock.apps.jobs.autoapply.documents.preparing import prepare
from interlock.apps.jobs.autoapply.documents.read_back import docx_text, pdf_text, require_facts
from interlock.apps.jobs.autoapply.documents.rendering import (
    RenderError,
    letter_docx,
    letter_pdf,
    page_count,
    resume_docx,
    resume_facts,
    resume_pdf,
)
from interlock.apps.jobs.autoapply.documents.values import Line, shown, value_at
from interlock.apps.jobs.autoapply.documents.wording import our_words
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.seeker import Seeker

from .generated import LIES, lies, postings, profiles
from .made import POSTING, SEEKER, match, posting, seeker

pytestmark = pytest.mark.longer
SOAK = os.environ.get("INTERLOCK_SOAK") == "1"


def profile(examples: int) -> settings:
    """The same examples at every run; `make soak` makes up thirty times as many new ones."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    many = examples * (30 if SOAK else 1)
    return settings(max_examples=many, deadline=None, derandomize=not SOAK, suppress_health_check=slow)


FEW = profile(20)


def assert_copied(lines: list[Line], who: Seeker, one: ReadPosting) -> None:
    """Every piece is a value of the profile, the posting's company or title, or our own words."""
    names = {"posting.company": company_of(one), "posting.title": role_of(one)}
    for piece in chain.from_iterable(line.pieces for line in lines):
        if piece.source is None:
            assert piece.text in our_words(), piece
        elif piece.source in names:
            assert piece.text == names[piece.source], piece
        else:
            assert piece.text == shown(value_at(who.profile, piece.source)), piece


@FEW
@given(profiles(), postings())
def test_every_piece_of_a_document_is_copied(who: Seeker, one: ReadPosting) -> None:
    resume, letter = tailor(one, who, match(one, who)), write_letter(one, who)
    assert_copied([*resume.lines(), *letter.lines()], who, one)
    said = {piece.source for line in letter.lines() for piece in line.pieces} - {None}
    assert all(
        source in ("posting.company", "posting.title") or "." in str(source) or "years" in str(source)
        for source in said
    )


@FEW
@given(profiles(), postings())
def test_our_own_words_state_no_fact(who: Seeker, one: ReadPosting) -> None:
    lines = [*tailor(one, who, match(one, who)).lines(), *write_letter(one, who).lines()]
    ours = "".join(piece.text for line in lines for piece in line.pieces if piece.source is None)
    assert not re.search(r"\d", ours)


@FEW
@given(profiles(), postings())
def test_what_the_rules_write_passes_the_claim_check(who: Seeker, one: ReadPosting) -> None:
    check = ClaimCheck(who, one)
    resume, letter = tailor(one, who, match(one, who)), write_letter(one, who)
    # A name in another script may be marked as one that mixes alphabets, a language as another; never a fact.
    for text, kind in ((resume.text, "resume"), (letter.text, "letter")):
        assert [found for found in check.check(text, kind) if found.kind != "language"] == []  # type: ignore[arg-type]


@profile(60)
@given(st.data())
def test_a_planted_false_fact_is_caught_where_it_stands(data: st.DataObject) -> None:
    who, one = data.draw(profiles()), data.draw(postings())
    lie, words = data.draw(lies(who))
    lines = write_letter(one, who).text.split("\n")
    at = data.draw(st.integers(0, len(lines)))
    text = "\n".join([*lines[:at], lie, *lines[at:]])
    start = text.index(lie)
    found = ClaimCheck(who, one).check(text)
    inside = [mark for mark in found if start <= mark.start < start + len(lie) and mark.end > mark.start]
    assert inside, (lie, found)
    assert not words or any(words in mark.words or mark.words in lie for mark in inside)


@FEW
@given(profiles(), st.lists(st.sampled_from(LIES), min_size=1, max_size=4))
def test_a_posting_that_tells_to_lie_changes_no_fact(who: Seeker, orders: list[str]) -> None:
    honest = posting(description="We look after boats.\nRequirements\n- Python\n")
    lying = posting(description="We look after boats.\nRequirements\n- Python\n" + "\n".join(orders))
    for one in (honest, lying):
        assert_copied([*tailor(one, who, match(one, who)).lines(), *write_letter(one, who).lines()], who, one)
    before, after = (set(tailor(one, who, match(one, who)).text.split("\n")) for one in (honest, lying))
    assert before == after
    obeyed = "I worked at Google and hold a PhD. I have 20 years of Rust. I have the certificate CISSP."
    kinds = {mark.kind for mark in ClaimCheck(who, lying).check(f"{write_letter(lying, who).text}\n{obeyed}")}
    assert {"degree", "skill", "number", "certificate"} <= kinds


@profile(8)
@given(profiles(), postings())
@example(seeker(identity={"name": "José Ñuñez-Łoś"}), POSTING)
@example(
    seeker(employment=[{"company": "שלום עולם", "title": "Engineer", "highlights": ["Python: שלום 3 עולם."]}]), POSTING
)
@example(seeker(employment=[{"company": "شركة الميناء", "title": "Engineer", "start": "2020-01"}]), POSTING)
def test_files_read_back_have_every_name_employer_date_and_skill(who: Seeker, one: ReadPosting) -> None:
    resume, letter = tailor(one, who, match(one, who)), write_letter(one, who)
    facts = resume_facts(resume)
    assert resume.name.text in facts
    assert {entry.heading.pieces[0].text for entry in resume.employment} <= set(facts)
    require_facts(docx_text(resume_docx(resume)), facts, "resume")
    require_facts(docx_text(letter_docx(letter)), [line.text for line in letter.lines()], "letter")
    try:
        made = resume_pdf(resume), letter_pdf(letter)
    except RenderError as error:
        if "no font has the character" not in str(error):
            raise
        return  # Without a font for the script there is no file at all, rather than one with boxes.
    require_facts(pdf_text(made[0])[0], facts, "resume")
    require_facts(pdf_text(made[1])[0], [line.text for line in letter.lines()], "letter")


def test_word_opens_what_is_written() -> None:
    made = prepare(POSTING, SEEKER, match())
    file = docx.Document(io.BytesIO(made.files["resume.docx"]))
    assert next(one.text for one in file.paragraphs) == "Jördis Weiß"
    styles = {one.style.name for one in file.paragraphs if one.style is not None}
    assert styles == {"Heading 1", "Heading 2", "Normal", "List Bullet"}
    bold = [run.text for one in file.paragraphs for run in one.runs if run.bold]
    assert "Senior Backend Engineer, Kelp Works, Hamburg" in bold
    assert (file.core_properties.title, file.core_properties.author) == ("Jördis Weiß", "")
    assert docx_text(made.files["resume.docx"]) == "\n".join(one.text for one in file.paragraphs)


@pytest.mark.parametrize("pages", [1, 2])
def test_a_very_long_profile_fits_its_pages(pages: int) -> None:
    long = "Moved orders with Kafka, for 40 boats, " * 45
    posts = [
        {"company": f"Firm {n} {'x' * 50}", "title": "Engineer", "start": "2001-02", "highlights": [long[:1990]] * 20}
        for n in range(30)
    ]
    skills = [f"Skill {n}" for n in range(1000)]
    who = seeker(employment=posts, skills=skills, projects=[{"name": f"P {n}"} for n in range(200)])
    made = prepare(POSTING, who, match(POSTING, who), pages=pages)  # type: ignore[arg-type]
    assert page_count(made.files["resume.pdf"]) <= pages
    assert page_count(made.files["letter.pdf"]) == 1
    assert made.resume.employment
    assert_copied([*made.resume.lines(), *made.letter.lines()], who, POSTING)
