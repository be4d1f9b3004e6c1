"""Titles and branch names: by rule, or by a model where one is configured."""

from __future__ import annotations

import re
import unicodedata
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from interlock import ai
from interlock.worker import Task

UNTITLED = "Untitled Session"
LONGEST = 72
PREFIX = "claude/"
OF_ID = 24
"""Digits of the session's id in its branch."""


def title_of(text: str) -> str:
    """The first sentence of a prompt, shortened at a word."""
    for line in text.splitlines():
        said = " ".join("".join(c if c.isprintable() else " " for c in line).split()).strip(" #*->`\"'")
        if said:
            break
    else:
        return UNTITLED
    sentence = re.split(r"(?<=[.!?])\s", said, maxsplit=1)[0].rstrip(".:;,")
    if len(sentence) > LONGEST:
        sentence = sentence[: LONGEST - 1].rsplit(" ", 1)[0].rstrip(".:;,") + "…"
    return sentence or UNTITLED


def slug_of(title: str) -> str:
    """A title as part of a branch name: ASCII letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain)
    slug = ""
    for word in words:
        if len(slug) + len(word) + 1 > 40:
            break
        slug = f"{slug}-{word}" if slug else word
    return slug or (words[0][:40] if words else "session")


def branch_of(title: str, session_id: UUID) -> str:
    """`claude/<slug>-<first 24 digits of the id>`."""
    return f"{PREFIX}{slug_of(title)}-{session_id.hex[:OF_ID]}"


class Named(BaseModel):
    """A title for a conversation with a coding agent."""

    model_config = ConfigDict(extra="ignore")

    title: str = Field(min_length=3, max_length=LONGEST)


NAME: ai.ModelTask[dict[str, Any], Named] = ai.ModelTask(
    "name_session",
    "Write a short title, in the language of the request, for the work that is asked for. At most eight words, no "
    "quotation marks, no final stop.",
    Named,
    tier="cheap",
)


def by_model(task: Task[Any], text: str, user: str) -> str | None:
    """A model's title; None where none is configured or it gives none. A session never waits for its title."""
    if not ai.configured(task):
        return None
    try:
        answer = ai.ask(task, NAME, {"request": text[:8000]}, user=user)
    except ai.ModelError:
        return None
    return title_of(answer.output.title)
