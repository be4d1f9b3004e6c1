"""The data of the finder's items. Pages and texts are artifacts, named here by their hash."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class CompanyStage(StrEnum):
    """The stages of a company, in their order."""

    FETCH = "FETCH"
    EXTRACT = "EXTRACT"
    ANALYZE = "ANALYZE"
    SAVE = "SAVE"


class SourceStage(StrEnum):
    """The stages of a source, in their order; CRAWL is started by schedule, once the source is active."""

    DISCOVER = "DISCOVER"
    VALIDATE = "VALIDATE"
    CONFIGURE = "CONFIGURE"
    TEST = "TEST"
    CRAWL = "CRAWL"


class ListingStage(StrEnum):
    """The stages of a listing, in their order."""

    SCRAPE = "SCRAPE"
    FILTER = "FILTER"
    ANALYZE = "ANALYZE"
    SAVE = "SAVE"


class Confidence(StrEnum):
    """How likely a source can be crawled as configured."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Item(BaseModel):
    """The fields that all three kinds of items have."""

    model_config = ConfigDict(extra="forbid")

    url: str = ""
    company_id: str | None = None
    company_name: str = ""
    message: str = ""
    """The latest note about it: a retry, why it was skipped, what to check."""
    pauses: int = 0
    """How often it waited for a host that asked for a pause."""


class Company(Item):
    """A company on its way from a name and a website to a scored record."""

    stage: CompanyStage = CompanyStage.FETCH
    website: str = ""
    pages: dict[str, str] = Field(default_factory=dict)
    """Address → name of the artifact with the page that was fetched from it."""
    extracted: dict[str, Any] = Field(default_factory=dict)
    analysis: dict[str, Any] = Field(default_factory=dict)


class Source(Item):
    """A job board on its way from an address to something that can be crawled."""

    stage: SourceStage = SourceStage.DISCOVER
    type_hint: str = "auto"
    auto_enable: bool = True
    validation_required: bool = False
    source_id: str | None = None
    source_type: str | None = None
    config: dict[str, Any] = Field(default_factory=dict)
    confidence: Confidence | None = None
    via: str = "user_submission"
    by: str = ""
    verdict: str | None = None
    reached: int = 0
    """How many steps a crawl had made when lost workers were last forgotten."""
    found: int | None = None
    """How many postings the last test or crawl saw."""
    preview: list[dict[str, Any]] = Field(default_factory=list)
    """The first rows that were read, for the person who validates it."""


class Listing(Item):
    """A posting on its way through filters and matching to a saved match."""

    stage: ListingStage = ListingStage.SCRAPE
    source_id: str | None = None
    posting_id: str | None = None
    override: str | None = None
    """Who wants it although it was filtered or skipped, and why."""
    waits_since: int | None = None
    """Since when it waits for its company, in microseconds since 1970."""
    job_data: dict[str, Any] = Field(default_factory=dict)
    """The specification's fields; the whole text is in the posting's record."""
    scrape_method: str | None = None
    filter_result: dict[str, Any] = Field(default_factory=dict)
    match_result: dict[str, Any] = Field(default_factory=dict)
    match_id: str | None = None
