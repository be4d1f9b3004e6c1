"""The requests to the service and the meaning of its responses, without I/O.

Each call is a generator (`Exchange`). It yields a `Request` to send or a `Wait` to make, receives the `Response` or
`NoResponse`, and returns the result. The clients, with threads or asyncio, only send and wait.

Every request can be repeated safely: a claim has its run id, a repeated report changes nothing, and jobs are added
under an idempotency key. So a request without an answer is sent again a few times, with growing pauses.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

from pydantic import ValidationError

from interlock.apps.jobs.agents.answers import Added, Claimed, CrawledJob, Job, Jobs, ResponseModel, Run, Runs
from interlock.apps.jobs.agents.errors import (
    AgentError,
    AlreadyClaimed,
    BadAnswer,
    BadRequest,
    LeaseLost,
    NotAllowed,
    NotClaimable,
    Refused,
    Unavailable,
    UnknownJob,
)

T = TypeVar("T")
M = TypeVar("M", bound=ResponseModel)
PATH = "/api/crawler/jobs"
ATTEMPTS = 4
LONGEST = 10.0
"""The longest pause between two attempts, in seconds, whatever the service asks for."""
MOST_JOBS = 1000
MOST_TEXT = 10_000
VISIBLE = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Request:
    """A request to send."""

    method: str
    params: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wait:
    """A pause to make."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Response:
    """What the service answered."""

    status: int
    content: bytes
    retry_after: str = ""


@dataclass(frozen=True, slots=True)
class NoResponse:
    """No answer came back."""

    why: str


Exchange = Generator[Request | Wait, Response | NoResponse | None, T]


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """A claim to ask for."""

    board: str
    job_id: str
    run_id: str
    variant_id: str | None = None
    artifacts: Mapping[str, Any] | None = None
    again: bool = False
    """The caller gave the run id, so the claim may exist already."""


def claim_request(
    board: str, job_id: str, run_id: str | None, variant_id: str | None, artifacts: Mapping[str, Any] | None
) -> ClaimRequest:
    return ClaimRequest(board, job_id, run_id or str(uuid4()), variant_id, artifacts, again=run_id is not None)


