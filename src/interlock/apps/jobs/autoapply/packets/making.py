"""Making a packet of a posting, documents and a filled form: its inputs, its claims, and what is stored of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from interlock.apps.jobs.autoapply.answers import FormContext
from interlock.apps.jobs.autoapply.answers.bank import SavedAnswer, hits
from interlock.apps.jobs.autoapply.documents.claim_check import ClaimCheck
from interlock.apps.jobs.autoapply.documents.claim_finding import ClaimFinding
from interlock.apps.jobs.autoapply.documents.packet import Packet, canonical, file_hashes
from interlock.apps.jobs.autoapply.documents.preparing import Documents
from interlock.apps.jobs.autoapply.documents.values import DroppedText, Letter
from interlock.apps.jobs.autoapply.packets.form import Form, plain
from interlock.apps.jobs.autoapply.packets.stored import CHECK, PACKET
from interlock.apps.jobs.autoapply.submission.values import media_type
from interlock.apps.jobs.finder.postings.posting import Question
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.seeker import Seeker
from interlock.apps.jobs.finder.records.postings import PostingRow


def inputs_of(
    row: PostingRow,
    profile_digest: str,
    questions: Sequence[Question],
    bank: Sequence[SavedAnswer],
    context: FormContext,
) -> str:
    """A digest of everything that a packet is made from. The same inputs use the packet again."""
    said = [
        [hit.saved.key, plain(hit.saved.value)]
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
