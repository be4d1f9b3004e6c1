"""A profile made ready for filter and match: names resolved, words compiled, once for any number of postings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from interlock.apps.jobs.finder.geography.places import REGIONS, place
from interlock.apps.jobs.finder.identity.keys import fold, word_list, words
from interlock.apps.jobs.finder.postings.demands import Demand
from interlock.apps.jobs.finder.postings.posting import PER_YEAR, Location
from interlock.apps.jobs.finder.postings.read_posting import LADDER, ReadPosting
from interlock.apps.jobs.finder.profiles.profile import Profile, offset_of
from interlock.apps.jobs.finder.reading import Source, read
from interlock.apps.jobs.finder.reading.vocabulary import terms

_LEVELS = word_list("""
    intern internship junior jr entry mid senior sr snr lead staff principal director head chief i ii iii iv 1 2 3
    m f d w x remote hybrid
""")
"""Words of a title that say nothing about what somebody does."""
_BESIDES = frozenset({"clearance-required", "consulting"})
"""Role types that say how, and not what somebody does."""
_SMALL = word_list("a an and for in of on the to with")


@cache
def _spellings() -> dict[str, str]:
    """Each name and alias of the vocabulary in lower case → the name."""
    found: dict[str, str] = {}
    for term in terms().values():
        for alias in term.aliases:
            found.setdefault(alias.lower(), term.name)
    found.update({name.lower(): name for name in terms()})
    return found


def skill_name(text: str) -> str:
    """The vocabulary's name of a skill, else the text as it is written."""
    clean = " ".join(text.split())
    return _spellings().get(clean.lower(), clean)


def title_core(title: str) -> frozenset[str]:
    """The words of a title that say what somebody does: without level, place of work and small words."""
    return frozenset(words(title)) - _LEVELS - _SMALL


def any_of(entries: Iterable[str]) -> re.Pattern[str] | None:
    """Finds any of the entries in folded text, on word edges; the longest first."""
    folded = sorted({fold(one) for one in entries} - {""}, key=lambda one: (-len(one), one))
    if not folded:
        return None
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, folded))})(?!\w)")


def same_city(one: Location, other: Location) -> bool:
    """Portland is not Portland where regions or countries are known and differ."""
    if fold(one.city) != fold(other.city) or not one.city:
        return False
    if one.country and other.country and one.country != other.country:
        return False
    regions = [REGIONS.get(fold(place.region), (place.region,))[0] for place in (one, other) if place.region]
    return len(regions) < 2 or fold(regions[0]) == fold(regions[1])


class Fact(NamedTuple):
    """A sentence or a project of the profile, and the skills of the profile that it shows."""

    name: str
    text: str
    skills: frozenset[str]


