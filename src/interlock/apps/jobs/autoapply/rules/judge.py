"""One posting against one rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from interlock.apps.jobs.autoapply.rules.criteria import WEEKDAYS, ApplyRule
from interlock.apps.jobs.autoapply.rules.decision import Check, Decision
from interlock.apps.jobs.autoapply.rules.limits import SEEKER_A_DAY, Usage, limit_checks
from interlock.apps.jobs.finder.geography.places import is_work_model, place
from interlock.apps.jobs.finder.geography.regions import countries_in
from interlock.apps.jobs.finder.identity.dedupe import posting_key
from interlock.apps.jobs.finder.identity.keys import company_key, fold
from interlock.apps.jobs.finder.matching import MatchResult
from interlock.apps.jobs.finder.postings.posting import PER_YEAR, Location, PostingState, Workplace
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.seeker import any_of, same_city, skill_name, title_core

SCORE_GAP = 20
"""A model's score further from the rules' than this needs a person before anything is sent."""
TEXT = 50_000
"""Characters of a text in which keywords are looked for."""
_STEP = 10_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A match that a rule may take."""

    posting: ReadPosting
    score: int | None = None
    threshold: int | None = None
    rule_score: int | None = None
    """The score by rules, where `score` is a model's."""
    already_applied: bool = False
    """The opening was applied for: by anybody, on any board that shows it."""

    @classmethod
    def of(cls, posting: ReadPosting, match: MatchResult | None, *, already_applied: bool = False) -> Candidate:
        if match is None:
            return cls(posting, already_applied=already_applied)
        return cls(posting, match.match_score, match.threshold, already_applied=already_applied)

    @property
    def key(self) -> str:
        return posting_key(self.posting.posting) or self.posting.posting.url or ""


def judge(
    rule: ApplyRule,
    candidate: Candidate,
    now: datetime,
    *,
    zone: str = "UTC",
    usage: Usage | None = None,
    seeker_a_day: int = SEEKER_A_DAY,
) -> Decision:
    """Whether a rule selects a posting now. Without `usage` the limits are not checked."""
    checks = [_paused(rule), _active_day(rule, now.astimezone(ZoneInfo(zone)))]
    checks += criteria_checks(rule, candidate)
    if usage is not None:
        checks += limit_checks(rule, usage, now, seeker_a_day=seeker_a_day)
    return Decision(candidate.key, tuple(checks), needs_approval(rule, candidate))


def needs_approval(rule: ApplyRule, candidate: Candidate) -> bool:
    """Whether a person approves the packet: the rule asks for it, or the scores are far apart."""
    return rule.require_user_approval or _gap(candidate) > SCORE_GAP


def criteria_checks(rule: ApplyRule, candidate: Candidate) -> list[Check]:
    """The checks that do not depend on the moment."""
    return [check(rule, candidate) for check in CRITERIA]


def _paused(rule: ApplyRule) -> Check:
    return Check("paused", "block", "the rule is paused") if rule.paused else Check("paused", "info", "the rule is on")


def _active_day(rule: ApplyRule, local: datetime) -> Check:
    today = WEEKDAYS[local.weekday()]
    if not rule.active_days:
        return _any("active_days", "active on every day")
    if today in rule.active_days:
        return Check("active_days", "info", f"active on {today}")
    return Check("active_days", "block", f"not active on {today}")


def _any(name: str, reason: str) -> Check:
    return Check(name, "info", reason)


def _unknown(rule: ApplyRule, name: str, reason: str) -> Check:
    return Check(name, "warn" if rule.take_unknown else "block", reason)


def _open(rule: ApplyRule, candidate: Candidate) -> Check:
    state = candidate.posting.posting.state
    if state is PostingState.CLOSED:
        return Check("open", "block", "the posting is closed")
    if state is PostingState.UNCERTAIN:
        return Check("open", "warn", "the last crawl did not list the posting; it may be closed")
    return Check("open", "info", "the posting is open")


