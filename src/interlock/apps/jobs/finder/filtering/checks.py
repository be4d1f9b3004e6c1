"""The checks. Each returns nothing when it was performed, or the reason why it could not be."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from interlock.apps.jobs.finder.filtering.result import Rejection, Strike
from interlock.apps.jobs.finder.identity.keys import fold
from interlock.apps.jobs.finder.postings.posting import Evidence
from interlock.apps.jobs.finder.postings.read_posting import LADDER, ReadPosting
from interlock.apps.jobs.finder.profiles.seeker import Seeker

_APART = re.compile(r"[^\w.+#]+|_|%[0-9a-f]{2}")
"""What stands between the words of an address."""


class Objections:
    """What speaks against a posting, as far as the checks have come."""

    __slots__ = ("now", "posting", "rejections", "seeker", "strikes")

    def __init__(self, posting: ReadPosting, seeker: Seeker, now: datetime) -> None:
        self.posting = posting
        self.seeker = seeker
        self.now = now
        self.rejections: list[Rejection] = []
        self.strikes: list[Strike] = []

    def reject(self, rule: str, category: str, reason: str, evidence: Evidence) -> None:
        self.rejections.append(Rejection(rule, category, reason, evidence))

    def strike(self, rule: str, category: str, reason: str, points: int, evidence: Evidence) -> None:
        if points:
            self.strikes.append(Strike(rule, category, reason, points, evidence))


Check = Callable[[Objections], str | None]


def stop_domain(objections: Objections) -> str | None:
    stopped = objections.seeker.stop_domains
    if not stopped:
        return "the profile names no domains"
    hosts = objections.posting.hosts
    if not hosts:
        return "the posting has no address"
    for host, address in hosts:
        parts = host.split(".")
        for index in range(len(parts) - 1):
            domain = ".".join(parts[index:])
            if domain in stopped:
                evidence = Evidence(source="url", field="url", quote=address)
                objections.reject("stop_domain", "stop_list", f"Excluded domain: {domain}", evidence)
                return None
    return None


def stop_company(objections: Objections) -> str | None:
    stopped = objections.seeker.stop_companies
    if stopped is None:
        return "the profile names no companies"
    if not objections.posting.company:
        return "the company is unknown"
    if found := stopped.search(objections.posting.company):
        evidence = Evidence(source="board", field="company", quote=objections.posting.source.company[:300])
        objections.reject("stop_company", "stop_list", f"Excluded company: {found.group()}", evidence)
    return None


def title_words(objections: Objections) -> str | None:
    stopped = objections.seeker.stop_keywords
    if stopped is None:
        return "the profile names no keywords"
    posting = objections.posting
    if not posting.title and not posting.addresses:
        return "the posting has neither title nor address"
    if found := stopped.search(posting.title):
        evidence = Evidence(source="title", field="title", quote=posting.source.title[:300])
        objections.reject("title_words", "stop_list", f"Excluded keyword in the title: {found.group()}", evidence)
        return None
    for address in posting.addresses:
        if found := stopped.search(_APART.sub(" ", fold(address))):
            evidence = Evidence(source="url", field="url", quote=address)
            objections.reject("title_words", "stop_list", f"Excluded keyword in the address: {found.group()}", evidence)
            return None
    return None


def deadline(objections: Objections) -> str | None:
    closes = objections.posting.posting.closes_at
    if closes is None:
        return "the posting names no last day"
    # The last day counts as a whole: many boards give it without a time.
    if closes.date() < objections.now.date():
        day = closes.date().isoformat()
        evidence = Evidence(source="board", field="closes_at", quote=closes.isoformat())
        objections.reject("deadline", "closed", f"Closed on {day}", evidence)
    return None


def management(objections: Objections) -> str | None:
    wanted = objections.seeker.profile.management
    if wanted is None:
        return "the profile has no preference"
    found = objections.posting.management
    if found is None:
        return "the title does not say"
    if found.value and not wanted:
        objections.reject("management", "job_type", "The role manages people", found.evidence)
    return None


def role_type(objections: Objections) -> str | None:
    wanted = frozenset(objections.seeker.profile.role_types)
    if not wanted:
        return "the profile names no role types"
    if objections.seeker.fits_title(objections.posting):
        return None
    posting = objections.posting
    found = posting.roles
    if found is None:
        return "the title does not say"
    if found.value == {"non-software"} and (posting.unread or posting.demands):
        # A title that no rule knows reads so too; only a text without technologies confirms it.
        return "the title does not say"
    if not objections.seeker.fits_role(found.value):
        named = ", ".join(sorted(found.value))
        objections.reject("role_type", "job_type", f"Role type not wanted: {named}", found.evidence)
    return None


def country(objections: Objections) -> str | None:
    own = objections.seeker.countries
    if not own:
        return "the profile names no country"
    workplace = objections.posting.workplace
    if workplace is None or workplace.value != "remote":
        return "only for remote work"
    found = objections.posting.countries
    if found is None:
        return "the posting names no country"
    if not found.value & own:
        points = objections.seeker.strikes.remote_elsewhere
        objections.strike("country", "location", "Remote, but limited to another region", points, found.evidence)
    return None


def sponsorship(objections: Objections) -> str | None:
    seeker, posting = objections.seeker, objections.posting
    if not seeker.needs_sponsorship:
        return "the profile needs no sponsorship"
    if posting.unread:
        return "the posting has no text"
    refused = posting.no_sponsorship
    if refused is None:
        return None
    where = posting.countries
    if where is None and seeker.works_freely:
        return "the posting names no country"
    if where is None or not where.value & seeker.works_freely:
        objections.reject("sponsorship", "location", "Sponsorship is needed, and refused", refused.evidence)
    return None


def workplace(objections: Objections) -> str | None:
    seeker, posting = objections.seeker, objections.posting
    wanted = seeker.profile.workplace
    if not wanted and not seeker.offices:
        return "the profile names neither workplace nor home"
    found = posting.workplace
    place = seeker.at_office(posting)
    if found is None:
        if not seeker.offices or place is None:
            return "the workplace is unknown"
        where = posting.cities or posting.countries
        if not place and where is not None:
            points = seeker.strikes.location_elsewhere
            reason = f"Location not remote or {seeker.office_names}"
            objections.strike("workplace", "location", reason, points, where.evidence)
        return None
    if found.value == "hybrid":
        if place is None and (not wanted or "hybrid" in wanted):
            return "the office's place is unknown"
        if place is False or (wanted and "hybrid" not in wanted):
            reason = "Hybrid work is not wanted" if place else f"Hybrid, and not in {seeker.office_names}"
            objections.strike("workplace", "location", reason, seeker.strikes.hybrid_elsewhere, found.evidence)
        return None
    if wanted and found.value not in wanted:
        objections.reject("workplace", "location", _UNWANTED[found.value], found.evidence)
    elif found.value == "onsite":
        if place is None:
            return "the office's place is unknown"
        where = posting.cities or posting.countries
        if not place:
            evidence = where.evidence if where is not None else found.evidence
            objections.reject("workplace", "location", f"On site, and not in {seeker.office_names}", evidence)
    return None


_UNWANTED = {"remote": "Remote work is not wanted", "onsite": "Not remote: the work is on site"}


def employment_type(objections: Objections) -> str | None:
    wanted = objections.seeker.profile.employment_types
    if not wanted:
        return "the profile has no preference"
    found = objections.posting.employment_type
    if found is None:
        return "the posting does not say"
    if found.value not in wanted:
        kind = found.value.value.replace("_", " ")
        objections.reject("employment_type", "job_type", f"Employment type not wanted: {kind}", found.evidence)
    return None


def age(objections: Objections) -> str | None:
    posted = objections.posting.posting.posted_at
    if posted is None:
        return "the date is unknown"
    days = (objections.now - posted).days
    strikes = objections.seeker.strikes
    if days > strikes.old_after_days:
        evidence = Evidence(source="board", field="posted_at", quote=posted.date().isoformat())
        objections.strike("age", "age", f"Posted {days} days ago", strikes.old, evidence)
    return None


def salary(objections: Objections) -> str | None:
    least = objections.seeker.least_pay
    if least is None:
        return "the profile names no salary"
    found = objections.posting.salary
    if found is None:
        return "the posting states no pay for a year"
    _, high, currency = found.value
    if currency != objections.seeker.currency:
        return f"the pay is in {currency or 'an unknown currency'}, and {objections.seeker.currency} is wanted"
    if high is None:
        # "From 100,000" may be any amount above.
        return None
    if high < least:
        reason = f"Pays up to {high:,.0f} {currency}, and {least:,.0f} is wanted"
        objections.strike("salary", "salary", reason, objections.seeker.strikes.salary_below, found.evidence)
    return None


def seniority(objections: Objections) -> str | None:
    levels = objections.seeker.levels
    if not levels:
        return "the profile names no seniority"
    found = objections.posting.seniority
    if found is None:
        return "the posting does not say"
    step = LADDER[found.value]
    off = min((step - level for level in levels), key=abs)
    if off:
        strikes = objections.seeker.strikes
        points = strikes.seniority_off_by_one if abs(off) == 1 else strikes.seniority_off_by_two
        reason = f"Seniority mismatch (too {'junior' if off < 0 else 'senior'})"
        objections.strike("seniority", "seniority", reason, points, found.evidence)
    return None


def experience(objections: Objections) -> str | None:
    years = objections.seeker.profile.years
    if years is None:
        return "the profile names no years"
    found = objections.posting.experience
    if found is None:
        return "the posting requires no years"
    short = found.value - years
    if short > 0:
        strikes = objections.seeker.strikes
        points = strikes.experience_short if short <= strikes.experience_years else strikes.experience_short_by_more
        reason = f"Experience short by {short:g} years"
        objections.strike("experience", "experience", reason, points, found.evidence)
    return None


def skills(objections: Objections) -> str | None:
    seeker, posting = objections.seeker, objections.posting
    if not seeker.has:
        return "the profile names no skills"
    if posting.unread:
        return "the posting has no text"
    strikes = seeker.strikes
    left = strikes.preferred_skills_at_most
    for demand in posting.demands:
        if demand.level == "mentioned" or demand.weight < strikes.least_weight or seeker.avoids(demand):
            continue
        if seeker.matched(demand) or seeker.neutral(demand):
            continue
        if demand.level == "primary":
            points = strikes.missing_primary_skill
        elif demand.level == "required":
            points = strikes.missing_required_skill
        else:
            points = min(strikes.missing_preferred_skill, left)
            left -= points
        reason = f"Missing {demand.level} skill: {demand.name}"
        objections.strike("skills", "skills", reason, points, demand.evidence)
    return None


def unwanted_skills(objections: Objections) -> str | None:
    unwanted = objections.seeker.unwanted
    if not unwanted:
        return "the profile names none"
    if objections.posting.unread:
        return "the posting has no text"
    for demand in objections.posting.demands:
        if demand.level in ("primary", "required") and objections.seeker.avoids(demand):
            points = max(unwanted[name] for name in demand.names)
            reason = f"Unwanted technology: {demand.name}"
            objections.strike("unwanted_skills", "skills", reason, points, demand.evidence)
    return None


def text_length(objections: Objections) -> str | None:
    posting = objections.posting
    if posting.unread:
        return "the posting has no text"
    size = len(posting.source.text)
    strikes = objections.seeker.strikes
    if size < strikes.short_text_characters:
        evidence = Evidence(source="text", field="description", quote=posting.source.text.strip()[:240])
        objections.strike("text_length", "content", f"Short text: {size} characters", strikes.short_text, evidence)
    return None


_IN_ORDER: tuple[Check, ...] = (
    stop_domain,
    stop_company,
    title_words,
    deadline,
    management,
    role_type,
    country,
    sponsorship,
    workplace,
    employment_type,
    age,
    salary,
    seniority,
    experience,
    skills,
    unwanted_skills,
    text_length,
)
CHECKS: dict[str, Check] = {check.__name__: check for check in _IN_ORDER}
"""The checks by name, in the order in which they run."""
WITHOUT_READING = 4
"""The first checks look at title, company, address and last day only."""
