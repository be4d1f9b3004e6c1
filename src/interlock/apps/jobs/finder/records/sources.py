"""Sources: boards with their configuration and health, and the crawls that were made of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.identity.keys import bounded
from interlock.apps.jobs.finder.identity.urls import url_key
from interlock.apps.jobs.finder.records.stored import items, mapping, objects
from interlock.apps.jobs.finder.sources import Adapter, adapter_of
from interlock.apps.jobs.finder.sources.answer import Parsed, Verdict
from interlock.apps.jobs.tables import crawl as W
from interlock.apps.jobs.tables import source as S
from interlock.engine.application import Unit
from interlock.store import Micros, span
from interlock.store.sql import upsert

PENDING_VALIDATION, ACTIVE, DISABLED = "pending_validation", "active", "disabled"
STATES = (PENDING_VALIDATION, ACTIVE, DISABLED)
MOST_FAILURES = 5
"""Failures in a row after which a source is disabled, until a person enables it."""
GONE = 2
"""How often a board has to be not there before it counts as gone."""


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A source as it is stored."""

    id: UUID
    workspace: str
    board_key: str
    name: str
    source_type: str
    url: str
    config: Mapping[str, Any]
    """`board` and `options` of its address, and what its adapter needs: fields, selectors, endpoints."""
    status: str
    status_reason: str
    confidence: str
    validation_required: int
    company_id: UUID | None
    company_name: str
    discovered_via: str
    discovered_by: str
    discovered_at: Micros
    consecutive_failures: int
    gone: int
    last_scraped_at: Micros | None
    last_scraped_status: str | None
    next_crawl_at: Micros | None
    preview: Sequence[Mapping[str, Any]]
    item_id: UUID | None
    tracking_id: str
    spawn_depth: int
    updated_at: Micros

    @property
    def enabled(self) -> bool:
        return self.status == ACTIVE

    @property
    def address(self) -> Address:
        return address_in(self.source_type, self.config)

    @property
    def adapter(self) -> Adapter:
        return adapter_of(self.source_type, {"company_name": self.company_name or None, **self.config})


@dataclass(frozen=True, slots=True)
class CrawlRow:
    """A crawl that was made."""

    id: UUID
    source_id: UUID
    started_at: Micros
    finished_at: Micros
    verdict: str
    reasons: Sequence[str]
    counts: Mapping[str, Any]


def address_in(kind: str, config: Mapping[str, Any]) -> Address:
    """The board's address of a configuration."""
    return Address(kind, str(config.get("board", "")), None, dict(config.get("options", {})))


def board_key(board: Address, url: str) -> str:
    """The same board has the same key; it is the key of the source's item, too."""
    if board.board:
        return bounded(f"{board.ats}:{board.board}")
    return url_key(board.options.get("url", url)) or bounded(f"{board.ats}:{url}")


def find(conn: sa.Connection, workspace: str, source_id: UUID) -> SourceRow | None:
    return _one(conn, S.c.id == source_id, S.c.workspace == workspace)


def of_board(conn: sa.Connection, workspace: str, key: str) -> SourceRow | None:
    return _one(conn, S.c.workspace == workspace, S.c.board_key == key)


def create(unit: Unit, workspace: str, board: Address, url: str, **values: Any) -> tuple[SourceRow, bool]:
    """The source of a board, and whether it is new. One that is there is left as it is."""
    key = board_key(board, url)
    row = {
        "id": uuid7(),
        "workspace": workspace,
        "board_key": key,
        "source_type": board.ats,
        "url": url,
        "discovered_at": unit.now,
        "consecutive_failures": 0,
        "gone": 0,
        "updated_at": unit.now,
        **values,
        "config": json.dumps(values["config"], ensure_ascii=False),
        "preview": json.dumps(values.get("preview", []), ensure_ascii=False),
    }
    made = unit.conn.execute(
        upsert(S).values(row).on_conflict_do_nothing(index_elements=["workspace", "board_key"])
    ).rowcount
    found = of_board(unit.conn, workspace, key)
    assert found is not None
    return found, bool(made)


def update(unit: Unit, source_id: UUID, **values: Any) -> None:
    """Set columns of a source."""
    for name in ("config", "preview"):
        if name in values:
            values[name] = json.dumps(values[name], ensure_ascii=False)
    unit.conn.execute(sa.update(S).where(S.c.id == source_id).values(updated_at=unit.now, **values))


def enable(unit: Unit, source_id: UUID, reason: str = "") -> None:
    """Make a source active. Its failures are forgotten, and it is crawled at once."""
    update(
        unit,
        source_id,
        status=ACTIVE,
        status_reason=reason,
        consecutive_failures=0,
        gone=0,
        validation_required=0,
        next_crawl_at=unit.now,
    )


