"""Every endpoint and every page of the service, for tests that try something on each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from fastapi import FastAPI
from starlette.types import ASGIApp

from interlock.machine import FINAL, USER, WAITING, Machine, Registry, State, Transition

note = Machine(
    "note",
    initial="kept",
    states=[State("kept", WAITING, waits_for="somebody"), State("gone", FINAL)],
    transitions=[Transition("kept", "gone", on="drop", by=USER, accepts=("why",))],
)
"""Takes any data."""
NOTES = Registry([note])


class Operation(NamedTuple):
    """A method and a path, with what of it varies."""

    method: str
    path: str
    route: Any

    @property
    def places(self) -> list[str]:
        return re.findall(r"{(\w+)(?::\w+)?}", self.path)

    def at(self, values: dict[str, str]) -> str:
        """The path with its variable parts filled in."""
        return re.sub(r"{(\w+)(?::\w+)?}", lambda m: values[m[1]], self.path)

    @property
    def queries(self) -> list[str]:
        dependant = getattr(self.route, "dependant", None)
        return [one.alias for one in dependant.query_params] if dependant is not None else []


def inner(app: Any) -> FastAPI:
    """The framework's part of the application."""
    while not isinstance(app, FastAPI):
        app = app._app
    return app


def operations(app: ASGIApp) -> list[Operation]:
    """All that can be asked, the API's and the pages'."""
    return sorted(_walk(inner(app).routes, ""), key=lambda one: (one.path, one.method))


def _walk(routes: Any, prefix: str) -> Iterator[Operation]:
    for route in routes:
        if hasattr(route, "original_router"):
            yield from _walk(route.original_router.routes, prefix + route.include_context.prefix)
        elif getattr(route, "methods", None):
            for method in route.methods - {"HEAD", "OPTIONS"}:
                yield Operation(method, prefix + route.path, route)
