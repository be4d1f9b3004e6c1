"""A cover letter by rules: the company and the role of the posting, and up to three facts of the profile that match."""

from __future__ import annotations

from interlock.apps.jobs.autoapply.documents.relevance import Relevance
from interlock.apps.jobs.autoapply.documents.tailoring import NoName, contact_of
from interlock.apps.jobs.autoapply.documents.values import (
    EMPTY,
    Letter,
    Line,
    Piece,
    clean,
    joined,
    language_for,
    of,
    value_at,
)
from interlock.apps.jobs.autoapply.documents.wording import PHRASES
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.seeker import Seeker, skill_name

MOST_FACTS = 3
MOST_SKILLS = 6
LONGEST_NAME = 120
"""Characters of the posting's company and title that a letter repeats."""
LONGEST_FACT = 400


def company_of(posting: ReadPosting) -> str:
    """The company as a letter names it; empty where it is unknown."""
    return clean(posting.source.company, LONGEST_NAME)


def role_of(posting: ReadPosting) -> str:
    """The role as a letter names it; empty where it is unknown."""
    return clean(posting.source.title, LONGEST_NAME)


def write_letter(posting: ReadPosting, seeker: Seeker) -> Letter:
    """The letter for a posting. It says nothing that `never_say` forbids, and has no placeholder."""
    profile = seeker.profile
    if profile.identity is None:
        raise NoName("the profile has no identity; add identity.name, and an e-mail address to be reached at")
    language = language_for(profile)
    say = PHRASES[language]
    company, role = Piece(company_of(posting), "posting.company"), Piece(role_of(posting), "posting.title")
    at = (Piece(say["apply_at"]), company) if company.text else ()
    salutation = Line((Piece(say["dear"]), *((Piece(say["dear_at"]), company) if company.text else ()), Piece(",")))
    opening = (Piece(say["apply"]), role) if role.text else (Piece(say["apply_open"]),)
    relevance = Relevance(posting, seeker)
    facts = _facts(relevance, seeker, say)
    first = Line((*opening, *at, Piece("."), *_present(seeker, say), *([Piece(say["facts"])] if facts else [])))
    named = _skills(relevance, seeker)
    skills = Line((Piece(say["skills"]), *joined(named, ", ", say["and"]), Piece("."))) if named else EMPTY
    return Letter(
        language,
        Line((of(profile, "identity.name"),)),
        contact_of(seeker),
        salutation,
        tuple(one for one in (first, skills, Line((Piece(say["talk"]),))) if one),
        facts,
        Line((Piece(say["closing"]), Piece(","))),
        subject=Line((Piece(say["subject"]), role)) if role.text else EMPTY,
    )


def _present(seeker: Seeker, say: dict[str, str]) -> tuple[Piece, ...]:
    """The first post of the profile, and the years of experience."""
    profile = seeker.profile
    years = (of(profile, "years"), Piece(say["years"])) if profile.years else ()
    post = profile.employment[0] if profile.employment else None
    if post is not None and seeker.may_say(f"{post.title} {post.company}"):
        held = (of(profile, "employment[0].title"), Piece(say["role_at"]), of(profile, "employment[0].company"))
        tail = (Piece(say["experience"]), *years) if years else ()
        return (Piece(say["i_was"] if post.end else say["i_am"]), *held, *tail, Piece("."))
    return (Piece(say["experience_alone"]), *years, Piece(".")) if years else ()


def _facts(relevance: Relevance, seeker: Seeker, say: dict[str, str]) -> tuple[Line, ...]:
    """The highlights that show most of what is asked for; then years with a skill that is asked for."""
    profile = seeker.profile
    rated: list[tuple[float, int, Line]] = []
    for group, name in (("employment", "company"), ("projects", "name")):
        for index, one in enumerate(getattr(profile, group)):
            for at in range(len(one.highlights)):
                path = f"{group}[{index}].highlights[{at}]"
                where = of(profile, f"{group}[{index}].{name}")
                before = (Piece(say["at"]), where) if group == "employment" else (where,)
                line = Line((*before, Piece(say["colon"]), of(profile, path)))
                text = value_at(profile, path)
                if len(line.text) <= LONGEST_FACT and seeker.may_say(line.text) and relevance.shows_skill(text):
                    rated.append((-relevance.of(text), len(rated), line))
    found = [line for _, _, line in sorted(rated, key=lambda one: one[:2])[:MOST_FACTS]]
    paths = {skill_name(one.name): f"skills[{index}]" for index, one in enumerate(profile.skills) if one.years}
    for name in relevance.asked():
        if len(found) == MOST_FACTS:
            break
        if name not in paths:
            continue
        base = paths[name]
        line = Line((of(profile, f"{base}.years"), Piece(say["skill_years"]), of(profile, f"{base}.name"), Piece(".")))
        if seeker.may_say(line.text):
            found.append(line)
    return tuple(found)


def _skills(relevance: Relevance, seeker: Seeker) -> list[Piece]:
    profile = seeker.profile
    paths = {skill_name(one.name): f"skills[{index}].name" for index, one in enumerate(profile.skills)}
    pieces = [of(profile, paths[name]) for name in relevance.asked() if name in paths]
    return [one for one in pieces if seeker.may_say(one.text)][:MOST_SKILLS]
