"""Postings and filled forms of our own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interlock.apps.jobs.autoapply.documents.packet import Packet, file_hashes
from interlock.apps.jobs.autoapply.submission.values import FilledForm
from interlock.apps.jobs.finder.postings.posting import Extraction, Method, Posting, Question

FILES = {"resume.pdf": b"%PDF-1.7 a resume", "letter.pdf": b"%PDF-1.7 a letter"}
NAME, EMAIL = "Robin Vale", "robin.vale@example.org"


def posting(**given: Any) -> Posting:
    found = {"ats": "html", "extraction": Extraction(method=Method.API, adapter_version="1"), **given}
    return Posting.model_validate(found)


def filled(
    one: Posting, questions: tuple[Question, ...], answers: Mapping[str, Any], files: Mapping[str, bytes] = FILES
) -> FilledForm:
    packet = Packet(one.url or "7", "profile", "content", "resume", "letter", file_hashes(files), dict(answers))
    return FilledForm(packet, one, questions, dict(files))
