"""Packets: made from a posting, a profile and saved answers, stored as artifacts, and read again as they were made."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from pydantic import ValidationError

from interlock.apps.jobs.autoapply.answers import Answered, Applicant, FormContext, Knockout, knockouts, resolve_form
from interlock.apps.jobs.autoapply.answers.bank import SavedAnswer, hits
from interlock.apps.jobs.autoapply.answers.fields import field_of
from interlock.apps.jobs.autoapply.answers.values import Answer, Origin
from interlock.apps.jobs.autoapply.documents.claim_check import ClaimCheck
from interlock.apps.jobs.autoapply.documents.claim_finding import ClaimFinding
from interlock.apps.jobs.autoapply.documents.packet import Packet, canonical, file_hashes, packet_of
from interlock.apps.jobs.autoapply.documents.preparing import Documents
from interlock.apps.jobs.autoapply.documents.values import DroppedText, Letter
from interlock.apps.jobs.autoapply.submission import Adapter, FilledForm
from interlock.apps.jobs.autoapply.submission.values import media_type
from interlock.apps.jobs.finder.postings.posting import Posting, Question
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.profile import Profile
from interlock.apps.jobs.finder.profiles.seeker import Seeker
from interlock.apps.jobs.finder.records.postings import PostingRow
from interlock.engine import Unreadable, artifacts
from interlock.machine import WorkError

LETTER = "the letter of this packet"
PACKET, CHECK = "packet.json", "claim_check.json"
DOCUMENTS = {"resume": "resume.pdf", "cover_letter": "letter.pdf"}
"""Canonical field of a file question → the file that answers it."""
KINDS = {
    "resume.pdf": "resume_pdf",
    "resume.docx": "resume_docx",
    "letter.pdf": "letter_pdf",
    "letter.docx": "letter_docx",
    PACKET: "packet",
    CHECK: "claim_check",
}


class NoPacket(WorkError):
    """The application has no packet of the hash that it names."""


@dataclass(frozen=True, slots=True)
class Form:
    """The questions of a form with their answers, and what in them may reject the application."""

    answered: tuple[Answered, ...]
    knockouts: tuple[Knockout, ...]

    @property
    def answers(self) -> dict[str, Any]:
        """What is sent: answers that need no confirmation."""
        return {
            one.question.key: _plain(one.answer.value)
            for one in self.answered
            if one.answer.value is not None and not one.answer.needs_user
        }

    @property
    def open_questions(self) -> tuple[Answered, ...]:
        """Questions that only the user can answer."""
        return tuple(one for one in self.answered if one.answer.needs_user)

    @property
    def questions(self) -> tuple[Question, ...]:
        return tuple(one.question for one in self.answered)

    def json(self) -> dict[str, Any]:
        return {
            "answered": [one.model_dump(mode="json") for one in self.answered],
            "knockouts": [one._asdict() for one in self.knockouts],
        }


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def read_form(adapter: Adapter, posting: Posting) -> tuple[Question, ...]:
    """The questions of a posting's form, as the way of submitting it knows them."""
    return asyncio.run(adapter.form(posting))


def fill(
    questions: Sequence[Question],
    posting: ReadPosting,
    profile: Profile,
    bank: Sequence[SavedAnswer],
    context: FormContext,
) -> Form:
    """Answer a form from profile and saved answers."""
    answered = resolve_form(questions, Applicant(profile, tuple(bank), DOCUMENTS), context)
    return Form(answered, knockouts(answered, posting, profile, context))


def with_letter(form: Form, letter: str, context: FormContext) -> Form:
    """The form with the letter as the answer to a question for its text."""
    answered = tuple(
        one.model_copy(update={"answer": Answer(value=letter, origin=Origin.RULE, confidence=1.0, evidence=LETTER)})
        if _asks_for_letter(one, letter, context)
        else one
        for one in form.answered
    )
    return replace(form, answered=answered)


def _asks_for_letter(one: Answered, letter: str, context: FormContext) -> bool:
    question = one.question
    if question.type not in ("text", "long") or one.answer.value is not None or question.options:
        return False
    fits = question.max_len is None or len(letter) <= question.max_len
    return fits and field_of(question, context.ats).name == "cover_letter"


def context_of(posting: Posting, now: datetime, application: UUID | None) -> FormContext:
    return FormContext.of(posting, now.date(), str(application) if application else None)


def used_answers(form: Form, bank: Sequence[SavedAnswer], context: FormContext) -> list[SavedAnswer]:
    """The saved answers that the form's answers are."""
    found = []
    for one in form.answered:
        if one.answer.origin is Origin.SAVED and one.answer.value is not None:
            found += [hit.saved for hit in hits(bank, one.question, context)[:1]]
    return found


def inputs_of(
    row: PostingRow,
    profile_digest: str,
    questions: Sequence[Question],
    bank: Sequence[SavedAnswer],
    context: FormContext,
) -> str:
    """A digest of everything that a packet is made from. The same inputs use the packet again."""
    said = [
        [hit.saved.key, _plain(hit.saved.value)]
        for one in questions
        for hit in hits(bank, one, context)
        if hit.likeness == 1.0
    ]
    return sha256(canonical([profile_digest, row.content_hash, said])).hexdigest()


