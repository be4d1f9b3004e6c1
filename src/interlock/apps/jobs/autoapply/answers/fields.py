"""Canonical fields: what a question of a form asks for, whatever its words.

The table is `fields.csv`; its first row that matches wins, so a row that is more specific stands before a general
one, and sensitive fields stand before all others. Patterns are separated by `|`. A pattern is a phrase of whole words;
`word*` also finds longer words, `a+b` needs both phrases, `!phrase` must be absent, `=phrase` is the whole label.
"""

from __future__ import annotations

import csv
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal, NamedTuple

from interlock.apps.jobs.autoapply.answers.labels import country_words, label_words
from interlock.apps.jobs.autoapply.answers.system_fields import SYSTEM_FIELDS
from interlock.apps.jobs.finder.identity.keys import word_list
from interlock.apps.jobs.finder.postings.posting import Question

Sensitive = Literal["choice", "exact"]
"""Answered from a stored choice only: for the field or the very question (`choice`), or for the very question
(`exact`), because two of them with other words are two things."""


class Field(NamedTuple):
    """A row of the table."""

    name: str
    sensitive: Sensitive | None
    patterns: tuple[tuple[str, ...], ...]

    def matches(self, padded: str) -> bool:
        return any(all(_part(part, padded) for part in pattern) for pattern in self.patterns)

    def rest(self, padded: str) -> frozenset[str]:
        """The words of a label beside the pattern that it matched."""
        for pattern in self.patterns:
            if all(_part(part, padded) for part in pattern):
                for part in pattern:
                    padded = _without(part, padded)
                break
        return frozenset(padded.split())


class FieldMatch(NamedTuple):
    """The field of a question, and what showed it."""

    name: str | None
    sensitive: Sensitive | None
    by: Literal["id", "label", "type", "none"]


def _part(part: str, padded: str) -> bool:
    if part.startswith("!"):
        return not _part(part[1:], padded)
    if part.startswith("="):
        return padded.strip() == part[1:]
    return f" {part[:-1]}" in padded if part.endswith("*") else f" {part} " in padded


def _without(part: str, padded: str) -> str:
    phrase = f" {part.strip('=*')}" + ("" if part.endswith("*") else " ")
    at = -1 if part.startswith("!") else padded.find(phrase)
    if at < 0:
        return padded
    end = padded.index(" ", at + len(phrase) - (0 if part.endswith("*") else 1))
    return f"{padded[:at]} {padded[end:]}"


def _folded(part: str) -> str:
    first, last = part[:1] if part[:1] in ("=", "!") else "", "*" if part.endswith("*") else ""
    return first + " ".join(label_words(part.strip("=!*"))) + last


@cache
def fields() -> dict[str, Field]:
    """The fields by name, in the order of the table."""
    lines = (files(__package__) / "fields.csv").read_text(encoding="utf-8").splitlines()
    return {
        row["field"]: Field(
            row["field"],
            row["sensitive"] or None,  # type: ignore[arg-type]
            tuple(tuple(map(_folded, one.split("+"))) for one in row["patterns"].split("|")),
        )
        for row in csv.DictReader(lines)
    }


@lru_cache(4096)
def field_of_label(label: str | None) -> Field | None:
    """The first field of the table that a label matches."""
    padded = f" {' '.join(label_words(label))} "
    return next((one for one in fields().values() if one.matches(padded)), None)


PLAIN = word_list("""
    a an the your you yours please enter provide share give add confirm repeat type again what is are s do does have in
    on at of for to and or number address profile url urls link links page full complete primary personal best contact
    first last current currently present most recent latest live living based located reside here us with can we reach
    e mail email phone cell mobile telephone home handle username account public if any applicable http https including
    code city state region country so that contact many how years highest which which obtained earned completed attended
    field study degree level date year end university school college employer company title position role job name
    dein deine deinen ihr ihre ihren bitte wie lautet ist die der das den geben gib sie du an adresse nummer welche
""")
"""Words that add nothing to the field that a label names."""
OF_WORK = word_list("""
    legally lawfully authorized eligible entitled permitted allowed right work working where this located posted apply
    applying employment employed employer our will now future require requires required need needs visa sponsorship
    sponsor immigration status case e g h 1b h1b tn etc without obtain maintain extend renew continue by from able be
    application time other arbeiten haben hast darfst durfen berechtigt zu gultige benotigen benotigst ein eine visum
    fur arbeitserlaubnis as well not
""")
"""Words that add nothing to a question about the permission to work."""


def plainly(question: Question, field: Field) -> bool:
    """Whether a label asks for its field and for nothing else: "Your email", but not "Email of a colleague"."""
    padded = f" {' '.join(label_words(question.label))} "
    rest = field.rest(padded) - PLAIN
    if field.name in ("work_authorisation", "sponsorship", "authorised_without_sponsorship"):
        rest -= OF_WORK | country_words(question.label)
    return not rest


def field_of(question: Question, ats: str) -> FieldMatch:
    """The field that a question asks for. It is sensitive if its id, its label or its type is."""
    by_label = field_of_label(question.label)
    name = SYSTEM_FIELDS.get(ats, {}).get(question.key)
    by_id = fields()[name] if name else None
    # Where the label says nothing, the help may.
    by_help = field_of_label(question.help) if question.help and by_label is None and by_id is None else None
    for one in (by_id, by_label, by_help):
        if one is not None and one.sensitive:
            # A consent that is worded as another field stays a consent.
            exact = question.type == "consent" or one.sensitive == "exact"
            return FieldMatch(one.name, "exact" if exact else "choice", "id" if one is by_id else "label")
    if question.type in ("consent", "demographic"):
        return FieldMatch(None, "exact", "type")
    if by_id is not None:
        return FieldMatch(by_id.name, None, "id")
    return FieldMatch(by_label.name, None, "label") if by_label else FieldMatch(None, None, "none")
