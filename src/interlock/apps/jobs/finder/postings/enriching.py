"""A posting with what rules read out of its title and text, where its source is silent. Each value has its evidence."""

from __future__ import annotations

from typing import Any

from interlock.apps.jobs.finder.postings.posting import (
    EmploymentType,
    Evidence,
    Posting,
    Salary,
    Sections,
    Seniority,
    Workplace,
)
from interlock.apps.jobs.finder.postings.read_posting import Known, ReadPosting
from interlock.apps.jobs.finder.sources.adapter import with_missing

LEVELS = {"junior": Seniority.ENTRY}
LONGEST_QUOTE = 300
SAMPLE = 80
"""Characters of the text that stand for its language."""


def as_given(posting: Posting) -> Posting:
    """The posting without what was read out of an earlier text: only what its source says itself."""
    if not posting.derived:
        return posting
    empty = Posting(ats=posting.ats, extraction=posting.extraction)
    kept = {name: one for name, one in posting.evidence.items() if name not in posting.derived}
    bare = {name: getattr(empty, name) for name in posting.derived if name in Posting.model_fields}
    if "salary" in bare and posting.salary.source == "board":
        bare["salary"] = Salary(source="board", quote=posting.salary.quote)  # its words are the source's own
    return with_missing(posting.model_copy(update={**bare, "evidence": kept, "derived": ()}))


def enriched(read: ReadPosting) -> Posting:
    """The posting with the values that were read. What the source says itself stays."""
    posting = read.posting
    changes: dict[str, Any] = {}
    evidence: dict[str, Evidence] = dict(posting.evidence)

    def take(field: str, value: object, known: Known) -> None:
        changes[field] = value
        quote = (known.evidence.quote or "")[:LONGEST_QUOTE] or None
        evidence[field] = known.evidence.model_copy(update={"quote": quote})

    if (posting.workplace is Workplace.UNKNOWN or read.has_office_days) and read.workplace is not None:
        take("workplace", Workplace(read.workplace.value), read.workplace)
    if posting.seniority is Seniority.UNKNOWN and read.seniority is not None:
        level = read.seniority.value
        take("seniority", LEVELS.get(level) or Seniority(level), read.seniority)
    if posting.employment_type is EmploymentType.UNKNOWN and read.employment_type is not None:
        take("employment_type", EmploymentType(read.employment_type.value), read.employment_type)
    pay = _salary(read)
    if pay is not None and read.salary is not None:
        take("salary", pay, read.salary)
    if posting.language is None and not read.unread and read.reading.language != "unknown":
        changes["language"] = read.reading.language
        words = " ".join((posting.description_text or posting.title or "").split())
        evidence["language"] = Evidence(source="text", quote=words[:SAMPLE])
    if posting.sections == Sections():
        parts = read.reading.sections
        changes["sections"] = Sections(
            requirements=parts.get("requirements"), preferred=parts.get("preferred"), duties=parts.get("duties")
        )
    derived = tuple(dict.fromkeys([*posting.derived, *changes]))
    return with_missing(posting.model_copy(update={**changes, "evidence": evidence, "derived": derived}))


def _salary(read: ReadPosting) -> Salary | None:
    """The pay that the text names; None where the source gives one itself, or where nothing does."""
    said, found = read.posting.salary, read.reading.salary
    if found is None or said.min is not None or said.max is not None:
        return None
    return Salary(
        min=found.low,
        max=found.high,
        currency=found.currency,
        period=found.period,
        source="board" if found.origin == "board" else "text",
        quote=(found.quote or "")[:LONGEST_QUOTE] or None,
    )