class ServiceApi:
    """The service's address and the caller's token. No error or repr contains the token."""

    def __init__(self, url: str, token: str, workspace: str | None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
            raise BadRequest("url: use an address like https://interlock.example", fields=("url",))
        if parts.username is not None or parts.password is not None:
            raise BadRequest("url: remove the password; pass the token as `token`", fields=("url",))
        if not VISIBLE.fullmatch(token):
            raise BadRequest("token: pass the secret of a token, as it was printed", fields=("token",))
        self.url, self.workspace = url.rstrip("/"), workspace
        self._token = token

    def __repr__(self) -> str:
        where = f", workspace={self.workspace!r}" if self.workspace is not None else ""
        return f"({self.url!r}{where})"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}

    def hide(self, text: str) -> str:
        return text.replace(self._token, "********")

    # -- calls

    def find(
        self, board: str | None, status: str | None, tag: str | None, limit: int, cursor: str | None = None
    ) -> Exchange[Jobs]:
        return self._read(Jobs, board=board, status=status, tag=tag, limit=str(limit), cursor=cursor)

    def runs(self, job_id: str, board: str | None) -> Exchange[tuple[Run, ...]]:
        found = yield from self._read(Runs, runs_for=job_id, board=board)
        return found.runs

    def add(self, jobs: Iterable[CrawledJob | Mapping[str, Any]]) -> Exchange[Added]:
        total, left = Added(), iter(jobs)
        while some := list(islice(left, MOST_JOBS)):
            key = {"Idempotency-Key": f"add-{uuid4()}"}  # a repeated request counts once
            total += yield from self._write(Added, "POST", {"action": "add", "jobs": some}, headers=key)
        return total

    def claim(self, claim_request: ClaimRequest) -> Exchange[Claimed]:
        body: dict[str, Any] = {
            "action": "run",
            "board": claim_request.board,
            "job_id": claim_request.job_id,
            "run_id": claim_request.run_id,
        }
        if claim_request.variant_id is not None:
            body["variant_id"] = claim_request.variant_id
        if claim_request.artifacts is not None:
            body["artifacts"] = claim_request.artifacts
        refusals = {404: UnknownJob, 409: AlreadyClaimed}
        return self._write(Claimed, "POST", body, refusals)

    def report(
        self, run_id: str, status: str | None, artifacts: Mapping[str, Any] | None, error: str | None
    ) -> Exchange[Run]:
        body: dict[str, Any] = {"run_id": run_id}
        if status is not None:
            body["status"] = status
        if artifacts is not None:
            body["artifacts"] = artifacts
        if error is not None:
            body["error"] = self.plain(error)
        return self._write(Run, "PATCH", body, {404: LeaseLost, 409: LeaseLost})

    def heartbeat(self, run_id: str, attempts: int = ATTEMPTS) -> Exchange[Run]:
        body = {"action": "heartbeat", "run_id": run_id}
        return self._write(Run, "POST", body, {404: LeaseLost, 409: LeaseLost}, attempts=attempts)

    def decide(self, board: str, job_id: str, status: str, reason: str) -> Exchange[Job]:
        body = {"board": board, "job_id": job_id, "status": status, "reason": reason}
        return self._write(Job, "PATCH", body, {404: UnknownJob})

    def plain(self, text: str) -> str:
        """Text that the service accepts: short enough, valid UTF-8, without the token."""
        return self.hide(text).encode("utf-8", "replace").decode()[:MOST_TEXT]

    # -- sending

    def _read(self, model: type[M], **params: str | None) -> Exchange[M]:
        wanted = {"workspace": self.workspace, **params}
        request = Request("GET", {name: value for name, value in wanted.items() if value is not None})
        return self._request(model, request, {}, ATTEMPTS)

    def _write(
        self,
        model: type[M],
        method: str,
        body: dict[str, Any],
        refusals: Mapping[int, type[Refused]] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        attempts: int = ATTEMPTS,
    ) -> Exchange[M]:
        if self.workspace is not None:
            body["workspace"] = self.workspace
        try:
            content = json.dumps(body, default=_iso_date, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            field = next((name for name in ("artifacts", "jobs") if name in body), "body")
            raise BadRequest(f"{field}: it cannot be written as JSON: {error}", fields=(field,)) from None
        request = Request(method, {}, content, {"Content-Type": "application/json", **(headers or {})})
        return (yield from self._request(model, request, refusals or {}, attempts))

    def _request(
        self, model: type[M], request: Request, refusals: Mapping[int, type[Refused]], attempts: int
    ) -> Exchange[M]:
        for attempt in range(1, attempts + 1):
            answer = yield request
            assert answer is not None
            if isinstance(answer, Response) and answer.status != 429 and answer.status < 500:
                return self._parsed(model, answer, refusals)
            if attempt == attempts:
                break
            yield Wait(_pause(attempt, answer))
        if isinstance(answer, NoResponse):
            raise Unavailable(f"{self.url} cannot be reached: {self.hide(answer.why)}")
        assert answer is not None
        raise Unavailable(f"{self.url} answered {answer.status}{self._detail_of(answer)}", status=answer.status)

    def _parsed(self, model: type[M], answer: Response, refusals: Mapping[int, type[Refused]]) -> M:
        if answer.status not in {200, 201}:
            raise self._refusal(answer, refusals)
        try:
            return model.model_validate_json(answer.content)
        except ValidationError as error:
            places = ", ".join(".".join(map(str, e["loc"])) or "all of it" for e in error.errors()[:3])
            raise BadAnswer(f"{self.url} did not answer with a {model.__name__} ({places})", status=200) from None

    def _refusal(self, answer: Response, refusals: Mapping[int, type[Refused]]) -> AgentError:
        problem = _problem(answer)
        detail, status = self.hide(str(problem.get("detail", ""))), answer.status
        if status in {401, 403}:
            return NotAllowed(detail or f"{self.url} answered {status}", status=status)
        if "type" not in problem or status < 400 or (status == 404 and detail == "Not Found"):
            return BadAnswer(f"{self.url}{PATH} answered {status}, but not like Interlock", status=status)
        if problem["type"] == "job-status":
            return NotClaimable(detail, status=status)
        if status in refusals:
            return refusals[status](detail, status=status)
        if status == 409:
            return Refused(detail, status=status)
        return BadRequest(detail, status=status, fields=_fields(problem, detail))

    def _detail_of(self, answer: Response) -> str:
        detail = self.hide(str(_problem(answer).get("detail", "")))
        return f": {detail}" if detail else ""


def _problem(answer: Response) -> dict[str, Any]:
    try:
        found = json.loads(answer.content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _fields(problem: Mapping[str, Any], detail: str) -> tuple[str, ...]:
    """The fields that the service names: `board: Field required; job_id: …`."""
    listed = problem.get("errors")
    if isinstance(listed, list):
        return tuple(str(one.get("place", "")) for one in listed if isinstance(one, dict))
    return tuple(re.findall(r"(?:^|; )([\w.-]+): ", detail))


def _pause(attempt: int, answer: Response | NoResponse) -> float:
    asked = answer.retry_after if isinstance(answer, Response) else ""
    seconds: float = 0.2 * 4 ** (attempt - 1) * random.uniform(0.5, 1)  # noqa: S311 - only spreads the load
    return min(max(seconds, float(asked) if asked.isdecimal() else 0), LONGEST)


def _iso_date(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"a {type(value).__name__} cannot be sent as JSON")
