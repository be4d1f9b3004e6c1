"""Requests with an effect: sent once, never repeated or redirected, and it is known whether a byte of them left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from interlock.apps.jobs.finder.fetching.errors import FetchFailed
from interlock.apps.jobs.finder.fetching.keys import Key

MOST_ANSWER = 2_000_000
"""Bytes of the answer to such a request that are read."""


class NeverLeft(FetchFailed):
    """No byte of the request left this machine, so it may be sent again."""


class NotAnswered(FetchFailed):
    """Bytes of the request left, and no complete answer came: what it should do may be done."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """A request with an effect, as `Fetcher.dispatch` sends it."""

    url: str
    content: bytes = field(repr=False)
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=lambda: {"Accept": "application/json"})
    key: Key | None = field(default=None, repr=False)
    method: str = "POST"
