"""`make screenshots`: pages of the demo that the documentation shows, into docs/images; one of each application."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from io import BytesIO
from pathlib import Path

import httpx2
from PIL import Image
from playwright.async_api import async_playwright

TOKEN = "il_screenshots_token_0001"
TARGET = Path("docs/images")
WIDE = {
    "overview": "/ui",
    "instance": "/ui/instances/{contract}",
    "reviews": "/ui/reviews?review={question}",
    "machine": "/ui/machines/contract",
    "contract": "/ui/contracts/{contract}/review",
    "jobs-matches": "/ui/jobs/matches",
    "jobs-posting": "/ui/jobs/postings/{posting}",
    "application": "/ui/jobs/applications/{application}",
    "claims": "/ui/machines/job",
    "session": "/ui/sessions/{asking}",
}
"""Pages on a screen, light; the first also dark."""
SMALL = {"phone": "/ui/reviews?review={question}"}
PATIENCE, SETTLED = 240.0, 40.0
"""Seconds until the demo must have something for every page, and seconds in which it goes on after that."""
COLOURS = 256
"""Colours of an image: pages have few, and its file is a third as large. Rare ones, as of badges, are kept."""


async def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="il-shots-"))
    with subprocess.Popen(
        [sys.executable, "-m", "interlock", "up", "--port", "0", "--data", str(folder)],
        env={**os.environ, "INTERLOCK_TOKEN": TOKEN},
        stdout=subprocess.PIPE,
        text=True,
    ) as service:
        try:
            await _take(service, folder)
        finally:
            service.terminate()
    shutil.rmtree(folder, ignore_errors=True)


async def _take(service: subprocess.Popen[str], folder: Path) -> None:
    assert service.stdout is not None
    url = next(found[0] for line in service.stdout if (found := re.search(r"http://127.0.0.1:\d+", line)))
    link = _login_link(folder, url)
    with httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as api:
        deadline = time.monotonic() + PATIENCE
        while (known := _known(api)) is None:
            if time.monotonic() > deadline:
                raise SystemExit(f"the demo has not something for every page after {PATIENCE:.0f} s")
            time.sleep(2)
        time.sleep(SETTLED)
        known = _known(api) or known
    TARGET.mkdir(parents=True, exist_ok=True)
    for old in TARGET.glob("*.png"):
        old.unlink()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        context = await browser.new_context()
        await (await context.new_page()).goto(link)
        cookies = await context.cookies()
        for width, theme, pages in (
            (1440, "light", WIDE),
            (1440, "dark", dict([next(iter(WIDE.items()))])),
            (390, "light", SMALL),
        ):
            window = await browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)  # type: ignore[arg-type]
            await window.add_cookies(cookies)  # type: ignore[arg-type]
            page = await window.new_page()
            for name, path in pages.items():
                await page.goto(url + path.format(**known))
                await page.wait_for_timeout(8000 if await page.locator("iframe, object, embed").count() else 1000)
                shot = await page.screenshot()
                if theme == "light" and _is_dark(shot):  # a PDF that this Chromium does not draw
                    await page.locator("h2", has_text="Answers").first.evaluate("e => e.scrollIntoView()")
                    shot = await page.screenshot()
                _keep(shot, TARGET / f"{name}-{theme}.png")
        await browser.close()


def _known(api: httpx2.Client) -> dict[str, str] | None:
    """What the pages show, by name; None while the demo has not all of it."""
    known = {
        "contract": _first(api, "instances", machine="contract", state="review_required"),
        "application": _first(api, "instances", machine="application", state="requires_review"),
        "question": _first(api, "reviews", machine="session"),
        "asking": _first(api, "reviews", "instance_id", machine="session"),
        "posting": _first(api, "jobs/postings", state="matched"),
    }
    return {name: one for name, one in known.items() if one} if all(known.values()) else None


def _first(api: httpx2.Client, path: str, field: str = "id", **query: str) -> str | None:
    answer = api.get(f"/api/{path}", params={**query, "limit": "1"})
    found = answer.json().get(path.rpartition("/")[2], []) if answer.status_code == httpx2.codes.OK else []
    return str(found[0][field]) if found else None


def _is_dark(shot: bytes) -> bool:
    """Whether a tenth of the picture is nearly black."""
    grey = Image.open(BytesIO(shot)).convert("L").histogram()
    return sum(grey[:64]) > sum(grey) / 10


def _keep(shot: bytes, path: Path) -> None:
    image = (
        Image.open(BytesIO(shot)).convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    )
    image.save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1000:,.0f} kB")


def _login_link(folder: Path, url: str) -> str:
    """The service prints its own link only to a terminal."""
    command = [sys.executable, "-m", "interlock", "login-link", "--database", f"sqlite:///{folder}/interlock.db"]
    done = subprocess.run([*command, "--url", url], capture_output=True, text=True, check=True)
    found = re.search(r"http://\S+/login\?link=\S+", done.stdout)
    assert found is not None, done.stdout
    return found[0]


if __name__ == "__main__":
    asyncio.run(main())
