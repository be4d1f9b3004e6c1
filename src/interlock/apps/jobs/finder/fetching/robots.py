"""robots.txt (RFC 9309): what a site lets crawlers fetch, and how slowly.

A site without the file (a 4xx answer) allows everything. A site whose file cannot be read now (5xx, 429, no connection)
allows nothing yet, and is asked again soon.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from protego import Protego

from interlock.apps.jobs.finder.fetching.errors import (
    FetchFailed,
    FetchRefused,
    Forbidden,
    HostBusy,
    RobotsUnknown,
)
from interlock.apps.jobs.finder.fetching.guard import Target, brief
from interlock.apps.jobs.finder.sources.answer import Answer

PRODUCT = "Interlock"
"""The name that a robots.txt addresses us by."""
MOST_BYTES = 500 * 1024
"""Bytes of the file that are read; the RFC asks for at least so many."""
MOST_SITES = 2000
LIFETIME = 12 * 3600.0
LIFETIME_OF_FAILURE = 60.0
LIFETIME_IN_HERE = 60.0
"""For hosts of `private_hosts`, whose operator may be changing them just now."""
LONGEST_DELAY = 30.0
"""Seconds of Crawl-delay that are honoured."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one site."""

    parsed: Protego | None
    """None when everything is allowed."""
    delay: float
    failure: str | None
    """Why the file could not be read."""
    until: float

    @classmethod
    def of(cls, answer: Answer, until: float, soon: float) -> Rules:
        if answer.status == 429 or answer.status >= 500:
            return cls(None, 0.0, f"answered {answer.status}", soon)
        if answer.status >= 300:
            return cls(None, 0.0, None, until)
        parsed = Protego.parse(answer.body.decode("utf-8", "replace").removeprefix("\ufeff").replace("\0", ""))
        return cls(parsed, _delay(parsed.crawl_delay(PRODUCT)), None, until)


class Robots:
    """The rules of the sites that were visited lately."""

    def __init__(self, fetch: Callable[[str], Awaitable[Answer]], clock: Callable[[], float]) -> None:
        self._fetch, self._clock = fetch, clock
        self._sites: OrderedDict[str, Rules] = OrderedDict()

    async def delay(self, target: Target) -> float:
        """The Crawl-delay of the target's site. Raises Forbidden or RobotsUnknown when it may not be fetched."""
        site = f"{target.scheme}://{target.authority}"
        rules = self._sites.get(site)
        if rules is None or rules.until <= self._clock():
            rules = await self._read(site, target.private)
            self._sites[site] = rules
        self._sites.move_to_end(site)
        while len(self._sites) > MOST_SITES:
            self._sites.popitem(last=False)
        if rules.failure is not None:
            raise RobotsUnknown(
                f"{site}/robots.txt {rules.failure}, so nothing is fetched from this site yet",
                retry_after=timedelta(seconds=max(rules.until - self._clock(), 1.0)),
            )
        if rules.parsed is not None and not rules.parsed.can_fetch(target.url, PRODUCT):
            raise Forbidden(
                f"{site}/robots.txt disallows {brief(target.url)}; ask the site, or add its postings by hand"
            )
        return rules.delay

    async def _read(self, site: str, is_private: bool) -> Rules:
        try:
            answer = await self._fetch(f"{site}/robots.txt")
        except HostBusy:
            raise
        except FetchRefused:
            # A private address, a loop of redirects: the RFC counts these as a missing file. The page itself is
            # checked as every address is.
            return Rules(None, 0.0, None, self._clock() + LIFETIME_OF_FAILURE)
        except FetchFailed as error:
            return Rules(None, 0.0, f"cannot be read now ({error})", self._soon(is_private))
        lifetime = LIFETIME_IN_HERE if is_private else LIFETIME
        return Rules.of(answer, self._clock() + lifetime, self._soon(is_private))

    def _soon(self, is_private: bool) -> float:
        """When a file that could not be read is tried again; in here at the next request."""
        return self._clock() + (0.0 if is_private else LIFETIME_OF_FAILURE)


def _delay(wanted: float | None) -> float:
    return min(max(wanted, 0.0), LONGEST_DELAY) if wanted is not None and math.isfinite(wanted) else 0.0
