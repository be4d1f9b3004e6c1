"""Digests of an instance's rows in other tables, which are part of its history.

`payload.digests` of a history row has, by the id of a review, dead letter, effect, message or artifact, the SHA-256 of
that row's important columns. The last digest counts. Columns that change without a history row are left out: who has
claimed a review, whether an unanswered effect was sent, how often a message was tried.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.store import tables as t

DIGESTS = "digests"
ASKED = (
    "workspace",
    "machine",
    "name",
    "title",
    "state",
    "role",
    "form",
    "decisions",
    "settles",
    "evidence",
    "opened_at",
    "due_at",
)
DECIDED = ("decision", "answer", "decided_by", "decided_at")
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "review": ASKED,
    "dead_letter": (
        "workspace",
        "machine",
        "state",
        "step",
        "error_type",
        "error",
        "fingerprint",
        "attempts",
        "data",
        "status",
        "at",
        "closed_at",
        "closed_by",
        "note",
        "retried_as",
    ),
    "effect": ("kind", "key", "request_hash", "step"),
    "outbox": ("channel", "recipient", "subject", "body", "at", "workspace"),
    "artifact_ref": ("name", "media_type", "hash", "step", "at"),
}
TABLES: tuple[sa.Table, ...] = (t.review, t.dead_letter, t.effect, t.outbox, t.artifact_ref)
WORDS = {
    "review": "review",
    "dead_letter": "dead letter",
    "effect": "effect",
    "outbox": "message",
    "artifact_ref": "artifact",
}


# Made once: json.dumps makes an encoder for every call with options.
_encoded = json.JSONEncoder(separators=(",", ":"), default=repr).encode


def covers(table: str, row: Mapping[str, Any]) -> bool:
    """Whether the history must have this row. A review counts from its decision on, or if a handler asked it."""
    return table != "review" or row.get("status") == "decided"


def digest(table: str, row: Mapping[str, Any]) -> str:
    """The SHA-256 of what the row says, in hexadecimal."""
    names = COLUMNS[table]
    said = [table, *[_plain(row.get(name)) for name in names]]
    match table, row.get("status"):
        case "review", "decided":
            said += [_plain(row.get(name)) for name in DECIDED]
        case "effect", "confirmed" | "failed" as status:
            said += [status, row.get("answer"), row.get("error")]
    return hashlib.sha256(_encoded(said).encode()).hexdigest()


def _plain(value: Any) -> Any:
    return value.hex if isinstance(value, UUID) else value


def beside(conn: sa.Connection, ids: Iterable[UUID]) -> dict[UUID, list[tuple[str, Mapping[str, Any]]]]:
    """The rows beside these instances, each with its table's name."""
    wanted = list(ids)
    found: dict[UUID, list[tuple[str, Mapping[str, Any]]]] = {}
    for table in TABLES:
        for row in conn.execute(sa.select(table).where(table.c.instance_id.in_(wanted))):
            found.setdefault(row.instance_id, []).append((table.name, dict(row._mapping)))
    return found


def compare(expected: Mapping[str, str], rows: Iterable[tuple[str, Mapping[str, Any]]], *, complete: bool) -> list[str]:
    """How the rows of other tables differ from the digests in the history.

    `complete` is False for an instance whose history is older than the digests.
    """
    problems, there = [], set()
    for table, row in rows:
        name = str(UUID(row["id"]) if isinstance(row["id"], str) else row["id"])
        there.add(name)
        said = expected.get(name)
        if said is None:
            if complete and covers(table, row):
                problems.append(f"the {WORDS[table]} {name} is not in its history")
        elif said != digest(table, row):
            problems.append(f"the {WORDS[table]} {name} is not what its history says")
    problems += [f"{name}, which its history names, is gone" for name in expected if name not in there]
    return problems
