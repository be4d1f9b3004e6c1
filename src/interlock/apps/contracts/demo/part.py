"""Contracts of the demo: files that the demo writes, read by the application's own steps, and decided by people.

In the present the workers run the steps. In the past they run where the past is written; the files are the demo's own,
so they are opened in that process.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.contracts.demo import agreements, papers
from interlock.apps.contracts.demo.agreements import BLANK, COMMERCIAL, DOUBTS, MISSING, TWICE, Terms
from interlock.apps.contracts.machine import (
    COMPARING,
    COMPLETED,
    EXTRACTING,
    PARSING_PDF,
    REVIEW_REQUIRED,
    VALIDATING,
    contract,
)
from interlock.apps.contracts.models import Contract
from interlock.demo import IVO, MARA, Part, Scene
from interlock.demo.names import slug
from interlock.engine import Engine, Instance
from interlock.engine.application import Unit, instances
from interlock.machine import USER, Actor, Outcome
from interlock.worker import Task

INBOX = Actor(USER, "owner")
SURE, LOCKED, TORN, HEAVY, VERSION, AMENDMENT = "sure", "locked", "torn", "heavy", "version", "amendment"
FATES = (SURE, *DOUBTS, VERSION, AMENDMENT, LOCKED, TORN)
WEIGHTS = (48, 8, 8, 8, 12, 8, 4, 4)
HEAVY_NAME = "data-room-annex"
FIRST_VERSION = re.compile(r"-(\d{6})\.pdf$")
OUR_NAME = re.compile(r"(.+)-(\d{6})(?:-version-2|-amendment-1)?\.pdf")
MOST_LOOKED_AT = 40


@dataclass(frozen=True, slots=True)
class Paper:
    """A file as it comes in."""

    agreed: Terms
    filename: str
    content: bytes
    compare_with: str | None = None


def begin(engine: Engine, rng: random.Random, fate: str) -> UUID:
    from interlock.apps.contracts.ingest import intake
    from interlock.apps.contracts.steps import DEFAULTS

    paper = _paper(engine, rng, fate or rng.choices(FATES, WEIGHTS)[0])
    file = intake.inspect(paper.content, paper.filename, paper.agreed.vertical, DEFAULTS)

    def take(unit: Unit) -> UUID:
        return intake.take_in(unit, file, INBOX, compare_with=paper.compare_with).id

    return engine.write(take, name="create")


def _paper(engine: Engine, rng: random.Random, fate: str) -> Paper:
    if fate in (VERSION, AMENDMENT):
        found = engine.read(_completed)
        if found:
            return _next(rng.choice(found), fate)
        fate = SURE
    agreed = agreements.terms(rng.randrange(10**6))
    while fate == SURE and agreed.vertical != COMMERCIAL and rng.random() < 0.5:
        agreed = agreements.terms(rng.randrange(10**6))
    name = HEAVY_NAME if fate == HEAVY else slug(agreed.title)
    lines = agreements.written(agreed, fate if fate in DOUBTS else "")
    content = papers.pdf(lines, locked=fate == LOCKED)
    return Paper(agreed, f"{name}-{agreed.number:06}.pdf", papers.torn(content) if fate == TORN else content)


def _completed(conn: sa.Connection) -> list[Instance]:
    """Agreements that can have a next version: commercial ones, the newest first."""
    found = instances(conn, contract.name, states=(COMPLETED,), newest_first=True, limit=MOST_LOOKED_AT)
    first = [one for one in found if FIRST_VERSION.search(one.data["filename"]) and _is_ours(one)]
    return [one for one in first if one.data["vertical"] == COMMERCIAL]


def _next(base: Instance, fate: str) -> Paper:
    """The second version of an agreement, or an amendment over it."""
    agreed = _agreed(base)
    if fate == VERSION:
        later = agreements.renewed(agreed)
        lines, name = agreements.written(later), "version-2"
    else:
        later, lines, name = agreed, agreements.amendment(agreed), "amendment-1"
    filename = base.data["filename"].removesuffix(".pdf") + f"-{name}.pdf"
    return Paper(later, filename, papers.pdf(lines), compare_with=str(base.id))


def _agreed(instance: Instance) -> Terms:
    number = re.search(r"-(\d{6})(?=[-.])", instance.data["filename"])
    assert number is not None, "the demo names its files by the number of their agreement"
    return agreements.terms(int(number[1]))


# -- the past


def _run_step(task: Task[Contract], _: random.Random, *, step: str) -> Outcome:
    """Run one of the application's steps, with files opened in this process."""
    from interlock.apps.contracts import steps
    from interlock.apps.contracts.ingest import stored
    from interlock.apps.contracts.reading.errors import ReaderDied

    if step == PARSING_PDF and task.data.filename.startswith(HEAVY_NAME):
        raise ReaderDied("the process that reads files ended with code -9; its memory limit is 2048 MB")
    handlers: dict[str, Callable[[Task[Contract]], Outcome]] = {
        PARSING_PDF: steps.parse_pdf,
        EXTRACTING: steps.extract_fields,
        VALIDATING: steps.validate_fields,
        COMPARING: steps.compare,
    }
    with stored.opened_here():
        return handlers[step](task)