def disable(unit: Unit, source_id: UUID, reason: str) -> None:
    """Stop crawling a source, until a person enables it."""
    update(unit, source_id, status=DISABLED, status_reason=reason, next_crawl_at=None)


def due(conn: sa.Connection, now: Micros, limit: int) -> list[SourceRow]:
    """Active sources whose next crawl is due."""
    query = sa.select(S).where(S.c.status == ACTIVE, S.c.next_crawl_at <= now).order_by(S.c.next_crawl_at).limit(limit)
    return [row_of(one) for one in conn.execute(query)]


def crawled(
    unit: Unit,
    row: SourceRow,
    crawl_id: UUID,
    started: Micros,
    result: Parsed,
    counts: Mapping[str, Any],
    *,
    gone: bool,
) -> None:
    """Store a crawl and update the source's health. The same crawl is stored once."""
    verdict = result.verdict
    values = {
        "id": crawl_id,
        "source_id": row.id,
        "workspace": row.workspace,
        "started_at": started,
        "finished_at": unit.now,
        "verdict": verdict.value,
        "reasons": json.dumps(list(result.reasons)[:20], ensure_ascii=False),
        "counts": json.dumps(dict(counts)),
    }
    if not unit.conn.execute(upsert(W).values(values).on_conflict_do_nothing(index_elements=["id"])).rowcount:
        return
    health: dict[str, Any] = {"last_scraped_at": unit.now, "last_scraped_status": verdict.value}
    if verdict is Verdict.FAILED:
        failures = row.consecutive_failures + 1
        health |= {"consecutive_failures": failures, "gone": row.gone + 1 if gone else 0}
        if health["gone"] >= GONE:
            health |= _disabled(f"the board is gone: it was not there {GONE} times")
        elif failures >= MOST_FAILURES:
            health |= _disabled(f"{failures} crawls in a row failed: {'; '.join(result.reasons)[:300]}")
    elif verdict is Verdict.COMPLETE or verdict is Verdict.CAPPED:
        health |= {"consecutive_failures": 0, "gone": 0}
    update(unit, row.id, **health)


def _disabled(reason: str) -> dict[str, Any]:
    return {"status": DISABLED, "status_reason": reason, "next_crawl_at": None}


def next_crawl(unit: Unit, row: SourceRow, every: timedelta) -> None:
    """Set the time of the next crawl."""
    update(unit, row.id, next_crawl_at=unit.now + span(every))


def crawl_soon(unit: Unit, source_id: UUID, within: timedelta) -> None:
    """Bring the next crawl of an active source forward."""
    at = unit.now + span(within)
    unit.conn.execute(
        sa.update(S).where(S.c.id == source_id, S.c.status == ACTIVE, S.c.next_crawl_at > at).values(next_crawl_at=at)
    )


def crawls(conn: sa.Connection, source_id: UUID, limit: int = 20) -> list[CrawlRow]:
    """The last crawls of a source, the newest first."""
    query = sa.select(W).where(W.c.source_id == source_id).order_by(W.c.finished_at.desc()).limit(limit)
    return [
        CrawlRow(
            row.id,
            row.source_id,
            row.started_at,
            row.finished_at,
            row.verdict,
            [str(one) for one in items(row.reasons)],
            mapping(row.counts),
        )
        for row in conn.execute(query)
    ]


def page(
    conn: sa.Connection,
    workspace: str,
    *,
    q: str | None = None,
    state: str | None = None,
    kind: str | None = None,
    company: UUID | None = None,
    where: Sequence[sa.ColumnElement[bool]] = (),
    after: UUID | None = None,
    limit: int = 50,
) -> list[SourceRow]:
    """Sources, the newest first. `after` is the last one of the page before."""
    query = sa.select(S).where(S.c.workspace == workspace, *where)
    if q:
        wanted = q.lower()
        query = query.where(
            sa.or_(*(sa.func.lower(c).contains(wanted, autoescape=True) for c in (S.c.name, S.c.url, S.c.company_name)))
        )
    if state:
        query = query.where(S.c.status == state)
    if kind:
        query = query.where(S.c.source_type == kind)
    if company is not None:
        query = query.where(S.c.company_id == company)
    if after is not None:
        query = query.where(S.c.id < after)
    return [row_of(one) for one in conn.execute(query.order_by(S.c.id.desc()).limit(limit))]


def row_of(row: Any) -> SourceRow:
    values = {name: getattr(row, name) for name in SourceRow.__slots__}
    return SourceRow(**{**values, "config": mapping(row.config), "preview": objects(row.preview)})


def _one(conn: sa.Connection, *conditions: sa.ColumnElement[bool]) -> SourceRow | None:
    row = conn.execute(sa.select(S).where(*conditions)).first()
    return row_of(row) if row is not None else None
