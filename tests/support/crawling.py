"""A crawl through the dashboard in a browser: every page that links lead to, and what is wrong with it.

A page is loaded at each width, in both themes. Its details, menus and dialogs are opened, too. Of pages that differ
only in their ids or filters, one is looked at.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, urlsplit

import axe_playwright_python
from playwright.async_api import Browser, Page, Request, Response

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
TAGS = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]
WIDTHS = (1440, 1280, 390)
THEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
Look = tuple[int, Literal["light", "dark"]]
LOOKS: tuple[Look, ...] = tuple((width, theme) for width in WIDTHS for theme in THEMES)
HEAVIEST = 200_000
"""Bytes of a page with its style sheets and scripts; its images are not counted."""
MOST_SHIFT = 0.05
"""The layout shift of a page while it loads, as browsers measure it; 0.1 counts as good. Times in tables grow."""
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|(?<=/)\d+(?=/|$)|(?<=/)[0-9a-f]{32,64}(?=/|$)")
FILES = re.compile(r"\.(csv|json|ics|pdf)\b|/files/|/artifacts/|/export")
TELLING = ("tab", "status", "show", "outcome")
"""Parameters whose value makes another page; the values of others only choose rows."""


SAME = (
    "after=|span=|verify=|months=|days=|page=|field=|by=|label=|add="
    "|status=(resolved|discarded|abandoned|delivered|retried)|group=.*machine|machine=.*group=|verify"
)
"""Addresses of pages that differ from those that are looked at only in what they choose."""


@dataclass
class Crawl:
    """What was seen on the way."""

    url: str
    findings: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    """The pages that were looked at."""
    weights: dict[str, int] = field(default_factory=dict)
    shifts: dict[str, float] = field(default_factory=dict)

    def note(self, where: str, what: str) -> None:
        line = f"{where}: {what}"
        if line not in self.findings:
            self.findings.append(line)


def kind_of(address: str, source: str = "") -> str:
    """What pages of the same kind have in common: the path without ids, and the names of their parameters.

    An instance's page is another one for each machine; the list that led to it names the machine.
    """
    parts = urlsplit(address)
    named = sorted(f"{name}={value}" if name in TELLING else name for name, value in parse_qsl(parts.query))
    kind = ID.sub("*", parts.path) + ("?" + "&".join(named) if named else "")
    machine = dict(parse_qsl(urlsplit(source).query)).get("machine", "")
    return f"{kind} {machine}" if parts.path.startswith("/ui/instances/") and not named else kind


async def crawl(
    browser: Browser,
    url: str,
    link: Callable[[], str],
    *,
    start: Iterable[str] = ("/ui",),
    looks: Sequence[Look] = LOOKS,
    skip: str = "",
    turns: bool = False,
    windows: int = 1,
) -> Crawl:
    """Log in by a link for each window, and look at every page within reach.

    `skip` is a pattern of addresses that are left out. With `turns`, each page has one of the looks, in turn.
    """
    made, level = Crawl(url), list(start)
    kinds = {kind_of(path) for path in level}
    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(_window(made, browser, link())) for _ in range(windows)]
        while level:
            # A level at a time: which page stands for its kind does not depend on which window is faster.
            todo = list(enumerate(level, len(made.seen)))
            made.seen += level
            found: dict[str, list[str]] = {}

            async def work(window: _Window, todo: list[tuple[int, str]], found: dict[str, list[str]]) -> None:
                while todo:
                    number, path = todo.pop(0)
                    await window.look(path, [looks[number % len(looks)]] if turns else looks)
                    found[path] = await links_of(window.page, url)

            await asyncio.gather(*(work(window, todo, found) for window in opened))
            before, level = level, []
            for source in before:
                for path in found[source]:
                    kind = kind_of(path, source)
                    if kind not in kinds and not (skip and re.search(skip, path)):
                        kinds.add(kind)
                        level.append(path)
    return made


@dataclass
class _Window:
    made: Crawl
    page: Page
    where: str = ""

    def trouble(self, what: str) -> None:
        self.made.note(self.where, what)

    def answered(self, response: Response) -> None:
        if response.status >= 400:
            self.trouble(f"{response.status} for {response.url.removeprefix(self.made.url)}")

    def failed(self, request: Request) -> None:
        # Leaving a page ends its stream of events, and a download is no page.
        if "ABORTED" not in str(request.failure):
            self.trouble(f"failed: {request.url.removeprefix(self.made.url)}: {request.failure}")

    async def look(self, path: str, looks: Sequence[Look]) -> None:
        width = 0
        for look in sorted(looks, key=lambda one: -one[0]):
            self.where = f"{path} [{look[0]} {look[1]}]"
            await self.page.emulate_media(color_scheme=look[1])
            if look[0] != width:
                width = look[0]
                await self.page.set_viewport_size({"width": width, "height": 900})
                await self.page.goto(self.made.url + path)
                await self.page.evaluate("crawler.settled()")
                shift = await self.page.evaluate("crawler.shifted")  # before anything is opened here
                self.made.shifts[path] = max(shift, self.made.shifts.get(path, 0.0))
                if shift > MOST_SHIFT:
                    self.trouble(f"its layout shifts by {shift:.3f}")
            await _inspect(self.made, self.page, path, self.where, twice=len(looks) > 1)


@asynccontextmanager
async def _window(made: Crawl, browser: Browser, link: str) -> AsyncIterator[_Window]:
    context = await browser.new_context()
    await context.add_init_script(path=AXE)
    await context.add_init_script(path=Path(__file__).with_suffix(".js"))
    page = await context.new_page()
    page.set_default_timeout(30_000)
    window = _Window(made, page)
    page.on("console", lambda m: window.trouble(f"console: {m.text}") if m.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: window.trouble(f"script: {error}"))
    page.on("response", window.answered)
    page.on("requestfailed", window.failed)
    await page.goto(link)
    await page.wait_for_url("**/ui**")
    yield window
    await context.close()


async def links_of(page: Page, url: str) -> list[str]:
    """Pages that this one leads to, without files."""
    found: list[str] = await page.evaluate("crawler.links()")
    paths = [one.removeprefix(url).partition("#")[0] for one in found if one.startswith(url + "/ui")]
    return [one for one in dict.fromkeys(paths) if not FILES.search(one)]


async def _inspect(made: Crawl, page: Page, path: str, where: str, *, twice: bool) -> None:
    """Look at the page as it is loaded, then with all that opens. axe looks `twice`, or only at what is open."""
    for found in await page.evaluate("crawler.look()"):
        made.note(where, found)
    weight = await page.evaluate("crawler.weight()")
    made.weights[path] = max(weight, made.weights.get(path, 0))
    if weight > HEAVIEST:
        made.note(where, f"{weight:,} bytes without images")
    if twice:
        await barriers(made, page, where)
    for found in await page.evaluate("crawler.menus()"):
        made.note(where, found)
    await page.evaluate("crawler.open(true)")
    for found in await page.evaluate("crawler.look()"):
        made.note(f"{where}, all open", found)
    await barriers(made, page, f"{where}, all open")
    await page.evaluate("crawler.open(false)")
    for dialog in await page.locator("dialog").all():
        await dialog.evaluate("one => one.showModal()")
        for found in await page.evaluate("crawler.look()"):
            made.note(f"{where}, dialog open", found)
        await barriers(made, page, f"{where}, dialog open")
        await dialog.evaluate("one => one.close()")


async def barriers(made: Crawl, page: Page, where: str) -> None:
    """What axe finds."""
    for found in await page.evaluate("crawler.barriers", TAGS):
        made.note(where, found)