# -- people


def _is_ours(instance: Instance) -> bool:
    """Whether the demo made this file; a visitor's is decided by nobody but people."""
    found = OUR_NAME.fullmatch(instance.data["filename"])
    return found is not None and found[1] in (HEAVY_NAME, slug(agreements.terms(int(found[2])).title))


def react(engine: Engine, instance: Instance, rng: random.Random) -> None:
    """A reviewer who knows what was agreed on: wrong values are corrected, some papers are sent back."""
    if not _is_ours(instance):
        return
    person = rng.choice((MARA, IVO))
    for review in engine.reviews.waiting(instance_id=instance.id):
        if review.state is None:  # a sample, which nobody has read yet
            continue
        if rng.random() < 0.1:
            note = {"review_note": "this is a draft, nobody has signed it"}
            engine.reviews.decide(review.id, "reject", actor=person, answer=note)
            continue
        decisions = [_word(name, value) for name, value in wrong_values(instance).items()]
        answer = {"decisions": decisions, "review_note": "as signed" if decisions else ""}
        engine.reviews.decide(review.id, "correct" if decisions else "approve", actor=person, answer=answer)


def wrong_values(instance: Instance) -> dict[str, str]:
    """The required fields that were read wrongly or not at all, with what is right."""
    from interlock.apps.contracts.fields.normalise import normalise
    from interlock.apps.contracts.fields.vertical import shipped

    vertical = shipped()[instance.data["vertical"]]
    agreed, read = _agreed(instance), instance.data["values"]
    if "amendment" in instance.data["filename"]:
        return {}
    return {
        name: right
        for name, right in agreed.values.items()
        if read.get(name) != normalise(vertical.field(name).type, right, vertical.locale)
    }


def _word(name: str, right: str) -> dict[str, Any]:
    """What the reviewer says: a law that the paper does not name is absent, whatever was meant."""
    if name == "governing_law":
        return {"field": name, "action": "absent"}
    return {"field": name, "action": "correct", "value": right}


CONTRACTS = Part(
    "contracts",
    acts={contract.name: {s: partial(_run_step, step=s) for s in (PARSING_PDF, EXTRACTING, VALIDATING, COMPARING)}},
    begin=begin,
    react=react,
    waiting={(contract.name, REVIEW_REQUIRED): 6},
    share=9,
    minutes=40,
    scenes=(
        Scene(MISSING, 25.5, left=True),
        Scene(SURE, 24),
        Scene(BLANK, 21, left=True),
        Scene(MISSING, 13, left=True),
        Scene(VERSION, 8),
        Scene(LOCKED, 7),
        Scene(HEAVY, 6),
        Scene(AMENDMENT, 5),
        Scene(TORN, 3),
        Scene(TWICE, 2, left=True),
    ),
)
