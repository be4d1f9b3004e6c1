"""Routes that applications bring: none answers to nobody by mistake, and none takes the place of another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fastapi import APIRouter
from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts

from interlock.http.caller import is_authenticating
from interlock.http.direct import Router
from interlock.machine import InterlockError

PARAMETER = re.compile(r"{\w+(?::(\w+))?}")
LIKE = {"int": "1", "float": "1.5", "uuid": "00000000-0000-0000-0000-000000000000"}


def check(brought: Sequence[APIRouter], ours: Sequence[APIRouter]) -> None:
    """Refuse a route that nobody could reach, that takes another's place, or that does not ask who calls."""
    taken = [(route, "Interlock") for router in ours for route in _routes(router)]
    for router in brought:
        own = list(_routes(router))
        for route in own:
            _check_caller(route)
            _check_place(route, taken)
        _check_direct(router, own)
        taken += [(route, f"{route.endpoint.__module__}.{route.endpoint.__name__}") for route in own]


def _routes(router: APIRouter) -> Iterator[Any]:
    for route in iter_route_contexts(router.routes):
        if not hasattr(route, "dependant") or not hasattr(route, "methods"):
            raise InterlockError(
                f"{getattr(route, 'path', route)!r} of an application is not an endpoint; use FastAPI endpoints"
            )
        yield route


def _name(route: Any) -> str:
    return f"{'/'.join(sorted(route.methods))} {route.path} ({route.endpoint.__module__})"


def _check_caller(route: Any) -> None:
    if (route.openapi_extra or {}).get("security") == [] or _asks(route.dependant):
        return
    raise InterlockError(
        f"{_name(route)} does not authenticate its caller; add a parameter `who: Caller`, `write: Write`, "
        "`v: Reader` or `form: Posted`, or declare it with openapi_extra=PUBLIC"
    )


def _asks(dependant: Dependant) -> bool:
    return any(is_authenticating(one.call) or _asks(one) for one in dependant.dependencies)


def _check_place(route: Any, taken: Iterable[tuple[Any, str]]) -> None:
    like = PARAMETER.sub(lambda found: LIKE.get(found[1] or "", "x"), route.path)
    for other, whose in taken:
        if other.methods & route.methods and other.path_regex.match(like):
            raise InterlockError(f"{_name(route)} is taken: {other.path} of {whose} handles it; choose another path")


def _check_direct(router: APIRouter, own: Sequence[Any]) -> None:
    for method, path in router.direct if isinstance(router, Router) else ():
        if not any(method in route.methods and route.path == path for route in own):
            raise InterlockError(f"{method} {path} has a direct handler, but its router has no such endpoint")
