"""The profile: who looks for work, what is wanted, what is unwanted, and what may be said of the person.

One YAML file. Everything may be left out; a rule without its preference is skipped. A key that is not
known is an error that names it, because a misspelt preference would silently be no preference.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, field_validator, model_validator

from interlock.apps.jobs.finder.geography.places import country_code, place
from interlock.apps.jobs.finder.postings.posting import EmploymentType, Seniority, Workplace

MOST_ENTRIES = 1000

Size = Literal["small", "medium", "large"]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
Entry = Annotated[str, StringConstraints(strip_whitespace=True, min_length=2, max_length=100)]
"""An entry of the stop list. One letter would hide nearly everything."""
Month = Annotated[str, StringConstraints(pattern=r"^\d{4}(-(0[1-9]|1[0-2]))?$")]
"""A year, or a year and a month: 2021-03."""
RoleType = Literal[
    "backend",
    "frontend",
    "fullstack",
    "ml-ai",
    "data",
    "devops",
    "security",
    "qa",
    "mobile",
    "embedded",
    "consulting",
    "clearance-required",
    "non-software",
]
"""The role types that postings are read into."""


def _listed(value: Any) -> Any:
    """A single value where a list is expected is a list of one."""
    if value is None:
        return []
    return value if isinstance(value, list | tuple) else [value]


def _dated(value: Any) -> Any:
    """YAML reads 2021 as a number."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _level(value: Any) -> Any:
    return "entry" if isinstance(value, str) and value.lower() == "junior" else value


def _country(value: str) -> str:
    code = country_code(value)
    if code is None:
        raise ValueError(f"{value!r} is not a country; write its name, or its code of two letters such as US")
    return code


Country = Annotated[str, StringConstraints(strip_whitespace=True, min_length=2), BeforeValidator(_country)]
Date = Annotated[Month | None, BeforeValidator(_dated)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(_listed), Field(max_length=MOST_ENTRIES)]
Entries = Annotated[tuple[Entry, ...], BeforeValidator(_listed), Field(max_length=MOST_ENTRIES)]


class Part(BaseModel):
    """A part of the profile. It takes no key that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Identity(Part):
    """Who somebody is."""

    name: Text
    email: Text | None = None
    phone: Text | None = None
    links: Texts = ()


class Home(Part):
    """Where somebody lives."""

    city: Text | None = None
    region: Text | None = None
    country: Country | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        """ "Portland, OR, US" in place of its parts."""
        if not isinstance(value, str):
            return value
        found = place(value)
        if found is None or not (found.city or found.country):
            raise ValueError(f"{value!r} is not a place; write it as City, Region, Country")
        return {"city": found.city, "region": found.region, "country": found.country}


class ProfileSkill(Part):
    """Something somebody can do. `rank` is its worth: ranks add up to at most 100 for a company's technologies."""

    name: Text
    years: float | None = Field(None, ge=0, le=70)
    last_used: Date = None
    rank: int = Field(10, ge=0, le=100)

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


class Unwanted(Part):
    """A technology somebody does not want to work with, and the strikes that it costs."""

    name: Text
    strikes: int = Field(2, ge=1, le=3)

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


class WantedSalary(Part):
    """The least pay, before taxes."""

    min: float = Field(gt=0)
    currency: Annotated[str, StringConstraints(strip_whitespace=True, to_upper=True, pattern=r"^[A-Za-z]{3}$")]
    period: Literal["hour", "day", "week", "month", "year"] = "year"


class WorkAuthorisation(Part):
    """Whether somebody may work in a country, and needs the employer's sponsorship for it."""

    country: Country
    authorised: bool = True
    sponsorship: bool = False

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        return {"country": value} if isinstance(value, str) else value


class StopList(Part):
    """Postings that are never wanted, by company, by domain, and by words of the title or the address."""

    companies: Entries = ()
    domains: Entries = ()
    keywords: Entries = ()

    @field_validator("domains")
    @classmethod
    def _hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for one in value:
            if "/" in one or " " in one or "." not in one:
                raise ValueError(f"{one!r} is not a domain; write it without a path, such as example.com")
        return tuple(one.lower().removeprefix("www.") for one in value)


class Employment(Part):
    """A post that somebody held. Without an end it is the present one."""

    company: Text
    title: Text
    start: Date = None
    end: Date = None
    location: Text | None = None
    skills: Texts = ()
    highlights: Texts = ()
    """What was done and achieved, a sentence each. Tailoring chooses among them and adds nothing."""


class Education(Part):
    """A school, and what was learnt there."""

    school: Text
    degree: Text | None = None
    field: Text | None = None
    start: Date = None
    end: Date = None


class Project(Part):
    """Something somebody made."""

    name: Text
    description: Text | None = None
    url: Text | None = None
    skills: Texts = ()
    highlights: Texts = ()


