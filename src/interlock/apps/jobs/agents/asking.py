"""What is asked of the service and how its answers are read, without sending anything.

Each question is a generator: it yields an `Ask` to be sent or a `Wait` to be waited, is given the `Answer` or `Broken`,
and returns what came of it. Whoever drives it, with threads or with asyncio, does nothing but send and wait.

Everything that is asked may be asked again: a claim has its run id, a report says the same twice without harm, jobs are
added under an idempotency key. So whatever is not answered is asked again a few times, with growing pauses.
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

from interlock.apps.jobs.agents.answers import Added, Claimed, Job, Jobs, Run, Runs, Seen, Told
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
M = TypeVar("M", bound=Told)
PATH = "/api/crawler/jobs"
ATTEMPTS = 4
LONGEST = 10.0
"""Seconds that are waited at most between two attempts, whatever the service asks for."""
MOST_JOBS = 1000
MOST_TEXT = 10_000
VISIBLE = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Ask:
    """A request to be sent."""

    method: str
    params: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wait:
    """A pause to be made."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    content: bytes
    retry_after: str = ""


@dataclass(frozen=True, slots=True)
class Broken:
    """Nothing came back."""

    why: str


Steps = Generator[Ask | Wait, Answer | Broken | None, T]


@dataclass(frozen=True, slots=True)
class Wish:
    """A claim that is asked for."""

    board: str
    job_id: str
    run_id: str
    variant_id: str | None = None
    artifacts: Mapping[str, Any] | None = None
    again: bool = False
    """The run id was given, so this may be a claim that was made before."""


def wish(
    board: str, job_id: str, run_id: str | None, variant_id: str | None, artifacts: Mapping[str, Any] | None
) -> Wish:
    return Wish(board, job_id, run_id or str(uuid4()), variant_id, artifacts, again=run_id is not None)


