"""Compares a contract with a template: required, forbidden and deviating clauses, and allowed values.

A template is a YAML file, or any document; then each of its clauses with a heading is expected with its wording.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from importlib.resources import files
from typing import Any, Literal

import yaml  # type: ignore[import-untyped]
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from rapidfuzz import fuzz

from interlock.apps.contracts.comparison.align import align
from interlock.apps.contracts.comparison.clauses import Clause, Clauses, clauses_of, shortened
from interlock.apps.contracts.comparison.errors import BadTemplate
from interlock.apps.contracts.comparison.fields import named, shown, side, text_of
from interlock.apps.contracts.comparison.result import (
    Evidence,
    FieldSide,
    Finding,
    Severity,
    Summary,
    TemplateComparison,
)
from interlock.apps.contracts.comparison.text import PlainDocument, fold
from interlock.apps.contracts.comparison.versions import Source, document_name, notes, places, words_of

NEAR_HEADING = 88
MOST_EVIDENCE = 5
SAME_WORDING = 0.995
PHRASE_GAP = 8
"""How many words `...` in a phrase can stand for."""
LARGEST = 1 << 20


class ClauseRule(BaseModel):
    """What the standard says about one clause."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    title: str
    rule: Literal["expected", "forbidden"] = "expected"
    headings: list[str] = Field(default_factory=list)
    """The clause is there if one of these is its heading, or nearly."""
    phrases: list[str] = Field(default_factory=list)
    """Or if one of these stands in it; `...` is up to eight words, `*` at the end of a word is any ending."""
    unless: list[str] = Field(default_factory=list)
    """A clause with one of these does not count."""
    text: str = ""
    """The standard wording; a clause that reads differently deviates."""
    severity: Severity = "medium"
    why: str = ""


class FieldRule(BaseModel):
    """Which values of a field the standard allows."""

    model_config = ConfigDict(extra="forbid")

    required: bool = False
    allowed: list[str] = Field(default_factory=list)
    forbidden: list[str] = Field(default_factory=list)
    least: Decimal | None = None
    most: Decimal | None = None
    severity: Severity = "medium"
    why: str = ""


class Template(BaseModel):
    """A standard that contracts are compared with."""

    model_config = ConfigDict(extra="forbid")

    name: str
    title: str
    vertical: str = ""
    version: int = 1
    clauses: list[ClauseRule] = Field(default_factory=list)
    fields: dict[str, FieldRule] = Field(default_factory=dict)

    @field_validator("clauses")
    @classmethod
    def _different_names(cls, clauses: list[ClauseRule]) -> list[ClauseRule]:
        twice = [name for name, count in Counter(rule.name for rule in clauses).items() if count > 1]
        if twice:
            raise ValueError(f"two clauses are named {twice[0]!r}; give each its own name")
        return clauses


def shipped_template(vertical: str) -> Template | None:
    """Return the template that comes with a vertical, if one does."""
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", vertical):
        return None
    file = files("interlock.apps.contracts.comparison") / "templates" / f"{vertical}.yaml"
    return load_template(file.read_text("utf-8"), file.name) if file.is_file() else None


