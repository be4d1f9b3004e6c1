"""The answers of the workflow endpoints: always the same envelope, with an error that says whether to retry."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import sqlalchemy as sa
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from interlock.apps.contracts.errors import NotRetryable
from interlock.apps.contracts.ingest import stored
from interlock.apps.contracts.machine import FAILED, REJECTED, REVIEW_REQUIRED
from interlock.apps.contracts.models import RejectReason
from interlock.apps.contracts.reading.errors import ReadingError
from interlock.engine import Instance, artifacts, reviews
from interlock.http import problems
from interlock.machine import InterlockError, WorkError
from interlock.store import moment

SHOWN = ("value", "normalised", "quote", "page", "start", "end", "boxes", "confidence", "signals")
MORE = ("words", "doubts", "alternatives", "machine", "human", "verified")


class ErrorOut(BaseModel):
    """What went wrong."""

    code: str = Field(examples=["CORRUPT_PDF"])
    message: str
    details: Any = None
    retryable: bool = Field(description="Whether the same request may succeed later.")


class Envelope(BaseModel):
    """Every answer."""

    success: bool
    data: Any = None
    error: ErrorOut | None = None


def envelope(data: Any, status: int = 200, error: ErrorOut | None = None) -> Response:
    body = {"success": error is None, "data": data, "error": error.model_dump() if error else None}
    return JSONResponse(body, status)


def refused(error: InterlockError) -> Response:
    """One of our errors in the envelope, with the same status as in the rest of the API."""
    if isinstance(error, WorkError):
        retryable = error.retryable if isinstance(error, ReadingError) else not isinstance(error, NotRetryable)
        problem = ErrorOut(code=code_of(type(error)), message=str(error), retryable=retryable)
        return envelope(None, 503 if retryable else 422, problem)
    return of_problem(problems.of(error))


def of_problem(refusal: problems.Refusal) -> Response:
    details = refusal.problem.model_dump(exclude_none=True, exclude={"type", "title", "status", "detail"}) or None
    code = re.sub(r"\W+", "_", refusal.problem.type).upper()
    retryable = refusal.status_code in {429, 500, 503}
    made = envelope(
        None,
        refusal.status_code,
        ErrorOut(code=code, message=refusal.problem.detail, details=details, retryable=retryable),
    )
    for name in ("www-authenticate", "retry-after"):
        if name in refusal.headers:
            made.headers[name] = refusal.headers[name]
    return made


ANSWERS: dict[int | str, dict[str, Any]] = {
    "default": {  # an invalid address is refused earlier, with a problem document
        "model": Envelope,
        "description": "Refused",
        "content": {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}
"""What every endpoint of workflows may answer besides its result."""


class EnvelopedRoute(APIRoute):
    """A route whose errors also come in the envelope."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                places = [f"{'.'.join(map(str, e['loc'][1:])) or 'body'}: {e['msg']}" for e in error.errors()[:10]]
                problem = ErrorOut(code="INVALID", message="; ".join(places), details=places, retryable=False)
                return envelope(None, 422, problem)
            except InterlockError as error:
                return refused(error)
            except HTTPException as error:
                return of_problem(problems.plain(error))
            except Exception as error:
                return of_problem(problems.unexpected(request, error))

        return answer


def workflow(conn: sa.Connection, instance: Instance) -> dict[str, Any]:
    """The workflow as an answer shows it."""
    data = instance.data
    described: dict[str, Any] = {
        "workflowId": str(instance.id),
        "state": instance.state,
        "seq": instance.seq,
        "createdAt": moment(instance.created_at).isoformat(),
        "updatedAt": moment(instance.updated_at).isoformat(),
    }
    if instance.erased:
        return described | {"erased": instance.erased}
    described |= {"vertical": data["vertical"], "filename": data["filename"], "drive": data["drive"]}
    if data["pages"] is not None:
        described["pages"] = data["pages"]
    if data["final_confidence"] is not None:
        described |= {
            "needsReview": instance.state == REVIEW_REQUIRED,
            "finalConfidence": data["final_confidence"],
            "calibrationVersion": data["calibration"],
            "problems": data["problems"],
            "reasons": data["reasons"],
        }
    if instance.state == REVIEW_REQUIRED:
        task = open_review(conn, instance)
        described["reviewTaskId"] = str(task.id) if task else None
        described["reviewDueAt"] = moment(task.due_at).isoformat() if task and task.due_at else None
    if data["fields"] or data["extraction"]:
        described["fields"] = {name: _field(one) for name, one in stored.fields(conn, instance.id, data).items()}
    if data["comparison"]:
        described |= {"comparisonKind": data["comparison_kind"], "verdict": data["verdict"]}
        described["comparison"] = json.loads(artifacts.read(conn, instance.id, data["comparison"]))
    if data["reject_reason"]:
        described["rejectReason"] = data["reject_reason"]
    if instance.state == FAILED or given_up(instance):
        described |= {"failedAtStep": instance.failed_step, "lastError": failure(instance).model_dump()}
    if data["origin"]:
        described["origin"] = data["origin"]
    if data["review_note"]:
        described["notes"] = data["review_note"]
    return described


def _field(one: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: one.get(name) for name in SHOWN}
    shown["boxes"] = shown["boxes"] or []
    return shown | {name: one[name] for name in MORE if one.get(name)}


def open_review(conn: sa.Connection, instance: Instance) -> reviews.OpenReview | None:
    found = reviews.waiting(conn, reviews.ReviewFilter(instance_id=instance.id), limit=10)
    return next((one for one in found if one.state == REVIEW_REQUIRED), None)


def given_up(instance: Instance) -> bool:
    """Whether it was rejected because of a failed step, not by a reviewer."""
    why = instance.data.get("reject_reason")
    return instance.state == REJECTED and why is not None and why != RejectReason.REJECTED_IN_REVIEW


def failure(instance: Instance) -> ErrorOut:
    """Why the last step failed, and whether a retry can help."""
    error = instance.error or {}
    kind = str(error.get("type", "Error"))
    known = next((c for c in _all(WorkError) if c.__name__ == kind), None)
    hopeless = known is not None and issubclass(known, NotRetryable)
    return ErrorOut(
        code=code_of(known) if known is not None else _words(kind),
        message=str(error.get("message", "")),
        details={"step": instance.failed_step, "attempts": instance.failures_of(instance.failed_step or "")},
        retryable=instance.state == FAILED and not hopeless,
    )


def code_of(kind: type[Exception]) -> str:
    """The error code for programs."""
    return str(getattr(kind, "code", "") or _words(kind.__name__))


def _words(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()


def _all(kind: type[Any]) -> list[type[Any]]:
    return [kind, *(found for sub in kind.__subclasses__() for found in _all(sub))]