class Seeker:
    """Who looks for work, as the rules need it."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.strikes = profile.filter
        self.scoring = profile.match
        self.stop_domains = frozenset(profile.stop_list.domains)
        self.stop_companies = any_of(profile.stop_list.companies)
        self.stop_keywords = any_of(profile.stop_list.keywords)
        self.never_say = any_of(profile.never_say)
        self.years: dict[str, float] = {}
        """Skill → years, of skills that are named."""
        for one in profile.skills:
            name = skill_name(one.name)
            self.years[name] = max(self.years.get(name, 0.0), one.years or 0.0)
        self.ranks = {skill_name(one.name): one.rank for one in profile.skills}
        self.has: dict[str, str] = {name: name for name in self.years}
        """Skill → the named one that it follows from."""
        self.has_years = dict(self.years)
        """Skill → the most years of what it is or follows from."""
        self._imply()
        self.beside = frozenset(other for name in self.has if name in terms() for other in terms()[name].parallels)
        """Technologies that are used in place of a skill: neither matched nor missing."""
        self.unwanted = {skill_name(one.name): one.strikes for one in profile.unwanted_skills}
        self.levels = tuple(LADDER[one.value] for one in profile.seniority)
        self.titles = tuple(core for title in profile.titles if (core := title_core(title)))
        home = profile.home
        named = [place(city=home.city, region=home.region, country=home.country)] if home.city else []
        self.home = named[0] if named else None
        self.offices = tuple(one for one in (*named, *map(place, profile.office_cities)) if one is not None)
        """Where the seeker would go to an office; the home first."""
        self.office_names = " or ".join(one.city or one.raw for one in self.offices) or "a place that the profile names"
        self.countries = frozenset(
            [
                *([home.country] if home.country else []),
                *(a.country for a in profile.work_authorisation if a.authorised),
            ]
        )
        needing = {one.country for one in profile.work_authorisation if one.sponsorship or not one.authorised}
        self.needs_sponsorship = frozenset(needing)
        """Countries where work needs the employer's sponsorship."""
        self.works_freely = self.countries - needing
        self.offset = offset_of(profile.time_zone) if profile.time_zone else None
        pay = profile.salary
        self.least_pay = round(pay.min * PER_YEAR[pay.period]) if pay else None
        self.currency = pay.currency if pay else None
        self.highlights = tuple(
            self._fact("", text, ())
            for texts in [one.highlights for one in profile.employment] + [one.highlights for one in profile.projects]
            for text in texts
            if self.may_say(text)
        )
        self.projects = tuple(
            self._fact(one.name, one.description or one.name, one.skills)
            for one in profile.projects
            if self.may_say(f"{one.name} {one.description or ''}")
        )

    def may_say(self, text: str) -> bool:
        """Whether a text has no words of `never_say`."""
        return self.never_say is None or not any(
            self.never_say.search(fold(text[start : start + 400])) for start in range(0, len(text) or 1, 300)
        )

    def _fact(self, name: str, text: str, named: Iterable[str]) -> Fact:
        found = {skill.name for skill in read(Source("", text)).skills} | {skill_name(one) for one in named}
        return Fact(name, text, frozenset(self.has[one] for one in found if one in self.has))

    def _imply(self) -> None:
        """Add what named skills imply, and what that implies. Those of the most years come first and are kept."""
        for seed in sorted(self.years, key=lambda name: (-self.years[name], name)):
            waiting, seen = [seed], {seed}
            while waiting:
                name = waiting.pop()
                for other in terms()[name].implies if name in terms() else ():
                    if other not in seen:
                        seen.add(other)
                        waiting.append(other)
                        self.has.setdefault(other, seed)
                        self.has_years[other] = max(self.has_years.get(other, 0.0), self.years[seed])

    def at_office(self, posting: ReadPosting) -> bool | None:
        """Whether an office of the posting is where the seeker would go; None where a place is unknown."""
        if not self.offices:
            return None
        located = [one for one in posting.posting.locations if one.city]
        if located:
            return any(same_city(one, office) for one in located for office in self.offices)
        cities = posting.cities
        if cities is not None:
            return any(fold(office.city) in cities.value for office in self.offices)
        countries = posting.countries
        if countries is not None and all(one.country for one in self.offices):
            # Another country is another place. Within the country it may be the home city.
            return None if any(one.country in countries.value for one in self.offices) else False
        return None

    def near_home(self, posting: ReadPosting) -> bool:
        """Whether the employer has an office in the home city: its own pages say so, or the posting does."""
        home = self.home
        if home is None:
            return False
        if any(same_city(one, home) for one in posting.company_offices):
            return True
        located = [one for one in posting.posting.locations if one.city]
        if located:
            return any(same_city(one, home) for one in located)
        cities = posting.cities
        return cities is not None and fold(home.city) in cities.value

    def fits_role(self, roles: frozenset[str]) -> bool:
        """Whether a role type is wanted. Full stack is both ends."""
        wanted = frozenset(self.profile.role_types)
        roles = roles - _BESIDES or roles
        if wanted & roles:
            return True
        ends = {"backend", "frontend"}
        return ("fullstack" in roles and bool(wanted & ends)) or ("fullstack" in wanted and bool(roles & ends))

    def fits_title(self, posting: ReadPosting) -> bool:
        """Whether all words of a wanted title are in the posting's."""
        return any(core <= posting.title_words for core in self.titles)

    def matched(self, demand: Demand) -> str | None:
        """The name in a demand that the profile has; of several the one with the most years."""
        names = [name for name in demand.names if name in self.has]
        return max(names, key=lambda name: (self.has_years[name], name)) if names else None

    def neutral(self, demand: Demand) -> bool:
        """A technology that is used in its place is in the profile."""
        return any(name in self.beside for name in demand.names) or any(one in self.has for one in demand.parallels)

    def avoids(self, demand: Demand) -> bool:
        """Every technology that would do is unwanted. Whoever may choose between PHP and Python need not write PHP."""
        return bool(self.unwanted) and all(name in self.unwanted for name in demand.names)
