"""The stage EXTRACT with a model, where one is configured. Its answers count only as far as the pages prove them.

A quote that is on no page is invented, and so is a number or a name in a value that no page has; such an answer is
dropped, and the rules' value stays. Rules alone decide where no model is configured, or where it gives no answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from interlock import ai
from interlock.apps.jobs.finder.companies.extract import extract_from, read_pages
from interlock.apps.jobs.finder.companies.facts import size_in
from interlock.apps.jobs.finder.companies.markup import CompanyPage
from interlock.apps.jobs.finder.companies.sections import LONGEST
from interlock.apps.jobs.finder.companies.values import FIELDS, Extracted, Fact, quote_of
from interlock.apps.jobs.finder.identity.keys import fold, word_list
from interlock.apps.jobs.finder.sources.cleaning import line, visible
from interlock.worker import Task

MOST_TEXT = 60_000
LONGEST_LINE = 120
_NUMBER = re.compile(r"\d+")
_NAME = re.compile(r"(?<!\w)[^\W\d_a-z][\w&'-]+")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_SMALL = word_list("the a an we they it its our their this that these in at with for from by on and as to is are")
"""Words that begin a sentence with a capital and name nothing."""


class CompanyAnswer(BaseModel):
    """One answer of the model."""

    model_config = ConfigDict(extra="ignore")

    field: str = Field(max_length=100)
    value: str = Field(max_length=4000)
    quote: str = Field(max_length=4000)
    page: int = Field(ge=1)


class CompanyAnswers(BaseModel):
    """What the model found."""

    answers: list[CompanyAnswer] = Field(max_length=50)


EXTRACT: ai.ModelTask[dict[str, Any], CompanyAnswers] = ai.ModelTask(
    "extract_company",
    ai.prompt_file("interlock.apps.jobs.finder.companies", "prompts/extract.md"),
    CompanyAnswers,
    tier="strong",
)


def extract_with_model(task: Task[Any] | ai.Outside, pages: Mapping[str, str], name: str, website: str) -> Extracted:
    """What the pages say of the company: by the model where it answers, else by rules."""
    read = read_pages(pages)
    ruled = extract_from(read, name, website)
    if not read or not ai.configured(task):
        return ruled
    try:
        answer = ai.ask(task, EXTRACT, question(read, ruled.name))
    except ai.ModelError as error:
        return ruled.model_copy(update={"note": f"read by rules: {type(error).__name__}: {str(error)[:300]}"})
    return checked(ruled, read, answer.output)


def question(pages: Sequence[CompanyPage], name: str) -> dict[str, Any]:
    """The company's name and the text of its pages, as data."""
    texts = []
    for number, page in enumerate(pages, 1):
        said = "\n".join(filter(None, (page.description, page.text())))
        texts.append(f"--- page {number}: {page.url} ---\n{said[: MOST_TEXT // len(pages)]}")
    return {"company": name, "fields": list(FIELDS), "pages": "\n".join(texts)}


def checked(ruled: Extracted, pages: Sequence[CompanyPage], answers: CompanyAnswers) -> Extracted:
    """The rules' values, replaced by those of the model that the pages prove."""
    texts = [fold("\n".join(filter(None, (page.description, page.text()))), 10**6) for page in pages]
    known = set(re.findall(r"\w+", " ".join([*texts, fold(ruled.name)])))
    found: dict[str, Any] = {}
    dropped: list[str] = []
    for one in answers.answers:
        if one.field not in FIELDS or one.field in found:
            continue
        at = _page_of(one, texts)
        value = _value(one)
        if at is None or value is None or _invented(value, known):
            dropped.append(one.field)
            continue
        fact = Fact(value=value, page=pages[at].url, quote=quote_of(line(one.quote, 2000) or ""), rule="model")
        if one.field == "size":
            people = size_in(value)
            if people is None:
                dropped.append(one.field)
                continue
            found |= {"people": people.number, "more_people": people.more}
        found[one.field] = fact
    if not found and not dropped:
        return ruled
    note = f"not on the pages, so dropped: {', '.join(dict.fromkeys(dropped))}" if dropped else ""
    return ruled.model_copy(update={**found, "method": "model" if found else "rules", "note": note})


def _page_of(answer: CompanyAnswer, texts: Sequence[str]) -> int | None:
    """The page that has the quote; the one that the model names is looked at first."""
    quote = fold(answer.quote, 10**6)
    if len(quote) < 2:
        return None
    order = sorted(range(len(texts)), key=lambda index: index != answer.page - 1)
    return next((index for index in order if quote in texts[index]), None)


def _value(answer: CompanyAnswer) -> str | None:
    """The value in the form of its field."""
    if answer.field in ("about", "culture", "mission"):
        return line(visible(answer.value), LONGEST)
    if answer.field == "founded":
        year = _YEAR.search(answer.value)
        return year[0] if year and year[0] in answer.quote else None
    return line(answer.value, LONGEST_LINE)


def _invented(value: str, known: set[str]) -> bool:
    """Whether the value has a number or a name that no page has."""
    if any(one not in known for one in _NUMBER.findall(value)):
        return True
    names = (fold(one) for found in _NAME.findall(value) for one in re.findall(r"\w+", found))
    return any(one not in known and one not in _SMALL for one in names)