def packet_from(row: PostingRow, profile_digest: str, documents: Documents, form: Form) -> Packet:
    return Packet(
        str(row.id),
        profile_digest,
        row.content_hash,
        documents.resume.text,
        documents.letter.text,
        file_hashes(documents.files),
        form.answers,
    )


def claims_of(documents: Documents, seeker: Seeker, posting: ReadPosting) -> dict[str, list[ClaimFinding]]:
    """What the documents say without the profile saying it, by document."""
    check = ClaimCheck(seeker, posting)
    found = {
        "resume": check.check(documents.resume.text, "resume"),
        "letter": _in_letter(check, documents.letter),
    }
    return {name: findings for name, findings in found.items() if findings}


def _in_letter(check: ClaimCheck, letter: Letter) -> list[ClaimFinding]:
    """The findings in a letter. The sentence that says who wrote it is the operator's and no claim."""
    text, own = letter.text, letter.disclosure.text
    start = text.rfind(own) if own else len(text)
    return [one for one in check.check(text, "letter") if not start <= one.start < start + len(own)]


def dropped_texts(documents: Documents) -> dict[str, DroppedText]:
    """What a model wrote and the claim check refused, by document. It is shown, and never sent."""
    found = {"resume": documents.resume.dropped, "letter": documents.letter.dropped}
    return {name: one for name, one in found.items() if one is not None}


def artifacts_of(
    packet: Packet, documents: Documents, form: Form, claims: Mapping[str, Sequence[ClaimFinding]]
) -> list[tuple[str, str, bytes]]:
    """Name, media type and content of everything that is kept of a packet."""
    kept = {
        **packet.json(),
        "form": form.json(),
        "differences": [
            {"kind": one.kind, "source": one.source, "text": one.text, "reason": one.reason}
            for one in documents.resume.differences
        ],
        "resume_by": documents.resume.method,
        "letter_by": documents.letter.method,
        "letter_note": documents.letter.note,
        "dropped": {
            name: {"text": one.text, "findings": _marks(one.findings)} for name, one in dropped_texts(documents).items()
        },
    }
    check = {name: _marks(findings) for name, findings in claims.items()}
    files = [(name, media_type(name), data) for name, data in documents.files.items()]
    return [*files, (PACKET, "application/json", _json(kept)), (CHECK, "application/json", _json(check))]


def _marks(findings: Sequence[ClaimFinding]) -> list[dict[str, Any]]:
    return [
        {"kind": one.kind, "words": one.words, "start": one.start, "end": one.end, "why": one.explanation}
        for one in findings
    ]


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace")


# -- reading again


@dataclass(frozen=True, slots=True)
class StoredPacket:
    """A packet as it was made."""

    packet: Packet
    form: Form
    differences: list[dict[str, Any]]
    letter_by: str
    letter_note: str
    resume_by: str
    dropped: dict[str, dict[str, Any]]
    """Document → what a model wrote and the claim check refused."""
    claim_check: dict[str, list[dict[str, Any]]]
    files: Mapping[str, bytes]

    def filled(self, posting: Posting) -> FilledForm:
        """What an adapter sends."""
        return FilledForm(self.packet, posting, self.form.questions, self.files)


def stored_packet(
    conn: sa.Connection, instance_id: UUID, packet_hash: str, *, files: bool = True
) -> StoredPacket | None:
    """The packet of that hash; None if the application has none. Raises Unreadable for one that was changed."""
    kept = {one.name: one for one in artifacts.of(conn, instance_id)}
    if PACKET not in kept:
        return None
    said = _read_json(artifacts.read(conn, instance_id, kept[PACKET].hash))
    if said.get("packet_hash") != packet_hash:
        return None
    try:
        names = Packet.__dataclass_fields__
        packet = packet_of({**{name: said[name] for name in names}, "packet_hash": packet_hash})
        form = Form(
            tuple(Answered.model_validate(one) for one in said["form"]["answered"]),
            tuple(Knockout(**one) for one in said["form"]["knockouts"]),
        )
    except (LookupError, TypeError, ValueError, ValidationError) as error:
        raise Unreadable(f"the packet of application {instance_id} cannot be read: {error}; prepare it again") from None
    check = _read_json(artifacts.read(conn, instance_id, kept[CHECK].hash)) if CHECK in kept else {}
    content = (
        {name: artifacts.read(conn, instance_id, digest) for name, digest in packet.files.items()} if files else {}
    )
    return StoredPacket(
        packet,
        form,
        list(said.get("differences", [])),
        str(said.get("letter_by", "")),
        str(said.get("letter_note", "")),
        str(said.get("resume_by", "rules")),
        dict(said.get("dropped") or {}),
        check,
        content,
    )


def _read_json(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
