"""What a reviewer entered on the page, field by field, and what is invalid in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from interlock.apps.contracts.fields.normalise import normalise
from interlock.apps.contracts.fields.vertical import FieldDefinition, Vertical
from interlock.apps.contracts.models import Evidence, FieldDecision

ACTIONS = ("accept", "correct", "clear", "absent")
WORDS = {"accept": "accepted", "correct": "corrected", "clear": "cleared", "absent": "marked absent"}
PLACE = re.compile(r"(\d{1,6}):(\d{1,9})-(\d{1,9})")
BOX = re.compile(r"(\d{1,6})@(\d{1,6}(?:\.\d{1,6})?(?:,\d{1,6}(?:\.\d{1,6})?){3})")
LONGEST = 10_000
KINDS = {
    "date": "a date, such as 2024-05-31",
    "money": "a sum, such as 1200 EUR",
    "duration": "a duration, such as 12 months",
    "number": "a number",
    "clause": "yes or no",
    "law": "a state or country",
    "parties": "names, with ; between them",
}


@dataclass(frozen=True, slots=True)
class Given:
    """What was entered for one field."""

    action: str = ""
    value: str = ""
    place: str = ""
    """The evidence: `page:start-end` in characters, or `page@left,top,right,bottom` in points."""
    error: str = ""

    @property
    def touched(self) -> bool:
        return bool(self.action or self.place)


def read(vertical: Vertical, fields: Mapping[str, str], before: Mapping[str, str]) -> dict[str, Given]:
    """The form's fields. A changed value is a correction, even if no action was selected."""
    found = {}
    for one in vertical.fields:
        if f"do.{one.name}" not in fields and f"value.{one.name}" not in fields:
            continue
        action = fields.get(f"do.{one.name}", "")
        value = fields.get(f"value.{one.name}", "").replace("\r\n", "\n").strip()
        if not action and value and value != before.get(one.name, "").replace("\r\n", "\n").strip():
            action = "correct"
        given = Given(action if action in ACTIONS else "", value, fields.get(f"at.{one.name}", ""))
        found[one.name] = replace(given, error=_wrong(one, vertical, given, before))
    return found


def _wrong(one: FieldDefinition, vertical: Vertical, given: Given, before: Mapping[str, str]) -> str:
    if len(given.value) > LONGEST:
        return f"{one.label}: a value has at most {LONGEST:,} characters"
    if given.place and evidence(given.place) is None:
        return f"{one.label}: the evidence is invalid; mark it again"
    if given.action == "accept" and not before.get(one.name):
        return f"{one.label}: there is no value to accept; correct it or mark it absent"
    if given.action == "correct" and not given.value:
        return f"{one.label}: enter the right value"
    if given.action == "correct" and normalise(one.type, given.value, vertical.locale) is None:
        kind = KINDS.get(one.type, f"a {one.type}")
        return f"{one.label}: {given.value[:80]!r} is not {kind}"
    if one.choices and given.action == "correct" and given.value not in one.choices:
        return f"{one.label}: it must be one of {', '.join(one.choices)}"
    return ""


def decisions(given: Mapping[str, Given]) -> list[FieldDecision]:
    """What goes to the workflow."""
    return [
        FieldDecision(
            field=name,
            action=one.action,
            value=one.value if one.action == "correct" else None,
            evidence=evidence(one.place) if one.action in {"accept", "correct"} else None,
        )
        for name, one in given.items()
        if one.action
    ]


def blamed(given: Mapping[str, Given], vertical: Vertical, message: str) -> dict[str, Given]:
    """The form with a refusal of the workflow at the field that it names."""
    found = dict(given)
    for one in vertical.fields:
        if message.startswith((f"{one.name}:", f"{one.label}:")) and one.name in found:
            found[one.name] = replace(found[one.name], error=message)
    return found


def taken(given: dict[str, Given], choice: str, read: Mapping[str, Mapping[str, Any]]) -> dict[str, Given]:
    """The form with an alternative used: its value and its place become the correction."""
    name, _, number = choice.partition(":")
    others = read.get(name, {}).get("alternatives") or []
    if name in given and number.isdecimal() and len(number) < 4 and int(number) < len(others):
        other = others[int(number)]
        value = other["value"]
        text = "; ".join(map(str, value)) if isinstance(value, list) else str(value)
        given[name] = Given("correct", text, f"{other['page']}:{other['start']}-{other['end']}")
    return given


def lost(given: Mapping[str, Given], vertical: Vertical) -> list[str]:
    """What was entered, in words, for a reviewer whose decision came too late."""
    labels = {one.name: one.label for one in vertical.fields}
    return [
        f"{labels[name]}: {WORDS[one.action]}{f' to {one.value}' if one.action == 'correct' else ''}"
        for name, one in given.items()
        if one.action
    ]


def evidence(place: str) -> Evidence | None:
    """Parse a place of the form; None if it is invalid."""
    if found := PLACE.fullmatch(place):
        page, start, end = (int(part) for part in found.groups())
        return Evidence(page=page, start=start, end=end) if page and start < end else None
    if found := BOX.fullmatch(place):
        left, top, right, bottom = (float(part) for part in found[2].split(","))
        page = int(found[1])
        return Evidence(page=page, box=(left, top, right, bottom)) if page and left < right and top < bottom else None
    return None
