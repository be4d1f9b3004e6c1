"""The packet of an application as it was stored, read again byte for byte."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from pydantic import ValidationError

from interlock.apps.jobs.autoapply.answers import Answered, Knockout
from interlock.apps.jobs.autoapply.documents.packet import Packet, packet_of
from interlock.apps.jobs.autoapply.packets.form import Form
from interlock.apps.jobs.autoapply.submission import FilledForm
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.engine import Unreadable, artifacts
from interlock.machine import WorkError

PACKET, CHECK = "packet.json", "claim_check.json"
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
