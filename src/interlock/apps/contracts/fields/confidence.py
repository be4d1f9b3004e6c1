"""`final_confidence` is 100 times the estimated probability that every required field is right, rounded.

It is learned from whole documents (`promise`), and stated with caution: few known answers and wide intervals lower it.
Hard rules come after it: a required field that is missing, invalid, not grounded, or too unlikely to be an answer goes
to a person whatever the number; a text that is another kind of contract is capped at 40; bad OCR, replacement
characters, a document unlike those of the calibration, and a vertical with too few known answers are capped at 79.

A value of a required field that is less likely right than the field's `least` is not stated, nor one of another field
if it may be less likely than that, by its interval, or fewer than twenty known values are behind it: it is a suggestion
for the reviewer. Where the vertical is not calibrated, a person sees everything anyway, and every value is stated.

A model alone approves nothing. A value that only a model read, or read differently from the rules, and a quote with
instructions for the reader or invisible words, goes to a person and is capped at 79, required or not. A model that
reads the same as the rules raises the odds, by what reviews have shown that to be worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from interlock.apps.contracts.fields import prompt_injection
from interlock.apps.contracts.fields.calibration import UNKNOWN, Calibration, Estimate, shipped_calibration
from interlock.apps.contracts.fields.extraction import extract
from interlock.apps.contracts.fields.likelihood import logit
from interlock.apps.contracts.fields.providers import Providers, shipped_providers
from interlock.apps.contracts.fields.result import Extraction, Found
from interlock.apps.contracts.fields.signals import LOW_QUALITY, MODEL_ONLY, SPLIT
from interlock.apps.contracts.fields.validate import Problem, apply, validate, values_of
from interlock.apps.contracts.fields.vertical import FieldDefinition, Vertical
from interlock.apps.contracts.reading.document import Document

MISMATCH_CAP = 40
DOUBT_CAP = 79
FEWEST_KNOWN = 20
"""Known values of a field that is not required, below which nothing is stated of it."""
GRADES = ((50, "poor"), (80, "review"), (90, "good"))


def grade(confidence: int) -> str:
    """The grade that people see: below 50 poor, below 80 review, below 90 good, else excellent."""
    return next((name for limit, name in GRADES if confidence < limit), "excellent")


@dataclass(frozen=True, slots=True)
class Assessment:
    """The result for a document: its fields with their confidence, the problems, and whether a review is needed."""

    extraction: Extraction
    suggestions: Mapping[str, Found]
    """Values that are too unlikely to be answers."""
    problems: tuple[Problem, ...]
    final_confidence: int
    uncapped: int
    """The probability before any cap."""
    interval: tuple[int, int]
    """The 90 % interval of that probability."""
    grade: str
    needs_review: bool
    reasons: tuple[str, ...]
    """Why a review is needed, and what capped the confidence."""
    calibration_version: str
    calibrated: bool

    def json(self) -> dict[str, Any]:
        described = self.extraction.json()
        described["fields"] |= {name: found.suggested() for name, found in self.suggestions.items()}
        return {
            **described,
            "interval": list(self.interval),
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
    estimates = {name: calibration.estimate(name, found.signals) for name, found in extraction.fields.items()}
    doubts = {name: _doubts(found, name in unseen) for name, found in extraction.fields.items()}
    for name, found in extraction.fields.items():
        if doubts[name] and found.signals.agreement != MODEL_ONLY:  # the calibration covers those
            estimates[name] = _at_most(estimates[name], UNKNOWN)
    fields = {
        name: replace(
            found,
            confidence=round(estimates[name].p, 4),
            interval=(round(estimates[name].low, 3), round(estimates[name].high, 3)),
            doubts=doubts[name],
        )
        for name, found in extraction.fields.items()
    }
    suggestions = {
        name: found
        for name, found in fields.items()
        if calibration.table.calibrated and not found.doubts and not _is_answer(vertical.field(name), estimates[name])
    }
    extraction = extraction.with_fields({name: found for name, found in fields.items() if name not in suggestions})
    reasons = [f"{vertical.field(name).label}: {doubt}" for name in fields for doubt in doubts[name]]
    reasons += _reader_instructions(document)
    doubted = must = bool(reasons)
    for definition in vertical.required:
        read = fields.get(definition.name)
        if read is not None and read.signals.grounding == "none":
            must = True
            reasons.append(f"{definition.label}: its quote is not in the document")
        elif read is not None and read.signals.agreement == SPLIT and not read.signals.disputed:
            must = doubted = True
            reasons.append(f"{definition.label}: rules that are mostly right read different values")
        elif definition.name in suggestions:
            must = True
            reasons.append(f"{definition.label}: what was read is too unlikely to be an answer")
    required = {definition.name for definition in vertical.required}
    for problem in problems:
        if problem.field in required:
            must = True
            reasons.append(problem.message)
        elif problem.code in ("type", "rule", "range", "choice") and problem.field not in suggestions:
            # A broken rule is a validation failure, and those always go to a person.
            must = True
            reasons.append(problem.message)
    promised, low, high = 0.0, 0.0, 0.0
    if all(name in fields for name in required):
        promised, low, high = calibration.promise(estimates[one.name].likely for one in vertical.required)
    uncapped = round(100 * promised)
    final = min(uncapped, DOUBT_CAP) if doubted else uncapped
    for cap, reason in _caps(document, vertical, extraction, calibration, cap_uncalibrated):
        if final > cap:
            final = cap
        reasons.append(reason)
    return Assessment(
        extraction=extraction,
        suggestions=suggestions,
        problems=tuple(problems),
        final_confidence=final,
        uncapped=uncapped,
        interval=(round(100 * low), round(100 * high)),
        grade=grade(final),
        needs_review=must or final < vertical.threshold,
        reasons=tuple(reasons),
        calibration_version=calibration.version,
        calibrated=calibration.table.calibrated,
    )


def _is_answer(definition: FieldDefinition, estimate: Estimate) -> bool:
    """Whether a value is likely enough to be stated. Nobody checks an optional field, so its interval counts."""
    if definition.required:
        return estimate.p >= definition.least
    # Nothing is known of a field that was never counted; the estimate for all fields is used.
    return estimate.n is None or (estimate.n >= FEWEST_KNOWN and estimate.low >= definition.least)


def _at_most(estimate: Estimate, p: float) -> Estimate:
    """The estimate, no higher than `p`."""
    if estimate.p <= p:
        return estimate
    likely = estimate.likely.model_copy(update={"mean": min(estimate.likely.mean, logit(p))})
    return replace(estimate, p=p, low=min(estimate.low, p), high=min(estimate.high, p), likely=likely)


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
    if calibration.table.profile.strange(document.text):
        known = calibration.table.profile.documents
        caps.append((DOUBT_CAP, f"the document is unlike the {known} that the calibration was made with"))
    if not calibration.table.calibrated and cap_uncalibrated:
        known = calibration.table.known
        caps.append((DOUBT_CAP, f"uncalibrated: {known} documents with known answers, 50 are needed"))
    return caps
