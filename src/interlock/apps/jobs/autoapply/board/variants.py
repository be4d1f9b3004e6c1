"""Which variant of the resume an application was sent with: its headline, and who wrote the letter.

Tailoring makes another resume for every posting, so a variant is what many have in common.
"""

from __future__ import annotations

import json

import sqlalchemy as sa

from interlock.engine import Instance, Unreadable, artifacts

PACKET = "packet.json"
LONGEST = 100


def variant_of(conn: sa.Connection, instance: Instance) -> str | None:
    """The variant of the packet that was sent; None where it is unknown."""
    kept = next((one for one in reversed(artifacts.of(conn, instance.id)) if one.name == PACKET), None)
    if kept is None:
        return None
    try:
        said = json.loads(artifacts.read(conn, instance.id, kept.hash))
        lines = str(said["resume_text"]).split("\n")
    except (ValueError, LookupError, TypeError, Unreadable):
        return None
    if said.get("packet_hash") != instance.data.get("packet_hash") or len(lines) < 2:
        return None
    letter = "model's letter" if said.get("letter_by") == "model" else "letter by rules"
    return f"{lines[1][:LONGEST]} · {letter}"
