"""Years of work, counted from the dates of the profile."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from interlock.apps.jobs.finder.profiles.profile import Employment, Profile
from interlock.apps.jobs.finder.profiles.seeker import skill_name

MID_YEAR = 7
"""The month of a date that is only a year, at both ends: 2021 to 2023 are two years."""


def years_in(posts: Iterable[Employment], today: date) -> float | None:
    """Years over all posts with a start; months in two posts at once count once. None without any date."""
    months: set[int] = set()
    dated = False
    for post in posts:
        if post.start is None:
            continue
        dated = True
        end = _month(post.end) if post.end else today.year * 12 + today.month
        months.update(range(_month(post.start), min(end, today.year * 12 + today.month)))
    return len(months) / 12 if dated else None


def _month(text: str) -> int:
    year, _, month = text.partition("-")
    return int(year) * 12 + int(month or MID_YEAR)


def total_years(profile: Profile, today: date) -> tuple[float, str] | None:
    """Years of experience and where they come from."""
    if profile.years is not None:
        return profile.years, "years of the profile"
    counted = years_in(profile.employment, today)
    return (counted, "dates of the profile's employment") if counted is not None else None


def skill_years(profile: Profile, skill: str, today: date) -> tuple[float, str, bool] | None:
    """Years with a skill, where they come from, and whether stated and counted years agree within one.

    None where the profile does not name the skill with years or dates: that is unknown, and not 0.
    """
    name = skill_name(skill)
    posts = [one for one in profile.employment if name in {skill_name(used) for used in one.skills}]
    counted = years_in(posts, today)
    stated = max((one.years for one in profile.skills if skill_name(one.name) == name and one.years), default=None)
    if counted is None and stated is None:
        return None
    if counted is None or stated is None:
        said = counted if counted is not None else stated
        assert said is not None
        return (
            said,
            f"dates of employment with {name}" if counted is not None else f"years of {name} in the profile",
            True,
        )
    if abs(counted - stated) <= 1:
        return counted, f"dates of employment with {name}", True
    return counted, f"{counted:.1f} years with {name} by dates of employment, but {stated:g} are stated", False
