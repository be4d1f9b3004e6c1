"""A trial of the finder with a board on loopback whose rows the test decides."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.finder import intake
from interlock.apps.jobs.finder.profiles.profile_file import parse_profile, sample
from interlock.apps.jobs.finder.records import sources
from interlock.apps.jobs.tables import crawl as W
from interlock.apps.jobs.tables import posting as P
from interlock.engine import Instance
from interlock.engine.application import instances
from interlock.machine import USER, Actor
from interlock.testing import Trial
from tests.apps.jobs.finder.fetching.site import Site, SiteRequest, answer

ME = Actor(USER, "lena")
HERE = "default"
GOOD = (
    "<p>You build services in Python and PostgreSQL that run on AWS, with Docker and Kubernetes. The role is remote in "
    "the United States.</p><h3>Requirements</h3><ul><li>5 years of Python</li><li>PostgreSQL</li></ul>"
)


@dataclass
class Acme:
    """A board of Greenhouse. Its list has texts, unless `texts` is off; then each row has a detail."""

    site: Site
    name: str = "acme"
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    texts: bool = True

    def __post_init__(self) -> None:
        self.site.routes[self.path] = self._list

    @property
    def path(self) -> str:
        return f"/greenhouse-host/v1/boards/{self.name}/jobs"

    @property
    def url(self) -> str:
        return self.site.url(f"/greenhouse-host/{self.name}")

    def show(self, *keys: str, **values: Any) -> None:
        """Show exactly these postings."""
        self.rows = {key: row(self, key, **values) for key in keys}

    def broken(self, reply: bytes | None) -> None:
        """Answer with this instead; with None, answer again."""
        self.site.routes[self.path] = self._list if reply is None else reply

    def _list(self, asked: SiteRequest) -> Sequence[object]:
        rows = [one if self.texts else {**one, "content": None} for one in self.rows.values()]
        for one in self.rows.values():
            self.site.routes[f"{self.path}/{one['id']}"] = answer(json.dumps(one), content_type="application/json")
        body = json.dumps({"jobs": rows, "meta": {"total": len(rows)}})
        return [answer(body, content_type="application/json", connection="close")]


def row(board: Acme, key: str, **values: Any) -> dict[str, Any]:
    """A row that the sample's profile matches."""
    return {
        "id": key,
        "title": f"Senior Python Engineer {key}",
        "absolute_url": board.site.url(f"/greenhouse-host/{board.name}/jobs/{key}"),
        "company_name": "Acme",
        "location": {"name": "Remote - United States"},
        "content": GOOD + f"<p>Reference {key}.</p>",
        "first_published": "2026-01-02T00:00:00Z",
        **values,
    }


def give_profile(trial: Trial, text: str | None = None, workspace: str = HERE) -> None:
    trial.engine.write(lambda unit: intake.set_profile(unit, workspace, parse_profile(text or sample()), ME))


def add_source(trial: Trial, url: str, workspace: str = HERE, **said: Any) -> Instance:
    return trial.engine.write(lambda unit: intake.add_source(unit, workspace, url, ME, **said)).item


def run(trial: Trial, rounds: int = 3) -> None:
    for _ in range(rounds):
        trial.run_until_idle()
        trial.look_after()
    trial.run_until_idle()


def crawl(trial: Trial, source_id: UUID) -> Instance:
    """Crawl now, with retries, and return the item."""
    made = trial.engine.write(lambda unit: intake.crawl(unit, HERE, source_id, ME)).item
    trial.run_until_idle()
    for _ in range(20):
        if trial.get(made.id).finished_at is not None:
            break
        trial.advance(minutes=15)
    return trial.get(made.id)


def the_source(trial: Trial) -> sources.SourceRow:
    [found] = trial.engine.read(lambda conn: sources.page(conn, HERE, limit=100))
    return found


def active(trial: Trial, board: Acme) -> UUID:
    """The board as an active source that was crawled once."""
    return active_at(trial, board.url)


def active_at(trial: Trial, url: str) -> UUID:
    add_source(trial, url)
    run(trial)
    found = the_source(trial)
    if found.status != "active":
        trial.engine.write(lambda unit: sources.enable(unit, found.id))
        run(trial)
    return found.id


def rows(trial: Trial, outcome: str | None = None, workspace: str | None = None) -> list[Any]:
    query = sa.select(P).order_by(P.c.id)
    if outcome:
        query = query.where(P.c.outcome == outcome)
    if workspace:
        query = query.where(P.c.workspace == workspace)
    return trial.engine.read(lambda conn: list(conn.execute(query)))


def states(trial: Trial) -> dict[str, str]:
    """Posting → open, uncertain or closed."""
    return {one.posting_key.rpartition(":")[2]: one.state for one in rows(trial)}


def crawls(trial: Trial) -> list[Mapping[str, Any]]:
    """The crawls, the oldest first."""
    query = sa.select(W).order_by(W.c.finished_at, W.c.id)
    found = trial.engine.read(lambda conn: list(conn.execute(query)))
    return [{"verdict": one.verdict, "reasons": json.loads(one.reasons), **json.loads(one.counts)} for one in found]


def items(trial: Trial, machine: str, *in_states: str) -> list[Instance]:
    return trial.engine.read(lambda conn: instances(conn, machine, states=in_states or None, limit=5000))
