"""The canonical posting: one shape for what every source gives.

Unknown is a value of its own: None, `"unknown"` or an empty tuple, never `""` or 0. A value that was derived has an
entry in `evidence` that says where it came from. The raw answer is kept beside the posting (`raw_ref`), so that a
better parser can read it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, computed_field

from interlock.apps.jobs.finder.identity.keys import company_key, content_hash, group_key, title_key

HOURS_A_YEAR = 2080
"""Forty hours a week. A part-time posting by the hour is shown as the full-time equivalent."""
PER_YEAR = {"hour": HOURS_A_YEAR, "day": 260, "week": 52, "month": 12, "year": 1}


EvidenceSource = Literal["board", "jsonld", "feed", "selectors", "title", "text", "url"]


class Workplace(StrEnum):
    """Where the work is done."""

    REMOTE = "remote"
    HYBRID = "hybrid"
    ONSITE = "onsite"
    UNKNOWN = "unknown"


class EmploymentType(StrEnum):
    """How somebody is employed."""

    FULL_TIME = "full_time"
    PART_TIME = "part_time"
    CONTRACT = "contract"
    TEMPORARY = "temporary"
    INTERNSHIP = "internship"
    OTHER = "other"
    UNKNOWN = "unknown"


class Seniority(StrEnum):
    """The level of a role."""

    INTERN = "intern"
    ENTRY = "entry"
    MID = "mid"
    SENIOR = "senior"
    LEAD = "lead"
    STAFF = "staff"
    PRINCIPAL = "principal"
    DIRECTOR = "director"
    EXECUTIVE = "executive"
    UNKNOWN = "unknown"


class Precision(StrEnum):
    """How precise the date of a posting is."""

    EXACT = "exact"
    DAY = "day"
    APPROXIMATE = "approximate"
    UNKNOWN = "unknown"


class Method(StrEnum):
    """How a posting was read."""

    API = "api"
    JSONLD = "jsonld"
    FEED = "feed"
    SELECTORS = "selectors"
    TEXT = "text"


class PostingState(StrEnum):
    """Whether a posting still takes applications."""

    OPEN = "open"
    UNCERTAIN = "uncertain"
    CLOSED = "closed"


class Frozen(BaseModel):
    """A value that does not change. It ignores keys that a later version added."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Evidence(Frozen):
    """Where a derived value came from: a field of the answer, or a sentence of the title or the text."""

    source: EvidenceSource
    field: str | None = None
    """The path of the field in the answer, or the section of the text."""
    quote: str | None = None
    """The words or the value that were read."""


class Location(Frozen):
    """A place of work. `country` is an ISO 3166 code of two letters."""

    raw: str
    city: str | None = None
    region: str | None = None
    country: str | None = None
    lat: float | None = None
    lon: float | None = None

    @property
    def key(self) -> str:
        """The same place has the same key, however it is written."""
        named = [part for part in (self.city, self.region, self.country) if part]
        return title_key(", ".join(named) if named else self.raw)


class Salary(Frozen):
    """The pay that a posting names. `source` is `none` when it names none."""

    min: int | float | None = None
    max: int | float | None = None
    currency: str | None = None
    period: Literal["hour", "day", "week", "month", "year"] | None = None
    source: Literal["board", "jsonld", "text", "none"] = "none"
    quote: str | None = None

    def annual(self, amount: int | float | None) -> int | float | None:
        """The amount for a year. It is unknown when the period is; the size of a number says nothing."""
        return None if amount is None or self.period is None else round(amount * PER_YEAR[self.period], 2)


class Sections(Frozen):
    """The parts of the text, where a source or a heading tells them apart."""

    requirements: str | None = None
    preferred: str | None = None
    duties: str | None = None
    other: str | None = None


class Question(Frozen):
    """A field of the application form."""

    key: str
    label: str | None = None
    help: str | None = None
    type: Literal["text", "long", "number", "date", "bool", "single", "multi", "file", "consent", "demographic"] = (
        "text"
    )
    required: bool | None = None
    options: tuple[str, ...] = ()
    option_ids: tuple[str, ...] = ()
    """The system's own id of each option, where it sends ids."""
    max_len: int | None = None
    group: str | None = None
    """Fields with the same group stand for one question: one answer is enough."""
    source: str | None = None


class Extraction(Frozen):
    """How a posting was read, and what could not be."""

    method: Method
    adapter_version: str
    fields_missing: tuple[str, ...] = ()
    """Fields that the source did not give, or gave in a form that cannot be read."""


class Posting(Frozen):
    """One posting as one source shows it."""

    id: UUID | None = None
    source_id: str | None = None
    ats: str
    """The kind of the source: an applicant tracking system, `feed`, `jsonld`, `html` or `api`."""
    board: str | None = None
    external_id: str | None = None
    """The source's own id. `(ats, board, external_id)` is unique."""
    requisition_id: str | None = None
    url: str | None = None
    apply_url: str | None = None
    canonical_url: str | None = None
    url_key: str | None = None
    """The same address has the same key. Without a key nothing is equal."""
    company_id: str | None = None
    company_name_raw: str | None = None
    company_website: str | None = None
    title: str | None = None
    department: str | None = None
    team: str | None = None
    locations: tuple[Location, ...] = ()
    workplace: Workplace = Workplace.UNKNOWN
    remote_scope: tuple[str, ...] = ()
    """The countries and regions that remote work is limited to."""
    employment_type: EmploymentType = EmploymentType.UNKNOWN
    seniority: Seniority = Seniority.UNKNOWN
    salary: Salary = Salary()
    posted_at: datetime | None = None
    posted_precision: Precision = Precision.UNKNOWN
    updated_at: datetime | None = None
    closes_at: datetime | None = None
    description_html: str | None = None
    """Sanitised; safe to show."""
    description_text: str | None = None
    sections: Sections = Sections()
    language: str | None = None
    questions: tuple[Question, ...] = ()
    evidence: Mapping[str, Evidence] = Field(default_factory=dict)
    """Derived field → where its value came from."""
    derived: tuple[str, ...] = ()
    """Fields that the source left open, and that rules read out of the title and text."""
    extraction: Extraction
    raw_ref: str | None = None
    """The SHA-256 of the raw answer."""
    first_seen: datetime | None = None
    last_seen: datetime | None = None
    seen_count: int = 1
    state: PostingState = PostingState.OPEN
    closed_reason: str | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def workplace_evidence(self) -> Evidence | None:
        return self.evidence.get("workplace")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def annual_min(self) -> int | float | None:
        return self.salary.annual(self.salary.min)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def annual_max(self) -> int | float | None:
        return self.salary.annual(self.salary.max)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def company_key(self) -> str | None:
        """The same company has the same key. None when the name is unknown or has no words of its own."""
        return company_key(self.company_name_raw)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def title_key(self) -> str | None:
        return title_key(self.title) or None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def content_hash(self) -> str:
        """Changes when the title, a location or the text does."""
        return content_hash(self.title, [one.key for one in self.locations], self.description_text)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def group_key(self) -> str | None:
        """Postings of one company with the same set of words in their titles."""
        return group_key(self.company_name_raw, self.title)
