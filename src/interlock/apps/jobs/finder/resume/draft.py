"""The draft of a profile that a resume comes to, with the line that each value was read from."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from interlock.apps.jobs.finder.postings.posting import Location
from interlock.apps.jobs.finder.reading import Source, read
from interlock.apps.jobs.finder.reading.places import city_of
from interlock.apps.jobs.finder.resume.education import projects_of, schools_of
from interlock.apps.jobs.finder.resume.employment import Post, posts_of
from interlock.apps.jobs.finder.resume.identity import person_of
from interlock.apps.jobs.finder.resume.lines import MOST_BYTES, Line, ResumeError
from interlock.apps.jobs.finder.resume.pdf import pdf_lines
from interlock.apps.jobs.finder.resume.sections import Kind, Section, heading_kind, sections_of
from interlock.apps.jobs.finder.resume.skills import skills_known, years_of
from interlock.apps.jobs.finder.resume.word import word_lines

WANTED = (
    "identity.name",
    "identity.email",
    "identity.phone",
    "home",
    "time_zone",
    "workplace",
    "titles",
    "seniority",
    "employment_types",
    "years",
    "skills",
    "salary",
    "work_authorisation",
    "employment",
    "education",
)
"""What the finder asks of a profile, in the order of the questions."""
_US_ZONES = {
    -10: "Pacific/Honolulu",
    -9: "America/Anchorage",
    -8: "America/Los_Angeles",
    -7: "America/Denver",
    -6: "America/Chicago",
    -5: "America/New_York",
}


@dataclass(frozen=True, slots=True)
class ReadFrom:
    """Where a value was read."""

    key: str
    value: str
    page: int
    line: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A profile in the making."""

    profile: dict[str, Any] = field(default_factory=dict)
    """Keys and values as in the YAML file, except that an identity may have no name yet."""
    read: tuple[ReadFrom, ...] = ()
    left_out: tuple[str, ...] = ()
    """What was seen and could not be used, with the reason."""

    @property
    def missing(self) -> tuple[str, ...]:
        """The keys of `WANTED` that are empty."""
        return tuple(key for key in WANTED if not _at(self.profile, key))


