"""Rendered pages, for sources with `method: browser`: Chromium runs the page's scripts, and the client fetches for it.

Chromium itself reaches nothing: its proxy does not exist, names do not resolve in it, and web sockets are closed.
The `Fetcher` answers every request of the page, so the same checks hold for all of them, redirects included. Each
fetch has a browser of its own, so that nothing of one site is left for the next.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import orjson

from interlock.apps.jobs.finder.fetching.errors import FetchError, NoBrowser, TimedOut, TooLarge, Unreachable
from interlock.apps.jobs.finder.fetching.fetcher import Fetcher
from interlock.apps.jobs.finder.fetching.guard import Target, brief
from interlock.apps.jobs.finder.sources.answer import Answer, Request
from interlock.apps.jobs.settings import JobsSettings
from interlock.machine.extras import MissingExtra, require

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page, Route, WebSocketRoute

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--proxy-server=http://proxy.invalid:9",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--js-flags=--max-old-space-size=512",
]
LOADED = {"document", "script", "xhr", "fetch"}
"""What a page may load: what its text can depend on. Pictures, fonts and styles change no text."""
SENT = {"accept", "content-type"}
NOT_PASSED = {"content-encoding", "content-length", "transfer-encoding", "connection", "strict-transport-security"}
MOST_REQUESTS = 100
SETTLE_SECONDS = 10.0
"""How long a page may go on loading after its document is there."""
CLOSE_SECONDS = 5.0
AT_ONCE = 2


class Renderer:
    """Fetches pages as a browser shows them."""

    def __init__(self, fetcher: Fetcher, settings: JobsSettings) -> None:
        self._fetcher, self._settings = fetcher, settings
        self._loop: asyncio.AbstractEventLoop | None = None
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def fetch(self, request: Request, *, most_bytes: int | None = None) -> Answer:
        """The page after its scripts have run. An answer that is not a page is returned as it is."""
        most = self._settings.most_bytes
        limit = most if most_bytes is None else min(most, most_bytes)
        answer = await self._fetcher.fetch(request, most_bytes=limit)
        if not 200 <= answer.status < 300 or "html" not in (answer.header("content-type") or "html"):
            return answer
        executable = self._executable()
        name = brief(answer.url or request.url)
        async with self._slot():
            try:
                async with asyncio.timeout(self._settings.timeout):
                    return await self._render(answer, executable, limit)
            except TimeoutError:
                limit_text = f"{self._settings.timeout:g} s ([jobs] timeout)"
                raise TimedOut(f"{name} was not rendered after {limit_text}") from None

    def _executable(self) -> str | None:
        try:
            require("browser", "playwright")
        except MissingExtra as error:
            raise NoBrowser(str(error)) from None
        named = self._settings.browser
        if named is None:
            return next((found for name in NAMES if (found := shutil.which(name))), None)
        if shutil.which(named) is None:
            raise NoBrowser(f"{named} is not a program; correct [jobs] browser")
        return str(named)

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._slots = loop, asyncio.Semaphore(AT_ONCE)
        async with self._slots:
            yield

    async def _render(self, answer: Answer, executable: str | None, limit: int) -> Answer:
        from playwright.async_api import Error, async_playwright

        assert answer.url is not None
        async with async_playwright() as playwright:
            try:
                browser = await playwright.chromium.launch(
                    executable_path=executable, args=ARGUMENTS, chromium_sandbox=self._settings.browser_sandbox
                )
            except Error as error:
                raise NoBrowser(_no_browser(error, executable)) from None
            try:
                context = await browser.new_context(
                    accept_downloads=False, service_workers="block", user_agent=self._fetcher.user_agent
                )
                return await _Visit(self._fetcher, answer, limit).run(context)
            except Error as error:
                raise Unreachable(f"{brief(answer.url)} cannot be rendered: {_first_line(error)}") from None
            finally:
                with suppress(Error, TimeoutError):  # the end of Playwright ends it too
                    await asyncio.wait_for(browser.close(), CLOSE_SECONDS)


class _Visit:
    """One page in one browser."""

    def __init__(self, fetcher: Fetcher, answer: Answer, limit: int) -> None:
        assert answer.url is not None
        self._fetcher, self._answer, self._limit = fetcher, answer, limit
        self._url = answer.url
        self._first: Target = fetcher.guard.target(answer.url)
        self._is_shown = False
        self._requests = self._bytes = 0

    async def run(self, context: BrowserContext) -> Answer:
        from playwright.async_api import TimeoutError as NotInTime

        await context.route("**/*", self._route)
        await context.route_web_socket("**/*", _close)
        page = await context.new_page()
        context.on("page", _close_popup)
        await page.goto(self._url, wait_until="domcontentloaded", timeout=0)
        with suppress(NotInTime):  # a page that loads forever is read as it is then
            await page.wait_for_load_state("networkidle", timeout=SETTLE_SECONDS * 1000)
        html = (await page.content()).encode("utf-8", "replace")
        if len(html) > self._limit:
            raise TooLarge(f"{brief(self._url)} has more than {self._limit:,} bytes; no more are read")
        url = page.url if page.url.startswith(("http://", "https://")) else self._url
        headers = {**self._answer.headers, "content-type": "text/html; charset=utf-8"}
        return Answer(html, url, self._answer.status, headers, self._answer.request)

    async def _route(self, route: Route) -> None:
        """Answer a request of the page with what the client fetches."""
        from playwright.async_api import Error

        with suppress(Error):  # the page may be gone meanwhile
            found = await self._answered(route)
            if found is None:
                await route.abort("blockedbyclient")
            else:
                headers = {name: value for name, value in found.headers.items() if name not in NOT_PASSED}
                await route.fulfill(status=found.status, headers=headers, body=found.body)

    async def _answered(self, route: Route) -> Answer | None:
        asked = route.request
        if not self._is_shown and asked.is_navigation_request() and asked.url == self._url:
            self._is_shown = True
            return self._answer
        self._requests += 1
        if self._requests > MOST_REQUESTS or self._bytes > self._limit or asked.resource_type not in LOADED:
            return None
        try:
            if self._fetcher.guard.target(asked.url).private and not self._first.private:
                return None  # a page of the internet does not look around in here
            body = orjson.loads(asked.post_data_buffer) if asked.post_data_buffer else None
            headers = {name: value for name, value in asked.headers.items() if name in SENT}
            request = Request(asked.url, asked.method, headers, body if isinstance(body, dict) else None)
            found = await self._fetcher.fetch(request, most_bytes=self._limit - self._bytes, part_of_page=True)
        except (FetchError, ValueError):
            return None
        self._bytes += len(found.body)
        # The client followed its redirects. One that is left cannot be followed: the browser would do it by itself.
        return None if 300 <= found.status < 400 else found


async def _close(socket: WebSocketRoute) -> None:
    await socket.close()


async def _close_popup(page: Page) -> None:
    from playwright.async_api import Error

    with suppress(Error):
        await page.close()


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def _no_browser(error: BaseException, executable: str | None) -> str:
    if executable is None:
        return "no Chromium was found; install the package chromium, or name it in [jobs] browser"
    why = "its sandbox is not usable here" if "sandbox" in str(error) else _first_line(error)
    return f"{executable} does not start: {why}; see [jobs] browser and browser_sandbox"
