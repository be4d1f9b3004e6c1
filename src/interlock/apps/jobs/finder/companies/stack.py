"""The technologies that a company's pages name, found with the vocabulary of postings."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from interlock.apps.jobs.finder.companies.markup import CompanyPage
from interlock.apps.jobs.finder.reading.document import Document
from interlock.apps.jobs.finder.reading.skills import skills_of
from interlock.apps.jobs.finder.reading.values import Source

NOT_TECHNOLOGY = frozenset({"concept", "method", "standard", "assistant", "format", "hardware"})
LEAST_WEIGHT = 0.5
"""Office tools such as Slack weigh less."""
MACHINE_LEARNING = frozenset(
    {
        "Machine Learning",
        "Deep Learning",
        "LLM",
        "NLP",
        "Computer Vision",
        "Reinforcement Learning",
        "Generative AI",
        "MLOps",
    }
)
"""Concepts that count although they name no product."""
MOST = 60


class Technology(BaseModel):
    """A technology, and the sentence that names it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    category: str
    page: str
    quote: str


def stack_of(pages: Sequence[CompanyPage]) -> tuple[Technology, ...]:
    """The technologies in the order in which the pages name them, each once."""
    found: dict[str, Technology] = {}
    for page in pages:
        text = "\n".join(filter(None, (page.description, page.text())))
        for skill in skills_of(Document(Source("", text))):
            technical = skill.category not in NOT_TECHNOLOGY and skill.weight >= LEAST_WEIGHT
            if technical or skill.name in MACHINE_LEARNING:
                one = Technology(name=skill.name, category=skill.category, page=page.url, quote=skill.quote)
                found.setdefault(skill.name, one)
    return tuple(found.values())[:MOST]
