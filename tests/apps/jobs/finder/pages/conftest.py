"""A site with the finder, and postings in it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from interlock.apps import jobs
from interlock.apps.jobs.claims.machine import APPLIED, job
from interlock.apps.jobs.finder.records import postings
from interlock.engine.application import create
from interlock.store import moment, open_store
from tests.apps.jobs.finder import rows
from tests.apps.jobs.finder.seekers import row
from tests.support.api import BY, open_api
from tests.support.site import Site


class Finder(rows.Finder):
    """The finder with its pages."""

    def __init__(self, site: Site) -> None:
        super().__init__(site.api.engine)
        self.site = site
        self.numbers = 0

    def match(self, *, asks: str | None = None, **said: Any) -> UUID:
        """A posting of two days ago that was filtered and matched. `asks` are the lines of its requirements."""
        self.numbers += 1
        posted = moment(self.now) - timedelta(days=2)
        fields = {"description": row(asks=asks)["description"], "posted_date": f"{posted:%Y-%m-%d}", **said}
        return self.settled(f"https://boards.greenhouse.io/kind/jobs/{self.numbers}", **fields)

    def row(self, posting_id: UUID) -> postings.PostingRow:
        found = self.read(lambda conn: postings.find(conn, "default", posting_id))
        assert found is not None
        return found

    def applied(self, data: dict[str, Any]) -> None:
        """A job that somebody has applied for."""
        key = f"{data['board']}:{data['job_id']}"
        self.write(lambda unit: create(unit, job, data, BY, key=key, state=APPLIED, by_application=True).id)


@pytest.fixture
def finder(sqlite_url: str) -> Iterator[Finder]:
    with (
        open_store(sqlite_url, durability="normal") as store,
        open_api(store, applications=[jobs.registry]) as api,
    ):
        yield Finder(Site(api))
