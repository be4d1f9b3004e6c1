"""A posting with all that is known of it: what its source says, and where the source is silent, what rules read.

Filter and match see this one view. It is worked out once a posting, on first use: a posting that the stop list hides
is never read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import ValidationError

from interlock.apps.jobs.finder.geography.places import place, places
from interlock.apps.jobs.finder.geography.regions import countries_in, limit_in, named_countries
from interlock.apps.jobs.finder.identity.keys import fold, words
from interlock.apps.jobs.finder.postings.demands import Demand, demands_of
from interlock.apps.jobs.finder.postings.posting import (
    EmploymentType,
    Evidence,
    Extraction,
    Location,
    Method,
    Posting,
    Seniority,
    Workplace,
)
from interlock.apps.jobs.finder.postings.sponsorship import refusal_in
from interlock.apps.jobs.finder.reading import Reading, Skill, Source, Value, read
from interlock.apps.jobs.finder.reading.document import Document
from interlock.apps.jobs.finder.reading.evaluate import source_of
from interlock.apps.jobs.finder.reading.places import city_of
from interlock.apps.jobs.finder.reading.plain import folded, plain
from interlock.apps.jobs.finder.reading.roles import roles_of
from interlock.apps.jobs.finder.reading.skills import skills_of
from interlock.machine import InterlockError

LADDER = {
    "intern": 0,
    "entry": 1,
    "junior": 1,
    "mid": 2,
    "senior": 3,
    "lead": 4,
    "staff": 4,
    "principal": 5,
    "director": 6,
    "executive": 7,
}
"""The steps of a career. Lead and staff are one step above senior."""
_BY_TEXT_TOO = frozenset({"ml-ai", "security", "consulting", "clearance-required"})
"""Role types that are read beside or out of the text, even where the title names one."""
_PLACE_FIELDS = frozenset({"locations", "location", "location.name", "title"})
_EMPLOYMENT = {"full-time": "full_time", "part-time": "part_time"}
Size = Literal["small", "medium", "large"]


@dataclass(frozen=True, slots=True)
class Known:
    """A known value and where it came from."""

    value: Any
    evidence: Evidence


class ReadPosting:
    """A posting and its reading, as filter and match see it."""

    def __init__(
        self, posting: Posting, source: Source | None = None, *, size: Size | None = None, offices: Iterable[str] = ()
    ) -> None:
        self.posting = posting
        self.source = source or _source(posting)
        self.company_size = size
        self.company_offices = tuple(one for one in map(place, offices) if one is not None)

    @cached_property
    def reading(self) -> Reading:
        return read(self.source)

    @cached_property
    def unread(self) -> bool:
        """There is no text, so that nothing is known of the content."""
        return not self.source.text.strip()

    @cached_property
    def title(self) -> str:
        return fold(self.source.title)

    @cached_property
    def title_words(self) -> frozenset[str]:
        return frozenset(words(self.source.title))

    @cached_property
    def company(self) -> str:
        return fold(self.source.company)

    @cached_property
    def addresses(self) -> tuple[str, ...]:
        found = (self.posting.url, self.posting.apply_url, self.posting.canonical_url)
        return tuple(dict.fromkeys(one[:2000] for one in found if one))

    @cached_property
    def hosts(self) -> tuple[tuple[str, str], ...]:
        """The host of each address, and the address."""
        return tuple((host, one) for one in self.addresses if (host := _host(one)))

    @cached_property
    def workplace(self) -> Known | None:
        if self.has_office_days:
            return self._stated("workplace", Workplace.UNKNOWN, "workArrangement")
        return self._stated("workplace", self.posting.workplace, "workArrangement")

    @cached_property
    def has_office_days(self) -> bool:
        """Whether the text names days in an office, and only a place or the title calls the work remote."""
        evidence = self.posting.evidence.get("workplace")
        if self.posting.workplace is not Workplace.REMOTE or evidence is None or evidence.field not in _PLACE_FIELDS:
            return False
        return self.reading.values["workArrangement"].rule.startswith("days ")

    @cached_property
    def seniority(self) -> Known | None:
        """By the board, the title or the text; years of experience alone say nothing of it."""
        found = self._stated("seniority", self.posting.seniority, "seniority")
        if found is None or self.posting.seniority is not Seniority.UNKNOWN:
            return found
        return None if self.reading.values["seniority"].rule == "years of experience" else found

    @cached_property
    def employment_type(self) -> Known | None:
        found = self._stated("employment_type", self.posting.employment_type, "employmentType")
        if found is None:
            return None
        value = _EMPLOYMENT.get(found.value, found.value)
        return Known(EmploymentType(value), found.evidence)

    @cached_property
    def management(self) -> Known | None:
        """Whether the role manages people, by its title."""
        value = self.reading.values["isManagement"]
        if value.rule != "title" and value.value:
            return None
        return (
            Known(value.value, Evidence(source="title", quote=self.source.title[:300])) if self.source.title else None
        )

    @cached_property
    def no_sponsorship(self) -> Known | None:
        """The sentence in which the employer refuses to sponsor a visa."""
        quote = refusal_in(self.reading.text)
        return Known(True, Evidence(source="text", field="sponsorship", quote=quote)) if quote else None

    @cached_property
    def roles(self) -> Known | None:
        """Role types that the title names, by itself. What the text is about says less."""
        value = self.reading.values["roleTypes"]
        if value.rule == "title" and not _BY_TEXT_TOO.isdisjoint(value.value):
            title = Document(Source(self.source.title))
            value = roles_of(title, skills_of(title))
        return Known(frozenset(value.value), _evidence(value)) if value.value and value.rule == "title" else None

    @cached_property
    def experience(self) -> Known | None:
        """The least years that are required."""
        value = self.reading.values["experienceMin"]
        return (
            Known(value.value, _evidence(value)) if value.known and value.rule != "years that are preferred" else None
        )

    @cached_property
    def countries(self) -> Known | None:
        """The countries that somebody may work from."""
        if self.posting.remote_scope:
            found = frozenset[str]().union(*map(countries_in, self.posting.remote_scope))
            quote = ", ".join(self.posting.remote_scope)
            return Known(found, Evidence(source="board", field="remote_scope", quote=quote)) if found else None
        if self.reading["timezoneFlexible"]:
            return None
        located = self.posting.locations
        found = frozenset[str]().union(*map(_location_countries, located))
        if found:
            quote = "; ".join(one.raw for one in located)[:300]
            return Known(found, Evidence(source="board", field="locations", quote=quote))
        found = named_countries(self._plain_title)
        if found:
            return Known(found, Evidence(source="title", quote=self._plain_title))
        limit = limit_in(folded(self.source.text[:20_000]))
        if limit is None:
            return None
        found, start, end = limit
        return Known(
            found, Evidence(source="text", quote=" ".join(self.source.text[max(0, start - 40) : end + 40].split()))
        )

    @cached_property
    def cities(self) -> Known | None:
        """The cities of its offices, folded."""
        found = [one for one in self.posting.locations if one.city]
        if found:
            quote = "; ".join(one.raw for one in found)[:300]
            return Known(
                frozenset(fold(one.city) for one in found), Evidence(source="board", field="locations", quote=quote)
            )
        value = self.reading.values["city"]
        return Known(frozenset({fold(value.value)}), _evidence(value)) if value.known else None

    @cached_property
    def salary(self) -> Known | None:
        """(least, most, currency) of a year."""
        posting = self.posting
        if posting.salary.source != "none" and (posting.annual_min is not None or posting.annual_max is not None):
            said = posting.salary
            evidence = Evidence(
                source="text" if said.source == "text" else "board",
                field="salary",
                quote=said.quote or f"{said.min}-{said.max} {said.currency}",
            )
            return Known((posting.annual_min, posting.annual_max, said.currency), evidence)
        found = self.reading.salary
        low, high = found.annual() if found is not None else (None, None)
        if found is None or (low is None and high is None):
            return None
        origin: Literal["board", "text"] = "board" if found.origin == "board" else "text"
        return Known((low, high, found.currency), Evidence(source=origin, field="salary", quote=found.quote))

    @cached_property
    def time_zone(self) -> Known | None:
        """Hours from UTC in winter of the team; None within the value where any will do."""
        flexible = self.reading.values["timezoneFlexible"]
        if flexible.value:
            return Known(None, _evidence(flexible))
        value = self.reading.values["timezone"]
        if value.known:
            return Known(float(value.value), _evidence(value))
        city, field = city_of([one[:300] for one in self.source.locations][:50])
        if city is not None and city.offset is not None:
            return Known(city.offset, Evidence(source="board", field="locations", quote=field))
        return None

    @cached_property
    def skills(self) -> tuple[Skill, ...]:
        """The technologies that it names."""
        return tuple(one for one in self.reading.skills if one.is_technology)

    @cached_property
    def demands(self) -> tuple[Demand, ...]:
        """The technologies that it names, with alternatives of one sentence together."""
        asked = self.reading.sections.get("requirements", "")
        return demands_of(self.skills, self._plain_title, self.title_words, asked)

    @cached_property
    def _plain_title(self) -> str:
        return plain(self.source.title[:1000]).replace("\n", " ")[:300]

    def _stated(self, field: str, said: Any, name: str) -> Known | None:
        if said != "unknown":
            evidence = self.posting.evidence.get(field) or Evidence(source="board", field=field, quote=str(said.value))
            return Known(said.value, evidence)
        value = self.reading.values[name]
        return Known(value.value, _evidence(value)) if value.known else None


def _evidence(value: Value) -> Evidence:
    field = value.rule
    if field.startswith("title"):
        return Evidence(source="title", field=field, quote=value.quote or None)
    board = field.startswith(("location", "board"))
    return Evidence(source="board" if board else "text", field=field, quote=value.quote or None)


def _location_countries(location: Location) -> frozenset[str]:
    if location.country:
        return frozenset({location.country})
    city, _ = city_of([location.raw[:300]])
    if city is not None and city.country:
        return frozenset({city.country})
    return named_countries(location.raw[:300])


def _host(url: str) -> str | None:
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return None
    return host.lower().removeprefix("www.") if host else None


def _source(posting: Posting) -> Source:
    pay = posting.salary
    # Words of pay that stand apart from the text: those that the source calls so, and those without numbers so far.
    stated = pay.source == "board" or (pay.min is None and pay.max is None)
    return Source(
        title=posting.title or "",
        text=posting.description_text or posting.description_html or "",
        company=posting.company_name_raw or "",
        locations=[one.raw for one in posting.locations],
        salary=(pay.quote or "") if stated else "",
    )


def posting_of(row: Mapping[str, Any]) -> ReadPosting:
    """A posting of a JSON object: canonical, or with title, company_name, location, description and salary_range."""
    said = row.get("company_size_category") or row.get("company_size")
    size: Size | None = said if said in ("small", "medium", "large") else None
    seat = row.get("headquarters_location")
    offices = [seat] if isinstance(seat, str) else []
    if "extraction" in row and "ats" in row:
        try:
            return ReadPosting(Posting.model_validate(row), size=size, offices=offices)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise InterlockError(
                f"posting {row.get('external_id') or row.get('id')}: {where}: {first['msg']}"
            ) from None
    source = source_of(row)
    identity = row.get("id")
    posting = Posting(
        ats="unknown",
        external_id=None if identity is None else str(identity),
        url=str(row["url"]) if row.get("url") else None,
        company_name_raw=source.company or None,
        title=source.title or None,
        locations=places(one[:500] for one in source.locations),
        posted_at=_moment(source.posted),
        description_text=source.text or None,
        extraction=Extraction(method=Method.TEXT, adapter_version="1"),
    )
    return ReadPosting(posting, source, size=size, offices=offices)


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
