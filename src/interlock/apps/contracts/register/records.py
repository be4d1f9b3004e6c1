"""The rows of the register: written in the transaction that changes a contract, and searched by lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.contracts import naming
from interlock.apps.contracts.fields.vertical import Vertical
from interlock.apps.contracts.ingest import stored
from interlock.apps.contracts.reading import Document
from interlock.apps.contracts.register.term import term_of
from interlock.apps.contracts.tables import contract_record as R
from interlock.apps.contracts.tables import contract_text as T
from interlock.engine import Instance
from interlock.engine.application import Unit
from interlock.store.sql import upsert

MONEY, MOST_VALUES = "money", 2
LONGEST_TEXT = 2_000_000
"""Characters of a document that the search looks at."""
LAW = "governing_law"


def keep(unit: Unit, instance: Instance, vertical: Vertical, fields: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the row of a contract from its fields."""
    term = term_of(fields)
    values = {
        "workspace": instance.workspace,
        "filename": naming.file_of(instance.data),
        "parties": "; ".join(naming.parties_of(fields)),
        "law": _text(fields.get(LAW)),
        "term": term.words,
        "value": value_of(vertical, fields),
        "ends": term.ends.isoformat() if term.ends is not None else None,
        "notice": term.notice,
        "renewal": term.renewal,
        "basis": term.basis,
        "at": unit.now,
    }
    made = upsert(R).values(instance_id=instance.id, **values)
    unit.conn.execute(made.on_conflict_do_update(index_elements=[R.c.instance_id], set_=values))


def keep_text(unit: Unit, id: UUID, document: Document) -> None:
    """Write the text of a document for the search."""
    text = " ".join(" ".join(page.text for page in document.pages).split())[:LONGEST_TEXT].replace("\x00", "")
    values = {"text": text, "folded": folded(text)}
    made = upsert(T).values(instance_id=id, **values)
    unit.conn.execute(made.on_conflict_do_update(index_elements=[T.c.instance_id], set_=values))


def value_of(vertical: Vertical, fields: Mapping[str, Mapping[str, Any]]) -> str:
    """The sums that a contract names: the fields of type money, in their order."""
    named = [
        f"{one.label}: {text}" for one in vertical.fields if one.type == MONEY and (text := _text(fields.get(one.name)))
    ]
    return "; ".join(named[:MOST_VALUES])


def folded(text: str) -> str:
    """Small letters, each at its place, so that a place in one text is the same in the other."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def of(conn: sa.Connection, ids: Sequence[UUID]) -> dict[UUID, sa.Row[Any]]:
    """The rows of these contracts."""
    if not ids:
        return {}
    return {row.instance_id: row for row in conn.execute(sa.select(R).where(R.c.instance_id.in_(ids)))}


def texts_of(conn: sa.Connection, ids: Sequence[UUID]) -> dict[UUID, tuple[str, str]]:
    """The texts of these contracts, as they are and in small letters."""
    if not ids:
        return {}
    rows = conn.execute(sa.select(T).where(T.c.instance_id.in_(ids)))
    return {row.instance_id: (row.text, row.folded) for row in rows}


def containing(workspace: str, words: Sequence[str]) -> sa.Select[tuple[UUID]]:
    """A query for contracts that have all these words in their text, their file name or their parties."""
    query = (
        sa.select(R.c.instance_id)
        .select_from(R.outerjoin(T, T.c.instance_id == R.c.instance_id))
        .where(R.c.workspace == workspace)
    )
    for word in words:
        wanted = folded(word)
        query = query.where(
            sa.or_(
                T.c.folded.contains(wanted, autoescape=True),
                sa.func.lower(R.c.filename).contains(wanted, autoescape=True),
                sa.func.lower(R.c.parties).contains(wanted, autoescape=True),
            )
        )
    return query


def write_all(unit: Unit, instance: Instance, vertical: Vertical) -> None:
    """Write both rows of a contract that has fields."""
    keep(unit, instance, vertical, stored.fields(unit.conn, instance.id, instance.data))
    if instance.data.get("text"):
        keep_text(unit, instance.id, stored.document(unit.conn, instance.id, instance.data))


def _text(field: Mapping[str, Any] | None) -> str:
    value = (field or {}).get("value")
    return " ".join(str(value).split()) if value not in (None, "", []) else ""
