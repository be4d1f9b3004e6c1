"""What can be observed about a value, before anybody knows whether it is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from interlock.apps.contracts.fields.extract.candidate import Candidate
from interlock.apps.contracts.fields.normalise import derive
from interlock.apps.contracts.reading.document import Document

AGREE, SINGLE, SPLIT, WEAK = "agree", "single", "split", "weak"
LOW_QUALITY = 0.90


@dataclass(frozen=True, slots=True)
class Signals:
    """The five signals of a field."""

    agreement: str
    """`agree`: two rules or more say the same and no strong one says otherwise; `single`: one strong rule; `split`:
    strong rules differ; `weak`: only a rule that guesses."""
    extractors: tuple[str, ...]
    """The rules that found this value."""
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

    def json(self) -> dict[str, Any]:
        return {**asdict(self), "extractors": list(self.extractors)}

    def words(self) -> str:
        """The signals as a reviewer reads them."""
        count = len(self.extractors)
        told = {
            AGREE: f"{count} rules agree",
            SINGLE: "one rule found it",
            SPLIT: "rules differ",
            WEAK: "only a weak rule found it",
        }[self.agreement]
        parts = [told]
        parts.append({"exact": "quote found in the text", "nospace": "quote found but for spaces",
                      "fuzzy": "quote nearly found", "none": "quote not found"}[self.grounding])  # fmt: skip
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
) -> Signals:
    """The signals of a picked candidate, with those that say the same and those that do not."""
    rules = tuple(dict.fromkeys(c.extractor for c in supporters))
    against = {c.key for c in others if c.strong}
    if not any(c.strong for c in supporters):
        agreement = WEAK
    elif against:
        agreement = SPLIT
    else:
        agreement = AGREE if len(rules) > 1 else SINGLE
    page = document.page(picked.span.page)
    source = "text" if page.source != "ocr" else ("ocr" if page.quality >= LOW_QUALITY else "poor")
    return Signals(
        agreement=agreement,
        extractors=rules,
        grounding=grounding,
        derivation=derive(kind, picked.normalised, picked.quote, locale) if derived is None else derived,
        valid=valid,
        source=source,
        competing=len(against),
        form="usual" if any(c.usual for c in supporters) else "unusual",
    )