def load_template(text: str, name: str = "template") -> Template:
    """Read a template from YAML; what is wrong with it is said with its place."""
    if len(text) > LARGEST:
        raise BadTemplate(f"{name} has {len(text)} characters; a template has at most {LARGEST}.")
    try:
        data = yaml.safe_load(text)
        return Template.model_validate(data)
    except yaml.YAMLError as error:
        raise BadTemplate(f"{name} is not YAML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise BadTemplate(f"{name}: {place}: {first['msg']}.") from error
    except RecursionError as error:
        raise BadTemplate(f"{name} is nested too deeply.") from error


def compare_template(contract: Source, template: Template | Source) -> TemplateComparison:
    """Compare a contract with a template, or with another document as the standard."""
    clauses = clauses_of(contract.document)
    documents = [document_name("contract", contract, clauses)]
    if isinstance(template, Template):
        name, title = template.name, template.title
        findings = [_clause_finding(rule, clauses) for rule in template.clauses]
        findings += [_field_finding(field, rule, contract.fields) for field, rule in template.fields.items()]
    else:
        standard = clauses_of(template.document)
        documents.append(document_name("template", template, standard))
        name = title = template.name
        findings = _against(standard, clauses)
    outcomes: Counter[str] = Counter(finding.outcome for finding in findings)
    counts = {key: outcomes[key] for key in ("met", "missing", "forbidden", "deviates", "not_allowed")}
    counts["high"] = sum(finding.outcome != "met" and finding.severity == "high" for finding in findings)
    return TemplateComparison(
        title=f"{contract.name} against {title}",
        documents=documents,
        summary=Summary(verdict=_verdict(counts), counts=counts),
        notes=[
            *notes(clauses),
            "A clause counts as there when its heading or its words say so; read it before you rely on it.",
        ],
        template=name,
        findings=findings,
    )


def _clause_finding(rule: ClauseRule, clauses: Clauses) -> Finding:
    found = _matching(rule, clauses)
    evidence = [_evidence(clause, rule) for clause in found[:MOST_EVIDENCE]]
    if rule.rule == "forbidden":
        outcome: Any = "forbidden" if found else "met"
        said = (
            f"{rule.title}: must not be there, and is ({_where(found)})."
            if found
            else f"{rule.title}: not there, as it should be."
        )
        return _finding(rule, outcome, evidence, said)
    if not found:
        return _finding(rule, "missing", [], f"{rule.title}: no such clause was found.")
    if rule.text:
        standard = clauses_of(PlainDocument.of(rule.text)).text
        best = max(found, key=lambda clause: fuzz.ratio(standard, clause.body))
        if fuzz.ratio(standard, best.body) / 100 < SAME_WORDING:
            said = f"{rule.title}: reads differently from the standard ({_where([best])})."
            return _finding(rule, "deviates", places("contract", best), said, words=words_of(standard, best.body))
    return _finding(rule, "met", evidence, f"{rule.title}: there ({_where(found)}).")


def _finding(rule: ClauseRule, outcome: Any, evidence: list[Evidence], said: str, words: Any = ()) -> Finding:
    return Finding(
        rule=rule.name,
        title=rule.title,
        outcome=outcome,
        severity=rule.severity,
        evidence=evidence,
        words=list(words),
        why=rule.why,
        verdict=said,
    )


def _matching(rule: ClauseRule, clauses: Clauses) -> list[Clause]:
    headings = [fold(heading).lower() for heading in rule.headings]
    phrases = [phrase_pattern(phrase) for phrase in rule.phrases]
    unless = [phrase_pattern(phrase) for phrase in rule.unless]
    by_phrase, by_heading = [], []
    for clause in clauses.items:
        if any(pattern.search(clause.text) for pattern in unless):
            continue
        own = clause.heading.lower()
        if any(pattern.search(clause.text) for pattern in phrases):
            by_phrase.append(clause)
        elif own and any(fuzz.ratio(own, heading) >= NEAR_HEADING for heading in headings):
            by_heading.append(clause)
    return [*by_phrase, *by_heading] if phrases else by_heading


def phrase_pattern(phrase: str) -> re.Pattern[str]:
    """Return the search for a phrase: words in order, `...` for up to eight others, `*` for any ending."""
    parts: list[str] = []
    gap = r"\W+"
    for word in fold(phrase).split():
        if word == "...":
            # Words and what is between them share no character, so that there is one way to read a text.
            gap = rf"\W+(?:\w+\W+){{0,{PHRASE_GAP}}}?"
            continue
        if parts:
            parts.append(gap)
        gap = r"\W+"
        parts.append(re.escape(word).replace(r"\*", r"\w{0,20}"))
    return re.compile(rf"(?<!\w){''.join(parts)}(?!\w)", re.IGNORECASE)


def _evidence(clause: Clause, rule: ClauseRule) -> Evidence:
    quote = clause.text
    for phrase in rule.phrases:
        match = phrase_pattern(phrase).search(clause.text)
        if match:
            low = max(0, match.start() - 120)
            quote = ("…" if low else "") + clause.text[low : match.end() + 160]
            break
    return Evidence(
        document="contract", page=clause.page, start=clause.start, end=clause.end, quote=shortened(quote, 420)
    )


def _where(clauses: list[Clause]) -> str:
    shown_ones = [
        f"{clause.title}, page {clause.page}" if clause.number else f"page {clause.page}" for clause in clauses[:3]
    ]
    more = len(clauses) - 3
    return "; ".join(dict.fromkeys(shown_ones)) + (f" and {more} more" if more > 0 else "")


def _field_finding(name: str, rule: FieldRule, fields: Mapping[str, Mapping[str, Any]]) -> Finding:
    value = side("contract", fields.get(name))
    title = named(name)
    evidence = [value.evidence] if value and value.evidence else []
    outcome: Literal["met", "missing", "not_allowed"] = "met"
    if value is None:
        outcome = "missing" if rule.required else "met"
        said = f"{title}: not stated{', but the standard needs it' if rule.required else ', which is allowed'}."
    elif wrong := _not_allowed(value, rule):
        outcome, said = "not_allowed", f"{title}: {shortened(shown(value), 80)} {wrong}."
    else:
        said = f"{title}: {shortened(shown(value), 80)} is allowed."
    return Finding(
        rule=f"field:{name}",
        title=title,
        outcome=outcome,
        severity=rule.severity,
        evidence=evidence,
        why=rule.why,
        verdict=said,
    )


def _not_allowed(value: FieldSide, rule: FieldRule) -> str:
    texts = {fold(text_of(text)).casefold() for text in (value.value, value.normalised) if text is not None}
    if rule.allowed and not any(_named(allowed, text) for allowed in rule.allowed for text in texts):
        return f"is not one of {', '.join(rule.allowed)}"
    if any(_named(forbidden, text) for forbidden in rule.forbidden for text in texts):
        return "is not allowed"
    if rule.least is not None or rule.most is not None:
        number = _number(value)
        if number is None:
            return "is not a number, so that its limits could not be checked"
        if rule.least is not None and number < rule.least:
            return f"is below {rule.least}"
        if rule.most is not None and number > rule.most:
            return f"is above {rule.most}"
    return ""


def _named(wanted: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(fold(wanted).casefold())}(?!\w)", text) is not None


def _number(value: FieldSide) -> Decimal | None:
    for candidate in (value.normalised, value.value):
        if isinstance(candidate, Mapping):
            candidate = candidate.get("amount", candidate.get("days"))
        match = re.search(r"-?\d+(?:\.\d+)?", str(candidate)) if candidate is not None else None
        if match:
            try:
                return Decimal(match.group())
            except InvalidOperation:
                continue
    return None


def _against(standard: Clauses, contract: Clauses) -> list[Finding]:
    """Compare a contract with another document: each clause of that document with a heading or a number is expected."""
    findings = []
    for pair in align(standard, contract):
        before, after = pair.before, pair.after
        clause = before or after
        assert clause is not None
        if before is None and not clause.number:
            continue
        evidence = places("contract", after) if after else []
        words = words_of(before.text if before else "", after.text if after else "")
        if before is None:
            outcome: Any = "deviates"
            said = f"{clause.title}: the standard has no such clause."
        elif after is None:
            outcome, said = "missing", f"{clause.title}: no such clause was found."
        elif pair.changed:
            outcome, said = "deviates", f"{clause.title}: reads differently from the standard (page {after.page})."
        else:
            outcome, said = "met", f"{clause.title}: as in the standard (page {after.page})."
        severity: Severity = "medium" if clause.number else "low"
        findings.append(
            Finding(
                rule=f"clause:{clause.number or clause.index}",
                title=clause.title,
                outcome=outcome,
                severity=severity,
                evidence=evidence,
                words=[] if outcome == "met" else words,
                verdict=said,
            )
        )
    return findings


def _verdict(counts: dict[str, int]) -> str:
    wrong = [
        f"{counts[key]} {word}"
        for key, word in (
            ("missing", "missing"),
            ("forbidden", "that must not be there"),
            ("deviates", "worded differently"),
            ("not_allowed", "with a value that is not allowed"),
        )
        if counts[key]
    ]
    if not wrong:
        return f"The contract meets all {counts['met']} points of the standard."
    serious = f", {counts['high']} of them serious" if counts["high"] else ""
    return f"{counts['met']} points met; {', '.join(wrong)}{serious}."
