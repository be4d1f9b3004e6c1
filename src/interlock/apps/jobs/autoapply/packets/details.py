"""What is shown of an application: its record, its files, and its packet as it will be sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.autoapply.documents.packet import is_current
from interlock.apps.jobs.autoapply.machine import application
from interlock.apps.jobs.autoapply.packets.stored import StoredPacket, stored_packet
from interlock.apps.jobs.autoapply.records import applications, artifacts
from interlock.apps.jobs.autoapply.records.applications import ApplicationRow
from interlock.apps.jobs.autoapply.records.artifacts import ArtifactRow
from interlock.apps.jobs.autoapply.submission import EmailDraft, adapter_for, email_draft
from interlock.apps.jobs.finder.intake import NotPossible
from interlock.apps.jobs.finder.records import postings, profiles
from interlock.apps.jobs.settings import JobsSettings
from interlock.engine import Instance, NotFound
from interlock.engine.application import find


@dataclass(frozen=True, slots=True)
class ApplicationDetails:
    """An application with its instance and files."""

    row: ApplicationRow
    item: Instance | None
    files: list[ArtifactRow]
    outdated: bool
    """Whether profile or posting changed since the packet was made."""


def whole(conn: sa.Connection, workspace: str, application_id: UUID) -> ApplicationDetails:
    row = applications.find(conn, workspace, application_id)
    if row is None:
        raise NotFound(f"there is no application {application_id}")
    item = find(conn, row.instance_id, machine=application.name) if row.instance_id is not None else None
    files = artifacts.of(conn, row.instance_id) if row.instance_id is not None else []
    newest = {one.name: one for one in files}
    return ApplicationDetails(row, item, list(newest.values()), _is_outdated(conn, row, item))


def _is_outdated(conn: sa.Connection, row: ApplicationRow, item: Instance | None) -> bool:
    if item is None or item.erased or not row.is_open or row.packet_hash is None or row.posting_id is None:
        return False
    stored = stored_packet(conn, item.id, row.packet_hash, files=False)
    posting = postings.find(conn, row.workspace, row.posting_id)
    digest = profiles.digest_of(conn, row.workspace)
    if stored is None or posting is None or digest is None:
        return False
    return not is_current(stored.packet, digest, posting.content_hash)


def packet(conn: sa.Connection, workspace: str, application_id: UUID, settings: JobsSettings) -> dict[str, Any]:
    """The packet as it will be sent, and as a person fills it in by hand."""
    stored, row = _stored(conn, workspace, application_id)
    return {
        "packet_hash": stored.packet.packet_hash,
        "resume_text": stored.packet.resume_text,
        "letter_text": stored.packet.letter_text,
        "resume_by": stored.resume_by,
        "letter_by": stored.letter_by,
        "letter_note": stored.letter_note,
        "files": dict(stored.packet.files),
        "answers": [one.model_dump(mode="json") for one in stored.form.answered],
        "knockouts": [one._asdict() for one in stored.form.knockouts],
        "claim_check": stored.claim_check,
        "dropped": stored.dropped,
        "differences": stored.differences,
        "hand_over": _hand_over(row, stored, settings) if row is not None else None,
    }


def draft(conn: sa.Connection, workspace: str, application_id: UUID, settings: JobsSettings) -> bytes:
    """The packet as a mail (`.eml`). Refused for a posting that takes no applications by mail."""
    stored, row = _stored(conn, workspace, application_id)
    adapter = adapter_for(row.posting, settings) if row is not None else None
    if row is None or not isinstance(adapter, EmailDraft):
        raise NotPossible(f"the posting of application {application_id} takes no applications by mail")
    return email_draft(stored.filled(row.posting), adapter.to)


def _stored(
    conn: sa.Connection, workspace: str, application_id: UUID
) -> tuple[StoredPacket, postings.PostingRow | None]:
    """The packet with its files, and the posting if it is still there."""
    found = whole(conn, workspace, application_id)
    digest = found.row.packet_hash
    stored = stored_packet(conn, application_id, digest) if digest and found.item is not None else None
    if stored is None:
        raise NotFound(f"application {application_id} has no packet yet")
    return stored, postings.find(conn, workspace, found.row.posting_id) if found.row.posting_id else None


def _hand_over(row: postings.PostingRow, stored: StoredPacket, settings: JobsSettings) -> dict[str, Any]:
    """The form's fields in their order, each with the text to copy or the file to upload."""
    adapter = adapter_for(row.posting, settings)
    given = adapter.hand_over(stored.filled(row.posting))
    return {
        "adapter": adapter.name,
        "url": given.url,
        "note": given.note,
        "items": [
            {"key": one.question.key, "label": one.question.label, "value": one.value, "file": one.file}
            for one in given.items
        ],
    }
