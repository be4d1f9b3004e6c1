"""The result of a comparison as data: one model per kind, stored as JSON with a version.

`Comparison` is the union; `load(json)` reads any of them back.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

Severity = Literal["high", "medium", "low"]


class Part(BaseModel):
    """What all parts of a result share."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class DocumentName(Part):
    """One of the documents that were compared."""

    key: str
    """How the rest of the result names it: `before`, `after`, `base`, `amendment-1`, `contract`, `template`."""
    name: str
    pages: int
    ignored: list[str] = Field(default_factory=list)
    """Headers, footers and page numbers that were not compared."""


class Evidence(Part):
    """Where in which document something stands."""

    document: str
    page: int
    start: int
    end: int
    quote: str = ""


class Words(Part):
    """A run of words that both sides have, or only one."""

    op: Literal["same", "deleted", "inserted"]
    text: str


class ClauseSide(Part):
    """A clause as it stands in one document."""

    index: int
    number: str
    heading: str
    places: list[Evidence]


class ClauseChange(Part):
    """One clause in both documents, or in one."""

    status: Literal["same", "changed", "moved", "added", "removed"]
    title: str
    before: ClauseSide | None = None
    after: ClauseSide | None = None
    words: list[Words]
    renumbered: bool = False
    """Only its number differs."""
    verdict: str


class FieldSide(Part):
    """A field as one document has it."""

    document: str
    value: Any = None
    normalised: Any = None
    confidence: float | None = None
    evidence: Evidence | None = None


class FieldChange(Part):
    """A field before and after."""

    name: str
    status: Literal["same", "changed", "added", "removed", "absent"]
    before: FieldSide | None = None
    after: FieldSide | None = None
    verdict: str


class Instrument(Part):
    """A base contract or an amendment, in the order in which they take effect."""

    key: str
    name: str
    title: str
    number: int | None = None
    dated: date | None = None
    evidence: Evidence | None = None


class AmendedSection(Part):
    """What an amendment does to one section of what came before it."""

    instrument: str
    action: Literal["replaced", "deleted", "added", "extended", "amended"]
    section: str
    heading: str = ""
    instruction: str
    new_text: str = ""
    evidence: Evidence
    target: Evidence | None = None
    """Where the section stands in the base; none if it is not there."""
    other_agreement: str = ""
    """The agreement that the section belongs to, where it is not the base."""
    verdict: str


class ControlledField(Part):
    """Which document says what holds now for one field."""

    name: str
    controlling: str
    value: FieldSide | None
    earlier: list[FieldSide] = Field(default_factory=list)
    """What the documents before it said."""
    check: bool = False
    """A person should look: a section that bears on it was changed and the new value is not known."""
    verdict: str


class Finding(Part):
    """One rule of a template and how the contract meets it."""

    rule: str
    title: str
    outcome: Literal["met", "missing", "forbidden", "deviates", "not_allowed"]
    severity: Severity
    evidence: list[Evidence] = Field(default_factory=list)
    words: list[Words] = Field(default_factory=list)
    """The standard text against the text of the contract."""
    why: str = ""
    verdict: str


class Amount(Part):
    """An amount of money that is known, or lies between two."""

    low: Decimal
    high: Decimal

    @property
    def exact(self) -> bool:
        return self.low == self.high

    @property
    def middle(self) -> Decimal:
        return (self.low + self.high) / 2


class OfferCost(Part):
    """What one offer, or the present contract, costs."""

    rank: int | None
    """1 is the cheapest; the present contract has a rank too."""
    name: str
    provider: str
    current: bool
    yearly: Amount
    """Twelve months at the stated prices, without bonus."""
    first_year: Amount
    average: Amount
    """A year on average over the term, bonus included."""
    term_months: int
    saving: Amount | None = None
    """A year, against the present contract; below zero it costs more."""
    certain: bool = True
    """Whether no other range overlaps, so that the rank cannot change."""
    notes: list[str] = Field(default_factory=list)
    verdict: str


class SwitchDate(Part):
    """When the present contract can end."""

    earliest: date | None
    latest: date | None
    """Later than the earliest only where what happens after the term is not known."""
    notice_by: date | None
    rolled_over: bool
    verdict: str


class Summary(Part):
    """The result in one line, and counted."""

    verdict: str
    counts: dict[str, int]


class _Result(Part):
    version: Literal[1] = 1
    title: str
    documents: list[DocumentName] = Field(default_factory=list)
    summary: Summary
    notes: list[str] = Field(default_factory=list)
    """What was assumed, and what the reader must know to trust the result."""


class VersionsComparison(_Result):
    """Two versions of one contract."""

    kind: Literal["versions"] = "versions"
    clauses: list[ClauseChange]
    fields: list[FieldChange]


class AmendmentComparison(_Result):
    """Amendments over their base: what holds now."""

    kind: Literal["amendment"] = "amendment"
    instruments: list[Instrument]
    sections: list[AmendedSection]
    fields: list[ControlledField]


class TemplateComparison(_Result):
    """A contract against a standard."""

    kind: Literal["template"] = "template"
    template: str
    findings: list[Finding]


class OffersComparison(_Result):
    """A present energy contract against offers."""

    kind: Literal["offers"] = "offers"
    currency: str
    consumption: Amount
    offers: list[OfferCost]
    switch: SwitchDate


Comparison = Annotated[
    VersionsComparison | AmendmentComparison | TemplateComparison | OffersComparison, Field(discriminator="kind")
]
AnyComparison = VersionsComparison | AmendmentComparison | TemplateComparison | OffersComparison
_ADAPTER: TypeAdapter[AnyComparison] = TypeAdapter(Comparison)


def load(json: str | bytes) -> AnyComparison:
    """Read a comparison back from its JSON."""
    return _ADAPTER.validate_json(json)
