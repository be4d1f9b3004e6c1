"""The parts of the base. Each gives a share from 0 to 1, or None where there is no data, and says why."""

from __future__ import annotations

from typing import NamedTuple

from interlock.apps.jobs.finder.postings.demands import Demand
from interlock.apps.jobs.finder.postings.posting import Evidence
from interlock.apps.jobs.finder.postings.read_posting import LADDER, ReadPosting
from interlock.apps.jobs.finder.profiles.seeker import Seeker, title_core

MOST_NAMED = 12
"""Skills that an explanation names."""
_STEPS = {0: 1.0, 1: 0.5, 2: 0.2}
"""Steps of the career apart → share."""


class Share(NamedTuple):
    """How much of a part is fulfilled."""

    share: float | None
    explanation: str
    sentences: tuple[str, ...] = ()


class Coverage(NamedTuple):
    """Which demands the profile covers, and the weights on both sides."""

    matched: tuple[tuple[Demand, str, float], ...]
    """Demand, the name in it that the profile has, and its weight."""
    missing: tuple[tuple[Demand, float], ...]
    neutral: tuple[Demand, ...]

    @property
    def all(self) -> tuple[Demand, ...]:
        return (*(demand for demand, _, _ in self.matched), *(demand for demand, _ in self.missing))

    @property
    def had(self) -> float:
        return sum(sorted(weight for _, _, weight in self.matched))

    @property
    def whole(self) -> float:
        return self.had + sum(sorted(weight for _, weight in self.missing))


def coverage(posting: ReadPosting, seeker: Seeker) -> Coverage:
    """A matched skill counts more with more years, up to double; so it never lowers the share of the others."""
    scoring = seeker.scoring
    levels = {
        "primary": scoring.required_skill,
        "required": scoring.required_skill,
        "preferred": scoring.preferred_skill,
        "mentioned": scoring.mentioned_skill,
    }
    matched, missing, neutral = [], [], []
    for demand in posting.demands:
        weight = levels[demand.level] * demand.weight
        name = seeker.matched(demand)
        if name is not None:
            matched.append((demand, name, weight * (1 + min(seeker.has_years[name], 10.0) / 10)))
        elif seeker.neutral(demand):
            neutral.append(demand)
        else:
            missing.append((demand, weight))
    return Coverage(tuple(matched), tuple(missing), tuple(neutral))


def skills(posting: ReadPosting, seeker: Seeker, found: Coverage) -> Share:
    if not seeker.has:
        return Share(None, "the profile names no skills")
    if posting.unread and not posting.demands:
        return Share(None, "the posting has no text")
    if not found.whole:
        beside = ", ".join(one.name for one in found.neutral[:MOST_NAMED])
        return Share(None, f"only beside your skills: {beside}" if beside else "the posting names no technologies")
    share = found.had / found.whole
    if all(demand.level == "mentioned" for demand in found.all):
        # What a posting only mentions says little: a weight of one mention stays undecided.
        few = seeker.scoring.mentioned_skill
        share = (found.had + few * seeker.scoring.neutral) / (found.whole + few)
    has = [_matched(demand, name, seeker) for demand, name, _ in found.matched if demand.level != "mentioned"]
    lacks = [f"{demand.name} ({_word(demand)})" for demand, _ in found.missing if demand.level != "mentioned"]
    explanation = f"matched: {_some(has)}; missing: {_some(lacks)}"
    if found.neutral:
        explanation += f"; neutral: {_some([one.name for one in found.neutral])}"
    used = [demand.quote for demand in found.all]
    return Share(share, explanation, tuple(dict.fromkeys(used))[:MOST_NAMED])


def _word(demand: Demand) -> str:
    return "required" if demand.level == "primary" else demand.level


def _matched(demand: Demand, name: str, seeker: Seeker) -> str:
    by = seeker.has[name]
    return f"{name} ({_word(demand)})" if by == name else f"{name} ({_word(demand)}, follows from {by})"


def _some(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return (", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")) or "none"


