"""The bodies that agents and crawlers send and receive."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from datetime import date, datetime
from typing import Annotated, Any, Literal, TypeVar

import orjson
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter, ValidationError, field_validator

from interlock.apps.jobs.claims.models import Artifacts
from interlock.engine import Instance
from interlock.http.problems import BadRequest
from interlock.store import moment

MOST_JOBS = 1000
Board = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\s:\x00-\x1f]+$", examples=["ramp"])]
Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
JobId = Annotated[Id, Field(examples=["12345"])]
RunId = Annotated[Id, Field(examples=["0b8ff6f2-4c1e-4b0e-9a55-5c3f6d9f2a10"])]
Word = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f]+$")]
Line = Annotated[str, Field(max_length=500)]
Workspace = Annotated[
    str | None, Field(max_length=200, description="The workspace; may be left out if you have only one.")
]
EXAMPLE = {"resume_url": "s3://resumes/v2.pdf"}


class Body(BaseModel):
    """Settings that all request bodies share."""

    model_config = ConfigDict(extra="forbid")

    workspace: Workspace = None


class RunBody(Body):
    """An agent claims a job."""

    action: Literal["run"]
    run_id: RunId
    board: Board
    job_id: JobId
    variant_id: Line | None = Field(None, examples=["resume-v2"])
    artifacts: Artifacts = Field(default_factory=Artifacts, examples=[EXAMPLE])


class HeartbeatBody(Body):
    """An agent is still working."""

    action: Literal["heartbeat"]
    run_id: RunId


class CrawledJob(BaseModel):
    """A job as a crawler saw it."""

    model_config = ConfigDict(extra="forbid")

    board: Board
    job_id: JobId
    title: Line = ""
    url: Annotated[str, Field(max_length=2000)] = ""
    location: Line = ""
    tags: list[Word] = Field(default_factory=list, max_length=50)
    company: Line = ""
    posted_date: date | None = None

    @field_validator("url")
    @classmethod
    def _web(cls, value: str) -> str:
        if value and not value.startswith(("https://", "http://")):
            raise ValueError("must begin with https:// or http://")
        return value


class AddBody(Body):
    """A crawler records what it sees."""

    action: Literal["add"]
    jobs: list[CrawledJob] = Field(
        min_length=1,
        max_length=MOST_JOBS,
        examples=[[{"board": "ramp", "job_id": "12345", "title": "Backend engineer", "tags": ["python"]}]],
    )


class ReportBody(Body):
    """An agent reports how far its run is."""

    run_id: RunId
    status: Literal["pending", "submitted", "success", "failed", "lost"] | None = None
    artifacts: Artifacts | None = Field(None, examples=[{"answers": {"yoe": "5"}}])
    error: Annotated[str, Field(max_length=10_000)] | None = None


class DecideBody(Body):
    """Somebody expires or rejects a job."""

    board: Board
    job_id: JobId
    status: Literal["expired", "rejected", "discovered", "queued", "applied"]
    reason: Annotated[str, Field(max_length=2000)] = ""


ERASED = "When, by whom and why its data was erased; then the other fields are empty."
NO_RUN: dict[str, Any] = {
    "board": "",
    "job_id": "",
    "artifacts": {},
    "error": None,
    "variant_id": None,
    "agent": "",
}
NO_JOB: dict[str, Any] = {
    "board": "",
    "job_id": "",
    "title": "",
    "url": "",
    "location": "",
    "company": "",
    "run_id": None,
}
"""The fields of a run or job whose data was erased."""


class LeaseOut(BaseModel):
    """The lease that keeps other agents away."""

    name: str = Field(examples=["lock:apply:ramp:12345"])
    seconds: int = Field(examples=[300], description="How long it lasts unless it is renewed.")


def run_fields(run: Instance) -> dict[str, Any]:
    """The fields of `RunOut`."""
    data = {**NO_RUN, "run_id": run.key or "", **run.data} if run.erased else run.data
    return {
        "run_id": data["run_id"],
        "board": data["board"],
        "job_id": data["job_id"],
        "status": run.state,
        "artifacts": data["artifacts"],
        "error": data["error"],
        "variant_id": data["variant_id"],
        "agent": data["agent"],
        "requires_verification": data.get("requires_verification", False) and run.finished_at is None,
        "created_at": moment(run.created_at),
        "updated_at": moment(run.updated_at),
        "erased": run.erased or None,
    }


class RunOut(BaseModel):
    """A run as it is now."""

    run_id: str
    board: str
    job_id: str
    status: str = Field(examples=["pending"])
    artifacts: dict[str, Any]
    error: str | None
    variant_id: str | None
    agent: str
    requires_verification: bool = Field(description="Its agent vanished after a submission; a person has to verify it.")
    created_at: datetime
    updated_at: datetime
    erased: str | None = Field(None, description=ERASED)

    @classmethod
    def of(cls, run: Instance, **more: Any) -> Any:
        return cls(**run_fields(run), **more)


class ClaimedOut(RunOut):
    """A run that holds its job."""

    lease: LeaseOut


def claimed(run: Instance, lock: str, seconds: int) -> bytes:
    """`ClaimedOut` as JSON in a fifth of the time: our own data needs no validation."""
    try:
        return orjson.dumps({**run_fields(run), "lease": {"name": lock, "seconds": seconds}}, option=orjson.OPT_UTC_Z)
    except TypeError:  # an integer too long for orjson
        slowly: ClaimedOut = ClaimedOut.of(run, lease=LeaseOut(name=lock, seconds=seconds))
        return slowly.model_dump_json().encode()


class AddedOut(BaseModel):
    """How many jobs a crawler's report added, updated and left unchanged."""

    added: int
    updated: int
    unchanged: int


