"""The criteria of a rule, checked with errors that name the key and the remedy."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, ValidationError, field_validator, model_validator

from interlock.apps.jobs.finder.geography.places import is_work_model, place
from interlock.apps.jobs.finder.geography.regions import countries_in
from interlock.apps.jobs.finder.identity.keys import company_key
from interlock.apps.jobs.finder.profiles.profile import Entries, Part, Texts, WantedSalary
from interlock.machine import InterlockError

PER_WEEK = 70
MOST_PER_WEEK = 1000
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


class RuleError(InterlockError):
    """A rule that cannot be used; the message names every problem with its key."""


def _listed(value: Any) -> Any:
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else [value]


def _weekday(value: Any) -> Any:
    """Days may be shortened to three letters."""
    if isinstance(value, str):
        low = value.strip().lower()
        return next((day for day in WEEKDAYS if low in (day, day[:3])), low)
    return value


class ApplyRule(Part):
    """An auto-apply rule. A criterion that is left out excludes nothing."""

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    min_score: int | None = Field(None, ge=0, le=100)
    """The lowest match score. Without it the match's own threshold applies."""
    titles: Texts = ()
    """The posting's title has all words of one of them."""
    skills: Texts = ()
    """The posting names at least `min_skills` of them."""
    min_skills: int = Field(1, ge=1)
    companies: Texts = ()
    """Only these. Names are compared without their legal form."""
    excluded_companies: Texts = ()
    keywords: Entries = ()
    """The title or the text has at least one of them, as whole words."""
    excluded_keywords: Entries = ()
    locations: Texts = ()
    """Cities, countries, regions such as EU, or `remote`; one must fit."""
    salary: WantedSalary | None = None
    """The highest pay that the posting names is at least as much."""
    sources: Texts = ()
    """Kinds of sources, such as greenhouse, or ids of sources."""
    active_days: Annotated[tuple[Annotated[Weekday, BeforeValidator(_weekday)], ...], BeforeValidator(_listed)] = ()
    """Days of the week, in the seeker's time zone, on which the rule queues applications; all of them if empty."""
    take_unknown: bool = True
    """Whether a posting that does not state its pay or place is selected, with a doubt."""
    require_user_approval: bool = True
    max_applications_per_week: int = Field(PER_WEEK, ge=1, le=MOST_PER_WEEK)
    paused: bool = False

    @field_validator("companies", "excluded_companies")
    @classmethod
    def _companies(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for one in value:
            if company_key(one) is None:
                raise ValueError(f"{one!r} is not a company's name; write it as postings do")
        return value

    @field_validator("locations")
    @classmethod
    def _locations(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for one in value:
            found = place(one)
            if not is_work_model(one) and not countries_in(one) and (found is None or not found.city):
                raise ValueError(f"{one!r} is not a place; write a city, a country, a region such as EU, or remote")
        return value

    @model_validator(mode="after")
    def _agree(self) -> ApplyRule:
        if self.skills and self.min_skills > len(self.skills):
            raise ValueError(
                f"min_skills is {self.min_skills}, but skills has {len(self.skills)}; name more or ask less"
            )
        both = {company_key(one) for one in self.companies} & {company_key(one) for one in self.excluded_companies}
        if both:
            raise ValueError(f"companies and excluded_companies both have {', '.join(sorted(map(str, both)))}")
        return self


def check_rule(data: Mapping[str, Any]) -> ApplyRule:
    """The rule of plain values, as the editor and the API send them."""
    try:
        return ApplyRule.model_validate(dict(data))
    except ValidationError as error:
        raise RuleError("\n".join(dict.fromkeys(map(_described, error.errors())))) from None


def _described(error: Any) -> str:
    where = ".".join(map(str, error["loc"])) or "rule"
    if error["type"] == "extra_forbidden":
        known = list(ApplyRule.model_fields)
        near = get_close_matches(str(error["loc"][-1]), known, n=1)
        return f"{where}: no such key; " + (f"did you mean {near[0]}?" if near else f"keys are {', '.join(known)}")
    if error["type"] == "missing":
        return f"{where}: is missing; add it"
    given = error.get("input")
    shown = f" (given: {str(given)[:80]!r})" if isinstance(given, str | int | float | bool) else ""
    return f"{where}: {error['msg'].removeprefix('Value error, ')}{shown}"
