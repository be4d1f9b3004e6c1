"""What a model would show first in a resume, where one is configured. It chooses among the profile's own values.

A choice is a list of paths, so it can add no fact. The summary is the only sentence that the model writes; it is used
only if it passes the claim check.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from interlock import ai
from interlock.apps.jobs.autoapply.documents.claim_check import ClaimCheck
from interlock.apps.jobs.autoapply.documents.letter import company_of, role_of
from interlock.apps.jobs.autoapply.documents.tailoring import Choice
from interlock.apps.jobs.autoapply.documents.values import DroppedText, clean, language_for
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.profile import Profile
from interlock.apps.jobs.finder.profiles.seeker import Seeker
from interlock.worker import Task

MOST_TEXT = 20_000
"""Characters of the posting that the model reads."""
LONGEST_SUMMARY = 500
MOST_PATHS = 500


class ModelChoice(BaseModel):
    """The model's choice: paths as they stand in the message."""

    model_config = ConfigDict(extra="ignore")

    headline: str = ""
    summary: str = ""
    skills: list[str] = Field(default_factory=list)
    highlights: list[str] = Field(default_factory=list)
    projects: list[str] = Field(default_factory=list)


TAILOR: ai.ModelTask[dict[str, Any], ModelChoice] = ai.ModelTask(
    "generate_tailored_resume",
    ai.prompt_file("interlock.apps.jobs.autoapply.documents", "prompts/resume.md"),
    ModelChoice,
    tier="strong",
)


def choice_of_model(task: Task[Any] | ai.Outside, posting: ReadPosting, seeker: Seeker) -> Choice | None:
    """The model's choice; None where no model is configured. Quota and time-outs are the caller's."""
    if not ai.configured(task):
        return None
    return judged(ai.ask(task, TAILOR, question(posting, seeker)).output, posting, seeker)


def question(posting: ReadPosting, seeker: Seeker) -> dict[str, Any]:
    """The posting, and the profile's values under their paths, as data. Who somebody is, the model need not know."""
    profile = seeker.profile
    return {
        "language": language_for(profile),
        "company": company_of(posting),
        "role": role_of(posting),
        "posting": posting.source.text[:MOST_TEXT],
        "years": profile.years,
        "headlines": {path: text for path, text in _headlines(profile).items() if seeker.may_say(text)},
        "skills": {path: text for path, text in _skills(profile).items() if seeker.may_say(text)},
        "highlights": {path: text for path, text in _highlights(profile).items() if seeker.may_say(text)},
        "projects": {path: text for path, text in _projects(profile).items() if seeker.may_say(text)},
    }


def judged(said: ModelChoice, posting: ReadPosting, seeker: Seeker) -> Choice:
    """The choice without paths that the profile does not have, and without a summary that says what it does not."""
    profile = seeker.profile
    text = said.summary[:MOST_TEXT].strip()
    findings = tuple(ClaimCheck(seeker, posting).check(text, "resume")) if text else ()
    return Choice(
        headline=said.headline if said.headline in _headlines(profile) else "",
        skills=_known(said.skills, _skills(profile)),
        highlights=_known(said.highlights, _highlights(profile)),
        projects=_known(said.projects, _projects(profile)),
        summary="" if findings or len(text) > LONGEST_SUMMARY else clean(text, LONGEST_SUMMARY),
        dropped=DroppedText(text, findings) if findings else None,
    )


def _known(paths: Iterable[str], values: dict[str, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for path in list(paths)[:MOST_PATHS] if path in values))


def _headlines(profile: Profile) -> dict[str, str]:
    held = {f"employment[{at}].title": post.title for at, post in enumerate(profile.employment)}
    return held | {f"titles[{at}]": title for at, title in enumerate(profile.titles)}


def _skills(profile: Profile) -> dict[str, str]:
    return {f"skills[{at}]": skill.name for at, skill in enumerate(profile.skills)}


def _highlights(profile: Profile) -> dict[str, str]:
    return {
        f"{group}[{at}].highlights[{number}]": text
        for group in ("employment", "projects")
        for at, entry in enumerate(getattr(profile, group))
        for number, text in enumerate(entry.highlights)
    }


def _projects(profile: Profile) -> dict[str, str]:
    return {f"projects[{at}]": f"{one.name}: {one.description or ''}" for at, one in enumerate(profile.projects)}
