"""When a value counts as right against a known answer. One rule a type, and none of them is generous.

- dates: equal after normalising, blanks included (`2015-XX-XX` is right only for `[]/[]/2015`); of several answers,
  one.
- law: the same set of jurisdictions, each by its one name; the country of a named state is left out.
- parties: every party of the answer is found and nothing else is. Two names are the same when they are equal without
  legal form, case and punctuation, or nearly so (95 of 100). A short name or another name that the answer gives for a
  party stands for it. A role ("Agent") that the answer has instead of a name counts as a party to be found. An answer
  that is a found name with words cut off counts, for labels are at times cut short; a found name with words cut off
  does not. What an answer says of parties that it has named is no further party: `X and Y (each a "Party")`, `X and
  Y (together the "Sellers")`, `each Party that provides services ("Provider")`, and the same name a second time.
- durations: the same length (`P12M` is `P1Y`).
- document name: equal without case and punctuation, or one within the other, or nearly so (90 of 100).
- clauses: `Yes` is right for `Yes`. What is not found is not answered.
"""

from __future__ import annotations

import re
from typing import Any

from rapidfuzz import fuzz

from interlock.apps.contracts.fields.extract.party_names import name_head
from interlock.apps.contracts.fields.normalise import normalise
from interlock.apps.contracts.fields.normalise.dates import parse_label_date
from interlock.apps.contracts.fields.normalise.law import parse_law
from interlock.apps.contracts.fields.normalise.names import name_key
from interlock.apps.contracts.fields.normalise.numbers import days_of, parse_duration

_SAME_NAME = 95
_SAME_SHORT = 80
_SAME_TITLE = 90
_GROUP = re.compile(r"(?:the |a |each )?part(?:y|ies)", re.IGNORECASE)
"""A word for all parties is no name of one."""
_NO_NAME = re.compile(
    r"\b(?:collectively|individually|together|hereinafter|referred to)\b|^\W*(?:each|every|any|all|both|either|such)\b",
    re.IGNORECASE,
)
_BRACKET = re.compile(
    r"\(+(?=[^()]*(?:[\"\u201c\u201d]|\b(?:collectively|individually|together|each)\b|$)).*$"
    r"|\((?=[^()]*\)\s*$).*$|(?<=[\w.])\s*,?\s*\u201c.*$",
    re.DOTALL,
)
"""Where a party's name ends and its short names begin: a bracket with a quoted word, or the last one."""


def known_answer(kind: str, answer: str) -> Any:
    """A label's answer in the form that `matches` takes; `None` where the label says that there is none."""
    answer = answer.strip()
    if not answer:
        return None
    if kind == "date":
        return [value for part in answer.split(";") if (value := parse_label_date(part))] or None
    if kind == "law":
        return parse_law(answer)
    if kind == "parties":
        return _parties(answer) or None
    if kind == "duration":
        return parse_duration(answer)
    if kind in ("money", "number", "provider"):
        return normalise(kind, answer)
    if kind == "clause":
        return "yes" if answer.lower() == "yes" else None
    return answer


def matches(kind: str, value: Any, answer: Any) -> bool:
    """Is a normalised value the known answer?"""
    if value is None or answer is None:
        return False
    if kind == "date":
        return value in answer
    if kind == "parties":
        return _same_parties(value, answer)
    if kind == "duration":
        mine, theirs = days_of(str(value)), days_of(str(answer))
        return mine is not None and theirs is not None and abs(mine - theirs) < 0.03 * theirs
    if kind == "text":
        return _same_title(str(value), str(answer))
    return bool(value == answer)


def same_reading(kind: str, value: Any, other: Any) -> bool:
    """Do two readers of the same document say the same? Names in another order or with a slip are the same."""
    if value == other:
        return True
    if kind == "date":
        return False
    if kind == "parties":
        return _same_parties(list(value), [[name] for name in other]) if isinstance(other, list) else False
    return matches(kind, value, other)


def _parties(answer: str) -> list[list[str]]:
    """Each party as the list of names that stand for it: `X Inc. ("X"); Y LLC ("Y")`."""
    found: list[list[str]] = []
    written: set[str] = set()
    for part in _parts(_without_outer(answer)):
        name = re.sub(r"^\s*and\s+", "", _BRACKET.sub("", part, count=1))
        quoted = re.findall(r"[\"\u201c\u201d]([^\"\u201c\u201d]{1,80})[\"\u201c\u201d]", part[len(name) :])
        plain = re.findall(r"\(([A-Z][\w.& -]{1,40})\)\s*$", part)
        aliases = [one for one in (*quoted, *plain) if not _GROUP.fullmatch(one.strip(" ."))]
        if not name_key(name) or _NO_NAME.search(name) or _all_named_before(name, found):
            continue
        if quoted and not aliases and not _letters(name_head(name) or ""):
            continue
        letters = _letters(name)
        if letters in written:
            continue  # the same party again, with an address or another of its short names
        written.add(letters)
        keys = [name_key(name_head(name) or name), *(name_key(alias) for alias in aliases)]
        found.append([key for key in keys if key])
    return found


def _without_outer(answer: str) -> str:
    """The answer without a pair of brackets around all of it."""
    answer = answer.strip()
    if not answer.startswith("("):
        return answer
    return answer[1:-1] if answer.count("(") == answer.count(")") and answer.endswith(")") else answer[1:]


def _all_named_before(name: str, found: list[list[str]]) -> bool:
    """`Consultant and Company` after those two: not a third party, but both of them (mostly "each a Party")."""
    known = [key for party in found for key in party]
    pieces = [name_key(piece) for piece in re.split(r",|;|&|\b(?:and|with)\b", name)]
    pieces = [piece for piece in pieces if piece]
    if len(pieces) < 2:
        return False
    return all(any(piece == key or fuzz.ratio(piece, key) >= _SAME_SHORT for key in known) for piece in pieces)


def _parts(answer: str) -> list[str]:
    if ";" in answer:
        return answer.split(";")
    return re.split(r"(?<=\))\s*(?:,|\band\b|&)?\s*(?=[A-Z])|\n", answer)


def _same_parties(value: list[str], answer: list[list[str]]) -> bool:
    if len(value) != len(answer):
        return False
    left = list(answer)
    for name in value:
        hit = next((party for party in left if any(_same(name, key) for key in party)), None)
        if hit is None:
            return False
        left.remove(hit)
    return True


def _same(found: str, answer: str) -> bool:
    if found == answer or (min(len(found), len(answer)) >= 6 and fuzz.ratio(found, answer) >= _SAME_NAME):
        return True
    return len(answer) >= 12 and (found.endswith(answer) or found.startswith(answer))


def _same_title(value: str, answer: str) -> bool:
    answers = [_letters(part) for part in re.split(r"\n\s*\n|;", answer)] + [_letters(answer)]
    mine = _letters(value)
    for other in answers:
        if not other or not mine:
            continue
        if mine == other or fuzz.ratio(mine, other) >= _SAME_TITLE:
            return True
        if min(len(mine), len(other)) >= 12 and (mine in other or other in mine):
            return True
    return False


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text.casefold())
