"""Liveness, readiness and metrics."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from interlock import __version__
from interlock.http.caller import TheService, caller, require_operator
from interlock.http.models import Answer
from interlock.machine import InterlockError
from interlock.store import migrate
from interlock.watch import prometheus

router = APIRouter(tags=["health"])


class Health(Answer):
    """The process is running."""

    status: Literal["ok"] = "ok"
    version: str = __version__


class Readiness(Answer):
    """Whether the process can serve requests."""

    ready: bool
    database: str
    schema_version: str | None
    draining: bool


@router.get("/healthz", summary="Liveness: the process is running")
async def healthz() -> Health:
    return Health()


@router.get(
    "/readyz",
    summary="Readiness: the database answers, its schema fits, and the process is not stopping",
    response_model=Readiness,
    responses={503: {"model": Readiness, "description": "Not ready"}},
)
async def readyz(service: TheService) -> Response:
    try:
        engine = service.engine
        found = await service.call(migrate.status, engine.store, engine.registry.applications.values())
        readiness = Readiness(
            # A newer schema still works with this code: a schema is widened first and narrowed a release later.
            ready=(found.ready or found.unknown) and not service.stopping,
            database="ok",
            schema_version=found.core.current,
            draining=service.stopping,
        )
    except InterlockError:
        readiness = Readiness(ready=False, database="away", schema_version=None, draining=service.stopping)
    return JSONResponse(readiness.model_dump(), 200 if readiness.ready else 503)


@router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request, service: TheService) -> Response:
    if not service.settings.http.open_metrics:
        require_operator(await caller(request))
    engine = service.engine
    text = await service.read(lambda conn: prometheus.exposition(conn, engine.registry, engine.clock.now()))
    return Response(text, media_type=prometheus.CONTENT_TYPE)
