"""Every address of the service: endpoints, pages, and what the applications bring."""

from __future__ import annotations

import re
from collections.abc import Iterator
from uuid import UUID

from fastapi.routing import APIRoute

from interlock.dashboard.app import dashboard
from interlock.http.app import ROUTERS
from tests.support.api import APPLICATIONS


def routes() -> Iterator[APIRoute]:
    """Each route, ours and the applications'."""
    brought = [router for registry in APPLICATIONS for router in registry.routers]
    for router in (*ROUTERS, *dashboard().routers, *brought):
        for route in router.routes:
            assert isinstance(route, APIRoute), route
            yield route


EACH = [(method, route.path) for route in routes() for method in sorted(route.methods)]
PARTS = {"kind": "csv", "number": "1", "measure": "created", "machine": "order", "what": "role", "name": "x"}


def filled(path: str) -> str:
    """The path with something in each part that varies."""
    return re.sub(r"\{(\w+)(:\w+)?\}", lambda m: PARTS.get(m[1], str(UUID(int=1))), path)
