"""An applicant: a seeker with a profile, matches and rules in a database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from interlock.apps.jobs import registry
from interlock.apps.jobs.autoapply.queueing import enqueueing
from interlock.apps.jobs.autoapply.records import applications, rules
from interlock.apps.jobs.autoapply.records.applications import ApplicationRow
from interlock.apps.jobs.autoapply.records.rules import RuleRow
from interlock.apps.jobs.autoapply.rules import check_rule
from interlock.apps.jobs.settings import JobsSettings
from interlock.machine import USER, Actor
from interlock.store import Store
from interlock.testing import Trial
from tests.apps.jobs.finder.rows import Finder
from tests.apps.jobs.finder.seekers import NOW

HERE = "default"
ANN = Actor(USER, "ann")
IDENTITY = {"name": "Mika Sand", "email": "mika@sand.example"}


class Applicant:
    """Auto-apply of one workspace, on a clock that the test moves."""

    def __init__(self, trial: Trial, workspace: str = HERE) -> None:
        self.trial, self.engine, self.workspace = trial, trial.engine, workspace
        self.finder = Finder(trial.engine, workspace)

    def profile(self, **changes: Any) -> None:
        self.finder.profile(**{"identity": IDENTITY, **changes})

    def match(self, number: int = 0, **said: Any) -> UUID:
        """A match; each is at another company."""
        return self.finder.settled(
            f"https://jobs.kind{number}.example/{number}", **{"company": f"Kind Boats {number}", **said}
        )

    def rule(self, **criteria: Any) -> RuleRow:
        made = check_rule({"name": "all", **criteria})
        return self.engine.write(lambda unit: rules.create(unit, self.workspace, made, "ann"))

    def take(self, rule: RuleRow, posting: UUID) -> enqueueing.Queued:
        found = self.engine.write(
            lambda unit: enqueueing.enqueue_by_rule(unit, self.workspace, rule.id, posting), name="enqueue"
        )
        assert found is not None
        return found

    def choose(self, posting: UUID, **options: Any) -> UUID:
        queued = self.engine.write(
            lambda unit: enqueueing.enqueue_by_person(unit, self.workspace, posting, ANN, **options)
        )
        assert queued.application is not None
        return queued.application.id

    def row(self, it: UUID) -> ApplicationRow:
        found = self.engine.read(lambda conn: applications.find(conn, self.workspace, it))
        assert found is not None
        return found

    def rows(self, **wanted: Any) -> list[ApplicationRow]:
        return self.engine.read(lambda conn: applications.page(conn, self.workspace, **wanted))


@contextmanager
def open_applicant(store: Store, **settings: Any) -> Iterator[Applicant]:
    """An applicant; `settings` are those of `[jobs]`."""
    given = {"jobs": JobsSettings(**settings)}
    with Trial(registry.configured(given), store=store, start=NOW, settings=given) as trial:
        applicant = Applicant(trial)
        applicant.profile()
        yield applicant


def blocked(queued: enqueueing.Queued) -> list[str]:
    """The checks that kept a posting out."""
    return sorted({one.name for one in queued.decision.blocked_by})
