"""Routes are made ready once for all tests of a process.

FastAPI makes the routes of each application ready at its first request, a tenth of a second for our eighty. A process
of the product has one application; the tests have a thousand, all with the same routes.
"""

from __future__ import annotations

from typing import Any

from fastapi import routing


def share() -> None:
    """From now on a route that was made ready for one application serves the others as well."""
    kind: Any = getattr(routing, "_EffectiveRouteContext", None)
    if kind is None:  # another FastAPI does it in another way: then it takes its time
        return
    make = kind.from_api_route
    ready: dict[tuple[int, str, str], Any] = {}

    def from_api_route(*, original_route: routing.APIRoute, include_context: Any) -> Any:
        # What is ready holds its route, so that no other can come to have the same id.
        key = (id(original_route), include_context.prefix, str(include_context.responses))
        if key not in ready:
            ready[key] = make(original_route=original_route, include_context=include_context)
        return ready[key]

    kind.from_api_route = staticmethod(from_api_route)
