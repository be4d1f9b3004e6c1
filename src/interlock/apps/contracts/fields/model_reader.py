"""A model as an additional reader: its answers count only if their quotes are in the document.

They never approve anything by themselves. A value that only a model read, or read differently, goes to a person; one
that it reads like the rules is likelier (`confidence`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from interlock import ai
from interlock.apps.contracts.fields.extract.candidate import Candidate
from interlock.apps.contracts.fields.extraction import answered
from interlock.apps.contracts.fields.vertical import FieldDefinition, Vertical
from interlock.apps.contracts.reading import Document, ground
from interlock.worker import Task

SAMPLES = 3
"""How often the required fields are asked for; answers that agree are worth more than one."""
MOST_TEXT = 300_000
MOST_TRIES = 3
"""Answers to one field whose quotes are looked for; one is asked for."""


class ModelAnswer(BaseModel):
    """One answer of the model."""

    model_config = ConfigDict(extra="ignore")

    field: str = Field(max_length=100)
    value: str = Field(max_length=2000)
    quote: str = Field(max_length=4000)
    page: int = Field(ge=1)


class Answers(BaseModel):
    """What the model found."""

    answers: list[ModelAnswer] = Field(max_length=300)


EXTRACT = ai.ModelTask(
    "extract_fields", ai.prompt_file("interlock.apps.contracts", "prompts/extract.md"), Answers, tier="strong"
)


def candidates(task: Task[Any], document: Document, vertical: Vertical) -> dict[str, list[Candidate]]:
    """What a model says about the fields, as candidates beside those of the rules; nothing where none is configured."""
    if not ai.configured(task):
        return {}
    found: dict[str, list[Candidate]] = {}
    rest = [one for one in vertical.fields if not one.required]
    for asked, count in ((list(vertical.required), SAMPLES), (rest, 1)):
        if not asked:
            continue
        given = _given(document, vertical, asked)
        said = [answer.output for answer in ai.samples(task, EXTRACT, given, count)]
        for definition in asked:
            found[definition.name] = agreed(document, vertical, definition, said)
    return found


def _given(document: Document, vertical: Vertical, asked: Sequence[FieldDefinition]) -> dict[str, Any]:
    pages = [f"--- page {page.number} ---\n{page.text}" for page in document.pages]
    fields = [{"name": f.name, "label": f.label, "type": f.type, "help": f.help} for f in asked]
    return {"kind": vertical.label, "fields": fields, "document": "\n".join(pages)[:MOST_TEXT]}


def agreed(
    document: Document, vertical: Vertical, definition: FieldDefinition, said: Sequence[Answers]
) -> list[Candidate]:
    """One candidate for each value that a model's samples have, the one that most of them say first."""
    heard: list[Candidate] = []
    for answers in said:
        for one in [one for one in answers.answers if one.field == definition.name][:MOST_TRIES]:
            place = ground(document, one.quote, near_page=one.page)
            if not place.spans:
                continue  # a quote that is not in the document is invented
            span = place.spans[0]
            quote = document.page(span.page).text[span.start : span.end]
            made = answered(vertical, definition.name, one.value, quote, span)
            if made is not None:
                heard.append(made)
            break
    votes = Counter(one.key for one in heard)
    first = {one.key: one for one in reversed(heard)}
    return [replace(first[key], strong=2 * n > len(said), score=n / len(said)) for key, n in votes.most_common()]
