"""PDF by Typst and DOCX by python-docx, read back and checked before anybody gets them.

Values reach Typst as data (`sys.inputs`), so no text of a profile or posting can become its code. The fonts are those
of the wheel; only where they lack a character, those of the system are tried. The export is PDF/UA-1: it can be read
aloud, and a character that no font can draw is an error instead of an empty box.

The same input gives the same bytes: a PDF has no date, and every entry of a DOCX archive has the same one. Two things
are outside: another version of the libraries, and PDFs that needed a font of the system.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from interlock.apps.jobs.autoapply.documents.read_back import docx_text, pdf_text, require_facts
from interlock.apps.jobs.autoapply.documents.values import Entry, Letter, TailoredResume
from interlock.apps.jobs.autoapply.documents.word_file import WordFile
from interlock.apps.jobs.autoapply.documents.wording import HEADINGS
from interlock.machine import InterlockError

LETTER_PAGES = 1
_UNDRAWABLE = re.compile(r"the text `(.{1,40})` could not be displayed|codepoint `(.{1,40})`")


class RenderError(InterlockError):
    """A document could not be made."""


class TooLong(RenderError):
    """The document has more pages than it may have."""


def resume_pdf(resume: TailoredResume, pages: int = 2) -> bytes:
    """The resume as PDF of at most so many pages, with every fact in it readable by machines."""
    contact = " · ".join(_texts(resume.contact))
    data = {
        "title": resume.name.text,
        "name": resume.name.text,
        "language": resume.language,
        "headline": resume.headline.text,
        "contact": [contact] if contact else [],
        "summary": resume.summary.text,
        "skills": _texts(resume.skills),
        "headings": HEADINGS[resume.language],
        "groups": [
            {"heading": heading, "entries": [_entry(one) for one in entries]} for heading, entries in _groups(resume)
        ],
    }
    made = _compile("resume.typ", data)
    _checked(made, resume_facts(resume), pages, "resume")
    return made


def letter_pdf(letter: Letter) -> bytes:
    """The letter as PDF of one page."""
    data = {
        "title": letter.subject.text or letter.name.text,
        "name": letter.name.text,
        "language": letter.language,
        "subject": letter.subject.text,
        "contact": [" · ".join(_texts(letter.contact))] if letter.contact else [],
        "salutation": letter.salutation.text,
        "first": letter.paragraphs[0].text if letter.paragraphs else "",
        "facts": _texts(letter.facts),
        "paragraphs": _texts([*letter.paragraphs[1:], *([letter.disclosure] if letter.disclosure else [])]),
        "closing": letter.closing.text,
    }
    made = _compile("letter.typ", data)
    _checked(made, _texts(letter.lines()), LETTER_PAGES, "letter")
    return made


def resume_docx(resume: TailoredResume) -> bytes:
    """The resume as a Word file."""
    file = WordFile(resume.name.text, resume.language)
    file.heading(resume.name.text, 1)
    for text in (resume.headline.text, " · ".join(_texts(resume.contact))):
        if text:
            file.paragraph(text)
    headings = HEADINGS[resume.language]
    if resume.summary:
        file.heading(headings["summary"], 2)
        file.paragraph(resume.summary.text)
    if resume.skills:
        file.heading(headings["skills"], 2)
        file.paragraph(", ".join(_texts(resume.skills)))
    for heading, entries in _groups(resume):
        file.heading(heading, 2)
        for entry in entries:
            file.paragraph(entry.heading.text, bold=True, second=entry.dates.text)
            for bullet in entry.bullets:
                file.paragraph(bullet.text, bullet=True)
    made = file.archive()
    require_facts(docx_text(made), resume_facts(resume), "the DOCX of the resume")
    return made


def letter_docx(letter: Letter) -> bytes:
    """The letter as a Word file."""
    file = WordFile(letter.subject.text or letter.name.text, letter.language)
    file.paragraph(letter.name.text, bold=True)
    if letter.contact:
        file.paragraph(" · ".join(_texts(letter.contact)))
    if letter.subject:
        file.heading(letter.subject.text, 1)
    facts = set(letter.facts)
    for line in letter.body():
        file.paragraph(line.text, bullet=line in facts)
    made = file.archive()
    require_facts(docx_text(made), _texts(letter.lines()), "the DOCX of the letter")
    return made


def resume_facts(resume: TailoredResume) -> list[str]:
    """What must survive: name, contacts, every employer, school, date, skill and bullet."""
    facts = [resume.name.text, *_texts(resume.contact), resume.headline.text, *_texts(resume.skills)]
    for entry in (*resume.employment, *resume.projects, *resume.education):
        facts += [piece.text for piece in (*entry.heading.pieces, *entry.dates.pieces) if piece.source is not None]
        facts += _texts(entry.bullets)
    return [one for one in facts if one]


def page_count(pdf: bytes) -> int:
    """The number of pages of a PDF."""
    return pdf_text(pdf)[1]


def _checked(made: bytes, facts: list[str], pages: int, what: str) -> None:
    text, count = pdf_text(made)
    if count > pages:
        raise TooLong(f"the {what} has {count} pages and may have {pages}; shorten it")
    require_facts(text, facts, f"the PDF of the {what}")


def _groups(resume: TailoredResume) -> list[tuple[str, tuple[Entry, ...]]]:
    headings = HEADINGS[resume.language]
    groups = (
        (headings["employment"], resume.employment),
        (headings["projects"], resume.projects),
        (headings["education"], resume.education),
    )
    return [(heading, entries) for heading, entries in groups if entries]


def _entry(entry: Entry) -> dict[str, Any]:
    return {"heading": entry.heading.text, "dates": entry.dates.text, "bullets": _texts(entry.bullets)}


def _texts(lines: Any) -> list[str]:
    return [one.text for one in lines]


@cache
def _template(name: str) -> bytes:
    return (files(__package__) / "templates" / name).read_bytes()


@cache
def _fonts(system: bool) -> Any:
    import typst

    # Reading the fonts once makes a page 8 times as fast: 3 ms instead of 28.
    return typst.Fonts(include_system_fonts=system, include_embedded_fonts=True)


def _compile(name: str, data: dict[str, Any]) -> bytes:
    try:
        return _typst(name, data, False)
    except RenderError:
        return _typst(name, data, True)


def _typst(name: str, data: dict[str, Any], system: bool) -> bytes:
    import typst

    inputs = {"data": json.dumps(data, ensure_ascii=True)}
    try:
        compiler = typst.Compiler(_template(name), font_paths=_fonts(system), sys_inputs=inputs)
        made = compiler.compile(format="pdf", pdf_standards="ua-1")
    except typst.TypstError as error:
        lacking = _UNDRAWABLE.search(error.message)
        if lacking:
            character = lacking[1] or lacking[2]
            raise RenderError(
                f"no font has the character {character}; write it differently in the profile, or install a font"
            ) from None
        raise RenderError(f"the PDF cannot be made: {error.message}") from None
    if not isinstance(made, bytes):
        raise RenderError("the PDF cannot be made: Typst gave no file")
    return made