class Strikes(Part):
    """The numbers of the filter."""

    threshold: int = Field(5, ge=1)
    """A posting with as many strikes is filtered out."""
    missing_primary_skill: int = Field(3, ge=0)
    """In the title or in the first requirement."""
    missing_required_skill: int = Field(2, ge=0)
    missing_preferred_skill: int = Field(1, ge=0)
    preferred_skills_at_most: int = Field(4, ge=0)
    """All missing preferred skills together, so that they alone reject nothing."""
    least_weight: float = Field(0.75, ge=0)
    """A missing skill of less weight in the vocabulary, such as Jira, is no strike."""
    hybrid_elsewhere: int = Field(3, ge=0)
    remote_elsewhere: int = Field(2, ge=0)
    """Remote work that is limited to another country or region."""
    location_elsewhere: int = Field(2, ge=0)
    """An office elsewhere, where the posting does not say whether the work is remote."""
    seniority_off_by_one: int = Field(2, ge=0)
    seniority_off_by_two: int = Field(3, ge=0)
    experience_short: int = Field(2, ge=0)
    experience_short_by_more: int = Field(3, ge=0)
    experience_years: float = Field(3, ge=0)
    """Up to so many years are short, more are short by more."""
    salary_below: int = Field(3, ge=0)
    old: int = Field(1, ge=0)
    old_after_days: int = Field(7, ge=0)
    short_text: int = Field(1, ge=0)
    short_text_characters: int = Field(300, ge=0)


class Scoring(Part):
    """The numbers of the score."""

    skills: float = Field(50, ge=0)
    """The weights of the parts. They are scaled to 100."""
    title: float = Field(15, ge=0)
    seniority: float = Field(10, ge=0)
    location: float = Field(10, ge=0)
    salary: float = Field(5, ge=0)
    required_skill: float = Field(1, ge=0)
    """How much a skill counts within the part `skills`, by its level."""
    preferred_skill: float = Field(0.25, ge=0)
    mentioned_skill: float = Field(0.1, ge=0)
    neutral: float = Field(0.5, ge=0, le=1)
    """The share of a part that is unknown."""
    time_zone: tuple[tuple[float, int], ...] = ((1, 5), (2, 0), (4, -5), (8, -10))
    """Hours apart and the points up to there."""
    time_zone_farther: int = -15
    large_company: int = 10
    small_company: int = -5
    threshold: int = Field(80, ge=0, le=100)
    threshold_with_office: int = Field(65, ge=0, le=100)
    """Where the employer has an office in the home city."""
    high_priority: int = Field(85, ge=0, le=100)
    medium_priority: int = Field(70, ge=0, le=100)
    freshness: float = Field(5, ge=0)
    """What a posting of today gains in lists; nothing after `fresh_days`. The score has no part in it."""
    fresh_days: int = Field(30, ge=1)

    @model_validator(mode="after")
    def _weighted(self) -> Scoring:
        if not self.skills + self.title + self.seniority + self.location + self.salary > 0:
            raise ValueError("the weights are all zero; give at least one part a weight")
        return self


class Profile(Part):
    """Everything that filtering, matching and applying know of a person."""

    identity: Identity | None = None
    time_zone: str | None = None
    home: Home = Home()
    office_cities: Texts = ()
    """Cities besides the home's where somebody would go to an office."""
    workplace: Annotated[tuple[Workplace, ...], BeforeValidator(_listed)] = ()
    titles: Texts = ()
    role_types: Annotated[tuple[RoleType, ...], BeforeValidator(_listed)] = ()
    seniority: Annotated[tuple[Annotated[Seniority, BeforeValidator(_level)], ...], BeforeValidator(_listed)] = ()
    management: bool | None = None
    """Whether roles that manage people are wanted; nothing where either will do."""
    employment_types: Annotated[tuple[EmploymentType, ...], BeforeValidator(_listed)] = ()
    years: float | None = Field(None, ge=0, le=70)
    """Years of experience."""
    skills: Annotated[tuple[ProfileSkill, ...], BeforeValidator(_listed), Field(max_length=MOST_ENTRIES)] = ()
    unwanted_skills: Annotated[tuple[Unwanted, ...], BeforeValidator(_listed), Field(max_length=MOST_ENTRIES)] = ()
    salary: WantedSalary | None = None
    company_size: Annotated[tuple[Size, ...], BeforeValidator(_listed)] = ()
    work_authorisation: Annotated[tuple[WorkAuthorisation, ...], BeforeValidator(_listed)] = ()
    stop_list: StopList = StopList()
    employment: Annotated[tuple[Employment, ...], BeforeValidator(_listed), Field(max_length=200)] = ()
    education: Annotated[tuple[Education, ...], BeforeValidator(_listed), Field(max_length=200)] = ()
    projects: Annotated[tuple[Project, ...], BeforeValidator(_listed), Field(max_length=200)] = ()
    answers: dict[Text, str | bool | int | float] = Field(default_factory=dict)
    """Answers to questions of application forms, by the question."""
    never_say: Entries = ()
    """Words and phrases that no text for an application may have."""
    filter: Strikes = Strikes()
    match: Scoring = Scoring()

    @field_validator("time_zone")
    @classmethod
    def _zone(cls, value: str | None) -> str | None:
        if value is not None:
            offset_of(value)
        return value

    @field_validator("workplace", "seniority", "employment_types")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if "unknown" in value:
            raise ValueError("'unknown' is no preference; leave it out")
        return value


def offset_of(zone: str) -> float:
    """The hours from UTC of a time zone in winter."""
    try:
        info = ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"{zone!r} is not a time zone; write it as Region/City, such as America/Los_Angeles") from None
    offsets = [datetime(2026, month, 15, tzinfo=info).utcoffset() for month in (1, 7)]
    return min(one.total_seconds() for one in offsets if one is not None) / 3600
