"""Validates values: type, range, and rules between fields. Problems have messages for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

from interlock.apps.contracts.fields.normalise import PERPETUAL, as_date
from interlock.apps.contracts.fields.normalise.dates import add_months
from interlock.apps.contracts.fields.normalise.numbers import days_of, months_of
from interlock.apps.contracts.fields.providers import Providers
from interlock.apps.contracts.fields.result import Extraction
from interlock.apps.contracts.fields.vertical import (
    Differ,
    Ends,
    FieldDefinition,
    Order,
    Range,
    Shorter,
    Twelfth,
    Vertical,
)


@dataclass(frozen=True, slots=True)
class Problem:
    """A rule that a field breaks."""

    field: str
    code: str
    """`missing`, `type`, `partial`, `range`, `choice` or `rule`."""
    message: str


def validate(
    vertical: Vertical, values: Mapping[str, Any], *, today: date, providers: Providers | None = None
) -> list[Problem]:
    """Problems of normalised values by the vertical's rules; an empty list if there are none."""
    problems: list[Problem] = []
    ranges = _usual(vertical, values, providers)
    for field in vertical.fields:
        value = values.get(field.name)
        if value is None:
            if field.required:
                problems.append(
                    Problem(field.name, "missing", f"{field.label} was not found; add it or mark it absent")
                )
            continue
        problems.extend(_of_type(field, value, today))
        limits = ranges.get(field.name) or field.range
        if limits is not None:
            problems.extend(_in_range(field, value, limits))
    for rule in vertical.rules:
        problems.extend(_rule(vertical, rule, values))
    return problems


def apply(extraction: Extraction, problems: list[Problem]) -> Extraction:
    """The extraction with the problems marked in the signals."""
    wrong = {problem.field for problem in problems}
    return extraction.with_fields(
        {
            name: replace(found, signals=replace(found.signals, valid=name not in wrong))
            for name, found in extraction.fields.items()
        }
    )


def values_of(extraction: Extraction) -> dict[str, Any]:
    """The normalised values of an extraction, as `validate` takes them."""
    return {name: found.normalised for name, found in extraction.fields.items()}


def _of_type(field: FieldDefinition, value: Any, today: date) -> list[Problem]:
    def said(code: str, message: str) -> list[Problem]:
        return [Problem(field.name, code, message)]

    if field.type == "date":
        return _date(field, str(value), today)
    if field.type == "parties" and not (isinstance(value, list) and value):
        return said("type", f"{field.label} is not a list of names")
    if field.type in ("number", "money") and _number(value) is None:
        return said("type", f"{field.label} {value!r} is not a number")
    if field.type == "duration" and days_of(str(value)) is None:
        return said("type", f"{field.label} {value!r} is not a duration")
    if field.choices and str(value).casefold() not in {choice.casefold() for choice in field.choices}:
        return said("choice", f"{field.label} {value!r} is none of {', '.join(field.choices)}")
    return []


def _date(field: FieldDefinition, value: str, today: date) -> list[Problem]:
    if value == PERPETUAL:
        return []
    if "X" in value:
        if not field.required:
            return []
        return [Problem(field.name, "partial", f"{field.label} has blanks in the document: {value}")]
    day = as_date(value)
    if day is None:
        return [Problem(field.name, "type", f"{field.label} {value!r} is not a date")]
    earliest = as_date(field.earliest) if field.earliest else None
    if earliest is not None and day < earliest:
        return [Problem(field.name, "range", f"{field.label} {value} is before {earliest.isoformat()}")]
    if field.years_ahead is not None and day > add_months(today, 12 * field.years_ahead):
        return [Problem(field.name, "range", f"{field.label} {value} is more than {field.years_ahead} years ahead")]
    return []


def _in_range(field: FieldDefinition, value: Any, limits: Range) -> list[Problem]:
    number = days_of(str(value)) if field.type == "duration" else _number(value)
    if number is None:
        return []
    amount = float(number)
    unit = " days" if field.type == "duration" else (f" {field.unit}" if field.unit else "")
    if limits.min is not None and amount < limits.min:
        return [Problem(field.name, "range", f"{field.label} {value} is below the usual {limits.min:g}{unit}")]
    if limits.max is not None and amount > limits.max:
        return [Problem(field.name, "range", f"{field.label} {value} is above the usual {limits.max:g}{unit}")]
    return []


def _usual(vertical: Vertical, values: Mapping[str, Any], providers: Providers | None) -> Mapping[str, Range]:
    """The ranges of the provider that the contract names, where one is known."""
    if providers is None:
        return {}
    for field in vertical.fields:
        if field.type == "provider" and values.get(field.name):
            known = providers.by_alias(str(values[field.name]))
            return known.ranges if known is not None else {}
    return {}


def _rule(
    vertical: Vertical, rule: Order | Shorter | Ends | Twelfth | Differ, values: Mapping[str, Any]
) -> list[Problem]:
    def label(name: str) -> str:
        return vertical.field(name).label

    if isinstance(rule, Order):
        first, then = _day(values, rule.first), _day(values, rule.then)
        if first and then and first > then:
            return [Problem(rule.then, "rule", f"{label(rule.then)} {then} is before {label(rule.first)} {first}")]
    elif isinstance(rule, Shorter):
        short, long = days_of(str(values.get(rule.field))), days_of(str(values.get(rule.than)))
        if short is not None and long is not None and short >= long:
            return [Problem(rule.field, "rule", f"{label(rule.field)} is not shorter than {label(rule.than)}")]
    elif isinstance(rule, Ends):
        start, end = _day(values, rule.start), _day(values, rule.end)
        months = months_of(str(values.get(rule.term)))
        if start and end and months is not None:
            expected = add_months(start, months)
            if abs((expected - end).days) > rule.days:
                return [
                    Problem(
                        rule.end,
                        "rule",
                        f"{label(rule.end)} {end} is not {label(rule.start)} plus the term: {expected}",
                    )
                ]
    elif isinstance(rule, Twelfth):
        monthly, yearly = _number(values.get(rule.monthly)), _number(values.get(rule.yearly))
        if monthly is not None and yearly:
            off = abs(12 * monthly - yearly) / yearly
            if off > Decimal(str(rule.share)):
                return [Problem(rule.yearly, "rule", f"{label(rule.yearly)} {yearly} is not twelve times {monthly}")]
    else:
        names = values.get(rule.field)
        if isinstance(names, list) and len(names) < rule.least:
            return [
                Problem(rule.field, "rule", f"{label(rule.field)}: {len(names)} found, at least {rule.least} expected")
            ]
    return []


def _day(values: Mapping[str, Any], name: str) -> date | None:
    value = values.get(name)
    return as_date(value) if isinstance(value, str) else None


def _number(value: Any) -> Decimal | None:
    try:
        number = Decimal(str(value).split(" ")[0])
    except (ArithmeticError, ValueError):
        return None
    return number if number.is_finite() else None
