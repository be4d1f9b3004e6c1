"""Words of the pages: reasons for and against, ages, pay, places and badges. Nothing here reads a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from interlock.apps.jobs.finder.pages.results import POINTS, fits
from interlock.apps.jobs.finder.postings.posting import Posting, Precision
from interlock.apps.jobs.finder.records import postings
from interlock.dashboard.formatting import duration
from interlock.store import Micros, micros, span

SHOWN_REASONS = 3
CLOSING_SOON = timedelta(days=3)
PAY_SOURCES = {
    "board": "from the board's own field",
    "jsonld": "from the page's structured data",
    "text": "read out of the text",
}
TOPICS = {
    "skills": "skills",
    "workplace": "location",
    "country": "location",
    "salary": "salary",
    "seniority": "seniority",
}
"""Rule of the filter → the part of the score that is about the same, where it has another name."""
PARTS = {
    "skills": "Skills",
    "title": "Title",
    "seniority": "Seniority",
    "location": "Location",
    "salary": "Salary",
    "time_zone": "Time zone",
    "company_size": "Company size",
    "limit": "Limit",
    "office": "Office in your city",
    "tech_stack": "Technologies",
    "remote_first": "Remote first",
    "ai_focus": "AI focus",
}


class Reason(NamedTuple):
    """One reason, with how much it weighs and the words of the posting behind it."""

    text: str
    weight: float
    quote: str = ""


class Badge(NamedTuple):
    """A mark on a posting: its words, the kind that colours it, and what it means."""

    text: str
    kind: str
    title: str


class Points(NamedTuple):
    """One part of a company's tier."""

    label: str
    points: int
    why: str
    quote: str


class Pay(NamedTuple):
    """What a posting pays, and where that stands."""

    text: str
    source: str
    quote: str


def reasons(match: Mapping[str, Any] | None, filtered: Mapping[str, Any] | None) -> tuple[list[Reason], list[Reason]]:
    """The weightiest reasons for a posting and against it, three of each."""
    good: dict[str, Reason] = {}
    bad: dict[str, Reason] = {}
    for part in (match or {}).get("parts", ()):
        _part(part, match or {}, good, bad)
    for one in (match or {}).get("adjustments", ()):
        if one["points"] and one["name"] != "limit":
            side = good if one["points"] > 0 else bad
            side[one["name"]] = Reason(_sentence(one["explanation"]), abs(one["points"]))
    for hit in (filtered or {}).get("strikes", ()):
        topic = TOPICS.get(hit["rule"], hit["rule"])
        if topic == "skills" and topic in bad:
            continue  # the score names all of them in one line
        weight = 5.0 * hit["points"] + bad.get(topic, Reason("", 0)).weight
        bad[topic] = Reason(hit["reason"], weight, (hit.get("evidence") or {}).get("quote") or "")
    for hit in (filtered or {}).get("hard_rejections", ()):
        bad[f"rejected {hit['rule']}"] = Reason(hit["reason"], 1000, (hit.get("evidence") or {}).get("quote") or "")
    return _weightiest(good), _weightiest(bad)


def _part(part: Mapping[str, Any], match: Mapping[str, Any], good: dict[str, Reason], bad: dict[str, Reason]) -> None:
    name, points, most = part["name"], part["points"], part["most"]
    quote = next(iter(part.get("sentences") or ()), "")
    if name == "skills":
        if has := match.get("matched_skills"):
            good[name] = Reason(f"You have {_some(has)}", points)
        if lacks := match.get("skill_gaps"):
            bad[name] = Reason(f"Missing: {_some(lacks)}", max(1, most - points))
        elif not part["known"]:
            bad[name] = Reason(_sentence(part["explanation"]), 0.4)
        return
    label = PARTS.get(name, name)
    if not part["known"]:
        bad[name] = Reason(f"{label}: {part['explanation']}", 0.1)
    elif points * 2 >= most:
        good[name] = Reason(f"{label}: {part['explanation']}", points, quote)
    else:
        bad[name] = Reason(f"{label}: {part['explanation']}", most - points, quote)


def _weightiest(found: Mapping[str, Reason]) -> list[Reason]:
    return sorted(found.values(), key=lambda one: -one.weight)[:SHOWN_REASONS]


