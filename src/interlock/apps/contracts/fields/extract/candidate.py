"""What a rule finds: a value, its normalised form, and its quote."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from interlock.apps.contracts.fields.flat import Flat
from interlock.apps.contracts.reading.document import Span

MODEL = "model"
"""The extractor name of a model's answers."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One value found by a rule or a model."""

    extractor: str
    value: str
    """As it is shown."""
    normalised: Any
    """As it is compared: a string, or a list of strings for parties."""
    quote: str
    span: Span
    score: float = 1.0
    """How good a hit this is among those of the same rule."""
    strong: bool = True
    """False for a rule that only guesses."""
    usual: bool = True
    """False for a hit in a form that is more often wrong: a date without "made" or "dated", a party's name without
    a legal form."""
    at: int = 0
    """Where in the flat text the value stands."""
    basis: str = ""
    """What the value was computed from, where it is not written: `3 years from 2003-05-06 (effective date)`."""
    marks: tuple[str, ...] = ()
    """What else was observed about it that tells how likely it is right, in the rule's own words."""

    @property
    def by_model(self) -> bool:
        return self.extractor == MODEL

    @property
    def key(self) -> str:
        """The key that two candidates with the same meaning share."""
        return "|".join(self.normalised) if isinstance(self.normalised, list) else str(self.normalised)


@dataclass(slots=True)
class RuleContext:
    """The input of a rule: the text, the field's options, and the values of earlier fields."""

    flat: Flat
    options: dict[str, Any] = field(default_factory=dict)
    known: dict[str, Any] = field(default_factory=dict)
    """Normalised values of fields that were read before this one."""
    memo: dict[str, Any] = field(default_factory=dict)
    """Shared by all rules of one document, for what is costly to find."""


Extractor = Callable[[RuleContext], list[Candidate]]


def candidate(
    flat: Flat,
    extractor: str,
    value: str,
    normalised: Any,
    quoted: tuple[int, int],
    core: tuple[int, int] | None = None,
    *,
    score: float = 1.0,
    strong: bool = True,
    usual: bool = True,
    marks: tuple[str, ...] = (),
    basis: str = "",
) -> Candidate | None:
    """A candidate whose quote is the stored text of `quoted`, cut to the page that holds `core`."""
    span = flat.place(*quoted, core=core)
    if span is None or span.end <= span.start:
        return None
    at = core[0] if core is not None else quoted[0]
    return Candidate(extractor, value, normalised, flat.quote(span), span, score, strong, usual, at, basis, marks)
