"""Refusals as problem documents (RFC 9457): what was wrong, with which value, and what would help."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from interlock.engine import (
    AlreadyDecided,
    CreatedElsewhere,
    EngineError,
    Forbidden,
    InvalidData,
    KeyTaken,
    LeaseTaken,
    NotFound,
    NotServed,
    OutOfDate,
    Refused,
    ReviewHeld,
    StillAtWork,
    Unreadable,
    secrets,
)
from interlock.http.heavy import CallerGone, TooBusy, TookTooLong
from interlock.machine import DataTooBig, InterlockError, LimitReached
from interlock.people import NameTaken, NotAllowed, NotAuthenticated, TooManyAttempts
from interlock.store import StoreError

log = logging.getLogger("interlock.http")
MEDIA_TYPE = "application/problem+json"
LONGEST = 4000
"""Characters of a detail."""


class Place(BaseModel):
    """Where in the request something is wrong."""

    place: str = Field(examples=["body.event"])
    message: str = Field(examples=["Field required"])


class AllowedEvent(BaseModel):
    """An event that would be accepted now, and from whom."""

    event: str
    to: str | None
    by: list[str]


class Problem(BaseModel):
    """Why a request was refused. Nothing was changed."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "refused",
                    "title": "Conflict",
                    "status": 409,
                    "detail": "parcel … in state 'shipped' does not take 'clear'; nothing is allowed now",
                    "allowed": [],
                }
            ]
        }
    )

    type: str = Field("about:blank", description="The kind of problem, the same for every problem of its kind.")
    title: str = Field(description="The status in words.")
    status: int
    detail: str = Field("", description="What was wrong, with the value, and what would help.")
    allowed: list[AllowedEvent] | None = Field(None, description="For a refused event: what would be accepted now.")
    errors: list[Place] | None = Field(None, description="For a malformed request: each place.")
    existing: str | None = Field(None, description="For a taken key: the instance that has it.")
    expected_seq: int | None = None
    found_seq: int | None = None
    retry_after: int | None = Field(None, description="Seconds after which trying again makes sense.")
    trace: str | None = Field(None, description="For an error of ours: what to look for in the logs.")


TITLES = {
    400: "Bad request",
    401: "Not authenticated",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    408: "Too slow",
    409: "Conflict",
    413: "Too large",
    415: "Unsupported media type",
    421: "Misdirected",
    422: "Invalid",
    429: "Too many requests",
    500: "Internal error",
    503: "Unavailable",
}


class BadRequest(EngineError):
    """The request itself makes no sense."""

    def __init__(self, detail: str, *, status: int = 422, kind: str = "invalid", place: str | None = None) -> None:
        super().__init__(detail)
        self.status, self.kind, self.place = status, kind, place


class Refusal(JSONResponse):
    """A problem document on its way out."""

    def __init__(self, told: Problem, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(told.model_dump(exclude_none=True), told.status, dict(headers or {}), media_type=MEDIA_TYPE)
        self.problem = told


def problem(status: int, kind: str, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any) -> Refusal:
    title = TITLES.get(status, "Problem")
    told = secrets.hide(detail[: 2 * LONGEST])[:LONGEST]  # what somebody sent may be in it
    return Refusal(Problem(type=kind, title=title, status=status, detail=told, **more), headers)


def of(error: InterlockError) -> Refusal:
    """The problem document for one of our errors."""
    told = str(error)
    match error:
        case BadRequest():
            places = [Place(place=error.place, message=told)] if error.place is not None else None
            return problem(error.status, error.kind, told, errors=places)
        case NotFound():
            return problem(404, "not-found", told)
        case Refused():  # Forbidden is one, too
            status, kind = (403, "forbidden") if isinstance(error, Forbidden) else (409, "refused")
            allowed = [AllowedEvent(event=a.event, to=a.to, by=list(a.by)) for a in error.allowed]
            return problem(status, kind, told, allowed=allowed)
        case OutOfDate():
            return problem(409, "out-of-date", told, expected_seq=error.expected, found_seq=error.found)
        case KeyTaken():
            return problem(409, "key-taken", told, existing=str(error.existing))
        case AlreadyDecided() | ReviewHeld() | LeaseTaken() | NotServed() | NameTaken() | LimitReached():
            return problem(409, _kind(error), told)
        case CreatedElsewhere():
            return problem(403, "created-elsewhere", told)
        case Unreadable():
            return problem(409, "unreadable", told)
        case StillAtWork():
            return problem(409, "still-at-work", told)
        case DataTooBig():
            return problem(413, "too-large", told)
        case NotAuthenticated():
            return problem(401, "not-authenticated", told, headers={"WWW-Authenticate": "Bearer"})
        case NotAllowed():
            return problem(403, "not-allowed", told)
        case TooManyAttempts():
            return _later(429, "too-many-attempts", told, error.retry_after)
        case TooBusy():
            return _later(503 if error.of_all else 429, error.kind, told, error.retry_after)
        case TookTooLong():
            return problem(422, "too-heavy", told)
        case CallerGone():
            return problem(499, "gone", told)
        case StoreError():
            return _later(503, "database", told, 1 if error.retryable else 60)
        case InvalidData() | EngineError():
            return problem(422, "invalid", told)
    return problem(422, "invalid", told)


def _later(status: int, kind: str, told: str, seconds: float) -> Refusal:
    wait = max(1, round(seconds))
    return problem(status, kind, told, headers={"Retry-After": str(wait)}, retry_after=wait)


def _kind(error: InterlockError) -> str:
    name = type(error).__name__
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")


def plain(error: HTTPException) -> Refusal:
    """An error of the framework's own."""
    kinds = {
        401: "not-authenticated",
        404: "not-found",
        405: "method-not-allowed",
        408: "too-slow",
        413: "too-large",
        422: "invalid",
        499: "gone",
    }
    return problem(error.status_code, kinds.get(error.status_code, "http"), str(error.detail), headers=error.headers)


def unexpected(request: Request, error: Exception) -> Refusal:
    """An error that nobody foresaw: the log has it, and the answer says where to look."""
    trace = getattr(request.state, "trace", "")
    log.error("%s %s failed (trace %s)", request.method, request.url.path, trace, exc_info=error)
    return problem(500, "internal", "Something went wrong here; the log says what.", trace=trace)


ErrorPage = Callable[[Request, Problem], Awaitable[Response]]


def install(app: FastAPI, error_page: ErrorPage | None = None) -> None:
    """Answer every error, ours or the framework's, with a problem document; under /ui with a page that says it."""

    async def answered(request: Request, refusal: Refusal) -> Response:
        if error_page is not None and request.url.path.startswith("/ui"):
            return await error_page(request, refusal.problem)
        return refusal

    async def ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, InterlockError)
        return await answered(request, of(error))

    async def malformed(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        places = [  # without the rejected input: it may be a secret
            Place(place=".".join(map(str, e["loc"])) or "body", message=e["msg"]) for e in error.errors()
        ]
        first = f"{places[0].place}: {places[0].message}" if places else "the request cannot be read"
        return await answered(request, problem(422, "invalid", first, errors=places))

    async def frameworks(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return await answered(request, plain(error))

    async def any_other(request: Request, error: Exception) -> Response:
        return await answered(request, unexpected(request, error))

    app.add_exception_handler(InterlockError, ours)
    app.add_exception_handler(RequestValidationError, malformed)
    app.add_exception_handler(HTTPException, frameworks)
    app.add_exception_handler(Exception, any_other)
