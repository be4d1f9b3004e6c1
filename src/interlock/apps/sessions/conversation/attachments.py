"""Files that come with a prompt: kept as artifacts of the session, and given to the agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.sessions.agents.values import Attachment
from interlock.engine import Instance, InvalidData, artifacts
from interlock.engine.application import Unit
from interlock.machine import Actor

MOST, MOST_BYTES = 20, 10 * 1024**2
"""Files of one prompt, and the bytes of all of them."""


@dataclass(frozen=True, slots=True)
class File:
    """A file as it was sent."""

    name: str
    media_type: str
    content: bytes


def keep(unit: Unit, instance: Instance, actor: Actor, files: Sequence[File]) -> list[dict[str, Any]]:
    """Store the files of a prompt; what its row says about them."""
    size = sum(len(one.content) for one in files)
    if len(files) > MOST or size > MOST_BYTES:
        raise InvalidData(
            f"a prompt takes {MOST} files with {MOST_BYTES:,} bytes together; these are {len(files)} with {size:,}"
        )
    kept = []
    for number, one in enumerate(files, 1):
        name = " ".join("".join(c if c.isprintable() else " " for c in one.name).split())[:200] or "file"
        digest = artifacts.keep(
            unit, instance.id, f"attachment-{number}", one.content, media_type=one.media_type, actor=actor
        )
        kept.append({"name": name, "media_type": one.media_type, "size": len(one.content), "hash": digest})
    return kept


def load(conn: sa.Connection, session_id: UUID, known: Sequence[Mapping[str, Any]]) -> tuple[Attachment, ...]:
    """The files of a prompt for its agent; `known` is what its row says about them."""
    return tuple(
        Attachment(one["name"], one["media_type"], artifacts.read(conn, session_id, one["hash"])) for one in known
    )
