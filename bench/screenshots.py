"""`make screenshots`: every page of the demo, in light and dark, into docs/images."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2
from playwright.async_api import Browser, async_playwright

TOKEN = "il_screenshots_token_0001"
TARGET = Path("docs/images")
PAGES = {
    "overview": "/ui",
    "machine": "/ui/machines/contract",
    "instances": "/ui/instances",
    "instance": "{contract}",
    "reviews": "{review}",
    "dead-letters": "/ui/dead-letters",
    "workers": "/ui/workers",
    "schedules": "/ui/schedules",
    "outbox": "/ui/outbox",
    "alerts": "/ui/alerts",
    "audit": "/ui/audit",
    "settings": "/ui/settings",
    "halt": "/ui/halt",
    "jobs-today": "/ui/jobs",
    "jobs-matches": "/ui/jobs/matches",
    "jobs-posting": "{posting}",
}
FILLED = 40.0
"""Seconds after which the demo has something on every page."""


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
        contract = api.get("/api/instances?machine=contract&state=review_required").json()["instances"][0]["id"]
        review = api.get(f"/api/reviews?instance={contract}").json()["reviews"][0]["id"]
        posting = api.get("/api/jobs/postings?state=matched&limit=1").json()["postings"][0]["id"]
    known = {
        "contract": f"/ui/instances/{contract}",
        "review": f"/ui/reviews?review={review}",
        "posting": f"/ui/jobs/postings/{posting}",
    }
    TARGET.mkdir(parents=True, exist_ok=True)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        context = await browser.new_context()
        await (await context.new_page()).goto(link)
        cookies = await context.cookies()
        await _login_page(browser, url)
        for theme in ("light", "dark"):
            wide = await browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme=theme)  # type: ignore[arg-type]
            await wide.add_cookies(cookies)  # type: ignore[arg-type]
            page = await wide.new_page()
            for name, path in PAGES.items():
                await page.goto(url + path.format(**known))
                await page.wait_for_timeout(300)
                await page.screenshot(path=TARGET / f"{name}-{theme}.png")
                print(f"{name}-{theme}.png")
            phone = await browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=theme)  # type: ignore[arg-type]
            await phone.add_cookies(cookies)  # type: ignore[arg-type]
            page = await phone.new_page()
            await page.goto(url + known["review"])
            await page.screenshot(path=TARGET / f"phone-{theme}.png")
        await browser.close()


def _login_link(folder: Path, url: str) -> str:
    """The service prints its own link only to a terminal."""
    command = [sys.executable, "-m", "interlock", "login-link", "--database", f"sqlite:///{folder}/interlock.db"]
    done = subprocess.run([*command, "--url", url], capture_output=True, text=True, check=True)
    found = re.search(r"http://\S+/login\?link=\S+", done.stdout)
    assert found is not None, done.stdout
    return found[0]


async def _login_page(browser: Browser, url: str) -> None:
    for theme in ("light", "dark"):
        context = await browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme=theme)  # type: ignore[arg-type]
        page = await context.new_page()
        await page.goto(f"{url}/ui/login")
        await page.screenshot(path=TARGET / f"login-{theme}.png")


if __name__ == "__main__":
    asyncio.run(main())
