"""`final_confidence` is 100 times the estimated probability that every required field is right, rounded.

It is the product of the required fields' probabilities. Hard rules come after it: a required field that is missing,
invalid or not grounded goes to a person whatever the number; a text that is another kind of contract is capped at 40;
bad OCR, replacement characters and a vertical with too few known answers are capped at 79.

A model alone approves nothing. A value that only a model read, or read differently from the rules, and a quote with
instructions for the reader or invisible words, goes to a person and is capped at 79, required or not. A model that
agrees with the rules does not raise the confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from interlock.apps.contracts.fields import prompt_injection
from interlock.apps.contracts.fields.calibration import UNKNOWN, Calibration, shipped_calibration
from interlock.apps.contracts.fields.extraction import extract
from interlock.apps.contracts.fields.providers import Providers, shipped_providers
from interlock.apps.contracts.fields.result import Extraction, Found
from interlock.apps.contracts.fields.signals import LOW_QUALITY, MODEL_ONLY
from interlock.apps.contracts.fields.validate import Problem, apply, validate, values_of
from interlock.apps.contracts.fields.vertical import Vertical
from interlock.apps.contracts.reading.document import Document

MISMATCH_CAP = 40
DOUBT_CAP = 79
GRADES = ((50, "poor"), (80, "review"), (90, "good"))


def grade(confidence: int) -> str:
    """The grade that people see: below 50 poor, below 80 review, below 90 good, else excellent."""
    return next((name for limit, name in GRADES if confidence < limit), "excellent")


@dataclass(frozen=True, slots=True)
class Assessment:
    """The result for a document: its fields with their confidence, the problems, and whether a review is needed."""

    extraction: Extraction
    problems: tuple[Problem, ...]
    final_confidence: int
    uncapped: int
    """The product before any cap."""
    grade: str
    needs_review: bool
    reasons: tuple[str, ...]
    """Why a review is needed, and what capped the confidence."""
    calibration_version: str
    calibrated: bool

    def json(self) -> dict[str, Any]:
        return {
            **self.extraction.json(),
            "problems": [{"field": p.field, "code": p.code, "message": p.message} for p in self.problems],
            "final_confidence": self.final_confidence,
            "uncapped": self.uncapped,
            "grade": self.grade,
            "needs_review": self.needs_review,
            "reasons": list(self.reasons),
            "calibration_version": self.calibration_version,
            "calibrated": self.calibrated,
        }


def score(
    document: Document,
    vertical: Vertical,
    extraction: Extraction,
    problems: list[Problem],
    calibration: Calibration,
    *,
    cap_uncalibrated: bool = True,
    unseen: Sequence[str] = (),
) -> Assessment:
    """The confidence of each field and of the document, after `validate`.

    `unseen` names fields whose quote has words that are not visible on the page.
    """
    extraction = apply(extraction, problems)
    likely = {name: calibration.estimate(name, found.signals).p for name, found in extraction.fields.items()}
    doubts = {name: _doubts(found, name in unseen) for name, found in extraction.fields.items()}
    for name, found in extraction.fields.items():
        if doubts[name] and found.signals.agreement != MODEL_ONLY:  # the calibration covers those
            likely[name] = min(likely[name], UNKNOWN)
    fields = {
        name: replace(found, confidence=round(likely[name], 4), doubts=doubts[name])
        for name, found in extraction.fields.items()
    }
    extraction = extraction.with_fields(fields)
    product = 1.0
    reasons = [f"{vertical.field(name).label}: {doubt}" for name in fields for doubt in doubts[name]]
    reasons += _reader_instructions(document)
    doubted = must = bool(reasons)
    for definition in vertical.required:
        read = fields.get(definition.name)
        product *= likely.get(definition.name, 0.0)
        if read is not None and read.signals.grounding == "none":
            must = True
            reasons.append(f"{definition.label}: its quote is not in the document")
    required = {definition.name for definition in vertical.required}
    for problem in problems:
        if problem.field in required:
            must = True
            reasons.append(problem.message)
        elif problem.code in ("type", "rule", "range", "choice"):
            # A broken rule is a validation failure, and those always go to a person.
            must = True
            reasons.append(problem.message)
    uncapped = round(100 * product)
    final = min(uncapped, DOUBT_CAP) if doubted else uncapped
    for cap, reason in _caps(document, vertical, extraction, calibration, cap_uncalibrated):
        if final > cap:
            final = cap
        reasons.append(reason)
    return Assessment(
        extraction=extraction,
        problems=tuple(problems),
        final_confidence=final,
        uncapped=uncapped,
        grade=grade(final),
        needs_review=must or final < vertical.threshold,
        reasons=tuple(reasons),
        calibration_version=calibration.version,
        calibrated=calibration.table.calibrated,
    )


def _doubts(found: Found, unseen: bool) -> tuple[str, ...]:
    """Why a field needs a person, whatever its confidence."""
    doubts = []
    if found.signals.agreement == MODEL_ONLY:
        doubts.append("only a model read it, and no rule found it")
    if found.signals.disputed:
        doubts.append("a model read a different value than the rules")
    if said := prompt_injection.in_quote(found.quote):
        doubts.append(f"its quote speaks to the reader: {said}")
    if unseen:
        doubts.append("its quote has words that are not visible on the page")
    return tuple(doubts)


def _reader_instructions(document: Document) -> list[str]:
    """The first page with instructions for its reader."""
    found = ((page.number, prompt_injection.in_document(page.text)) for page in document.pages)
    return [f"page {number} speaks to the reader: {said}" for number, said in found if said][:1]


def assess(
    document: Document,
    vertical: Vertical,
    *,
    today: date,
    calibration: Calibration | None = None,
    providers: Providers | None = None,
    cap_uncalibrated: bool = True,
) -> Assessment:
    """Extract by rules, validate and score."""
    if providers is None and vertical.providers is not None:
        providers = shipped_providers(vertical.providers)
    extraction = extract(document, vertical, providers=providers)
    problems = validate(vertical, values_of(extraction), today=today, providers=providers)
    calibration = calibration or shipped_calibration(vertical.name)
    return score(document, vertical, extraction, problems, calibration, cap_uncalibrated=cap_uncalibrated)


def _caps(
    document: Document, vertical: Vertical, extraction: Extraction, calibration: Calibration, cap_uncalibrated: bool
) -> list[tuple[int, str]]:
    caps = []
    if not extraction.fits:
        caps.append((MISMATCH_CAP, f"the text does not look like a contract of the kind {vertical.label!r}"))
    poor = [page.number for page in document.pages if page.source == "ocr" and page.quality < LOW_QUALITY]
    if poor:
        caps.append((DOUBT_CAP, f"page {poor[0]} was read by OCR with a mean score below {LOW_QUALITY:.2f}"))
    replaced = [page.number for page in document.pages if "\ufffd" in page.text]
    if replaced:
        caps.append((DOUBT_CAP, f"page {replaced[0]} has characters that could not be read"))
    if not calibration.table.calibrated and cap_uncalibrated:
        known = calibration.table.known
        caps.append((DOUBT_CAP, f"uncalibrated: {known} documents with known answers, 50 are needed"))
    return caps
