"""Faults that can be switched on for a part of the world: `POST /_faults {"fault": "429", "path": "/lever-host/"}`."""

from __future__ import annotations

import re
import threading
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field

ALIASES = {
    "404": "not_found",
    "429": "too_many_requests",
    "429_retry_after": "too_many_requests",
    "500": "server_error",
    "cut": "cut_off",
    "html_instead_of_json": "html",
    "lost": "lost_answer",
    "answer_lost": "lost_answer",
    "answer_lost_after_the_post_was_accepted": "lost_answer",
    "total_only_on_the_first_page": "total_once",
    "clamp_at_2000": "clamp",
    "clamp_at_2_000": "clamp",
    "ids_that_change": "changing_ids",
}
"""Other words for a fault."""
FAULTS = {
    "not_found": "404",
    "too_many_requests": "429 with Retry-After (`seconds`)",
    "server_error": "500",
    "slow": "the answer comes after `seconds`",
    "cut_off": "the connection ends in the middle of the body, which Content-Length says is longer",
    "html": "a page of HTML in place of what was asked for",
    "redirect_loop": "a redirect to an address that redirects back",
    "lost_answer": "the request is done, an application is recorded, and the connection ends without an answer",
    "total_once": "only the first page has the total",
    "clamp": "a list ends at 2,000 and repeats its first page beyond",
    "changing_ids": "ids are new in every answer",
}
"""Fault → what it does."""
IN_THE_ANSWER = frozenset({"total_once", "clamp", "changing_ids"})
"""Faults that change what an answer says, and leave the exchange alone."""
MOST = 100


def _known(name: str) -> str:
    plain = "_".join(re.findall(r"[a-z0-9]+", name.lower()))
    found = ALIASES.get(plain, plain)
    if found not in FAULTS:
        raise ValueError(f"{name!r} is not a fault; there are {', '.join(FAULTS)}")
    return found


class FaultAsked(BaseModel):
    """The body of `POST /_faults`."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

    fault: Annotated[str, AfterValidator(_known), Field(validation_alias=AliasChoices("fault", "kind", "type"))]
    path: str = Field("/", validation_alias=AliasChoices("path", "prefix"), pattern=r"^/", max_length=1000)
    times: int | None = Field(None, validation_alias=AliasChoices("times", "count"), ge=1, le=1_000_000)
    method: Literal["GET", "POST"] | None = None
    seconds: float = Field(1.0, validation_alias=AliasChoices("seconds", "retry_after"), ge=0, le=600)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault for the paths that begin with `path`, as often as `times` says."""

    id: int
    fault: str
    path: str = "/"
    times: int | None = None
    """How often it still happens; None is always."""
    method: str | None = None
    seconds: float = 1.0
    seen: int = 0
    """How often it happened."""


class Faults:
    """The faults that are switched on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._there: dict[int, Fault] = {}
        self._last = 0

    def add(
        self,
        fault: str,
        path: str = "/",
        *,
        times: int | None = None,
        method: Literal["GET", "POST"] | None = None,
        seconds: float = 1.0,
    ) -> Fault:
        """Switch a fault on. Raises a ValueError for one that does not exist."""
        return self.ask(FaultAsked(fault=fault, path=path, times=times, method=method, seconds=seconds))

    def ask(self, asked: FaultAsked) -> Fault:
        with self._lock:
            if len(self._there) >= MOST:
                raise ValueError(f"there are {MOST} faults already; DELETE /_faults removes them")
            self._last += 1
            made = Fault(self._last, asked.fault, asked.path, asked.times, asked.method, asked.seconds)
            self._there[made.id] = made
        return made

    def take(self, method: str, path: str) -> list[Fault]:
        """The faults of a request, the oldest first; each of them happened once more."""
        with self._lock:
            found = [
                one
                for one in self._there.values()
                if path.startswith(one.path) and one.method in (None, method) and one.times != 0
            ]
            for one in found:
                left = one.times - 1 if one.times is not None else None
                self._there[one.id] = replace(one, times=left, seen=one.seen + 1)
        return found

    def clear(self) -> None:
        with self._lock:
            self._there.clear()

    def list(self) -> list[dict[str, Any]]:
        with self._lock:
            return [asdict(one) for one in self._there.values()]