def _once(rule: ApplyRule, candidate: Candidate) -> Check:
    if candidate.already_applied:
        return Check("already_applied", "block", "already applied for this opening")
    return Check("already_applied", "info", "not applied for before")


def _identified(rule: ApplyRule, candidate: Candidate) -> Check:
    """Limits and the rule of one application for an opening need to know what it is."""
    if not candidate.key:
        return Check("identity", "block", "the posting has neither an id nor an address")
    if candidate.posting.posting.company_key is None:
        return Check("identity", "warn", "the company is unknown; its cool-down cannot be checked")
    return Check("identity", "info", "posting and company are known")


def _gap(candidate: Candidate) -> int:
    if candidate.score is None or candidate.rule_score is None:
        return 0
    return abs(candidate.score - candidate.rule_score)


def _score(rule: ApplyRule, candidate: Candidate) -> Check:
    least = rule.min_score if rule.min_score is not None else candidate.threshold
    if candidate.score is None:
        return Check("score", "block", "the posting has no score")
    if least is None:
        return _any("score", f"score {candidate.score}; the rule asks for none")
    if candidate.score < least:
        return Check("score", "block", f"score {candidate.score} is below {least}")
    if _gap(candidate) > SCORE_GAP:
        return Check(
            "score",
            "warn",
            f"score {candidate.score} by a model, {candidate.rule_score} by rules: a person approves it",
        )
    return Check("score", "info", f"score {candidate.score} is at least {least}")


def _titles(rule: ApplyRule, candidate: Candidate) -> Check:
    if not rule.titles:
        return _any("titles", "any title")
    words = candidate.posting.title_words
    if not words:
        return _unknown(rule, "titles", "the title is unknown")
    for title in sorted(rule.titles):
        core = title_core(title)
        if core and core <= words:
            return Check("titles", "info", f"the title fits {title!r}")
    return Check("titles", "block", f"the title {candidate.posting.source.title[:120]!r} fits none of the rule's")


def _skills(rule: ApplyRule, candidate: Candidate) -> Check:
    if not rule.skills:
        return _any("skills", "any skills")
    if candidate.posting.unread and not candidate.posting.skills:
        return _unknown(rule, "skills", "the posting has no text")
    wanted = {skill_name(one) for one in rule.skills}
    named = sorted(wanted & {one.name for one in candidate.posting.reading.skills})
    shown = ", ".join(named) or "none"
    if len(named) < rule.min_skills:
        return Check("skills", "block", f"names {shown} of the rule's skills; {rule.min_skills} needed")
    return Check("skills", "info", f"names {shown}")


def _companies(rule: ApplyRule, candidate: Candidate) -> Check:
    if not rule.companies:
        return _any("companies", "any company")
    found = candidate.posting.posting.company_key
    if found is None:
        return Check("companies", "block", "the company is unknown, and the rule names companies")
    if found in {company_key(one) for one in rule.companies}:
        return Check("companies", "info", f"the rule names {found}")
    return Check("companies", "block", f"the rule does not name {found}")


def _excluded_companies(rule: ApplyRule, candidate: Candidate) -> Check:
    if not rule.excluded_companies:
        return _any("excluded_companies", "no company excluded")
    found = candidate.posting.posting.company_key
    if found is None:
        return _unknown(rule, "excluded_companies", "the company is unknown")
    if found in {company_key(one) for one in rule.excluded_companies}:
        return Check("excluded_companies", "block", f"the rule excludes {found}")
    return Check("excluded_companies", "info", f"{found} is not excluded")


def _found(entries: tuple[str, ...], candidate: Candidate) -> str | None:
    pattern = any_of(entries)
    if pattern is None:
        return None
    text = candidate.posting.source.text[:TEXT]
    pieces = [candidate.posting.title, *(text[at : at + _STEP + 200] for at in range(0, len(text), _STEP))]
    hits = [hit.group() for piece in pieces if (hit := pattern.search(fold(piece, _STEP + 200)))]
    return hits[0] if hits else None


