"""Terms of employment: full-time, part-time, contract or internship; equity; whether the posting is a repost."""

from __future__ import annotations

import re

from interlock.apps.jobs.finder.reading.document import Document
from interlock.apps.jobs.finder.reading.plain import folded
from interlock.apps.jobs.finder.reading.values import Section, Value

_INTERN = re.compile(
    r"\b(?:intern|internship|working student|werkstudent(?:in)?|praktik\w+|co-op|stagiaire|becari[oa])\b"
)
_CONTRACT = re.compile(
    r"\b(?:contract|contractor|freelance|freelancer|fixed[- ]term|ftc|1099|temporary|temp|interim|befristet"
    r"|c2c|b2b|cdd)\b(?! management| manager| lifecycle| administrat\w+| analyst| speciali\w+)"
)
_PART = re.compile(r"\b(?:part[- ]time|teilzeit|temps partiel|parttime|media jornada)\b")
_FULL = re.compile(r"\b(?:full[- ]time|vollzeit|temps plein|cdi|permanent)\b")
_ASSIGNMENT = re.compile(
    r"\bduration ?: ?(?:\d+ ?\+? ?(?:months?|weeks?|years?)|long[- ]term)|\bon (?:a )?w-?2\b(?! employ)|\bw-?2 only\b"
    r"|\b(?:c2c|corp[- ]to[- ]corp|1099) (?:or|/|and) w-?2\b|\b(?:\d{1,2}|three|six|nine|twelve)[- ]months? "
    r"(?:assignment|engagement|project)\b"
)
"""Wordings of agencies for work with an end."""
_ASSIGNED = ("duration", "w2", "w-2", "assignment", "engagement", "month project", "months project", "month-project")
"""One of these is in each of them. The pattern takes 0.1 ms, and most postings have none."""
_SHARE = re.compile(
    r"\d ?% (?:of |in )?(?:the )?(?:company |common )?(?:options|shares|stock|ownership|of the company)\b"
)
_OUTSIDE: frozenset[Section] = frozenset({"benefits", "legal"})


def employment_of(document: Document, *, guess: bool) -> Value:
    title = folded(document.title)
    for value, pattern in (
        ("internship", _INTERN),
        ("contract", _CONTRACT),
        ("part-time", _PART),
        ("full-time", _FULL),
    ):
        if pattern.search(title):
            return Value(value, "title", document.title)
    hinted = any(word in document.low for word in _ASSIGNED)
    assignment = _ASSIGNMENT.search(document.low, document.begin) if hinted else None
    if assignment is not None:
        return Value("contract", "text says so", document.quote(assignment.start(), assignment.end()))
    hits = {cue: document.first(cue, without=_OUTSIDE) for cue in ("contract", "part-time", "full-time")}
    for cue in ("contract", "part-time", "full-time"):
        hit = hits[cue]
        if hit is not None:
            return Value(cue, "text says so", document.quote(hit.start, hit.end))
    if guess:
        return Value("full-time", "guess: nothing else is said")
    return Value("unknown", "not stated")


def contract_of(employment: Value) -> Value:
    return Value(employment.value == "contract", employment.rule, employment.quote)


def equity_of(document: Document) -> Value:
    hit = document.first("equity")
    share = _SHARE.search(document.low, document.begin) if hit is None else None
    if share is not None:
        return Value(True, "text says so", document.quote(share.start(), share.end()))
    if hit is None:
        return Value(False, "not stated")
    return Value(True, "text says so", document.quote(hit.start, hit.end))


def repost_of(document: Document) -> Value:
    hit = document.first("repost")
    if hit is None:
        return Value(False, "not stated")
    return Value(True, "text says so", document.quote(hit.start, hit.end))