def _some(names: Sequence[str], most: int = 5) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def age(posting: Posting, first_seen: Micros, now: Micros) -> str:
    """posted 3 d ago, first seen 1 d ago"""
    seen = f"first seen {_ago(first_seen, now)}"
    if posting.posted_at is None:
        return seen
    about = "about " if posting.posted_precision is Precision.APPROXIMATE else ""
    return f"posted {about}{_ago(micros(posting.posted_at), now)}, {seen}"


def _ago(at: Micros, now: Micros) -> str:
    gap = max(0, now - at)
    day = span(timedelta(days=1))
    return f"{gap // day} d ago" if gap >= day else f"{duration(gap)} ago"


def pay(posting: Posting, match: Mapping[str, Any] | None = None) -> Pay | None:
    """The pay as the source states it, else as the match read it out of the text; None when nobody states it."""
    stated = posting.salary
    if stated.min is None and stated.max is None:
        if stated.quote:
            return Pay(stated.quote, PAY_SOURCES.get(stated.source, ""), "")
        read = next((one for one in (match or {}).get("parts", ()) if one["name"] == "salary" and one["known"]), None)
        if read is None:
            return None
        said = read["explanation"].partition(";")[0]  # what is wanted follows
        return Pay(said, PAY_SOURCES["text"], next(iter(read["sentences"]), ""))
    amounts = [f"{one:,.0f}" for one in (stated.min, stated.max) if one is not None]
    range_ = " to ".join(dict.fromkeys(amounts))
    if stated.max is None:
        range_ = f"from {range_}"
    elif stated.min is None:
        range_ = f"up to {range_}"
    unit = f" a {stated.period}" if stated.period else ", for an unknown period"
    text = f"{range_} {stated.currency or ''}".strip() + unit
    return Pay(text, PAY_SOURCES.get(stated.source, ""), stated.quote or "")


def location(match: Mapping[str, Any] | None) -> Reason | None:
    """The verdict on the place, with the sentence of the posting."""
    for part in (match or {}).get("parts", ()):
        if part["name"] == "location":
            text = part["explanation"] if part["known"] else f"not decided: {part['explanation']}"
            return Reason(_sentence(text), part["points"], next(iter(part.get("sentences") or ()), ""))
    return None


def badges(
    row: postings.PostingRow,
    posting: Posting,
    now: Micros,
    *,
    unread: bool = False,
    reposts: int = 0,
    applied: str = "",
) -> list[Badge]:
    """The marks of a posting, the most important first."""
    found = []
    if applied:
        found.append(Badge("applied before", "ended", applied))
    if row.decision:
        found.append(Badge(row.decision, "done" if row.decision == "saved" else "ended", f"by {row.decided_by}"))
    if row.state == postings.CLOSED:
        found.append(Badge("closed", "failed", row.closed_reason or "it takes no more applications"))
    elif row.state == postings.UNCERTAIN:
        found.append(Badge("uncertain", "wait", "the last complete crawl did not show it; a second one closes it"))
    elif posting.closes_at is not None and now <= micros(posting.closes_at) <= now + span(CLOSING_SOON):
        found.append(Badge("closing soon", "wait", f"closes on {posting.closes_at:%d %B %Y}"))
    if reposts:
        found.append(Badge(f"posted {reposts} times", "wait", "the same role under several addresses within 90 days"))
    if unread:
        found.append(Badge("unread", "wait", "it has no text, so that passing the filter says little"))
    if row.flag:
        found.append(Badge("check it", "person", str(row.flag).replace("_", " ")))
    return found


def tier_points(facts: Mapping[str, Any]) -> list[Points]:
    """The parts that add up to a company's tier; none before its pages were analyzed."""
    found = []
    for one in facts["points"] if fits(facts.get("points"), [POINTS]) else ():
        why, quote = str(one.get("why") or ""), str(one.get("quote") or "")
        found.append(Points(PARTS.get(one["name"], one["name"]), int(one["points"]), why, quote))
    return found


def web_address(url: str | None) -> str | None:
    """The address if a browser may be sent there; None for any other scheme."""
    if not url:
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return url if parts.scheme in {"http", "https"} and parts.netloc else None
