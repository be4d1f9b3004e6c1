"""Direct endpoints for very frequent requests, which bypass the framework's routing and dependencies.

FastAPI's share of a claim is 0.57 ms of processor time, with 80 routes before it. A direct handler is
found by method and path in one lookup and reads the body itself. Otherwise it is an ordinary endpoint: it stands
beside the endpoint that describes it, has the same limits, headers and metrics, and its errors are answered alike.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from interlock.http import problems
from interlock.machine import InterlockError

Handler = Callable[[Request], Awaitable[Response]]


class Router(APIRouter):
    """A router in which some endpoints have a direct handler."""

    @property
    def direct(self) -> dict[tuple[str, str], Handler]:
        found: dict[tuple[str, str], Handler] = self.__dict__.setdefault("_direct", {})
        return found

    @property
    def longer(self) -> dict[str, int]:
        """Paths that accept longer bodies than others."""
        found: dict[str, int] = self.__dict__.setdefault("_longer", {})
        return found

    def takes(self, path: str, size: int) -> None:
        """Accept bodies of this size under the path."""
        self.longer[self.prefix + path] = size

    def directly(self, method: str, path: str) -> Callable[[Handler], Handler]:
        """Register the direct handler of this method and path. The path has no parameters."""

        def register(handler: Handler) -> Handler:
            self.direct[method, self.prefix + path] = handler
            return handler

        return register


@dataclass(frozen=True, slots=True)
class _Route:
    """The route name for metrics."""

    path: str


class Direct:
    """Tries the direct handlers first."""

    def __init__(self, app: FastAPI, routers: Sequence[APIRouter]) -> None:
        self._app = app
        self._handlers = {
            key: (handler, _Route(key[1]))
            for router in routers
            if isinstance(router, Router)
            for key, handler in router.direct.items()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Requests with a query string go to the framework, where the parameters are declared.
        plain = scope["type"] == "http" and not scope["query_string"]
        found = self._handlers.get((scope["method"], scope["path"])) if plain else None
        if found is None:
            await self._app(scope, receive, send)
            return
        handler, scope["route"] = found
        scope["app"] = self._app
        request = Request(scope, receive)
        try:
            answer = await handler(request)
        except InterlockError as error:
            answer = problems.of(error)
        except HTTPException as error:
            answer = problems.plain(error)
        except Exception as error:
            answer = problems.unexpected(request, error)
        await answer(scope, receive, send)


def wrapped(app: FastAPI, routers: Sequence[APIRouter]) -> ASGIApp:
    """The application with its direct handlers, if there are any."""
    made = Direct(app, routers)
    return made if made._handlers else app
