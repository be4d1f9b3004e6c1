"""A service to test an agent against: real, on loopback, with the claims application and a clock that you set."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from interlock.apps.jobs import claims, registry
from interlock.config import Settings
from interlock.engine import Engine
from interlock.http.app import create_app
from interlock.http.server import InThread
from interlock.http.service import Service
from interlock.machine import OWNER, Actor
from interlock.people import OPERATORS, People
from interlock.store import open_store
from interlock.testing.clock import VirtualClock


class Practice:
    """Use it in a `with` block, or `start` and `stop` it. `url` and `token` are for an agent. Nothing stays behind."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.url = self.token = ""
        self._open = ExitStack()

    def __enter__(self) -> Practice:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> Practice:
        with ExitStack() as opening:
            folder = opening.enter_context(TemporaryDirectory(prefix="interlock-"))
            store = opening.enter_context(open_store(f"sqlite:///{Path(folder) / 'practice.db'}", durability="normal"))
            self.engine = Engine(store, registry, clock=self.clock)
            service = Service(self.engine, Settings())
            opening.callback(service.close)
            service.people.setup()
            self.token = self.new_token("practice")
            app = create_app(service, routers=registry.routers)
            self.url = opening.enter_context(InThread(app, service)).url
            self._open = opening.pop_all()
        return self

    def stop(self) -> None:
        self._open.close()

    def new_token(self, agent: str) -> str:
        """The token of another agent."""
        by = Actor(OWNER, "practice")
        return People(self.engine).create_token(OPERATORS, agent, kind="agent", scopes=["claims"], by=by)[1]

    def advance(self, length: timedelta) -> None:
        """Advance the service's clock; leases that nobody renewed expire."""
        self.clock.advance(length)
        claims.followers.sweep(self.engine)
