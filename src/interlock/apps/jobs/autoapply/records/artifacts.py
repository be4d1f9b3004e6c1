"""The files of packets (`job_application_artifacts`). Their bytes are artifacts of the instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.tables import apply_artifact as A
from interlock.engine.application import Unit
from interlock.store import Micros


@dataclass(frozen=True, slots=True)
class ArtifactRow:
    """A file of a packet."""

    id: UUID
    instance_id: UUID
    workspace: str
    packet_hash: str
    kind: str
    """resume_pdf, resume_docx, letter_pdf, letter_docx, packet, form or claim_check."""
    name: str
    media_type: str
    hash: str
    size: int
    created_at: Micros


def note(unit: Unit, workspace: str, instance_id: UUID, packet_hash: str, **values: Any) -> None:
    """Record a file of a packet."""
    unit.insert(A, workspace=workspace, instance_id=instance_id, packet_hash=packet_hash, created_at=unit.now, **values)


def of(conn: sa.Connection, instance_id: UUID, packet_hash: str | None = None) -> list[ArtifactRow]:
    """The files of an application's packets, the oldest first; those of one packet if it is named."""
    query = sa.select(A).where(A.c.instance_id == instance_id)
    if packet_hash is not None:
        query = query.where(A.c.packet_hash == packet_hash)
    return [ArtifactRow(**row._mapping) for row in conn.execute(query.order_by(A.c.id))]
