"""Labels of form questions in a form that can be compared.

A key keeps every word: two questions with one key are one question. What two labels may differ in, without being two
questions, is a short list of filler words.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256

from interlock.apps.jobs.finder.geography.places import COUNTRIES
from interlock.apps.jobs.finder.identity.keys import word_list, words

LONGEST = 20_000
"""Characters of a label that are read. A longer one is answered by a person."""
_KEPT = 300
_ENDINGS = {"required", "optional", "pflichtfeld", "erforderlich"}
_FILLER = word_list("""
    a an the please kindly your you us we our is are do does did what whats s of for to in on at and provide enter tell
    share list give here bitte dein deine ihr ihre dein der die das ein eine
""")
NEGATIONS = word_list("not no never without unable cannot t nor neither nicht kein keine keinen ohne nie unwilling")
_SPELLED = {
    "authorised": "authorized",
    "authorisation": "authorization",
    "licence": "license",
    "organisation": "organization",
}


def label_words(label: str | None) -> list[str]:
    """The words of a label, folded, without a mark such as "(required)" at its end."""
    found = [_SPELLED.get(one, one) for one in words(label, LONGEST)]
    while len(found) > 1 and found[-1] in _ENDINGS:
        found.pop()
    return found


@lru_cache(4096)
def label_key(label: str | None) -> str:
    """Equal for labels with the same words; empty when there are none. A long one ends in a hash of all its words."""
    key = " ".join(label_words(label))
    if len(key) <= _KEPT:
        return key
    return f"{key[:_KEPT]} {sha256(key.encode('utf-8', 'replace')).hexdigest()}"


def is_cut(label: str | None) -> bool:
    """Whether the end of a label is missing, so that its key may be another question's."""
    return label is None or len(label) > LONGEST or label.rstrip().endswith(("…", "..."))


def likeness(one: str | None, other: str | None) -> float:
    """The share of telling words that two labels have in common, 0 to 1. Their order and filler words do not count."""
    first, second = (frozenset(label_words(label)) - _FILLER for label in (one, other))
    if not first or not second or (first ^ second) & NEGATIONS:
        return 0.0
    return len(first & second) / len(first | second)


def negated(label: str | None) -> bool:
    return not NEGATIONS.isdisjoint(label_words(label))


def countries_named(label: str | None) -> frozenset[str]:
    """The countries that a label names. A code of two letters counts in capitals only: "in" and "it" are words."""
    text = (label or "")[:2000].replace("U.S.A.", "USA").replace("U.S.", "US").replace("U.K.", "UK")
    pieces = [one.strip("?!.,;:()[]'\"*") for one in text.split()]
    found = {
        COUNTRIES[one.lower()] for one in pieces if 2 <= len(one) <= 3 and one.isupper() and one.lower() in COUNTRIES
    }
    return frozenset(found | {COUNTRIES[name] for name in _country_names(text)})


def country_words(label: str | None) -> frozenset[str]:
    """The words of a label that are names of countries."""
    return frozenset(word for name in _country_names((label or "")[:2000]) for word in name.split())


def _country_names(text: str) -> set[str]:
    plain = label_words(text)
    runs = (" ".join(plain[at : at + size]) for size in (1, 2, 3, 4) for at in range(len(plain) - size + 1))
    return {name for name in runs if len(name) > 3 and name in COUNTRIES}