def _at(profile: dict[str, Any], key: str) -> Any:
    value: Any = profile
    for name in key.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def read_resume(path: Path, today: date) -> Draft:
    """The draft of a file. Its content decides what it is, not its name."""
    try:
        with path.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise ResumeError(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise ResumeError(f"{path} has more than {MOST_BYTES:,} bytes; a resume has fewer")
    if b"%PDF-" in data[:1024]:
        return draft_of(pdf_lines(data, lambda text: heading_kind(text) is not None), today)
    if data.startswith(b"PK"):
        return draft_of(word_lines(data), today)
    raise ResumeError(f"{path} is neither a PDF nor a DOCX file; save the resume as one of them")


def draft_of(lines: list[Line], today: date) -> Draft:
    """The draft of a resume's lines. `today` is the end of what goes on."""
    sections = sections_of(lines)
    notes: list[ReadFrom] = []
    left_out: list[str] = []
    profile: dict[str, Any] = {}

    def note(key: str, value: object, line: Line | None) -> None:
        notes.append(ReadFrom(key, str(value)[:200], line.page if line else 1, line.text[:200] if line else ""))

    person = person_of(sections)
    identity: dict[str, Any] = {}
    for key, said in (("name", person.name), ("email", person.email), ("phone", person.phone)):
        if said is not None:
            identity[key] = said.value
            note(f"identity.{key}", said.value, said.line)
    if person.links:
        identity["links"] = [one.value for one in person.links]
        note("identity.links", ", ".join(identity["links"]), person.links[0].line)
    if identity:
        profile["identity"] = identity
    if person.home is not None:
        where, line = person.home
        profile["home"] = {
            key: value
            for key, value in (("city", where.city), ("region", where.region), ("country", where.country))
            if value
        }
        note("home", ", ".join(profile["home"].values()), line)
        zone = zone_of(where)
        if zone:
            profile["time_zone"] = zone
            note("time_zone", zone, line)
    posts = posts_of(_lines(sections, "experience"))
    whole = [post for post in posts if post.title and post.company]
    left_out += [
        f"a post without {'a company' if post.title else 'a title'}: {post.line.text[:100]}"
        for post in posts
        if post not in whole
    ]
    if posts:
        profile["years"] = years_of(posts, today)
        note("years", profile["years"], posts[-1].line)
        _aims(profile, posts, note)
    known = skills_known(_lines(sections, "skills"), posts, today)
    if known:
        profile["skills"] = [_kept(name=one.name, years=one.years, last_used=one.last_used) for one in known]
        note("skills", f"{len(known)}: {', '.join(one.name for one in known)}", known[0].line)
    if whole:
        profile["employment"] = [_post(post) for post in whole]
        for post in whole:
            note("employment", f"{post.title}, {post.company}, {post.period.text}", post.line)
    schools = schools_of(_lines(sections, "education"))
    left_out += [f"a school without a name: {one.line.text[:100]}" for one in schools if not one.school]
    profile["education"] = [
        _kept(school=one.school, degree=one.degree, field=one.field, start=one.start, end=one.end)
        for one in schools
        if one.school
    ]
    for one in schools:
        if one.school:
            note("education", ", ".join(filter(None, (one.degree, one.field, one.school))), one.line)
    made = projects_of(_lines(sections, "projects"))
    profile["projects"] = [
        _kept(name=one.name, description=one.description, url=one.url, skills=list(one.skills)) for one in made
    ]
    for project in made:
        note("projects", project.name, project.line)
    left_out += [
        f"the section {one.heading!r}: the profile has no place for it"
        for one in sections
        if one.kind in ("languages", "other", "summary")
    ]
    return Draft({key: value for key, value in profile.items() if value}, tuple(notes), tuple(left_out))


def _lines(sections: list[Section], kind: Kind) -> list[Line]:
    return [line for one in sections if one.kind == kind for line in one.lines]


def _kept(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value}


def _post(post: Post) -> dict[str, Any]:
    return _kept(
        company=post.company,
        title=post.title,
        start=post.period.start,
        end=post.period.end,
        location=post.location,
        skills=list(post.skills),
        highlights=list(post.highlights),
    )


def _aims(profile: dict[str, Any], posts: list[Post], note: Any) -> None:
    """Titles, seniority and role types that the latest posts suggest."""
    latest = sorted((one for one in posts if one.title), key=lambda one: one.period.end or "9999", reverse=True)[:2]
    if not latest:
        return
    profile["titles"] = list(dict.fromkeys(str(one.title) for one in latest))
    note("titles", ", ".join(profile["titles"]), latest[0].line)
    reading = read(Source(str(latest[0].title), "\n".join(latest[0].highlights)))
    level, roles = reading.values["seniority"], reading.values["roleTypes"]
    if level.known and level.rule.startswith("title"):
        profile["seniority"] = [level.value]
        note("seniority", level.value, latest[0].line)
    kinds = [one for one in roles.value or () if one != "non-software"]
    if kinds:
        profile["role_types"] = kinds
        note("role_types", ", ".join(kinds), latest[0].line)


def zone_of(where: Location) -> str | None:
    """The time zone of a place: the country's only one, or that of the city's offset in the United States."""
    zones = _zones().get(where.country or "", [])
    city = (where.city or "").replace(" ", "_")
    named = next((zone for zone in zones if zone.rpartition("/")[2] == city), None)
    if named or len(zones) == 1:
        return named or zones[0]
    known = city_of([where.raw])[0]
    if where.country == "DE":
        return "Europe/Berlin"
    return _US_ZONES.get(int(known.offset)) if known and known.offset is not None and where.country == "US" else None


@cache
def _zones() -> dict[str, list[str]]:
    """The time zones of each country."""
    found: dict[str, list[str]] = {}
    text = (files("tzdata") / "zoneinfo" / "zone.tab").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            code, _, zone, *_ = line.split("\t")
            found.setdefault(code, []).append(zone)
    return found
