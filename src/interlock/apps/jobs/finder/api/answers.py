"""What the finder's endpoints answer about companies, sources and postings."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field, PrivateAttr

from interlock.apps.jobs.finder.intake import Added
from interlock.apps.jobs.finder.records import lists
from interlock.apps.jobs.finder.records.companies import CompanyRow
from interlock.apps.jobs.finder.records.postings import PostingRow
from interlock.apps.jobs.finder.records.sources import CrawlRow, SourceRow
from interlock.store import Micros, moment


def at(value: Micros | None) -> datetime | None:
    return None if value is None else moment(value)


class AddedOut(BaseModel):
    """An item that works on what was added."""

    id: UUID
    state: str = Field(examples=["PENDING"])
    tracking_id: str = Field(description="The same for everything that follows from it.")
    _new: bool = PrivateAttr(True)

    @classmethod
    def of(cls, added: Added) -> AddedOut:
        made = cls(id=added.item.id, state=added.item.state, tracking_id=added.item.trace_id)
        made._new = added.new
        return made

    @property
    def status(self) -> int:
        return 201 if self._new else 200


class CompanyOut(BaseModel):
    """A company as it is known."""

    id: UUID
    name: str
    website: str | None
    state: str = Field(description="analyzing, complete, insufficient (its pages say too little) or named.")
    tier: str | None
    priority_score: int | None
    company_size_category: str | None
    job_board_url: str | None
    board_confidence: str | None
    facts: dict[str, Any] = Field(description="What its pages say, and the points of its tier.")
    item_id: UUID | None
    tracking_id: str
    created_at: datetime
    updated_at: datetime
    analyzed_at: datetime | None

    @classmethod
    def of(cls, row: CompanyRow) -> CompanyOut:
        return cls(
            id=row.id,
            name=row.name,
            website=row.website,
            state=row.status,
            tier=row.tier,
            priority_score=row.priority_score,
            company_size_category=row.size_category,
            job_board_url=row.job_board_url,
            board_confidence=row.board_confidence,
            facts=dict(row.facts),
            item_id=row.item_id,
            tracking_id=row.tracking_id,
            created_at=moment(row.created_at),
            updated_at=moment(row.updated_at),
            analyzed_at=at(row.analyzed_at),
        )


class CompaniesOut(BaseModel):
    """A page of companies, the newest first."""

    companies: list[CompanyOut]
    next: str | None = Field(description="The cursor of the next page.")


class SourceOut(BaseModel):
    """A source with its health."""

    id: UUID
    name: str
    url: str
    source_type: str
    state: str = Field(description="pending_validation, active or disabled.")
    state_reason: str
    enabled: bool
    config: dict[str, Any]
    company_id: UUID | None
    company_name: str
    discovered_via: str
    discovered_by: str
    discovered_at: datetime
    discovery_confidence: str
    validation_required: bool
    consecutive_failures: int
    last_scraped_at: datetime | None
    last_scraped_status: str | None
    next_crawl_at: datetime | None
    preview: list[dict[str, Any]]
    item_id: UUID | None
    tracking_id: str

    @classmethod
    def fields(cls, row: SourceRow) -> dict[str, Any]:
        return {
            "id": row.id,
            "name": row.name,
            "url": row.url,
            "source_type": row.source_type,
            "state": row.status,
            "state_reason": row.status_reason,
            "enabled": row.enabled,
            "config": dict(row.config),
            "company_id": row.company_id,
            "company_name": row.company_name,
            "discovered_via": row.discovered_via,
            "discovered_by": row.discovered_by,
            "discovered_at": moment(row.discovered_at),
            "discovery_confidence": row.confidence,
            "validation_required": bool(row.validation_required),
            "consecutive_failures": row.consecutive_failures,
            "last_scraped_at": at(row.last_scraped_at),
            "last_scraped_status": row.last_scraped_status,
            "next_crawl_at": at(row.next_crawl_at),
            "preview": [dict(one) for one in row.preview],
            "item_id": row.item_id,
            "tracking_id": row.tracking_id,
        }

    @classmethod
    def of(cls, row: SourceRow) -> SourceOut:
        return cls(**cls.fields(row))


class CrawlOut(BaseModel):
    """A crawl that was made."""

    id: UUID = Field(description="The item that made it.")
    started_at: datetime
    finished_at: datetime
    verdict: str = Field(description="complete, partial, capped or failed.")
    reasons: list[str]
    counts: dict[str, Any]

    @classmethod
    def of(cls, row: CrawlRow) -> CrawlOut:
        return cls(
            id=row.id,
            started_at=moment(row.started_at),
            finished_at=moment(row.finished_at),
            verdict=row.verdict,
            reasons=list(row.reasons),
            counts=dict(row.counts),
        )


class SourceWithCrawlsOut(SourceOut):
    """A source with its last crawls, the newest first."""

    crawls: list[CrawlOut]


class SourcesOut(BaseModel):
    """A page of sources, the newest first."""

    sources: list[SourceOut]
    next: str | None = Field(description="The cursor of the next page.")


class PostingOut(BaseModel):
    """A posting in a list."""

    id: UUID
    url: str | None
    title: str | None
    company: str | None
    company_id: UUID | None
    location: str
    workplace: str
    annual_min: int | None = Field(description="Pay for a year.")
    annual_max: int | None
    currency: str | None
    outcome: str = Field(description="new, waiting, filtered, skipped, matched or failed.")
    reason: str
    state: str = Field(description="open, uncertain or closed.")
    decision: str | None = Field(description="saved or dismissed.")
    score: int | None
    list_score: float | None = Field(description="The score with what a fresh posting gains; it only orders lists.")
    priority: str | None
    flag: str | None = Field(description="What a person should look at.")
    source_id: UUID | None
    opening_id: UUID | None = Field(description="The posting under which the opening is listed.")
    item_id: UUID | None
    posted_at: datetime | None
    first_seen: datetime
    last_seen: datetime
    matched_at: datetime | None

    @classmethod
    def fields(cls, row: Any, list_score: float | None = None) -> dict[str, Any]:
        same = ("id", "url", "title", "company_id", "location", "workplace", "annual_min", "annual_max", "currency")
        also = ("outcome", "reason", "state", "decision", "score", "priority", "flag")
        ids = ("source_id", "opening_id", "item_id")
        times = ("posted_at", "first_seen", "last_seen", "matched_at")
        return {
            **{name: getattr(row, name) for name in (*same, *also, *ids)},
            **{name: at(getattr(row, name)) for name in times},
            "company": row.company_name,
            "list_score": list_score,
        }

    @classmethod
    def of(cls, row: lists.Row) -> PostingOut:
        return cls(**cls.fields(row, row.list_score))


class PostingsOut(BaseModel):
    """A page of postings, the best first."""

    postings: list[PostingOut]
    next: str | None = Field(description="The cursor of the next page.")


class WholePostingOut(PostingOut):
    """A posting with everything that is known about it."""

    sentence: str = Field(description="What became of it.")
    posting: dict[str, Any] = Field(description="The canonical posting.")
    filter_result: dict[str, Any] | None
    match_result: dict[str, Any] | None
    decided_by: str | None
    decided_at: datetime | None
    closed_reason: str | None
    seen_count: int
    sightings: list[PostingOut] = Field(description="Other postings of the same opening.")

    @classmethod
    def whole(cls, row: PostingRow, sentence: str, others: list[Any], list_score: float | None) -> WholePostingOut:
        return cls(
            **cls.fields(row, list_score),
            sentence=sentence,
            posting=row.posting.model_dump(mode="json"),
            filter_result=dict(row.filter_result) if row.filter_result is not None else None,
            match_result=dict(row.match_result) if row.match_result is not None else None,
            decided_by=row.decided_by,
            decided_at=at(row.decided_at),
            closed_reason=row.closed_reason,
            seen_count=row.seen_count,
            sightings=[PostingOut(**PostingOut.fields(one)) for one in others],
        )
