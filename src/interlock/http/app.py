"""The ASGI application: endpoints, error handling and middleware."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fastapi import APIRouter, Depends, FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.requests import Request
from starlette.types import ASGIApp, ExceptionHandler, Scope

from interlock import __version__
from interlock.http import application_routes, problems
from interlock.http.api import (
    ai_calls,
    alerts,
    bulk,
    dead_letters,
    events,
    halting,
    health,
    home,
    instances,
    login,
    machines,
    migrating,
    moving,
    outbox,
    overview,
    reviews,
    schedules,
    tokens,
    users,
    workers,
)
from interlock.http.asgi import RequestGuard
from interlock.http.caller import credentials
from interlock.http.description import described
from interlock.http.direct import Router, wrapped
from interlock.http.parameters import only_known
from interlock.http.problems import MEDIA_TYPE
from interlock.http.service import Service
from interlock.machine import InterlockError
from interlock.watch import prometheus
from interlock.watch.tracing import Tracing

NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False}
ROUTERS: tuple[APIRouter, ...] = (
    overview.router,
    machines.router,
    migrating.router,
    instances.router,
    ai_calls.router,
    moving.router,
    reviews.router,
    dead_letters.router,
    bulk.router,
    halting.router,
    events.router,
    workers.router,
    schedules.router,
    outbox.router,
    alerts.router,
    login.router,
    users.router,
    tokens.router,
    health.router,
)
SHORT_BODY = 16_384
DESCRIPTION = """
One API for every machine. Send a token as `Authorization: Bearer il_…`, or log in and send the cookie with the header
`X-CSRF-Token`. Times are ISO 8601. Lists are paged: pass `next` of one page as `after` for the next.
Every write accepts an `Idempotency-Key`. An error is a problem document (RFC 9457) that says what to do.
"""


@dataclass(frozen=True)
class Pages:
    """What a dashboard provides: its pages, its error page, and where a login, or a refused link, leads."""

    routers: Sequence[APIRouter] = (home.router,)
    error_page: problems.ErrorPage | None = None
    handlers: Mapping[type[Exception], ExceptionHandler] = field(default_factory=dict)
    home: str = "/"
    refused_link: str | None = None
    """The page for a browser whose login link is not valid any more."""


def create_app(
    service: Service,
    *,
    routers: Sequence[APIRouter] = (),
    pages: Pages | None = None,
    tracing: Tracing | None = None,
    demo: bool = False,
) -> ASGIApp:
    """Build the service's ASGI application. `routers` come from applications; `demo` adds a notice to every page."""
    shown = pages or Pages()

    app = FastAPI(
        title="Interlock",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,  # its scripts would come from another host
        redoc_url=None,
        telemetry={"tracer_provider": tracing.provider, "operation_spans": False} if tracing else NO_TELEMETRY,
        responses={
            "default": {
                "description": "Refused",
                "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
            }
        },
    )
    app.state.service, app.state.home, app.state.demo = service, shown.home, demo
    app.state.refused_link = shown.refused_link
    problems.install(app, shown.error_page)
    for kind, handler in shown.handlers.items():
        app.add_exception_handler(kind, handler)
    ours = (*ROUTERS, *shown.routers)
    application_routes.check(routers, ours)
    every = (*ours, *routers)
    for router in every:
        app.include_router(router, dependencies=[Depends(only_known)])
    app.openapi = lambda: described(app)  # type: ignore[method-assign]
    limits = service.settings.http

    async def stranger(scope: Scope) -> problems.Refusal | None:
        try:
            shown = credentials(Request(scope))
            if service.callers.recall(*shown) is None:
                await service.call(service.callers.find, *shown)
        except InterlockError as error:
            return problems.of(error)
        return None

    return RequestGuard(
        app if tracing else wrapped(app, every),  # with tracing, the framework creates the spans
        limits,
        longer=(
            *((path, SHORT_BODY) for path in ("/api/login", "/ui/login")),  # anonymous requests
            ("/artifacts/", limits.max_artifact),
            *(pair for router in every if isinstance(router, Router) for pair in router.longer.items()),
        ),
        observe=prometheus.observe_request,
        stranger=stranger,
    )
