"""Routes that applications bring: none answers to nobody by mistake, and none takes the place of another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fastapi import APIRouter
from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts

from interlock.http.caller import is_authenticating
from interlock.http.direct import Router
from interlock.machine import InterlockError

PARAMETER = re.compile(r"{\w+(?::(\w+))?}")
LIKE = {"int": "1", "float": "1.5", "uuid": "00000000-0000-0000-0000-000000000000"}


class Taken(NamedTuple):
    """A path that somebody handles."""

    fixed: str
    """What it begins with, before its first parameter."""
    pattern: re.Pattern[str]
    path: str
    whose: str


def check(brought: Sequence[APIRouter], ours: Sequence[APIRouter]) -> None:
    """Refuse a route that nobody could reach, that takes another's place, or that does not ask who calls."""
    taken: dict[str, list[Taken]] = {}
    for router in ours:
        for route in _routes(router):
            _take(route, "Interlock", taken)
    for router in brought:
        own = list(_routes(router))
        for route in own:
            _check_caller(route)
            _check_place(route, taken)
        _check_direct(router, own)
        for route in own:
            _take(route, f"{route.endpoint.__module__}.{route.endpoint.__name__}", taken)


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


def _take(route: Any, whose: str, taken: dict[str, list[Taken]]) -> None:
    path = route.path
    entry = Taken(path.partition("{")[0], route.path_regex, path, whose)
    for method in route.methods:
        taken.setdefault(method, []).append(entry)


def _check_place(route: Any, taken: dict[str, list[Taken]]) -> None:
    # Each of two hundred is compared with all before it. To ask the routes again for each took 20 ms of a start.
    like = PARAMETER.sub(lambda found: LIKE.get(found[1] or "", "x"), route.path)
    for method in route.methods:
        for fixed, pattern, path, whose in taken.get(method, ()):
            if like.startswith(fixed) and pattern.match(like):
                raise InterlockError(f"{_name(route)} is taken: {path} of {whose} handles it; choose another path")


def _check_direct(router: APIRouter, own: Sequence[Any]) -> None:
    for method, path in router.direct if isinstance(router, Router) else ():
        if not any(method in route.methods and route.path == path for route in own):
            raise InterlockError(f"{method} {path} has a direct handler, but its router has no such endpoint")
