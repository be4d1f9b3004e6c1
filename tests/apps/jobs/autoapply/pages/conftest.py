"""A site with auto-apply, and openings of the demo world to apply for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest

from interlock.apps.jobs import registry
from interlock.apps.jobs.world import World
from interlock.store import open_store
from interlock.testing import Trial, VirtualClock
from tests.apps.jobs.autoapply.steps import sending
from tests.apps.jobs.finder.seekers import NOW
from tests.support.api import open_api
from tests.support.site import Site

LIST = "/ui/jobs/applications"


class PageApplicant(sending.WorldApplicant):
    """An applicant with a browser."""

    def __init__(self, trial: Trial, world: World, site: Site) -> None:
        super().__init__(trial, world)
        self.site = site

    def by_hand(self, number: int = 0, **said: Any) -> UUID:
        """An application that only its person can send."""
        return self.apply(self.match(number, **said))

    def act(self, it: UUID, do: str, who: str = "owner", **fields: Any) -> Any:
        """Press a button on the application's page."""
        page = f"{LIST}/{it}"
        answer = self.site.send(page, page, {"do": do, **fields}, who)
        self.trial.run_until_idle()
        return answer

    def forged(self, path: str, who: str, **fields: Any) -> Any:
        """A form as it is sent, with their own token, whether or not the page offers it to them."""
        csrf = self.site.form("/ui/logout", "/ui/logout", who)["csrf"]
        return self.site.browser(who).post(path, data={"csrf": csrf, "key": f"k-{who}", **fields})


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World(clock=VirtualClock()) as made:
        yield made


@contextmanager
def open_pages(url: str, world: World, *, planned: bool = False) -> Iterator[PageApplicant]:
    """A desk with its pages; with `planned`, new applications get version 2 of the machine."""
    world.faults.clear()
    world.received.clear()
    given = {"jobs": sending.settings_for(world.host, planned=planned)}
    with (
        open_store(url, durability="normal", wakeup="poll") as store,
        open_api(store, clock=VirtualClock(NOW), applications=[registry.configured(given)]) as api,
        Trial(api.engine, settings=given) as trial,
    ):
        made = PageApplicant(trial, world, Site(api))
        made.profile(**sending.PERSON)
        yield made


@pytest.fixture
def applicant(sqlite_url: str, world: World) -> Iterator[PageApplicant]:
    with open_pages(sqlite_url, world) as made:
        yield made
