"""Signals about a value, observed before anybody knows whether it is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from dataclasses import fields as dataclass_fields
from typing import Any

from interlock.apps.contracts.fields.extract.candidate import MODEL, Candidate
from interlock.apps.contracts.fields.normalise import derive
from interlock.apps.contracts.reading.document import Document

AGREE, SINGLE, SPLIT, WEAK, MODEL_ONLY = "agree", "single", "split", "weak", "model"
LOW_QUALITY = 0.90


@dataclass(frozen=True, slots=True)
class Signals:
    """The five signals of a field."""

    agreement: str
    """`agree`: two rules or more say the same and no strong one says otherwise; `single`: one strong rule; `split`:
    strong rules differ, or a model says otherwise; `weak`: only a rule that guesses; `model`: no rule at all. That a
    model says the same as a rule adds nothing, because the document may have manipulated it."""
    extractors: tuple[str, ...]
    """The rules that found this value; `model` among them where a model read the same."""
    grounding: str
    """`exact`, `nospace`, `fuzzy` or `none`: how the quote lies in the stored text."""
    derivation: bool
    """The quote alone leads to the value."""
    valid: bool
    """No rule of type, range or between fields was broken."""
    source: str
    """`text`, `ocr`, or `poor` for OCR below 0.90."""
    competing: int
    """Other values that strong rules found."""
    form: str = "usual"
    """`usual`, or `unusual` for a value whose surroundings are not those that such values mostly have."""
    disputed: bool = False
    """A model read a different value than the rules."""
    marks: tuple[str, ...] = ()
    """What else the rules observed, in their own words: "all signed", "counted from the effective date"."""

    def json(self) -> dict[str, Any]:
        return {**asdict(self), "extractors": list(self.extractors), "marks": list(self.marks)}

    def words(self) -> str:
        """The signals as a reviewer reads them."""
        count = sum(1 for name in self.extractors if name != MODEL)
        own = {
            AGREE: f"{count} rules agree",
            SINGLE: "one rule found it",
            SPLIT: "rules differ",
            WEAK: "only a weak rule found it",
            MODEL_ONLY: "only a model read it",
        }[self.agreement]
        parts = [own]
        if MODEL in self.extractors and count:
            parts.append("a model read the same")
        if self.disputed:
            parts.append("a model read a different value")
        parts.append(
            {
                "exact": "quote found in the text",
                "nospace": "quote found but for spaces",
                "fuzzy": "quote nearly found",
                "none": "quote not found",
            }[self.grounding]
        )
        if not self.derivation:
            parts.append("the quote alone does not give the value")
        if not self.valid:
            parts.append("breaks a rule")
        if self.source != "text":
            parts.append("read by OCR" if self.source == "ocr" else "read badly by OCR")
        if self.form == "unusual":
            parts.append("written in an unusual form")
        if self.competing:
            parts.append(f"{self.competing} other {'value' if self.competing == 1 else 'values'} found")
        return "; ".join(parts)


def stored_signals(record: Mapping[str, Any]) -> Signals:
    """Signals as `Signals.json` wrote them, in this release or an earlier one."""
    known = {one.name for one in dataclass_fields(Signals)}
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in record.items() if name in known
    }
    if set(values["extractors"]) == {MODEL}:  # an earlier release counted a model as a rule
        values["agreement"] = MODEL_ONLY
    return Signals(**values)


def observe(
    document: Document,
    kind: str,
    picked: Candidate,
    supporters: Sequence[Candidate],
    others: Sequence[Candidate],
    *,
    grounding: str = "exact",
    valid: bool = True,
    locale: str = "en",
    derived: bool | None = None,
    heard: Candidate | None = None,
    disputed: bool = False,
    marks: Sequence[str] = (),
) -> Signals:
    """The signals of a picked candidate, with those that say the same and those that do not.

    `heard` is what a model said of the field; `disputed` that it is another value. It can only count against it.
    """
    rules = tuple(dict.fromkeys(c.extractor for c in supporters))
    against = {c.key for c in others if c.strong} | ({heard.key} if heard is not None and disputed else set())
    if not rules:
        agreement = MODEL_ONLY
    elif not any(c.strong for c in supporters):
        agreement = WEAK
    elif against:
        agreement = SPLIT
    else:
        agreement = AGREE if len(rules) > 1 else SINGLE
    page = document.page(picked.span.page)
    source = "text" if page.source != "ocr" else ("ocr" if page.quality >= LOW_QUALITY else "poor")
    return Signals(
        agreement=agreement,
        extractors=(*rules, MODEL) if heard is not None and not disputed else rules,
        grounding=grounding,
        derivation=derive(kind, picked.normalised, picked.quote, locale) if derived is None else derived,
        valid=valid,
        source=source,
        competing=len(against),
        form="usual" if any(c.usual for c in supporters or [picked]) else "unusual",
        disputed=disputed,
        marks=tuple(marks),
    )
