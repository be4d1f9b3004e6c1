"""One meaning for each value, whatever its shape: `normalise` by a field's type, `derive` from its quote alone.

`derive` answers whether the quote really says the value. It catches a right quote with a wrong value.
"""

from __future__ import annotations

import re
from typing import Any

from interlock.apps.contracts.fields.flat import squeeze
from interlock.apps.contracts.fields.normalise.dates import PERPETUAL, as_date, find_dates, parse_date
from interlock.apps.contracts.fields.normalise.law import parse_law
from interlock.apps.contracts.fields.normalise.names import name_key, parse_parties
from interlock.apps.contracts.fields.normalise.numbers import (
    find_durations,
    find_money,
    german_number,
    parse_duration,
    parse_money,
    parse_number,
    plain,
)

TYPES = ("text", "parties", "date", "money", "duration", "law", "clause", "number", "provider")

__all__ = ["PERPETUAL", "TYPES", "as_date", "derive", "normalise"]


def normalise(kind: str, value: str, locale: str = "en") -> Any:
    """The comparable form of a value as a person or a rule wrote it; `None` where it is not of this type."""
    value = squeeze(value)
    if not value:
        return None
    if kind == "parties":
        return parse_parties(value) or None
    if kind == "date":
        return parse_date(value)
    if kind == "money":
        return parse_money(value)
    if kind == "duration":
        return parse_duration(value)
    if kind == "law":
        return parse_law(value)
    if kind == "number":
        number = german_number(value) if locale == "de" else parse_number(value)
        return plain(number) if number is not None else None
    if kind == "clause":
        return value.lower() if value.lower() in ("yes", "no") else None
    return value.casefold()


def derive(kind: str, normalised: Any, quote: str, locale: str = "en") -> bool:
    """Does the quote alone lead to this value?"""
    text = squeeze(quote)
    if not text or normalised is None:
        return False
    if kind == "date":
        return _derive_date(str(normalised), text)
    if kind == "parties":
        letters = re.sub(r"[\W_]", "", text.lower().replace("&", "and"))
        return all(_name_in(key, letters) for key in normalised)
    if kind == "law":
        said = (parse_law(text) or "").split("; ")
        return all(name in said for name in str(normalised).split("; "))
    if kind == "money":
        return any(value == normalised for value, _, _ in find_money(text))
    if kind == "duration":
        return any(value == normalised for value, _, _ in find_durations(text))
    if kind == "number":
        found = [german_number(n) if locale == "de" else parse_number(n) for n in re.findall(r"\d[\d.,']*", text)]
        return any(plain(n) == normalised for n in found if n is not None)
    if kind == "clause":
        return True
    letters = re.sub(r"[\W_]", "", text.casefold())
    return re.sub(r"[\W_]", "", str(normalised).casefold()) in letters


def _derive_date(value: str, text: str) -> bool:
    if value == PERPETUAL:
        return bool(
            re.search(
                r"perpetu|indefinite|until|unless|terminat|life of|duration of|so long as|expir", text, re.IGNORECASE
            )
        )
    return any(date.value == value for date in find_dates(text))


def _name_in(key: str, letters: str) -> bool:
    return key in letters or name_key(key) in letters
