"""Problem documents (RFC 9457): what was wrong, with the value, and what to do."""

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
    NotFinished,
    NotFound,
    NotServed,
    OutOfDate,
    Refused,
    ReviewClaimed,
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
"""The longest detail, in characters."""


class ErrorLocation(BaseModel):
    """The location of an error in the request."""

    place: str = Field(examples=["body.event"])
    message: str = Field(examples=["Field required"])


class AllowedEvent(BaseModel):
    """An event that would be accepted now, and from whom."""

    event: str
    to: str | None
    by: list[str]


class Problem(BaseModel):
    """A refused request. Nothing was changed."""

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

    type: str = Field("about:blank", description="The kind of problem.")
    title: str = Field(description="The status in words.")
    status: int
    detail: str = Field("", description="What was wrong, with the value, and what to do.")
    allowed: list[AllowedEvent] | None = Field(None, description="For a refused event: what would be accepted now.")
    errors: list[ErrorLocation] | None = Field(
        None, description="For a malformed request: each error with its location."
    )
    existing: str | None = Field(None, description="For a taken key: the instance that has it.")
    expected_seq: int | None = None
    found_seq: int | None = None
    retry_after: int | None = Field(None, description="Seconds to wait before a retry.")
    trace: str | None = Field(None, description="For an internal error: the trace id to search for in the logs.")


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
    """The request itself is invalid."""

    def __init__(self, detail: str, *, status: int = 422, kind: str = "invalid", place: str | None = None) -> None:
        super().__init__(detail)
        self.status, self.kind, self.place = status, kind, place


class Refusal(JSONResponse):
    """A problem document as a response."""

    def __init__(self, content: Problem, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(
            content.model_dump(exclude_none=True), content.status, dict(headers or {}), media_type=MEDIA_TYPE
        )
        self.problem = content


def problem(status: int, kind: str, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any) -> Refusal:
    title = TITLES.get(status, "Problem")
    detail = secrets.hide(detail[: 2 * LONGEST])[:LONGEST]  # the detail may contain what somebody sent
    return Refusal(Problem(type=kind, title=title, status=status, detail=detail, **more), headers)


def of(error: InterlockError) -> Refusal:
    """The problem document for one of our errors."""
    detail = str(error)
    match error:
        case BadRequest():
            places = [ErrorLocation(place=error.place, message=detail)] if error.place is not None else None
            return problem(error.status, error.kind, detail, errors=places)
        case NotFound():
            return problem(404, "not-found", detail)
        case Refused():  # Forbidden is one, too
            status, kind = (403, "forbidden") if isinstance(error, Forbidden) else (409, "refused")
            allowed = [AllowedEvent(event=a.event, to=a.to, by=list(a.by)) for a in error.allowed]
            return problem(status, kind, detail, allowed=allowed)
        case OutOfDate():
            return problem(409, "out-of-date", detail, expected_seq=error.expected, found_seq=error.found)
        case KeyTaken():
            return problem(409, "key-taken", detail, existing=str(error.existing))
        case AlreadyDecided() | ReviewClaimed() | LeaseTaken() | NotServed() | NameTaken() | LimitReached():
            return problem(409, _kind(error), detail)
        case CreatedElsewhere():
            return problem(403, "created-elsewhere", detail)
        case Unreadable():
            return problem(409, "unreadable", detail)
        case NotFinished():
            return problem(409, "not-finished", detail)
        case DataTooBig():
            return problem(413, "too-large", detail)
        case NotAuthenticated():
            return problem(401, "not-authenticated", detail, headers={"WWW-Authenticate": "Bearer"})
        case NotAllowed():
            return problem(403, "not-allowed", detail)
        case TooManyAttempts():
            return _later(429, "too-many-attempts", detail, error.retry_after)
        case TooBusy():
            return _later(503 if error.of_all else 429, error.kind, detail, error.retry_after)
        case TookTooLong():
            return problem(422, "too-heavy", detail)
        case CallerGone():
            return problem(499, "gone", detail)
        case StoreError():
            return _later(503, "database", detail, 1 if error.retryable else 60)
        case InvalidData() | EngineError():
            return problem(422, "invalid", detail)
    return problem(422, "invalid", detail)


def _later(status: int, kind: str, detail: str, seconds: float) -> Refusal:
    wait = max(1, round(seconds))
    return problem(status, kind, detail, headers={"Retry-After": str(wait)}, retry_after=wait)


def _kind(error: InterlockError) -> str:
    name = type(error).__name__
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")


def plain(error: HTTPException) -> Refusal:
    """The problem document for an error of the framework."""
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
    """The response to an unexpected error. The log has the error, and the answer its trace id."""
    trace = getattr(request.state, "trace", "")
    log.error("%s %s failed (trace %s)", request.method, request.url.path, trace, exc_info=error)
    return problem(500, "internal", "Internal error; the log has the details under this trace id.", trace=trace)


WRONG = {"uuid": "an id", "int": "a whole number", "float": "a number", "bool": "true or false", "datetime": "a time"}


def _message(error: Mapping[str, Any]) -> str:
    """What is wrong with a part of a request. Only a value of the address is named: another may be a secret."""
    kind, _, how = error["type"].partition("_")
    given = error.get("input")
    if kind in WRONG and how in {"parsing", "type"} and error["loc"][:1] in {("path",), ("query",)}:
        return f"{str(given)[:60]!r} is not {WRONG[kind]}"
    return str(error["msg"])


ErrorPage = Callable[[Request, Problem], Awaitable[Response]]


def install(app: FastAPI, error_page: ErrorPage | None = None) -> None:
    """Answer every error with a problem document; under /ui with a page."""

    async def answered(request: Request, refusal: Refusal) -> Response:
        if error_page is not None and request.url.path.startswith("/ui"):
            return await error_page(request, refusal.problem)
        return refusal

    async def ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, InterlockError)
        return await answered(request, of(error))

    async def malformed(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        found = error.errors()
        places = [ErrorLocation(place=".".join(map(str, e["loc"])) or "body", message=_message(e)) for e in found]
        if (
            error_page is not None
            and request.url.path.startswith("/ui")
            and any(e["loc"][:1] == ("path",) for e in found)
        ):
            return await answered(request, problem(404, "not-found", f"there is no such page: {places[0].message}"))
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