class JobOut(BaseModel):
    """A job as it is now."""

    board: str
    job_id: str
    status: str = Field(examples=["discovered"])
    title: str
    url: str
    location: str
    tags: list[str]
    company: str
    run_id: str | None = Field(description="The run that claimed it last.")
    instance_id: str = Field(description="Its history is under /api/instances.")
    created_at: datetime
    updated_at: datetime
    erased: str | None = Field(None, description=ERASED)

    @classmethod
    def of(cls, job: Instance) -> JobOut:
        data = {**NO_JOB, **job.data} if job.erased else job.data
        return cls(
            board=data["board"],
            job_id=data["job_id"],
            status=job.state,
            title=data["title"],
            url=data["url"],
            location=data["location"],
            tags=data.get("tags", []),
            company=data["company"],
            run_id=data["run_id"],
            instance_id=str(job.id),
            created_at=moment(job.created_at),
            updated_at=moment(job.updated_at),
            erased=job.erased or None,
        )


class JobsOut(BaseModel):
    """A page of jobs, oldest first."""

    jobs: list[JobOut]
    next: str | None = Field(description="The cursor of the next page.")


class RunsOut(BaseModel):
    """Every run of a job, oldest first."""

    runs: list[RunOut]


def _about(given: Any) -> str:
    """A patch is about a run or a job; one that names both or neither is read as about a run."""
    named = given if isinstance(given, dict) else {}
    return "job" if "run_id" not in named and ("board" in named or "job_id" in named) else "run"


Posted = Annotated[RunBody | HeartbeatBody | AddBody, Field(discriminator="action")]
Patched = Annotated[Annotated[ReportBody, Tag("run")] | Annotated[DecideBody, Tag("job")], Discriminator(_about)]
POSTED: TypeAdapter[RunBody | HeartbeatBody | AddBody] = TypeAdapter(Posted)
PATCHED: TypeAdapter[ReportBody | DecideBody] = TypeAdapter(Patched)
T = TypeVar("T")
TAGS = {"body", "run", "add", "heartbeat", "job"}


def read(body: TypeAdapter[T], given: bytes) -> T:
    """Parse the body; answers 400 with each invalid field."""
    try:
        return body.validate_json(given)
    except ValidationError as error:
        raise _refused(error.errors()) from None


class StrictRoute(APIRoute):
    """A route that answers 400 to an invalid body, with each field named, as specified."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                raise _refused(error.errors()) from None

        return answer


def _refused(errors: Sequence[Any]) -> BadRequest:
    return BadRequest("; ".join(map(_message, errors[:10])), status=400)


def _message(error: Any) -> str:
    if error["type"] == "json_invalid":
        return "the body is not JSON"
    place = ".".join(str(part) for part in error["loc"] if part not in TAGS)
    return f"{place}: {error['msg']}" if place else f"the body: {error['msg']}"
