"""Selectors for a careers page that rules do not understand, proposed by a model where one is configured.

A proposal counts only if it reads rows out of the page; a person sees those before anything is crawled by it.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from selectolax.lexbor import LexborHTMLParser

from interlock import ai
from interlock.apps.jobs.finder.sources.answer import Answer
from interlock.apps.jobs.finder.sources.selectors import Html, HtmlConfig, Selectors
from interlock.apps.jobs.finder.steps.visit import Visit
from interlock.machine import InterlockError

MOST_CHARACTERS = 60_000
FEWEST_ROWS = 2
SILENT = "script, style, svg, noscript, template"


class ProposedSelectors(BaseModel):
    """Selectors of a list of postings. `job_list` selects the cards; the others are inside a card."""

    model_config = ConfigDict(extra="ignore")

    job_list: str = Field(max_length=300)
    title: str = Field(max_length=300)
    link: str = Field(max_length=300)
    company: str | None = Field(None, max_length=300)
    location: str | None = Field(None, max_length=300)
    description: str | None = Field(None, max_length=300)
    posted_date: str | None = Field(None, max_length=300)
    salary: str | None = Field(None, max_length=300)


PROPOSE: ai.ModelTask[dict[str, Any], ProposedSelectors] = ai.ModelTask(
    "propose_selectors",
    ai.prompt_file("interlock.apps.jobs.finder.steps", "prompts/selectors.md"),
    ProposedSelectors,
    tier="cheap",
)


async def propose(visit: Visit, page: str, url: str) -> dict[str, Any] | None:
    """The configuration that reads the page, or None: no model is configured, or it proposes nothing that works."""
    if not ai.configured(visit.task.task):
        return None
    tree = LexborHTMLParser(page)
    for node in tree.css(SILENT):
        node.decompose()
    question = {"url": url, "html": (tree.html or "")[:MOST_CHARACTERS]}
    try:
        answer = await ai.ask(visit.task, PROPOSE, question)
        said = answer.output.model_dump(exclude_none=True)
        config = HtmlConfig(url=url, selectors=Selectors.model_validate(said))
    except (ai.ModelError, InterlockError, ValueError):
        return None
    found = Html(config).parse(Answer(page.encode("utf-8", "replace"), url=url), None, visit.now)
    rows = [one for one in found.postings if one.url and one.title]
    return config.model_dump(mode="json") if len(rows) >= FEWEST_ROWS else None
