"""A real browser on a real service: the system's Chromium, with nothing but this machine to talk to."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect

from interlock.config import Settings
from interlock.dashboard.app import dashboard
from interlock.engine import Engine
from interlock.http.app import create_app
from interlock.http.server import InThread
from interlock.http.service import Service
from interlock.machine import Machine, Registry
from interlock.people import People, Role
from interlock.store import open_store
from interlock.worker import Worker
from interlock.worker.duties import Duties, serving, working
from tests.support.api import BY, QUICK

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
expect.set_options(timeout=20_000)  # a busy machine is slow; what never comes still fails
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: install the package chromium")


@dataclass
class RunningService:
    """A service that works, behind a port."""

    engine: Engine
    people: People
    url: str

    def link(self, name: str) -> str:
        return f"{self.url}/login?link={self.people.login_link(self.people.find(name).id)}"


@contextmanager
def run_service(
    path: Path, machines: list[Machine] | Registry, *, work: bool = True, sections: Mapping[str, Any] | None = None
) -> Iterator[RunningService]:
    """With an owner, the reviewers mara and ivo, the viewer guest and the member otto.

    `sections` are the settings of applications.
    """
    settings = Settings()
    with open_store(f"sqlite:///{path}", durability="normal") as store, Engine(store, machines) as engine:
        engine.core.settings |= sections or {}
        service = Service(engine, settings)
        people = service.people = People(engine, hasher=QUICK)
        service.callers._people = people
        people.setup()
        for name, role in (
            ("mara", Role.REVIEWER),
            ("ivo", Role.REVIEWER),
            ("guest", Role.VIEWER),
            ("otto", Role.MEMBER),
        ):
            people.add(name, role=role, by=BY)
        loops = serving(engine, settings) + [x for x in working(engine, settings) if x.name not in {"roller"}]
        app = create_app(service, routers=engine.registry.routers, pages=dashboard())
        with InThread(app, service) as server, Duties(loops):
            worker = Worker(engine).start() if work else None
            try:
                yield RunningService(engine, people, server.url)
            finally:
                if worker is not None:
                    worker.stop(2.0)
                service.close()


@dataclass
class Window:
    """A window of somebody's, and all that went wrong in it."""

    page: Page
    service: RunningService
    troubles: list[str] = field(default_factory=list)

    async def go(self, path: str) -> None:
        await self.page.goto(self.service.url + path)

    def fine(self) -> None:
        assert self.troubles == []


@asynccontextmanager
async def window(browser: Browser, service: RunningService, name: str, **options: Any) -> AsyncIterator[Window]:
    """Log somebody in; console errors, failed scripts and requests to other hosts are kept."""
    context: BrowserContext = await browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
    page = await context.new_page()
    made = Window(page, service)
    page.on("console", lambda m: made.troubles.append(m.text) if m.type in {"error", "warning"} else None)
    page.on("pageerror", lambda e: made.troubles.append(str(e)))
    page.on(
        "request",
        # The browser's own viewer of PDF files asks for its parts under other schemes.
        lambda r: (
            made.troubles.append(f"asked {r.url}")
            if r.url.startswith(("http", "ws")) and not r.url.startswith(service.url)
            else None
        ),
    )
    page.set_default_timeout(20_000)
    await page.goto(service.link(name))
    try:
        yield made
    finally:
        await context.close()
