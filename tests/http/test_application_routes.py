"""Routes of applications: each asks who calls, and none takes the place of another."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import pytest
from fastapi import APIRouter, Depends
from fastapi.responses import Response
from starlette.routing import Mount

from interlock.dashboard.app import dashboard
from interlock.dashboard.forms import Posted
from interlock.dashboard.site import Reader
from interlock.http.app import ROUTERS
from interlock.http.application_routes import check
from interlock.http.caller import PUBLIC, Caller
from interlock.http.direct import Router
from interlock.http.writing import Write
from interlock.machine import InterlockError

OURS = (*ROUTERS, *dashboard().routers)


async def looked_up(who: Caller) -> str:
    return who.name


def guarded() -> APIRouter:
    made = APIRouter()

    @made.get("/api/shop/totals")
    async def totals(who: Caller) -> None: ...

    @made.get("/api/shop/{id}")
    async def one(name: Annotated[str, Depends(looked_up)], id: UUID) -> None: ...

    @made.post("/api/shop")
    async def new(write: Write) -> None: ...

    @made.get("/ui/shop")
    async def page(v: Reader) -> None: ...

    @made.post("/ui/shop")
    async def form(form: Posted) -> None: ...

    @made.post("/hooks/shop", openapi_extra=PUBLIC)
    async def hook() -> None: ...

    return made


def answering(method: str, path: str) -> APIRouter:
    made = APIRouter()

    @made.api_route(path, methods=[method])
    async def endpoint(who: Caller) -> None: ...

    return made


def test_routes_that_ask_who_calls_and_have_a_path_of_their_own_are_taken() -> None:
    check([guarded()], OURS)
    check([guarded(), answering("DELETE", "/api/shop/{id}"), answering("GET", "/api/shop/{id}/lines")], OURS)
    check([answering("PUT", "/api/instances/{id}")], OURS)


@pytest.mark.parametrize("path", ["/ui/shop", "/api/shop"])
def test_a_route_that_asks_nobody_is_refused(path: str) -> None:
    router = APIRouter()

    @router.get(path)
    async def everybody(id: UUID) -> None: ...

    with pytest.raises(
        InterlockError, match=rf"GET {path} \(tests.http.test_application_routes\) does not authenticate its caller"
    ):
        check([router], OURS)
    outer = APIRouter(prefix="/deep")
    outer.include_router(router)
    with pytest.raises(InterlockError, match=f"GET /deep{path} .* does not authenticate its caller"):
        check([outer], OURS)


@pytest.mark.parametrize(
    ("method", "path", "by"),
    [
        ("POST", "/api/login", "/api/login"),
        ("GET", "/api/instances/{name}", "/api/instances/{id}"),
        ("GET", "/ui", "/ui"),
        ("GET", "/ui/machines/{number:int}", "/ui/machines/{name}"),
    ],
)
def test_a_route_of_ours_is_not_taken(method: str, path: str, by: str) -> None:
    with pytest.raises(InterlockError, match=r"is taken: .* of Interlock handles it; choose another path"):
        check([answering(method, path)], OURS)


def test_two_applications_do_not_have_the_same_route() -> None:
    with pytest.raises(InterlockError, match=r"GET /api/shop/totals .* is taken: /api/shop/\{id\}"):
        check([answering("GET", "/api/shop/{id}"), answering("GET", "/api/shop/totals")], OURS)


def test_what_is_no_endpoint_is_refused() -> None:
    router = APIRouter()
    router.routes.append(Mount("/files", app=Response("everything")))
    with pytest.raises(InterlockError, match="is not an endpoint"):
        check([router], OURS)


def test_a_direct_handler_answers_only_an_endpoint_of_its_router() -> None:
    router = Router(prefix="/api")

    @router.directly("POST", "/login")
    async def steal(request: object) -> Response:
        return Response()

    with pytest.raises(InterlockError, match="POST /api/login has a direct handler"):
        check([router], OURS)
