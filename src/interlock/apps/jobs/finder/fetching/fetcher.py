"""The polite client: every request of the job finder goes through it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from weakref import WeakValueDictionary

import httpx2
import orjson

from interlock import __version__
from interlock.apps.jobs.finder.fetching.connecting import CheckedNetwork, Dial, dial
from interlock.apps.jobs.finder.fetching.decoding import ACCEPTED
from interlock.apps.jobs.finder.fetching.errors import FetchError, Forbidden, HostBusy, TooManyRedirects
from interlock.apps.jobs.finder.fetching.exchange import Exchanger
from interlock.apps.jobs.finder.fetching.guard import Guard, Resolver, Target, brief
from interlock.apps.jobs.finder.fetching.keys import Key, key_of
from interlock.apps.jobs.finder.fetching.pacing import MemoryPacer, Pacer, pause
from interlock.apps.jobs.finder.fetching.robots import MOST_BYTES as MOST_ROBOTS
from interlock.apps.jobs.finder.fetching.robots import PRODUCT, Robots
from interlock.apps.jobs.finder.fetching.sending import MOST_ANSWER, Dispatch, NeverLeft, NotAnswered
from interlock.apps.jobs.finder.identity.addresses import HOSTS
from interlock.apps.jobs.finder.sources.answer import Answer, Request
from interlock.apps.jobs.settings import JobsSettings
from interlock.store import SECOND, Clock, SystemClock

MOST_REDIRECTS = 5
MOST_WAIT = 600.0
"""Seconds that a request waits for its turn. One that would wait longer fails with HostBusy."""
AT_ONCE = 2
"""Requests that are open at once to one public host."""
PAUSE_OF_429 = 5.0
"""Seconds that a host is left alone after a 429 that does not say how long."""
REDIRECTS = {301, 302, 303, 307, 308}
METHODS = {"GET", "HEAD", "POST"}
OWN = re.compile(
    r"host|user-agent|connection|keep-alive|content-length|transfer-encoding|te|trailer|upgrade|expect|cookie|"
    r"accept-encoding|proxy-.*|if-none-match|if-modified-since"
)
"""Headers that a source cannot set."""
ANYWHERE = {"accept", "accept-language", "content-type"}
"""Headers that may follow a redirect to another host; any other may be a secret."""
TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")


@dataclass(frozen=True, slots=True)
class Known:
    """The validators of an answer that is stored; the site answers 304 when it is still valid."""

    etag: str | None = None
    last_modified: str | None = None

    def headers(self) -> dict[str, str]:
        given = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in given.items() if value and _is_sendable(value)}


class Fetcher:
    """Sends requests within the rules of each site. One for a process; it works on any event loop.

    - It says who it is, obeys robots.txt, and keeps to the rate per host.
    - It goes to public addresses only (`guard.py`), at each redirect again.
    - It reads no more than `most_bytes`, in no more than `timeout`, over at most five redirects.
    - It keeps no cookies, and sends a key only to the host that the key is bound to.

    It repeats nothing: the type of the error says whether that would help. An answer of any status is returned.
    """

    def __init__(
        self,
        settings: JobsSettings,
        *,
        pacer: Pacer | None = None,
        clock: Clock | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        resolver: Resolver | None = None,
        dial: Dial = dial,
        most_wait: float = MOST_WAIT,
    ) -> None:
        self._settings, self._sleep, self._most_wait = settings, sleep, most_wait
        self._clock = clock or SystemClock()
        self._pacer = pacer or MemoryPacer(self._clock)
        self.guard = Guard(settings.private_hosts, resolver)
        self._network = CheckedNetwork(self.guard, dial)
        self._robots = Robots(self._fetch_robots, self._now)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._exchanger: Exchanger | None = None
        self._slots: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def fetch(
        self,
        request: Request,
        *,
        most_bytes: int | None = None,
        known: Known | None = None,
        part_of_page: bool = False,
    ) -> Answer:
        """The answer to a request, with the address that it came from at last.

        `part_of_page` is for what a page loads with itself: the visit waited for its turn, its parts need not.
        """
        if request.method not in METHODS:
            raise Forbidden(f"{brief(request.url)}: requests are GET, HEAD or POST, not {request.method!r}")
        most = self._settings.most_bytes
        limit = most if most_bytes is None else min(most, most_bytes)
        first = self.guard.target(request.url)
        key = key_of(request, self._settings.api_keys, first)
        headers = self._headers(request, known)
        content = None if request.body is None else orjson.dumps(dict(request.body))
        answer = await self._follow(
            request.method, first, headers, content, limit, key, is_page=_wants_page(request), is_part=part_of_page
        )
        return replace(key.hidden(answer) if key else answer, request=request)

    async def dispatch(self, one: Dispatch, *, timeout: float) -> Answer:
        """The answer to a request with an effect, which is sent once, over a connection of its own.

        Raises NeverLeft or HostBusy when no byte has left, Forbidden when none may, and NotAnswered when one has left
        and no complete answer came within `timeout` seconds.
        """
        target = self.guard.target(one.url)
        if one.key is not None and not one.key.opens(target):
            raise Forbidden(
                f"the key {one.key.name!r} is for {one.key.bound.host} over https, not for {brief(one.url)}"
            )
        interval = 0.0 if target.private else self._settings.rate
        wait = await self._pacer.reserve(target.authority, interval, self._most_wait)
        if wait > self._most_wait:
            raise HostBusy(
                f"{target.authority} may be asked again in {wait:.0f} s", retry_after=timedelta(seconds=wait)
            )
        if wait > 0:
            await self._sleep(wait)
        # Only our own code names these headers, and a key's are checked where it is made.
        given = {**one.headers, **({"Content-Type": one.content_type} if one.content else {})}
        whole = {"Host": target.authority, **given, "User-Agent": self.user_agent, "Accept-Encoding": ACCEPTED}
        if one.key is not None:
            whole |= one.key.header()
        path = one.key.path(target) if one.key is not None else target.path
        # A kept connection may be closed by the site while the request is on its way.
        exchanger, departed = Exchanger(self._network, timeout), list[str]()
        content = one.content or None
        try:
            answer = await exchanger.send(target, path, one.method, whole, content, MOST_ANSWER, departed=departed)
        except FetchError as error:
            if departed:
                raise NotAnswered(str(error)) from None
            if isinstance(error, Forbidden):
                raise
            raise NeverLeft(str(error), retry_after=error.retry_after) from None
        finally:
            await exchanger.aclose()
        await self._rest(target, answer)
        return one.key.hidden(answer) if one.key is not None else answer

    async def _follow(
        self,
        method: str,
        first: Target,
        headers: dict[str, str],
        content: bytes | None,
        limit: int,
        key: Key | None,
        *,
        is_page: bool,
        is_part: bool,
    ) -> Answer:
        target = first
        for _ in range(MOST_REDIRECTS + 1):
            opened = key if key is not None and key.opens(target) else None
            needs_robots = opened is None and (is_page or system_of(target.host) is None)
            delay = await self._robots.delay(target) if needs_robots else 0.0
            answer = await self._paced(method, target, headers, content, limit, opened, delay=delay, is_part=is_part)
            following = self._redirect(method, target, answer, key)
            if following is None:
                return answer
            if (following.scheme, following.authority) != (target.scheme, target.authority):
                headers = {name: value for name, value in headers.items() if name.lower() in ANYWHERE}
            target = following
        raise TooManyRedirects(
            f"{brief(first.url)} redirects more than {MOST_REDIRECTS} times, at last to {brief(target.url)}"
        )

    def _redirect(self, method: str, target: Target, answer: Answer, key: Key | None) -> Target | None:
        """Where a redirect leads; None when the answer is none, or one that is not followed."""
        location = answer.headers.get("location")
        # A redirect of a POST would send a GET, or the body to somebody else.
        if answer.status not in REDIRECTS or location is None or method == "POST":
            return None
        try:
            joined = str(httpx2.URL(target.url).join(_text(location)))
        except (httpx2.InvalidURL, ValueError) as error:
            raise Forbidden(f"{brief(target.url)} redirects to {brief(location)}: {error}") from None
        following = self.guard.target(key.without(joined) if key else joined)
        if following.private and not target.private:
            raise Forbidden(f"{brief(target.url)} redirects to the private host {following.authority}")
        system = system_of(target.host)
        # A board that sends us to another host is no longer the board; its adapter decides what that means.
        return None if system is not None and system_of(following.host) != system else following

    async def _paced(
        self,
        method: str,
        target: Target,
        headers: Mapping[str, str],
        content: bytes | None,
        limit: int,
        key: Key | None = None,
        *,
        delay: float = 0.0,
        is_part: bool = False,
        cut: bool = False,
    ) -> Answer:
        """The answer of one request, sent when its turn has come."""
        interval = 0.0 if is_part else max(0.0 if target.private else self._settings.rate, delay)
        wait = await self._pacer.reserve(target.authority, interval, self._most_wait)
        if wait > self._most_wait:
            raise HostBusy(
                f"{target.authority} may be asked again in {wait:.0f} s", retry_after=timedelta(seconds=wait)
            )
        if wait > 0:
            await self._sleep(wait)
        whole = {"Host": target.authority, **headers, "User-Agent": self.user_agent, "Accept-Encoding": ACCEPTED}
        path = target.path
        if key is not None:
            whole |= key.header()
            path = key.path(target)
        exchanger = self._exchanges()
        if target.private:
            answer = await exchanger.send(target, path, method, whole, content, limit, cut=cut)
        else:
            async with self._slots.setdefault(target.authority, asyncio.Semaphore(AT_ONCE)):
                answer = await exchanger.send(target, path, method, whole, content, limit, cut=cut)
        await self._rest(target, answer)
        return answer

    async def _rest(self, target: Target, answer: Answer) -> None:
        """Leave a host alone that asks for it."""
        if answer.status in (429, 503):
            wanted = pause(answer.headers.get("retry-after"), self._now())
            if wanted is None and answer.status == 429:
                wanted = PAUSE_OF_429
            if wanted is not None:
                await self._pacer.block(target.authority, wanted)

    async def _fetch_robots(self, url: str) -> Answer:
        target = self.guard.target(url)
        headers = {"Accept": "text/plain"}
        for _ in range(MOST_REDIRECTS + 1):
            answer = await self._paced("GET", target, headers, None, MOST_ROBOTS, cut=True)
            following = self._redirect("GET", target, answer, None)
            if following is None:
                return answer
            target = following
        raise TooManyRedirects(f"{url} redirects more than {MOST_REDIRECTS} times")

    @property
    def user_agent(self) -> str:
        contact = self._settings.contact
        return f"{PRODUCT}/{__version__}" + (f" (+{contact})" if contact else "")

    def _headers(self, request: Request, known: Known | None) -> dict[str, str]:
        found = {}
        for name, value in request.headers.items():
            if not TOKEN.fullmatch(name) or not _is_sendable(value):
                raise Forbidden(f"the header {name[:100]!r} cannot be sent to {brief(request.url)}; check the source")
            if not OWN.fullmatch(name.lower()):
                found[name] = value
        if request.body is not None and "content-type" not in {name.lower() for name in found}:
            found["Content-Type"] = "application/json"
        return found | (known.headers() if known is not None and request.method == "GET" else {})

    def _exchanges(self) -> Exchanger:
        """The connections of this event loop. A worker may replace its loop; the old one's go with it."""
        loop = asyncio.get_running_loop()
        if self._exchanger is None or self._loop is not loop:
            self._loop, self._slots = loop, WeakValueDictionary()
            self._exchanger = Exchanger(self._network, self._settings.timeout)
        return self._exchanger

    def _now(self) -> float:
        return self._clock.now() / SECOND

    async def aclose(self) -> None:
        """Close the connections. A later request opens new ones."""
        exchanger, self._exchanger, self._loop = self._exchanger, None, None
        if exchanger is not None:
            await exchanger.aclose()


def system_of(host: str) -> str | None:
    """The domain of the known system that a host belongs to. Its requests never leave it.

    Its lists and feeds are published to be read by programs, and are read whatever its robots.txt says, which is
    for its pages.
    """
    return next((ending for ending, _ in HOSTS if host == ending or host.endswith("." + ending)), None)


def _wants_page(request: Request) -> bool:
    return any("html" in value.lower() for name, value in request.headers.items() if name.lower() == "accept")


def _is_sendable(value: str) -> bool:
    return len(value) <= 2000 and value.isascii() and value.isprintable()


def _text(header: str) -> str:
    """A header in UTF-8, as browsers read it, if it is that."""
    try:
        return header.encode("latin-1").decode("utf-8").strip()
    except UnicodeDecodeError:
        return header.strip()
