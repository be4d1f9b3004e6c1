"""Preparing: the documents of an application as files, fitted to their pages and read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from interlock.apps.jobs.autoapply.documents.letter import write_letter
from interlock.apps.jobs.autoapply.documents.rendering import TooLong, letter_docx, letter_pdf, resume_docx, resume_pdf
from interlock.apps.jobs.autoapply.documents.tailoring import Choice, tailor
from interlock.apps.jobs.autoapply.documents.values import Letter, TailoredResume
from interlock.apps.jobs.finder.matching import MatchResult
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.seeker import Seeker

FILLS = (1.0, 0.85, 0.7, 0.5, 0.3)
"""Shares of the pages that are tried, because lines are only estimated before they are set."""


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of an application, and their files by name."""

    resume: TailoredResume
    letter: Letter
    files: Mapping[str, bytes]


def prepare(
    posting: ReadPosting,
    seeker: Seeker,
    match: MatchResult,
    *,
    pages: Literal[1, 2] = 2,
    letter: Letter | None = None,
    choice: Choice | None = None,
) -> Documents:
    """Resume and letter as PDF and DOCX. Without a letter and a choice of a model's, the rules write and choose."""
    resume, made = fitted(posting, seeker, match, pages, choice)
    written = letter or write_letter(posting, seeker)
    files = {
        "resume.pdf": made,
        "resume.docx": resume_docx(resume),
        "letter.pdf": letter_pdf(written),
        "letter.docx": letter_docx(written),
    }
    return Documents(resume, written, files)


def fitted(
    posting: ReadPosting,
    seeker: Seeker,
    match: MatchResult,
    pages: Literal[1, 2] = 2,
    choice: Choice | None = None,
) -> tuple[TailoredResume, bytes]:
    """The fullest resume that fits on the pages, and its PDF. Raises TooLong if none does."""
    for fill in FILLS:
        resume = tailor(posting, seeker, match, pages=pages, fill=fill, choice=choice)
        try:
            return resume, resume_pdf(resume, pages)
        except TooLong:
            if fill == FILLS[-1]:
                raise
    raise AssertionError("FILLS is empty")
