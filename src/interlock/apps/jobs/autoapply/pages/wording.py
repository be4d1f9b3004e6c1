"""Words of the pages: what a status means, what is needed of the person, and texts with what is marked in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from interlock.apps.jobs.autoapply.models import ReviewReason
from interlock.apps.jobs.autoapply.rules import ApplyRule
from interlock.apps.jobs.finder.profiles.profile import WantedSalary

KINDS = {
    "queued": "work",
    "validating": "work",
    "preparing": "work",
    "ready_to_submit": "work",
    "requires_review": "person",
    "submitted": "done",
    "interview_requested": "done",
    "failed": "failed",
    "paused": "wait",
    "withdrawn": "ended",
}
"""Status → the kind that colours it; one that is not named waits."""
FIELD = 2000
"""Characters of an answer that a page shows in one line."""


class Piece(NamedTuple):
    """Part of a text; `why` says what is wrong with it."""

    text: str
    why: str = ""


def kind_of(status: str) -> str:
    return KINDS.get(status, "wait")


def needed(data: Mapping[str, Any]) -> str:
    """What the person has to do with an application that waits for them, by the data of its instance.

    The reason in its row is that of entering the review; the instance knows what was asked since.
    """
    asked, reason = data.get("open_questions") or 0, data.get("review_reason")
    if reason == ReviewReason.VERIFY_SUBMISSION:
        return "Find out whether it arrived"
    if asked:
        return f"Answer {asked} question{'' if asked == 1 else 's'}"
    if reason == ReviewReason.SUBMIT_BY_HAND:
        return "Say how it ended" if data.get("run_id") else "Send it yourself"
    return "Approve or reject its packet"


def sent_by(adapter: str) -> str:
    """Who sends it, and how."""
    by_hand = {"assisted": "you, with the site's form", "email_draft": "you, by mail"}
    return by_hand.get(adapter) or f"Interlock, to {adapter.replace('_', ' ')}"


def marked(text: str, findings: Iterable[Mapping[str, Any]]) -> list[Piece]:
    """The text in pieces: those that the claim check found carry the reason. Findings that overlap are one."""
    pieces, at = [], 0
    for one in sorted(findings, key=lambda one: (int(one.get("start", 0)), -int(one.get("end", 0)))):
        start, end = max(at, int(one.get("start", 0))), min(len(text), int(one.get("end", 0)))
        if end <= start:
            continue
        if start > at:
            pieces.append(Piece(text[at:start]))
        pieces.append(Piece(text[start:end], str(one.get("why") or "not in your profile")))
        at = end
    return [*pieces, Piece(text[at:])] if at < len(text) else pieces


def said(value: Any) -> str:
    """An answer as a person reads it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)[:FIELD]


CHECKS = {
    "open": "the posting is not open",
    "already_applied": "applied for before",
    "identity": "unknown what it is",
    "score": "score too low",
    "titles": "another title",
    "skills": "too few of the skills",
    "companies": "not one of the companies",
    "excluded_companies": "an excluded company",
    "keywords": "none of the keywords",
    "excluded_keywords": "an excluded keyword",
    "locations": "another place",
    "salary": "pays too little",
    "sources": "another source",
    "paused": "the rule was paused",
    "active_days": "not on that day",
    "stopped": "everything was paused",
    "one_live": "an application is under way",
    "claimed": "somebody else is applying",
    "claimable": "its job was rejected or expired",
    "declined": "you withdrew it before",
    "seeker_day": "your limit of the day",
    "rule_day": "the rule's limit of the day",
    "rule_week": "the rule's limit of the week",
    "company_cooldown": "the company rests for 7 days",
    "all_hour": "the limit of everybody",
}
"""Check → what it means that it blocks."""


def check_words(name: str) -> str:
    return CHECKS.get(name, name.replace("_", " "))


def many(number: int, noun: str) -> str:
    """1 posting, 2 postings"""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def criteria(rule: ApplyRule) -> list[tuple[str, str]]:
    """What a rule asks for, as (label, words); criteria that exclude nothing are left out."""
    listed = (
        ("Titles", rule.titles),
        (f"Skills, at least {rule.min_skills}", rule.skills),
        ("Only", rule.companies),
        ("Never", rule.excluded_companies),
        ("Words", rule.keywords),
        ("Without", rule.excluded_keywords),
        ("Places", rule.locations),
        ("Sources", rule.sources),
        ("Days", [day[:3].capitalize() for day in rule.active_days]),
    )
    found = [("Score", f"from {rule.min_score}")] if rule.min_score is not None else []
    found += [(label, ", ".join(some)) for label, some in listed if some]
    if rule.salary is not None:
        found.append(("Pay", pay(rule.salary)))
    return found or [("Takes", "every match")]


def pay(wanted: WantedSalary) -> str:
    return f"from {wanted.min:,.0f} {wanted.currency} a {wanted.period}"
