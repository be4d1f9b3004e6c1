"""Amendments and their base: which document controls each field now."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rapidfuzz import fuzz

from interlock.apps.contracts.comparison.clauses import Clause, Clauses, clauses_of, shortened
from interlock.apps.contracts.comparison.fields import named, same, shown, side
from interlock.apps.contracts.comparison.instructions import MOST, Instruction, instructions_in
from interlock.apps.contracts.comparison.instruments import FoundAmendment, in_order, instruments_in
from interlock.apps.contracts.comparison.labels import parts_of
from interlock.apps.contracts.comparison.result import (
    AmendedSection,
    AmendmentComparison,
    ControlledField,
    Evidence,
    FieldSide,
    Instrument,
    Summary,
)
from interlock.apps.contracts.comparison.versions import Source, document_name, notes

OF_THE_DOCUMENT = frozenset({"document_name", "title", "parties", "agreement_date", "effective_date"})
"""Fields that say what a document is. An amendment has its own; that does not change those of the base."""
SAME_AGREEMENT = 75
_AGREEMENT = re.compile(
    r"\b(?:[A-Z][A-Z&-]{1,40} ){1,6}(?:AGREEMENT|CONTRACT|LEASE|LICENSE)\b|\b(?:[A-Z][a-z]{1,40} ){1,4}Agreement\b"
)


def compare_amendments(
    base: Source, amendments: Sequence[Source], *, of_the_document: frozenset[str] = OF_THE_DOCUMENT
) -> AmendmentComparison:
    """Read amendments over their base, in the order of their dates or numbers."""
    base_clauses = clauses_of(base.document)
    read = {f"amendment-{index}": (source, clauses_of(source.document)) for index, source in enumerate(amendments, 1)}
    found = in_order(
        [one for key, (source, clauses) in read.items() for one in instruments_in(key, source.name, clauses)]
    )
    keys = [f"instrument-{index}" for index in range(1, len(found) + 1)]
    instruments = [Instrument(key="base", name=base.name, title=_title(base_clauses) or base.name)]
    sections: list[AmendedSection] = []
    for key, one in zip(keys, found, strict=True):
        instruments.append(_instrument(key, one))
        sections += [_section(key, one, change, base_clauses) for change in instructions_in(one.clauses)]
    names = dict.fromkeys([*base.fields, *(name for source, _ in read.values() for name in source.fields)])
    fields = [
        _control(name, base, base_clauses, dict(zip(keys, found, strict=True)), amendments, sections, of_the_document)
        for name in names
    ]
    counts = {
        "amendments": len(found),
        "sections": len(sections),
        "fields_base": sum(field.controlling == "base" for field in fields),
        "fields_amended": sum(field.controlling != "base" for field in fields),
        "fields_to_check": sum(field.check for field in fields),
    }
    return AmendmentComparison(
        title=f"{base.name} as amended",
        documents=[
            document_name("base", base, base_clauses),
            *(document_name(key, source, clauses) for key, (source, clauses) in read.items()),
        ],
        summary=Summary(verdict=_verdict(counts), counts=counts),
        notes=[
            *_limit_note(sections),
            *notes(base_clauses, *(clauses for _, clauses in read.values()))[1:],
            *_order_note(found),
        ],
        instruments=instruments,
        sections=sections,
        fields=fields,
    )


def _instrument(key: str, one: FoundAmendment) -> Instrument:
    first = one.clauses[0] if one.clauses else None
    return Instrument(
        key=key,
        name=one.name,
        title=one.title,
        number=one.number,
        dated=one.dated,
        evidence=_evidence(one.document, first, one.title) if first else None,
    )


def _section(key: str, one: FoundAmendment, change: Instruction, base: Clauses) -> AmendedSection:
    other = change.agreement if change.agreement and not _is_base(change.agreement, base) else ""
    target = base.find(parts_of(change.section))[:1] if not other else ()
    done = {
        "replaced": "is replaced",
        "deleted": "is deleted",
        "added": "is new",
        "extended": "is extended",
        "amended": "is changed",
    }[change.action]
    said = f"Section {change.section} {f'of {other} ' if other else ''}{done}."
    if not target and not other and change.action != "added":
        said += " The base has no section with this number."
    return AmendedSection(
        instrument=key,
        action=change.action,
        section=change.section,
        heading=target[0].heading if target else "",
        instruction=change.sentence,
        new_text=change.new_text,
        evidence=_evidence(one.document, change.clause, shortened(change.sentence, 300)),
        target=_evidence("base", target[0], shortened(target[0].text, 300)) if target else None,
        other_agreement=other,
        verdict=said,
    )


def _control(
    name: str,
    base: Source,
    base_clauses: Clauses,
    found: dict[str, FoundAmendment],
    amendments: Sequence[Source],
    sections: list[AmendedSection],
    of_the_document: frozenset[str],
) -> ControlledField:
    title = named(name)
    value = side("base", base.fields.get(name))
    controlling, earlier, check = "base", list[FieldSide](), False
    where = _where(value, base_clauses)
    said = f"{title}: the base holds ({shown(value)})." if value else f"{title} is in no document."
    for key, one in found.items():
        stated = _stated(name, one, found, amendments)
        touched = [change for change in sections if change.instrument == key and _touches(change, where)]
        label = _label(one)
        if name in of_the_document:
            if stated and value and not same(stated, value):
                earlier.append(stated)
                said = f"{title}: the base holds ({shown(value)}); {label} has its own ({shown(stated)})."
            elif stated and value is None:
                said = f"{title}: only {label} states it, for itself ({shown(stated)})."
            continue
        if stated:
            if value:
                earlier.append(value)
            again = value is not None and same(stated, value)
            controlling, value, check, where = key, stated, False, ()
            said = f"{title}: {label} {'restates' if again else 'sets'} it ({shown(stated)})."
        elif gone := [change for change in touched if change.action in {"replaced", "deleted"}]:
            if value:
                earlier.append(value)
            controlling, value, check, where = key, None, True, ()
            said = (
                f"{title}: {label} {gone[0].action} section {gone[0].section}, which held it, and states no new value."
            )
        elif touched:
            check = True
            section = touched[0].section
            said = f"{title}: the base holds ({shown(value)}), but {label} changes section {section}; look at it."
    return ControlledField(name=name, controlling=controlling, value=value, earlier=earlier, check=check, verdict=said)


def _stated(
    name: str, one: FoundAmendment, found: dict[str, FoundAmendment], amendments: Sequence[Source]
) -> FieldSide | None:
    """Return what the amendment states for a field; words of the base in the same file are not its own."""
    for index, source in enumerate(amendments, 1):
        key = f"amendment-{index}"
        stated = side(key, source.fields.get(name))
        if stated is None:
            continue
        if stated.evidence is None:
            mine = [other for other in found.values() if other.document == key]
            if mine and mine[0] is one:
                return stated
        elif one.holds(key, stated.evidence.page, stated.evidence.start):
            return stated
    return None


def _label(one: FoundAmendment) -> str:
    if one.number:
        return f"Amendment {one.number}"
    return f"the amendment of {one.dated.isoformat()}" if one.dated else shortened(one.title, 60)


def _where(value: FieldSide | None, base: Clauses) -> tuple[str, ...]:
    if value is None or value.evidence is None:
        return ()
    clause = base.at(value.evidence.page, value.evidence.start)
    while clause is not None and not clause.path and clause.index:
        # A paragraph without a number belongs to the section that it stands in.
        clause = base.items[clause.index - 1]
    return tuple(part.lower() for part in clause.path) if clause else ()


def _touches(change: AmendedSection, where: tuple[str, ...]) -> bool:
    if change.other_agreement or not where or change.action == "added":
        return False
    section = tuple(part.lower() for part in parts_of(change.section))
    return where[: len(section)] == section


def _title(base: Clauses) -> str:
    for clause in base.items[:12]:
        match = _AGREEMENT.search(clause.text[:1000])
        if match:
            return match.group()
    return ""


def _is_base(agreement: str, base: Clauses) -> bool:
    """Whether an agreement that an amendment names is the base: a general word, or the title that the base has."""
    plain = agreement.lower().replace("original ", "").strip()
    if plain in {"agreement", "contract", "license", "base", "vertrag", "parties", "section"}:
        return True
    opening = " ".join(clause.text for clause in base.items[:12]).lower()[:3000]
    return plain in opening or fuzz.partial_ratio(plain, _title(base).lower()) >= SAME_AGREEMENT


def _evidence(document: str, clause: Clause, quote: str) -> Evidence:
    return Evidence(document=document, page=clause.page, start=clause.start, end=clause.end, quote=quote)


def _limit_note(sections: Sequence[AmendedSection]) -> list[str]:
    return [f"Only the first {MOST} changes of an amendment were read."] if len(sections) >= MOST else []


def _order_note(found: Sequence[FoundAmendment]) -> list[str]:
    if len(found) < 2:
        return []
    if all(one.dated for one in found):
        return ["The amendments are in the order of their dates."]
    if all(one.number for one in found):
        return ["The amendments are in the order of their numbers."]
    return ["Not every amendment has a date or a number: they are in the order in which they were given. Check it."]


def _verdict(counts: dict[str, int]) -> str:
    count = counts["amendments"]
    changed = counts["fields_amended"]
    sections = counts["sections"]
    out = f"{'One amendment changes' if count == 1 else f'{count} amendments change'} "
    out += f"{sections} {'section' if sections == 1 else 'sections'}; "
    out += f"{changed} {'field is' if changed == 1 else 'fields are'} now set by an amendment"
    return f"{out}, {counts['fields_to_check']} to check." if counts["fields_to_check"] else f"{out}."