def title(posting: ReadPosting, seeker: Seeker) -> Share:
    if not posting.title:
        return Share(None, "the posting has no title")
    if not seeker.titles and not seeker.profile.role_types:
        return Share(None, "the profile names neither titles nor role types")
    quote = (posting.source.title[:300],)
    best, near = 0.0, ""
    own = title_core(posting.source.title)
    for core in sorted(seeker.titles, key=sorted):
        common = core & own
        share = len(common) / len(core)
        if share > best:
            best, near = share, ", ".join(sorted(common))
    roles = posting.roles
    if best < _BY_ROLE and roles is not None and seeker.fits_role(roles.value):
        return Share(_BY_ROLE, f"the role is wanted: {', '.join(sorted(roles.value))}", quote)
    if best:
        return Share(best, f"{near}: as wanted" if best == 1 else f"{best:.0%} of a wanted title: {near}", quote)
    if roles is None and not seeker.titles:
        return Share(None, "the title does not say what kind of role it is", quote)
    return Share(0.0, "unlike every wanted title and role type", quote)


_BY_ROLE = 0.7
"""The share of a title that is unlike the wanted ones, for a wanted kind of role."""


def seniority(posting: ReadPosting, seeker: Seeker) -> Share:
    if not seeker.levels:
        return Share(None, "the profile names no seniority")
    found = posting.seniority
    if found is None:
        return Share(None, "the posting does not say")
    apart = min(abs(LADDER[found.value] - level) for level in seeker.levels)
    explanation = "as wanted" if not apart else f"{apart} step{'s' if apart > 1 else ''} from what is wanted"
    return Share(_STEPS.get(apart, 0.0), f"{found.value}: {explanation}", _quoted(found.evidence))


def location(posting: ReadPosting, seeker: Seeker) -> Share:
    wanted = seeker.profile.workplace
    found = posting.workplace
    if found is None or (not wanted and not seeker.offices):
        at = seeker.at_office(posting)
        if at and posting.cities is not None:
            return Share(1.0, f"in {seeker.office_names}", _quoted(posting.cities.evidence))
        return Share(
            None, "the workplace is unknown" if found is None else "the profile names neither workplace nor home"
        )
    quote = _quoted(found.evidence)
    if wanted and found.value not in wanted:
        return Share(0.0, f"{_WORD[found.value]} is not wanted", quote)
    if found.value == "remote":
        countries = posting.countries
        if countries is None or not seeker.countries:
            return Share(1.0, "remote", quote)
        if countries.value & seeker.countries:
            return Share(1.0, "remote, also where you may work", quote + _quoted(countries.evidence))
        return Share(0.2, "remote, but limited to another region", quote + _quoted(countries.evidence))
    at = seeker.at_office(posting)
    if at is None:
        return Share(None, f"{_WORD[found.value]}, and the place is unknown", quote)
    if at:
        return Share(1.0, f"{_WORD[found.value]} in {seeker.office_names}", quote)
    return Share(
        0.2 if found.value == "hybrid" else 0.0, f"{_WORD[found.value]}, and not in {seeker.office_names}", quote
    )


_WORD = {"remote": "remote work", "hybrid": "hybrid work", "onsite": "work on site"}


def salary(posting: ReadPosting, seeker: Seeker) -> Share:
    least = seeker.least_pay
    if least is None:
        return Share(None, "the profile names no salary")
    found = posting.salary
    if found is None:
        return Share(None, "the posting states no pay for a year")
    low, high, currency = found.value
    if currency != seeker.currency:
        return Share(None, f"the pay is in {currency or 'an unknown currency'}")
    quote = _quoted(found.evidence)
    low = high if low is None else low
    if low >= least:
        return Share(1.0, f"pays {low:,.0f} {currency} or more; {least:,.0f} is wanted", quote)
    if high is None:
        return Share(None, f"pays {low:,.0f} {currency} or more, without an upper end", quote)
    if high >= least:
        share = 0.5 + 0.5 * (high - least) / (high - low)
        return Share(share, f"pays up to {high:,.0f} {currency}; {least:,.0f} is wanted", quote)
    share = max(0.0, 0.5 * (1 - 4 * (least - high) / least))
    return Share(share, f"pays only up to {high:,.0f} {currency}; {least:,.0f} is wanted", quote)


def _quoted(evidence: Evidence) -> tuple[str, ...]:
    return (evidence.quote,) if evidence.quote else ()
