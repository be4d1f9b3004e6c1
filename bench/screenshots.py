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
    "reviews": "/ui/reviews?review={parcel}",
    "machine": "/ui/machines/contract",
    "contract": "/ui/contracts/{contract}/review",
    "jobs-matches": "/ui/jobs/matches",
    "jobs-posting": "/ui/jobs/postings/{posting}",
    "application": "/ui/jobs/applications/{application}",
    "claims": "/ui/machines/job",
    "session": "/ui/sessions/{session}",
}
"""Pages on a screen, light; the first also dark."""
SMALL = {"phone": "/ui/reviews?review={parcel}"}
FILLED = 240.0
"""Seconds after which the demo has something on every page."""
COLOURS = 128
"""Colours of an image: pages have few, and its file is a third as large."""


async def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="il-shots-"))
    with subprocess.Popen(
        [sys.executable, "-m", "interlock", "up", "--port", "8489", "--data", str(folder)],
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
    time.sleep(FILLED)
    with httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as api:
        known = {
            "contract": _instance(api, "contract", "review_required"),
            "application": _instance(api, "application", "requires_review"),
            "session": _instance(api, "session", "needs_review"),
            "parcel": api.get("/api/reviews?machine=parcel&limit=1").json()["reviews"][0]["id"],
            "posting": api.get("/api/jobs/postings?state=matched&limit=1").json()["postings"][0]["id"],
        }
    TARGET.mkdir(parents=True, exist_ok=True)
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
                await page.wait_for_timeout(1000)
                _keep(await page.screenshot(), TARGET / f"{name}-{theme}.png")
        await browser.close()


def _instance(api: httpx2.Client, machine: str, state: str) -> str:
    query = {"machine": machine, "state": state, "limit": "1"}
    found: str = api.get("/api/instances", params=query).json()["instances"][0]["id"]
    return found


def _keep(shot: bytes, path: Path) -> None:
    image = Image.open(BytesIO(shot)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
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