class Asking:
    """Knows where the service is and who asks; the token is in no text that leaves it."""

    def __init__(self, url: str, token: str, workspace: str | None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
            raise BadRequest("url: it must be like https://interlock.example", fields=("url",))
        if parts.username is not None or parts.password is not None:
            raise BadRequest("url: it must not have a password in it; give the token as `token`", fields=("url",))
        if not VISIBLE.fullmatch(token):
            raise BadRequest("token: it must be the secret of a token, as it was printed", fields=("token",))
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

    # -- what can be asked

    def find(
        self, board: str | None, status: str | None, tag: str | None, limit: int, cursor: str | None = None
    ) -> Steps[Jobs]:
        return self._read(Jobs, board=board, status=status, tag=tag, limit=str(limit), cursor=cursor)

    def runs(self, job_id: str, board: str | None) -> Steps[tuple[Run, ...]]:
        found = yield from self._read(Runs, runs_for=job_id, board=board)
        return found.runs

    def add(self, jobs: Iterable[Seen | Mapping[str, Any]]) -> Steps[Added]:
        total, left = Added(), iter(jobs)
        while some := list(islice(left, MOST_JOBS)):
            key = {"Idempotency-Key": f"add-{uuid4()}"}  # so that an answer that was lost is given again, not counted
            total += yield from self._write(Added, "POST", {"action": "add", "jobs": some}, headers=key)
        return total

    def claim(self, wish: Wish) -> Steps[Claimed]:
        body: dict[str, Any] = {"action": "run", "board": wish.board, "job_id": wish.job_id, "run_id": wish.run_id}
        if wish.variant_id is not None:
            body["variant_id"] = wish.variant_id
        if wish.artifacts is not None:
            body["artifacts"] = wish.artifacts
        refusals = {404: UnknownJob, 409: AlreadyClaimed}
        return self._write(Claimed, "POST", body, refusals)

    def report(
        self, run_id: str, status: str | None, artifacts: Mapping[str, Any] | None, error: str | None
    ) -> Steps[Run]:
        body: dict[str, Any] = {"run_id": run_id}
        if status is not None:
            body["status"] = status
        if artifacts is not None:
            body["artifacts"] = artifacts
        if error is not None:
            body["error"] = self.plain(error)
        return self._write(Run, "PATCH", body, {404: LeaseLost, 409: LeaseLost})

    def heartbeat(self, run_id: str, attempts: int = ATTEMPTS) -> Steps[Run]:
        body = {"action": "heartbeat", "run_id": run_id}
        return self._write(Run, "POST", body, {404: LeaseLost, 409: LeaseLost}, attempts=attempts)

    def decide(self, board: str, job_id: str, status: str, reason: str) -> Steps[Job]:
        body = {"board": board, "job_id": job_id, "status": status, "reason": reason}
        return self._write(Job, "PATCH", body, {404: UnknownJob})

    def plain(self, text: str) -> str:
        """As the service takes it: not too long, without the token, and of characters that there are."""
        return self.hide(text).encode("utf-8", "replace").decode()[:MOST_TEXT]

    # -- how it is asked

    def _read(self, model: type[M], **params: str | None) -> Steps[M]:
        wanted = {"workspace": self.workspace, **params}
        ask = Ask("GET", {name: value for name, value in wanted.items() if value is not None})
        return self._asked(model, ask, {}, ATTEMPTS)

    def _write(
        self,
        model: type[M],
        method: str,
        body: dict[str, Any],
        refusals: Mapping[int, type[Refused]] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        attempts: int = ATTEMPTS,
    ) -> Steps[M]:
        if self.workspace is not None:
            body["workspace"] = self.workspace
        try:
            content = json.dumps(body, default=_dated, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            field = next((name for name in ("artifacts", "jobs") if name in body), "body")
            raise BadRequest(f"{field}: it cannot be written as JSON: {error}", fields=(field,)) from None
        ask = Ask(method, {}, content, {"Content-Type": "application/json", **(headers or {})})
        return (yield from self._asked(model, ask, refusals or {}, attempts))

    def _asked(self, model: type[M], ask: Ask, refusals: Mapping[int, type[Refused]], attempts: int) -> Steps[M]:
        for attempt in range(1, attempts + 1):
            answer = yield ask
            assert answer is not None
            if isinstance(answer, Answer) and answer.status != 429 and answer.status < 500:
                return self._understood(model, answer, refusals)
            if attempt == attempts:
                break
            yield Wait(_pause(attempt, answer))
        if isinstance(answer, Broken):
            raise Unavailable(f"{self.url} cannot be reached: {self.hide(answer.why)}")
        assert answer is not None
        raise Unavailable(f"{self.url} answered {answer.status}{self._said(answer)}", status=answer.status)

    def _understood(self, model: type[M], answer: Answer, refusals: Mapping[int, type[Refused]]) -> M:
        if answer.status not in {200, 201}:
            raise self._refusal(answer, refusals)
        try:
            return model.model_validate_json(answer.content)
        except ValidationError as error:
            places = ", ".join(".".join(map(str, e["loc"])) or "the whole" for e in error.errors()[:3])
            raise BadAnswer(f"{self.url} answered what is no {model.__name__} ({places})", status=200) from None

    def _refusal(self, answer: Answer, refusals: Mapping[int, type[Refused]]) -> AgentError:
        told = _problem(answer)
        detail, status = self.hide(str(told.get("detail", ""))), answer.status
        if status in {401, 403}:
            return NotAllowed(detail or f"{self.url} answered {status}", status=status)
        if "type" not in told or status < 400 or (status == 404 and detail == "Not Found"):
            return BadAnswer(f"{self.url}{PATH} answered {status}, and not as Interlock does", status=status)
        if told["type"] == "job-status":
            return NotClaimable(detail, status=status)
        if status in refusals:
            return refusals[status](detail, status=status)
        if status == 409:
            return Refused(detail, status=status)
        return BadRequest(detail, status=status, fields=_fields(told, detail))

    def _said(self, answer: Answer) -> str:
        detail = self.hide(str(_problem(answer).get("detail", "")))
        return f": {detail}" if detail else ""


def _problem(answer: Answer) -> dict[str, Any]:
    try:
        found = json.loads(answer.content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _fields(told: Mapping[str, Any], detail: str) -> tuple[str, ...]:
    """The places that the service names: `board: Field required; job_id: …`."""
    listed = told.get("errors")
    if isinstance(listed, list):
        return tuple(str(one.get("place", "")) for one in listed if isinstance(one, dict))
    return tuple(re.findall(r"(?:^|; )([\w.-]+): ", detail))


def _pause(attempt: int, answer: Answer | Broken) -> float:
    asked = answer.retry_after if isinstance(answer, Answer) else ""
    seconds: float = 0.2 * 4 ** (attempt - 1) * random.uniform(0.5, 1)  # noqa: S311 - only spreads the load
    return min(max(seconds, float(asked) if asked.isdecimal() else 0), LONGEST)


def _dated(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"a {type(value).__name__} has no place in it")
