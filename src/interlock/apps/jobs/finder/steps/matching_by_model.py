"""The match, by a model where one is configured, with the rules' score beside it.

The model judges the fit alone. Time zone, size and threshold are those of the rules; a skill counts as matched only if
the posting names it and the profile has it. Without a model, or where it gives no answer, the rules decide.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from interlock import ai
from interlock.apps.jobs.finder.matching import match_posting
from interlock.apps.jobs.finder.matching.result import MatchResult
from interlock.apps.jobs.finder.matching.score import priority_for
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.seeker import Seeker, skill_name
from interlock.worker import Task

MOST_TEXT = 20_000
WIDEST_GAP = 20
"""Points between the model's score and the rules', above which a person looks before anything is sent."""
PRIVATE = {"identity", "answers", "never_say", "home", "work_authorisation"}
"""Parts of the profile that the model is not given."""


class ModelMatch(BaseModel):
    """The model's judgement."""

    model_config = ConfigDict(extra="ignore")

    score: int = Field(ge=0, le=100)
    matched_skills: list[str] = Field(default_factory=list, max_length=100)
    skill_gaps: list[str] = Field(default_factory=list, max_length=100)
    reasons: list[str] = Field(default_factory=list, max_length=6)


MATCH: ai.ModelTask[dict[str, Any], ModelMatch] = ai.ModelTask(
    "match_posting",
    ai.prompt_file("interlock.apps.jobs.finder.steps", "prompts/match.md"),
    ModelMatch,
    tier="strong",
)


def match(task: Task[Any], posting: ReadPosting, seeker: Seeker) -> dict[str, Any]:
    """How well the posting matches, in the specification's structure."""
    ruled = match_posting(posting, seeker)
    if not ai.configured(task):
        return ruled.json()
    try:
        answer = ai.ask(task, MATCH, _question(posting, seeker, ruled))
    except ai.ModelError as error:
        return {**ruled.json(), "note": f"matched by rules: {type(error).__name__}: {str(error)[:300]}"}
    return judged(ruled, answer.output, posting, seeker)


def judged(ruled: MatchResult, said: ModelMatch, posting: ReadPosting, seeker: Seeker) -> dict[str, Any]:
    """The model's score with the rules' adjustments."""
    added = [one for one in ruled.adjustments if one.name != "limit"]
    score = max(0, min(100, said.score + sum(one.points for one in added)))
    asked = {skill.name for skill in posting.skills}
    has = [name for one in said.matched_skills if (name := skill_name(one)) in asked and name in seeker.has]
    gaps = [name for one in said.skill_gaps if (name := skill_name(one)) in asked and name not in seeker.has]
    return {
        **ruled.json(),
        "match_score": score,
        "static_score": score,
        "application_priority": priority_for(score, seeker.scoring),
        "above_threshold": score >= ruled.threshold,
        "matched_skills": list(dict.fromkeys([*has, *ruled.matched_skills])),
        "skill_gaps": list(dict.fromkeys([*gaps, *ruled.skill_gaps])),
        "rule_score": ruled.match_score,
        "model_score": said.score,
        "model_reasons": [one[:300] for one in said.reasons],
        "needs_person": abs(score - ruled.match_score) > WIDEST_GAP,
    }


def _question(posting: ReadPosting, seeker: Seeker, ruled: MatchResult) -> dict[str, Any]:
    source = posting.source
    return {
        "posting": {
            "title": source.title[:300],
            "company": source.company[:300],
            "locations": [one[:200] for one in source.locations][:10],
            "text": source.text[:MOST_TEXT],
        },
        "profile": seeker.profile.model_dump(mode="json", exclude=PRIVATE, exclude_none=True),
        "rules": {"matched": list(ruled.matched_skills), "missing": list(ruled.skill_gaps)},
    }
