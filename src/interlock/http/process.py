"""A process of the product: the engine built from the settings, with HTTP, workers, or both."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

import sqlalchemy as sa

from interlock import ai
from interlock.config import Settings
from interlock.config.addresses import secret_parts
from interlock.config.sections import secret_values
from interlock.engine import Engine, secrets
from interlock.engine.audit import checkpoints, signing
from interlock.engine.leases import Mirror
from interlock.http.app import Pages, create_app
from interlock.http.server import listen, make_server, run
from interlock.http.service import Service, UseWriter
from interlock.machine import Application, InterlockError, Registry
from interlock.people import People, Person, link_address
from interlock.store import Store, migrate, open_store, private
from interlock.store.database import file_of
from interlock.watch import logs, tracing
from interlock.worker import Worker, gc_tuning
from interlock.worker.duties import Duties, serving, working
from interlock.worker.loop import Loop

log = logging.getLogger("interlock")


class Process:
    """Runs until it is asked to stop, then drains.

    `machines` is called with a database that has its schema, that of these `applications` included.
    """

    def __init__(
        self,
        settings: Settings,
        machines: Callable[[Store], Registry],
        *,
        applications: Iterable[Application] = (),
        serve: bool,
        work: bool,
        beside: Callable[[Engine], Iterable[Loop]] | None = None,
        pages: Pages | None = None,
        demo: Callable[[sa.Connection], bool] | None = None,
    ) -> None:
        logs.configure(settings.log.format, settings.log.level, redact=secrets.hide)
        for chatty in ("alembic", "uvicorn", "httpx2", "httpcore2"):
            logging.getLogger(chatty).setLevel("WARNING")
        secrets.learn(_secrets(settings))
        self.settings = settings
        self._pages = pages
        self._is_demo = demo
        # The port first: a wrong one is reported before anything is changed.
        self._socket = listen(settings.http.host, settings.http.port) if serve else None
        self._tracing = (
            tracing.start(settings.telemetry.endpoint, settings.telemetry.service)
            if settings.telemetry.endpoint
            else None
        )
        if settings.data.exists():  # created before this rule, or by hand
            private.folder(settings.data, ours=_is_ours)
        store = open_store(
            settings.database_url,
            durability=settings.durability,
            listen_url=settings.listen_url,
            wakeup=settings.wakeup,
        )
        migrate.upgrade(store, applications)  # with the core in one transaction: all of it, or nothing
        self.engine = Engine(
            store,
            machines(store),
            mirror=_mirror(settings),
            secrets={name: value.get_secret_value() for name, value in settings.secrets.items()},
            audit_keys=_audit_keys(settings, store),
        )
        ai.configure(self.engine, settings.ai)
        self.engine.core.settings |= {"data": settings.data, **settings.sections}
        self.people = People(self.engine)
        self.service = Service(self.engine, settings) if serve else None
        self.worker = self._make_worker() if work else None
        loops: list[Loop] = []
        if self.service is not None:
            loops += [*serving(self.engine, settings), UseWriter(self.service)]
        if work:
            kinds = {type(loop) for loop in loops}
            loops += [loop for loop in working(self.engine, settings) if type(loop) not in kinds]
        if beside is not None:
            loops += beside(self.engine)
        self.duties = Duties(loops)
        self._stop_requested = threading.Event()

    def _make_worker(self) -> Worker | None:
        """A worker for the machines whose code is here, in the requested queues."""
        wanted = self.settings.worker.queues
        found = sorted({m.queue for m in self.engine.registry.fully_handled()})
        if wanted is not None:
            unknown = sorted(set(wanted) - {m.queue for m in self.engine.registry})
            if unknown:
                raise InterlockError(f"no machine has the queue {', '.join(unknown)}; there are {', '.join(found)}")
            found = sorted(wanted)
        return Worker(self.engine, queues=found, concurrency=self.settings.worker.concurrency) if found else None

    def own(self) -> Person:
        """Make sure that the installation has an owner."""
        token = self.settings.token.get_secret_value() if self.settings.token else None
        return self.people.setup(owner=self.settings.owner, token=token)

    @property
    def url(self) -> str:
        assert self._socket is not None
        return self.settings.http.address(self._socket.getsockname()[1])

    def login_url(self, person: Person) -> str:
        return link_address(self.url, self.people.login_link(person.id))

    def run(self, ready: Callable[[], None] | None = None) -> None:
        """Run until SIGTERM or SIGINT, then drain: no new claims, and time for running handlers."""
        gc_tuning.settle()
        if self.worker is not None:
            self.worker.start()
        self.duties.start()
        try:
            if self.service is not None:
                self._serve(ready)
            else:
                self._wait(ready)
        finally:
            self.stop()

    def _serve(self, ready: Callable[[], None] | None) -> None:
        assert self.service is not None
        assert self._socket is not None
        self.service.listens_at = self.url
        _ = self.engine.registry.views  # a view that cannot be loaded is reported now, not on a page
        app = create_app(
            self.service,
            routers=self.engine.registry.routers,
            pages=self._pages,
            tracing=self._tracing,
            demo=self._is_demo is not None and self.engine.read(self._is_demo),
        )
        server = make_server(app, self.service, ready=ready, stopping=self._drain)
        run(server, self._socket)

    def _drain(self) -> None:
        """Claim no new work from now on, while open requests are answered and handlers finish."""
        if self.worker is not None:
            self.worker.drain()

    def _wait(self, ready: Callable[[], None] | None) -> None:
        def on_signal(_: int, __: FrameType | None) -> None:
            self._stop_requested.set()

        before: dict[signal.Signals, Any] = {s: signal.signal(s, on_signal) for s in (signal.SIGTERM, signal.SIGINT)}
        try:
            if ready is not None:
                ready()
            while not self._stop_requested.wait(1.0):  # a timeout, so that signals are handled on every platform
                pass
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def stop(self) -> None:
        begun = time.monotonic()
        if self.worker is not None:
            self.worker.stop(self.settings.worker.drain)
        self.duties.stop()
        if self.service is not None:
            self.service.close()
        self.engine.close()
        if self._tracing is not None:
            self._tracing.shutdown()
        log.info("stopped after %.1f s", time.monotonic() - begun)


def _is_ours(name: str) -> bool:
    """Whether a file of this name in the data folder belongs to this product."""
    return name.startswith(("interlock", "audit", "retention", "checkpoint"))


def _audit_keys(settings: Settings, store: Store) -> signing.Keys | None:
    """The key that signs checkpoints. An embedded database gets one at its first start."""
    found = signing.find(settings)
    if found is None and file_of(sa.make_url(store.url)) is not None and store.read(checkpoints.last) is None:
        log.info("made the audit key %s; keep a copy elsewhere", signing.make(settings))
        found = signing.find(settings)
    if found is None:
        log.warning(
            "there is no audit key %s, so this process signs no checkpoints; create one for all processes with: "
            "interlock audit key",
            signing.place(settings),
        )
    return found


def _secrets(settings: Settings) -> list[str]:
    """Every secret value of the configuration."""
    found = [settings.token, settings.mail.password if settings.mail else None, settings.redis_url, settings.ai.api_key]
    found.append(settings.audit.key)
    for one in settings.webhooks.values():
        found += [one.secret, *one.headers.values()]
    known = [value.get_secret_value() for value in found if value is not None]
    for one in settings.webhooks.values():
        known += secret_parts(one.url.get_secret_value())
    for address in filter(None, (settings.database_url, settings.listen_url)):
        url = sa.make_url(address)
        known += [str(found) for found in (url.password, url.query.get("password")) if found]
    for name in settings.section_names:
        known += secret_values(settings.section(name))
    return known


def _mirror(settings: Settings) -> Mirror | None:
    if settings.redis_url is None:
        return None
    from interlock.engine.redis_mirror import RedisMirror

    return RedisMirror(settings.redis_url.get_secret_value())
