"""One request to another service, with JSON both ways, within limits of time and size.

Only addresses of the configuration are called. Redirects are not followed, because they could lead elsewhere.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2

from interlock.machine import InterlockError

BIGGEST = 4 * 1024 * 1024
"""Bytes of an answer."""
AGENT = "interlock"


class NotReached(InterlockError):
    """The request certainly did not arrive."""


class NoAnswer(InterlockError):
    """The request may have arrived, and its answer never came."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of another service."""

    status: int
    body: Any = field(repr=False)
    """The JSON of the body; None if it is none."""
    retry_after: float | None = None
    headers: frozenset[str] = frozenset()
    """The names of its headers, in lower case."""

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    def text(self, name: str) -> str | None:
        """A text in the answer's object; None if it has none under this name."""
        found = self.body.get(name) if isinstance(self.body, Mapping) else None
        return found if isinstance(found, str) else None


def call(
    method: str,
    url: str,
    *,
    body: Any = None,
    query: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = 30.0,
) -> Reply:
    """Send a request and read its answer. Raises NotReached or NoAnswer."""
    end = time.monotonic() + timeout
    content = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    given = {"user-agent": AGENT, "accept": "application/json", "accept-encoding": "identity", **(headers or {})}
    if content is not None:
        given["content-type"] = "application/json"
    try:
        with (
            # Proxies and credentials of the environment are ignored: requests go only where the configuration says.
            httpx2.Client(follow_redirects=False, trust_env=False, timeout=timeout) as client,
            client.stream(method, url, content=content, params=query, headers=given) as answer,
        ):
            found = bytearray()
            for part in answer.iter_raw():
                found += part
                if len(found) > BIGGEST:
                    raise NoAnswer(f"the answer is larger than {BIGGEST:,} bytes")
                if time.monotonic() > end:
                    raise NoAnswer(f"the answer took longer than {timeout:g} s")
            names = frozenset(name.lower() for name in answer.headers)
            later = _seconds(answer.headers.get("retry-after", ""))
            return Reply(answer.status_code, _json(bytes(found)), later, names)
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
        raise NotReached(str(error) or type(error).__name__) from None
    except httpx2.HTTPError as error:
        raise NoAnswer(str(error) or type(error).__name__) from None


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _seconds(text: str) -> float | None:
    try:
        return min(max(float(text), 0.0), 3600.0)
    except ValueError:
        return None
