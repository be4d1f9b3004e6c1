"""The questions of `interlock jobs init`. Each has the draft's value as its default."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import typer

from interlock.apps.jobs.finder.profiles.profile_file import ProfileError, check_profile

NOTHING = "-"
"""The answer that clears a default."""
Prompt = Callable[[str, str], str]
"""Asks: the text and the default → the answer."""


class Question(NamedTuple):
    """One question: the key that it fills, its text, and how an answer is read."""

    key: str
    text: str
    kind: str = "text"


QUESTIONS = (
    Question("identity.name", "Your name"),
    Question("identity.email", "E-mail"),
    Question("identity.phone", "Phone"),
    Question("home", "Where you live (City, Region, Country)", "place"),
    Question("time_zone", "Time zone, such as America/Los_Angeles"),
    Question("workplace", "Where you would work: remote, hybrid, onsite", "list"),
    Question("titles", "Titles you look for", "list"),
    Question("seniority", "Levels: intern, entry, mid, senior, lead, staff, principal, director, executive", "list"),
    Question("management", "Roles that manage people: yes, no, or nothing if either will do", "choice"),
    Question("employment_types", "Kinds: full_time, part_time, contract, temporary, internship, other", "list"),
    Question("years", "Years of experience", "number"),
    Question("skills", "Skills, the most important first", "skills"),
    Question("salary", "Least pay, such as 140000 USD year", "salary"),
    Question("company_size", "Sizes of company: small, medium, large", "list"),
    Question("work_authorisation", "Countries where you may work without sponsorship", "countries"),
    Question("stop_list.companies", "Companies you never want to see", "list"),
)


def ask_all(profile: dict[str, Any], prompt: Prompt) -> dict[str, Any]:
    """The profile with the answers. A question is repeated until its answer can be used; no answer leaves a key out."""
    for question in QUESTIONS:
        while True:
            default = shown(question, at(profile, question.key))
            answer = prompt(question.text, default).strip()
            if answer == default:
                break
            try:
                value = None if answer in ("", NOTHING) else _read(question, answer, at(profile, question.key))
                changed = _with(profile, question.key, value)
                check_profile(without_nameless(changed))
            except ProfileError as error:
                typer.echo(str(error).removeprefix("profile: "), err=True)
                continue
            profile = changed
            break
    return without_nameless(profile)


def without_nameless(profile: dict[str, Any]) -> dict[str, Any]:
    """The profile without an identity that has no name, which no profile may have."""
    return profile if at(profile, "identity.name") else {key: one for key, one in profile.items() if key != "identity"}


def at(profile: dict[str, Any], key: str) -> Any:
    """The value of a dotted key."""
    value: Any = profile
    for name in key.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def shown(question: Question, value: Any) -> str:
    """A value as it would be answered."""
    if value in (None, [], {}, ""):
        return ""
    match question.kind:
        case "place":
            return ", ".join(value.values()) if isinstance(value, dict) else str(value)
        case "skills" | "countries":
            key = "name" if question.kind == "skills" else "country"
            return ", ".join(one[key] if isinstance(one, dict) else str(one) for one in value)
        case "salary":
            return f"{value['min']:g} {value['currency']} {value.get('period', 'year')}"
        case "choice":
            return "yes" if value else "no"
        case "list":
            return ", ".join(map(str, value))
        case _:
            return f"{value:g}" if isinstance(value, int | float) else str(value)


def _read(question: Question, answer: str, before: Any) -> Any:
    several = [one.strip() for one in re.split(r"[,;]", answer) if one.strip()]
    match question.kind:
        case "list":
            return several
        case "skills":
            known = {one["name"].lower(): one for one in before or () if isinstance(one, dict)}
            return [known.get(one.lower(), {"name": one}) for one in several]
        case "countries":
            return [{"country": one, "authorised": True, "sponsorship": False} for one in several]
        case "number":
            try:
                return float(answer.replace(",", "."))
            except ValueError:
                raise ProfileError(f"{answer!r} is not a number") from None
        case "choice":
            if answer.lower() not in ("yes", "no", "y", "n"):
                raise ProfileError(f"{answer!r} is neither yes nor no")
            return answer.lower().startswith("y")
        case "salary":
            return _salary(answer)
        case "place":
            # A wrong place is named as a whole; its parts are written to the file.
            return check_profile({"home": answer}).home.model_dump(exclude_none=True)
        case _:
            return answer


def _salary(answer: str) -> dict[str, Any]:
    found = re.fullmatch(
        r"([\d., ]+?)(k?) ?([A-Za-z]{3})(?: (?:a |per |/ ?)?(hour|day|week|month|year))?", answer.strip()
    )
    digits = re.sub(r"[., ]", "", found[1]) if found else ""
    if found is None or not digits:
        raise ProfileError(f"{answer!r} is not an amount; write it as 140000 USD year")
    return {
        "min": int(digits) * (1000 if found[2] else 1),
        "currency": found[3].upper(),
        "period": found[4] or "year",
    }


def _with(profile: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """The profile with another value; without the key where the value is None."""
    name, _, inner = key.partition(".")
    if inner:
        part = profile.get(name)
        value = _with(part if isinstance(part, dict) else {}, inner, value) or None
    changed = {one: kept for one, kept in profile.items() if one != name}
    return changed if value is None else {**changed, name: value}
