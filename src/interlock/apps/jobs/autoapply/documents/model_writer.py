"""A letter by a model, where one is configured. It is used only if it passes the claim check."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from interlock import ai
from interlock.apps.jobs.autoapply.documents.claim_check import ClaimCheck
from interlock.apps.jobs.autoapply.documents.letter import company_of, role_of, write_letter
from interlock.apps.jobs.autoapply.documents.values import DroppedText, Letter, Line, Piece, clean
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.seeker import Seeker
from interlock.worker import Task

MOST_TEXT = 20_000
GIVEN = {"titles", "years", "skills", "employment", "education", "projects"}
"""Parts of the profile that the model is given. Who and where somebody is, it need not know."""


class ModelLetter(BaseModel):
    """The model's letter, without salutation and closing."""

    model_config = ConfigDict(extra="ignore")

    paragraphs: list[str] = Field(min_length=1, max_length=5)


GENERATE: ai.ModelTask[dict[str, Any], ModelLetter] = ai.ModelTask(
    "generate_cover_letter",
    ai.prompt_file("interlock.apps.jobs.autoapply.documents", "prompts/letter.md"),
    ModelLetter,
    tier="strong",
)


def letter_with_model(task: Task[Any] | ai.Outside, posting: ReadPosting, seeker: Seeker) -> Letter:
    """The model's letter if it passes the claim check, else the rules'. Quota and time-outs are the caller's."""
    ruled = write_letter(posting, seeker)
    if not ai.configured(task):
        return ruled
    answer = ai.ask(task, GENERATE, question(posting, seeker, ruled))
    return judged(ruled, answer.output, posting, seeker)


def question(posting: ReadPosting, seeker: Seeker, ruled: Letter) -> dict[str, Any]:
    """The profile's facts, the posting and the rules' letter, as data."""
    return {
        "language": ruled.language,
        "company": company_of(posting),
        "role": role_of(posting),
        "profile": seeker.profile.model_dump(mode="json", include=GIVEN, exclude_none=True),
        "posting": posting.source.text[:MOST_TEXT],
        "letter_by_rules": ruled.text,
    }


def judged(ruled: Letter, said: ModelLetter, posting: ReadPosting, seeker: Seeker) -> Letter:
    """The model's letter, or the rules' with a note that names what the claim check found."""
    paragraphs = tuple(Line((Piece(text, "model"),)) for one in said.paragraphs if (text := clean(one, 3000)))
    written = replace(ruled, paragraphs=paragraphs, facts=(), method="model")
    # What is checked is what would be sent, and what was cut off it: hidden characters are a finding, too.
    text = "\n".join(one[:MOST_TEXT] for one in said.paragraphs)
    dropped = DroppedText(text, tuple(ClaimCheck(seeker, posting).check(text, "letter")))
    if not paragraphs or dropped.findings:
        note = f"the model's letter was dropped: {dropped.named or 'it was empty'}"
        return replace(ruled, note=note, dropped=dropped if dropped.findings else None)
    return written
