"""Measuring: how well postings with known answers are read."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.apps.jobs.finder.reading.reader import as_json, read
from interlock.apps.jobs.finder.reading.values import FIELDS, Source
from interlock.machine import InterlockError

WEIGHTS = {
    "seniority": 3.0,
    "workArrangement": 3.0,
    "technologies": 3.0,
    "roleTypes": 2.0,
    "salaryMin": 2.0,
    "salaryMax": 2.0,
    "includesEquity": 1.5,
    "isContract": 1.5,
    "employmentType": 1.5,
    "timezone": 1.0,
    "timezoneFlexible": 1.0,
    "experienceMin": 1.0,
    "experienceMax": 1.0,
    "relocationRequired": 1.0,
    "isRepost": 0.5,
    "isManagement": 0.5,
    "isLead": 0.5,
}
"""How much a value counts in the score of a posting. The city is measured and counts nothing."""
SETS = frozenset({"technologies", "roleTypes"})
NUMBERS = {
    "timezone": 0.10,
    "salaryMin": 0.15,
    "salaryMax": 0.15,
    "experienceMin": 0.15,
    "experienceMax": 0.15,
}
"""How far a number may be off and still be right; half right up to three times as far."""


@dataclass(frozen=True, slots=True)
class Report:
    """Scores from 0 to 1."""

    postings: int
    overall: float
    fields: Mapping[str, float]
    ms_per_posting: float

    def json(self) -> dict[str, Any]:
        return {"overall": self.overall, "fields": dict(self.fields), "ms_per_posting": self.ms_per_posting}


def score(name: str, known: Any, answer: Any) -> float:
    """The score of one value. Both empty is right, one empty is wrong."""
    if name in SETS:
        return _f1(known, answer)
    if known is None or answer is None:
        return float(known is None and answer is None)
    if name in NUMBERS:
        return _near(float(known), float(answer), NUMBERS[name])
    if isinstance(known, str) and isinstance(answer, str):
        return float(known.lower() == answer.lower())
    return float(known == answer)


def _f1(known: Any, answer: Any) -> float:
    wanted, given = ({str(one).lower() for one in some or ()} for some in (known, answer))
    if not wanted or not given:
        return float(not wanted and not given)
    return 2 * len(wanted & given) / (len(wanted) + len(given))


def _near(known: float, answer: float, share: float) -> float:
    off = abs(known - answer)
    if off <= abs(known) * share:
        return 1.0
    return 0.5 if off <= abs(known) * share * 3 else 0.0


def posting_score(known: Mapping[str, Any], answer: Mapping[str, Any]) -> float:
    """The weighted mean of one posting's values."""
    total = sum(weight * score(name, known.get(name), answer.get(name)) for name, weight in WEIGHTS.items())
    return total / sum(WEIGHTS.values())


def evaluate(postings: Path, answers: Path, progress: Callable[[int, int], None] | None = None) -> Report:
    """Read every posting that has an answer, and compare. Where the text is silent, the likeliest value is taken."""
    known = {str(row.get("id")): row.get("extraction", row) for row in rows(answers)}
    asked = [row for row in rows(postings) if str(row.get("id")) in known]
    if not asked:
        raise InterlockError(f"no posting of {postings} has an answer in {answers}; both name postings by id")
    read(Source("warm up"))
    given, took = [], 0.0
    for index, row in enumerate(asked):
        begun = time.perf_counter()
        given.append(as_json(read(source_of(row), guess=True)))
        took += time.perf_counter() - begun
        if progress is not None:
            progress(index + 1, len(asked))
    pairs = [(known[str(row.get("id"))], answer) for row, answer in zip(asked, given, strict=True)]
    fields = {
        name: sum(score(name, right.get(name), answer.get(name)) for right, answer in pairs) / len(pairs)
        for name in FIELDS
    }
    overall = sum(posting_score(right, answer) for right, answer in pairs) / len(pairs)
    return Report(len(pairs), overall, fields, 1000 * took / len(pairs))


def source_of(row: Mapping[str, Any]) -> Source:
    """A posting from a line of JSON: id, title, company_name, location, description, salary_range, posted_date."""
    location = row.get("location")
    locations = location if isinstance(location, list) else [location]
    return Source(
        title=_text(row.get("title")),
        text=_text(row.get("description")),
        company=_text(row.get("company_name") or row.get("company")),
        locations=[_text(one) for one in locations if one],
        salary=_text(row.get("salary_range") or row.get("salary")),
        posted=_text(row.get("posted_date")),
    )


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file, one a line."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                except ValueError as error:
                    raise InterlockError(f"line {number} of {path} is not JSON: {error}") from error
                if not isinstance(row, dict):
                    raise InterlockError(f"line {number} of {path} is not a JSON object")
                yield row
    except OSError as error:
        raise InterlockError(f"{path} cannot be read: {error.strerror or error}") from error
