"""A crawl through the dashboard in a browser: every page that links lead to, and what is wrong with it.

A page is loaded at each width, in both themes. Its details, menus and dialogs are opened, too. Of pages that differ
only in their ids or filters, one is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, Request, Response

TAGS = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]
WIDTHS = (1440, 1280, 390)
THEMES = ("light", "dark")
HEAVIEST = 200_000
"""Bytes of a page with its style sheets and scripts; its images are not counted."""
MOST_SHIFT = 0.02
"""The layout shift of a page while it loads, as browsers measure it; 0.1 counts as good."""
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|(?<=/)\d+(?=/|$)|(?<=/)[0-9a-f]{32,64}(?=/|$)")
FILES = re.compile(r"\.(csv|json|ics|pdf)\b|/files/|/artifacts/|/export")
TELLING = ("tab", "status", "show", "outcome")
"""Parameters whose value makes another page; the values of others only choose rows."""


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
    link: str,
    *,
    start: Iterable[str] = ("/ui",),
    most: int = 400,
    looks: Sequence[tuple[int, str]] = tuple((width, theme) for width in WIDTHS for theme in THEMES),
    skip: str = "",
) -> Crawl:
    """Log in by the link, and look at every page within reach. `skip` is a pattern of addresses that are left out."""
    made = Crawl(url)
    context = await browser.new_context(viewport={"width": looks[0][0], "height": 900})
    await context.add_init_script(path=Path(__file__).with_suffix(".js"))
    page = await context.new_page()
    page.set_default_timeout(30_000)
    where = ""

    def trouble(what: str) -> None:
        made.note(where, what)

    def answered(response: Response) -> None:
        if response.status >= 400:
            trouble(f"{response.status} for {response.url.removeprefix(url)}")

    def failed(request: Request) -> None:
        # Leaving a page ends its stream of events, and a download is no page.
        if "ABORTED" not in str(request.failure):
            trouble(f"failed: {request.url.removeprefix(url)}: {request.failure}")

    page.on("console", lambda m: trouble(f"console: {m.text}") if m.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: trouble(f"script: {error}"))
    page.on("response", answered)
    page.on("requestfailed", failed)
    await page.goto(link)
    await page.wait_for_url("**/ui**")
    todo, kinds = [(path, "") for path in start], {kind_of(path) for path in start}
    while todo and len(made.seen) < most:
        path, _ = todo.pop(0)
        made.seen.append(path)
        width = 0
        for look in sorted(looks, key=lambda one: -one[0]):
            where = f"{path} [{look[0]} {look[1]}]"
            await page.emulate_media(color_scheme=look[1])  # type: ignore[arg-type]
            if look[0] != width:
                width = look[0]
                await page.set_viewport_size({"width": width, "height": 900})
                await page.goto(url + path)
                await page.wait_for_timeout(200)
            await _inspect(made, page, path, where, menus=True)
        for found in await links_of(page, url):
            kind = kind_of(found, path)
            if kind not in kinds and not (skip and re.search(skip, found)):
                kinds.add(kind)
                todo.append((found, path))
    await context.close()
    return made


async def links_of(page: Page, url: str) -> list[str]:
    """Pages that this one leads to, without files."""
    found: list[str] = await page.evaluate("crawler.links()")
    paths = [one.removeprefix(url).partition("#")[0] for one in found if one.startswith(url + "/ui")]
    return [
        one for one in dict.fromkeys(paths) if not re.search(r"\.(csv|json|ics|pdf)\b|/files/|/artifacts/|/export", one)
    ]


async def _inspect(made: Crawl, page: Page, path: str, where: str, *, menus: bool) -> None:
    for found in await page.evaluate("crawler.look()"):
        made.note(where, found)
    weight = await page.evaluate("crawler.weight()")
    made.weights[path] = max(weight, made.weights.get(path, 0))
    if weight > HEAVIEST:
        made.note(where, f"{weight:,} bytes without images")
    shift = await page.evaluate("crawler.shifted")
    made.shifts[path] = max(shift, made.shifts.get(path, 0.0))
    if shift > MOST_SHIFT:
        made.note(where, f"its layout shifts by {shift:.3f}")
    await barriers(made, page, where)
    if menus:
        for found in await page.evaluate("crawler.menus()"):
            made.note(where, found)
        await page.evaluate("crawler.open(true)")
        for found in await page.evaluate("crawler.look()"):
            made.note(f"{where}, all open", found)
        await barriers(made, page, f"{where}, all open")
        await page.evaluate("crawler.open(false)")
        for dialog in await page.locator("dialog").all():
            await dialog.evaluate("one => one.showModal()")
            await barriers(made, page, f"{where}, dialog open")
            await dialog.evaluate("one => one.close()")


async def barriers(made: Crawl, page: Page, where: str) -> None:
    """What axe finds."""
    result: Any = await Axe().run(page, options={"runOnly": TAGS})
    for violation in result.response["violations"]:
        nodes = "; ".join(str(node["target"]) for node in violation["nodes"][:3])
        made.note(where, f"{violation['impact']} {violation['id']}: {nodes}")
