"""The demo's world behind a port: all applications with their past, and nothing that moves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from interlock import ai
from interlock.config import Settings
from interlock.dashboard.app import dashboard
from interlock.demo import mark
from interlock.demo.loop import Demo
from interlock.demo.parts import configure, played
from interlock.engine import Engine
from interlock.http.app import create_app
from interlock.http.server import InThread
from interlock.http.service import Service
from interlock.machine import installed
from interlock.people import People
from interlock.store import migrate, open_store
from interlock.watch import alerts, rollups, rules
from interlock.worker.duties import Duties, serving
from tests.support.api import QUICK
from tests.support.browser import RunningService


@contextmanager
def demo_world(folder: Path, *, stories: int) -> Iterator[RunningService]:
    """As `interlock up` starts in an empty folder, with so many stories besides its scenes."""
    registry = installed()
    settings = Settings(data=folder)
    with open_store(f"sqlite:///{folder}/interlock.db", durability="normal") as store:
        migrate.upgrade(store, registry.applications.values())
        mark.claim_untouched(store, registry)
        with Engine(store, played(registry)) as engine:
            ai.configure(engine, settings.ai)
            engine.core.settings |= {"data": settings.data, **settings.sections}
            configure(engine)
            service = Service(engine, settings)
            people = service.people = People(engine, hasher=QUICK)
            service.callers._people = people
            people.setup()
            assert Demo(engine, stories=stories, seed=1).once()
            while engine.write(rollups.roll):
                pass
            engine.write(lambda unit: alerts.evaluate(unit, engine.registry, rules.built_in()))
            app = create_app(service, routers=engine.registry.routers, pages=dashboard(), demo=True)
            with InThread(app, service) as server, Duties(serving(engine, settings)):
                try:
                    yield RunningService(engine, people, server.url)
                finally:
                    service.close()
