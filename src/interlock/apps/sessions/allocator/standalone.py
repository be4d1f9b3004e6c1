"""The allocator as a service of its own: its endpoints, its duties, and one token for all callers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from fastapi import Depends, FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Scope

from interlock import __version__
from interlock.apps.sessions.allocator import admin_api, api, lending, pool
from interlock.apps.sessions.allocator.access import allocator_access, refused
from interlock.apps.sessions.allocator.contents import content_of
from interlock.apps.sessions.settings import settings_in
from interlock.config import Settings
from interlock.engine import Engine, secrets
from interlock.engine.application import Unit
from interlock.http import problems
from interlock.http.asgi import RequestGuard
from interlock.http.caller import PUBLIC
from interlock.http.parameters import only_known
from interlock.http.server import listen, make_server, run
from interlock.http.service import Service
from interlock.machine import Duty, InterlockError, installed
from interlock.store import migrate, open_store, private
from interlock.watch import logs, prometheus
from interlock.worker.application_duty import ApplicationDuty
from interlock.worker.duties import Timekeeper
from interlock.worker.loop import Loop

log = logging.getLogger("interlock.sessions")
ITS_DUTIES = ("sandbox_operations", "sandbox_expiry", "sandbox_cleaning")
SHORTEST_TOKEN = 16


def create_app(service: Service, token: str) -> ASGIApp:
    """The ASGI application: every endpoint of the allocator, and `/health`."""
    app = FastAPI(title="Interlock allocator", version=__version__, docs_url=None, redoc_url=None)
    app.state.service, app.state.allocator_token = service, token
    problems.install(app)
    app.include_router(api.router, dependencies=[Depends(only_known)])
    app.include_router(admin_api.router, dependencies=[Depends(only_known)])

    @app.get("/health", summary="Whether it serves", openapi_extra=PUBLIC)
    async def health() -> dict[str, str]:
        await service.read(lambda conn: pool.counts(conn, ""))
        return {"status": "ok"}

    async def stranger(scope: Scope) -> problems.Refusal | None:
        try:
            await allocator_access(Request({**scope, "app": app}))
        except InterlockError as error:
            return problems.of(error)
        return None

    async def ours(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, InterlockError)
        return refused(error)

    app.add_exception_handler(InterlockError, ours)
    return RequestGuard(app, service.settings.http, longer=(), observe=prometheus.observe_request, stranger=stranger)


class StandaloneAllocator:
    """One process that serves the allocator."""

    def __init__(
        self, settings: Settings, *, host: str = "127.0.0.1", port: int = 0, items: Sequence[Any] = ()
    ) -> None:
        token = settings_in(settings.sections["sessions"]).allocator.token
        if token is None or len(token.get_secret_value()) < SHORTEST_TOKEN:
            raise InterlockError(
                f"the allocator needs a token of at least {SHORTEST_TOKEN} characters: set sessions.allocator.token, "
                "or INTERLOCK_SESSIONS__ALLOCATOR__TOKEN"
            )
        self._token = token.get_secret_value()
        secrets.learn([self._token])
        logs.configure(settings.log.format, settings.log.level, redact=secrets.hide)
        for chatty in ("alembic", "uvicorn", "httpx2", "httpcore2"):
            logging.getLogger(chatty).setLevel("WARNING")
        self.settings = settings.model_copy(
            update={"http": settings.http.model_copy(update={"host": host, "port": port})}
        )
        self._socket = listen(host, port)
        if settings.data.exists():
            private.folder(settings.data)
        registry = installed(settings.apps)
        store = open_store(
            settings.database_url,
            durability=settings.durability,
            listen_url=settings.listen_url,
            wakeup=settings.wakeup,
        )
        migrate.upgrade(store, registry.applications.values())
        self.engine = Engine(store, registry)
        self.engine.core.settings |= {"data": settings.data, **settings.sections}
        self.service = Service(self.engine, self.settings)
        if items:
            self.engine.write(lambda unit: _add_missing(unit, self._pool, items), name="submit")
        its = [one for one in registry.duties if one.name in ITS_DUTIES]
        self._loops: list[Loop] = [Timekeeper(self.engine), *(self._loop(one) for one in its)]

    def _loop(self, duty: Duty) -> Loop:
        return ApplicationDuty(self.engine, duty)

    @property
    def _pool(self) -> str:
        return settings_in(self.engine.setting("sessions")).allocator.pool

    @property
    def url(self) -> str:
        return self.settings.http.address(self._socket.getsockname()[1])

    def run(self, ready: Callable[[], None] | None = None) -> None:
        """Serve until SIGTERM or SIGINT."""
        for loop in self._loops:
            loop.start()
        try:
            self.service.listens_at = self.url
            server = make_server(create_app(self.service, self._token), self.service, ready=ready)
            run(server, self._socket)
        finally:
            for loop in self._loops:
                loop.stop()
            for loop in self._loops:
                loop.join(10)
            self.service.close()
            self.engine.close()


def _add_missing(unit: Unit, name: str, items: Sequence[Any]) -> None:
    """Add the items that the pool does not have yet, as often as the list has them."""
    there = [one.digest for one in pool.items(unit.conn, name)]
    for item in items:
        content, digest = content_of(item)
        if digest in there:
            there.remove(digest)
        else:
            lending.submit(unit, name, content, {}, notifies=False)
