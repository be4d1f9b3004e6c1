"""Query parameters: an unknown one is refused by name.

A misspelt filter would otherwise select everything. An endpoint accepts what its function declares; one that reads the
URL itself declares its parameters with `takes`.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from fastapi import Request, params
from fastapi.dependencies.utils import get_flat_params
from fastapi.routing import APIRoute

from interlock.http.problems import BadRequest

E = TypeVar("E", bound=Callable[..., Any])
PAGES, ON_PAGES = "/ui", frozenset({"said"})
"""The message of a form, shown on the next page."""
MOST = 500

_known: dict[int, tuple[APIRoute, frozenset[str]]] = {}


def takes(*names: str) -> Callable[[E], E]:
    """Declare the parameters that an endpoint reads from the URL by itself."""

    def mark(endpoint: E) -> E:
        endpoint.__dict__["query_parameters"] = frozenset(names)
        return endpoint

    return mark


def known_to(route: APIRoute) -> frozenset[str]:
    """The names of a route's query parameters."""
    found = _known.get(id(route))  # the route is kept beside it, so that no other route can get its id
    if found is None:
        declared = {f.alias for f in get_flat_params(route.dependant) if isinstance(f.field_info, params.Query)}
        read: frozenset[str] = getattr(route.endpoint, "query_parameters", frozenset())
        pages = ON_PAGES if route.path.startswith(PAGES) else frozenset()
        found = _known[id(route)] = route, frozenset(declared | read | pages)
    return found[1]


async def only_known(request: Request) -> None:
    """Answer 422 for an unknown parameter, with the most similar known one."""
    given = request.scope["query_string"]
    route = request.scope.get("route")
    if not given or not isinstance(route, APIRoute):
        return
    takes_these = known_to(route)
    try:
        names = {name for name, _ in parse_qsl(given.decode("latin-1"), keep_blank_values=True, max_num_fields=MOST)}
    except ValueError:
        raise BadRequest(f"there are more than {MOST} query parameters") from None
    unknown = sorted(names - takes_these)
    if unknown:
        raise BadRequest(refusal(unknown[0], takes_these), place=f"query.{unknown[0][:80]}")


def refusal(name: str, known: frozenset[str]) -> str:
    """The error message for an unknown parameter."""
    near = get_close_matches(name[:80], sorted(known), 1)
    hint = f"; did you mean {near[0]!r}?" if near else ";"
    there = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
    return f"there is no query parameter {name[:80]!r} here{hint} {there}"