def _keywords(rule: ApplyRule, candidate: Candidate) -> Check:
    if not rule.keywords:
        return _any("keywords", "any words")
    found = _found(rule.keywords, candidate)
    if found is not None:
        return Check("keywords", "info", f"has {found!r}")
    if candidate.posting.unread:
        return _unknown(rule, "keywords", "the posting has no text")
    return Check("keywords", "block", "has none of the rule's keywords")


def _excluded_keywords(rule: ApplyRule, candidate: Candidate) -> Check:
    if not rule.excluded_keywords:
        return _any("excluded_keywords", "no word excluded")
    found = _found(rule.excluded_keywords, candidate)
    if found is not None:
        return Check("excluded_keywords", "block", f"has the excluded {found!r}")
    if candidate.posting.unread:
        return _unknown(rule, "excluded_keywords", "the posting has no text")
    return Check("excluded_keywords", "info", "has no excluded word")


def _locations(rule: ApplyRule, candidate: Candidate) -> Check:
    if not rule.locations:
        return _any("locations", "any place")
    posting = candidate.posting
    workplace = posting.workplace
    unknown: list[str] = []
    for wanted in sorted(rule.locations):
        fits = _fits(wanted, candidate)
        if fits:
            return Check("locations", "info", f"fits {wanted}")
        if fits is None:
            unknown.append(wanted)
    shown = "; ".join(one.raw for one in posting.posting.locations)[:200] or (workplace.value if workplace else "")
    if unknown:
        return _unknown(rule, "locations", f"the posting does not say whether it is {' or '.join(unknown)}")
    return Check("locations", "block", f"{shown or 'its place'} is none of the rule's places")


def _fits(wanted: str, candidate: Candidate) -> bool | None:
    """Whether a posting is at a place; None where it does not say."""
    posting = candidate.posting
    if is_work_model(wanted):
        asked = "onsite" if "site" in fold(wanted) or "office" in fold(wanted) else fold(wanted).split()[-1]
        model = asked if asked in set(Workplace) else "remote"
        return None if posting.workplace is None else posting.workplace.value == model
    countries = countries_in(wanted)
    if countries:
        known = posting.countries
        return None if known is None else bool(known.value & countries)
    spot = place(wanted)
    located: list[Location] = [one for one in posting.posting.locations if one.city]
    if located:
        return spot is not None and any(same_city(one, spot) for one in located)
    cities = posting.cities
    return None if cities is None or spot is None else fold(spot.city) in cities.value


def _salary(rule: ApplyRule, candidate: Candidate) -> Check:
    if rule.salary is None:
        return _any("salary", "any pay")
    least = round(rule.salary.min * PER_YEAR[rule.salary.period])
    known = candidate.posting.salary
    if known is None:
        return _unknown(rule, "salary", "the posting names no pay")
    low, high, currency = known.value
    most = high if high is not None else low
    if currency != rule.salary.currency:
        return _unknown(
            rule, "salary", f"the pay is in {currency or 'an unknown currency'}, not {rule.salary.currency}"
        )
    if most < least:
        return Check("salary", "block", f"pays at most {most:,.0f} {currency} a year; the rule asks for {least:,}")
    return Check("salary", "info", f"pays up to {most:,.0f} {currency} a year")


def _sources(rule: ApplyRule, candidate: Candidate) -> Check:
    if not rule.sources:
        return _any("sources", "any source")
    posting = candidate.posting.posting
    names = {fold(one) for one in (posting.ats, posting.source_id) if one}
    if names & {fold(one) for one in rule.sources}:
        return Check("sources", "info", f"from {posting.ats}")
    return Check("sources", "block", f"from {posting.ats}, which the rule does not name")


CRITERIA: tuple[Callable[[ApplyRule, Candidate], Check], ...] = (
    _identified,
    _open,
    _once,
    _score,
    _titles,
    _skills,
    _companies,
    _excluded_companies,
    _keywords,
    _excluded_keywords,
    _locations,
    _salary,
    _sources,
)
