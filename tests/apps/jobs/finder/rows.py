"""A finder with a database, and short ways to store postings, sources and profiles in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs import registry
from interlock.apps.jobs.finder import intake
from interlock.apps.jobs.finder.filtering import filter_posting
from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.matching import match_posting
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.profile_file import check_profile
from interlock.apps.jobs.finder.records import companies, postings, profiles, sources
from interlock.apps.jobs.finder.records.companies import CompanyRow
from interlock.apps.jobs.finder.records.sources import SourceRow
from interlock.engine import Engine
from interlock.engine.application import Unit
from interlock.machine import OWNER, Actor
from interlock.store import Store, moment
from interlock.testing import VirtualClock
from tests.apps.jobs.finder.seekers import NOW, PROFILE, ROW

R = TypeVar("R")
BY = Actor(OWNER, "ann")


class Finder:
    """A workspace of the finder, as tests fill it."""

    def __init__(self, engine: Engine, workspace: str = "default") -> None:
        self.engine, self.workspace = engine, workspace

    @property
    def now(self) -> int:
        return self.engine.clock.now()

    def write(self, job: Callable[[Unit], R]) -> R:
        return self.engine.write(job)

    def read(self, job: Callable[[sa.Connection], R]) -> R:
        return self.engine.read(job)

    def profile(self, **changes: Any) -> None:
        wanted = check_profile({**PROFILE, **changes})
        self.write(lambda unit: intake.set_profile(unit, self.workspace, wanted, BY))

    def posting(self, url: str = ROW["url"], *, source_id: UUID | None = None, **said: Any) -> UUID:
        """Store a posting as somebody describes it."""
        fields = {
            "title": ROW["title"],
            "company": ROW["company_name"],
            "location": ROW["location"],
            "description": ROW["description"],
            "salary": ROW["salary_range"],
            "posted_date": ROW["posted_date"],
            **said,
        }

        def store(unit: Unit) -> UUID:
            made = intake.posting_from(url, fields, unit)
            return postings.take(unit, self.workspace, [made], source_id=source_id, company_id=None)[0].id

        return self.write(store)

    def settled(self, url: str = ROW["url"], **said: Any) -> UUID:
        """A posting that was filtered and matched by the workspace's profile, as the steps do it."""
        made = self.posting(url, **said)

        def settle(unit: Unit) -> None:
            ready = profiles.seeker(unit.conn, self.workspace)
            row = postings.find(unit.conn, self.workspace, made)
            assert ready is not None
            assert row is not None
            read = ReadPosting(row.posting)
            result = filter_posting(read, ready[0], moment(unit.now))
            if not result.passed:
                values = {"outcome": "filtered", "reason": result.rejection_summary}
            else:
                match = match_posting(read, ready[0])
                values = {
                    "outcome": "matched" if match.above_threshold else "skipped",
                    "score": match.match_score,
                    "priority": match.application_priority,
                    "match_result": match.json(),
                    "matched_at": unit.now,
                }
            postings.update(unit, made, filter_result=result.json(), profile_digest=ready[1], **values)

        self.write(settle)
        return made

    def settled_by_hand(self, outcome: str) -> UUID:
        """A posting with this outcome, whatever it says."""
        made = self.posting()
        self.set(made, outcome=outcome)
        return made

    def company(self, name: str, website: str | None, **values: Any) -> CompanyRow:
        def store(unit: Unit) -> CompanyRow:
            made = companies.get_or_create(
                unit, self.workspace, name, website, status=companies.COMPLETE, tracking_id="t", depth=0
            )
            assert made is not None
            companies.update(unit, made.id, **values)
            return made

        return self.write(store)

    def set(self, posting_id: UUID, **values: Any) -> None:
        self.write(lambda unit: postings.update(unit, posting_id, **values))

    def source(self, url: str = "https://boards.greenhouse.io/kind", board: str = "kind", **values: Any) -> SourceRow:
        def store(unit: Unit) -> SourceRow:
            given = {
                "name": f"{board} board",
                "config": {"board": board},
                "status": sources.ACTIVE,
                "status_reason": "",
                "confidence": "high",
                "validation_required": 0,
                "company_name": board,
                "discovered_via": "user_submission",
                "discovered_by": "ann",
                "tracking_id": "t",
                "spawn_depth": 0,
                **values,
            }
            return sources.create(unit, self.workspace, Address("greenhouse", board), url, **given)[0]

        return self.write(store)


@contextmanager
def open_finder(store: Store) -> Iterator[Finder]:
    yield Finder(Engine(store, registry, clock=VirtualClock(NOW)))
