"""Requests of a submission over the guarded client, and what their failures mean."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from interlock.apps.jobs.autoapply.errors import InvalidJobUrl, SiteUnreachable
from interlock.apps.jobs.autoapply.submission.values import Blocked, BlockKind, Unknown
from interlock.apps.jobs.finder.fetching import (
    Dispatch,
    Fetcher,
    FetchFailed,
    FetchRefused,
    Forbidden,
    HostBusy,
    NeverLeft,
    NotAnswered,
)
from interlock.apps.jobs.finder.sources.answer import Answer, Request
from interlock.apps.jobs.settings import JobsSettings
from interlock.store import SECOND, Clock, SystemClock

MOST_WAIT = 60.0
"""Seconds that a request waits for its turn at the host; a longer pause is a retry."""


class Sender:
    """Sends for an adapter. It repeats nothing and follows no redirect of a request with an effect."""

    def __init__(self, settings: JobsSettings, fetcher: Fetcher | None = None, clock: Clock | None = None) -> None:
        self._settings, self._fetcher = settings, fetcher
        self._clock = clock or SystemClock()

    def now(self) -> float:
        """Seconds since 1970."""
        return self._clock.now() / SECOND

    async def page(self, url: str) -> Answer:
        """A page that is read before anything is sent. Raises SiteUnreachable or InvalidJobUrl."""
        try:
            async with self._client() as client:
                return await client.fetch(Request(url, headers={"Accept": "text/html"}))
        except FetchRefused as error:
            raise InvalidJobUrl(str(error)) from None
        except FetchFailed as error:
            raise SiteUnreachable(str(error), retry_after=error.retry_after) from None

    async def ask(self, one: Dispatch) -> Answer:
        """An answer that is read before anything is sent, such as a form that only a key may see."""
        try:
            async with self._client() as client:
                return await client.dispatch(one, timeout=self._settings.timeout)
        except Forbidden as error:
            raise InvalidJobUrl(str(error)) from None
        except FetchFailed as error:
            raise SiteUnreachable(str(error), retry_after=error.retry_after) from None

    async def send(self, one: Dispatch) -> Answer | Blocked | Unknown:
        """The answer to the application itself. Raises SiteUnreachable only when no byte of it has left."""
        try:
            async with self._client() as client:
                return await client.dispatch(one, timeout=self._settings.autoapply.submit_timeout)
        except Forbidden as error:
            return Blocked(BlockKind.ADDRESS, str(error))
        except NotAnswered as error:
            return Unknown(f"it was sent, and no whole answer came: {error}")
        except (NeverLeft, HostBusy) as error:
            raise SiteUnreachable(str(error), retry_after=error.retry_after) from None

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Fetcher]:
        """The client that was given, or one of its own whose connections end with the request."""
        if self._fetcher is not None:
            yield self._fetcher
            return
        own = Fetcher(self._settings, clock=self._clock, most_wait=MOST_WAIT)
        try:
            yield own
        finally:
            await own.aclose()
