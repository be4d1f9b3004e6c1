"""The true demo in a browser, with all five applications: every page, and whole days by keyboard alone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx2
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Error, Page, async_playwright, expect

from tests.support.browser import CHROMIUM, needs_browser
from tests.support.crawling import SAME, crawl
from tests.support.waiting import eventually

pytestmark = [needs_browser, pytest.mark.soak, pytest.mark.asyncio(loop_scope="module")]
TOKEN = "il_demo_of_the_tests_0001"


@dataclass(frozen=True)
class Demo:
    url: str
    folder: Path

    def link(self) -> str:
        """A login link of the owner's; the service prints its own only to a terminal."""
        command = [
            sys.executable,
            "-m",
            "interlock",
            "login-link",
            "--database",
            f"sqlite:///{self.folder}/interlock.db",
        ]
        done = subprocess.run([*command, "--url", self.url], capture_output=True, text=True, check=True)
        found = re.search(r"http://\S+/login\?link=\S+", done.stdout)
        assert found is not None, done.stdout
        return found[0]


def _found(api: httpx2.Client, query: dict[str, str]) -> list[object]:
    found: list[object] = api.get("/api/instances", params=query).json()["instances"]
    return found


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    """`interlock up` in a folder of its own, once every application has something to decide."""
    folder = Path(tempfile.mkdtemp(prefix="il-demo-"))
    command = [sys.executable, "-m", "interlock", "up", "--port", "0", "--data", str(folder)]
    with subprocess.Popen(
        command, env={**os.environ, "INTERLOCK_TOKEN": TOKEN}, stdout=subprocess.PIPE, text=True
    ) as service:
        assert service.stdout is not None
        url = next(found[0] for line in service.stdout if (found := re.search(r"http://127.0.0.1:\d+", line)))
        with httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as api:
            for machine, state in (("contract", "review_required"), ("application", "requires_review")):
                query = {"machine": machine, "state": state, "limit": "1"}
                eventually(partial(_found, api, query), within=180)
        try:
            yield Demo(url, folder)
        finally:
            service.terminate()
    shutil.rmtree(folder, ignore_errors=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        made = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        await made.close()


async def test_no_page_of_the_demo_has_an_error_or_a_barrier(demo: Demo, browser: Browser) -> None:
    made = await crawl(browser, demo.url, demo.link, skip=SAME)
    assert made.findings == []
    assert len(made.seen) > 60, "the crawl reaches the pages of all applications"


# -- by keyboard alone


async def reach(page: Page, name: str) -> None:
    """Press Tab until the focus is on the control of this name."""
    for _ in range(400):
        await page.keyboard.press("Tab")
        try:
            on = await page.evaluate(
                "(e => ((e.labels?.[0] ?? e).textContent + ' ' + (e.getAttribute('aria-label') ?? '')).trim()"
                ".replace(/\\s+/g, ' '))(document.activeElement)"
            )
        except Error:  # the key before led to another page
            await page.wait_for_load_state()
            continue
        if re.match(name, on):
            return
    raise AssertionError(f"Tab never reaches {name!r} on {page.url}")


async def press(page: Page, name: str) -> None:
    await reach(page, name)
    await page.keyboard.press("Enter")


async def logged_in(demo: Demo, browser: Browser) -> Page:
    page = await (await browser.new_context(viewport={"width": 1280, "height": 800})).new_page()
    page.set_default_timeout(30_000)
    await page.goto(demo.link())
    await page.wait_for_url("**/ui")
    return page


async def test_a_newcomer_starts_something_in_each_application(demo: Demo, browser: Browser) -> None:
    page = await logged_in(demo, browser)
    await press(page, "Skip to content")
    await expect(page.locator("main")).to_be_focused()
    await page.goto(demo.url + "/ui")  # the way back: keys of the browser
    await press(page, "Parcel")
    await press(page, "New instance")
    await reach(page, "Content")
    await page.keyboard.type("a lamp")
    await page.keyboard.press("Enter")
    await expect(page.locator("h1")).to_have_text("a lamp")
    await press(page, "Jobs")
    await press(page, "Companies")
    await reach(page, "Name")
    await page.keyboard.type("Keyboard Works")
    await reach(page, "Website")
    await page.keyboard.type("https://keyboard.example")
    await page.keyboard.press("Enter")
    await expect(page.locator("#companies")).to_contain_text("Keyboard Works")
    await press(page, "Sessions")
    await page.wait_for_url("**/ui/sessions")
    await page.keyboard.press("n")
    await expect(page.get_by_label("Task")).to_be_focused()
    await page.keyboard.type("Say what this repository is about.")
    await page.keyboard.press("Control+Enter")
    await expect(page.locator("#talk")).to_contain_text("Say what this repository is about.")
    await press(page, "Contracts")
    await press(page, "Upload")
    await reach(page, "Choose files")


async def test_a_reviewer_snoozes_reads_and_decides(demo: Demo, browser: Browser) -> None:
    page = await logged_in(demo, browser)
    await press(page, "Reviews")
    chosen = page.locator("#inbox-list a[aria-current=true]")
    first = await chosen.get_attribute("href")
    await page.keyboard.press("j")
    await expect(chosen).not_to_have_attribute("href", first or "")
    await page.keyboard.press("k")
    await expect(chosen).to_have_attribute("href", first or "")
    await page.keyboard.press("?")
    await expect(page.locator("dialog#keys")).to_be_visible()
    await page.keyboard.press("Escape")
    await reach(page, "Machine")
    await page.keyboard.type("contract")
    await expect(page).to_have_url(re.compile("machine=contract"))
    await page.keyboard.press("Escape")
    await page.keyboard.press("l")
    await page.keyboard.press("Enter")
    await expect(page.locator("#said")).to_contain_text("Snoozed until")
    await page.keyboard.press("o")
    await page.wait_for_url("**/review")
    await page.keyboard.press("t")
    await expect(page.locator("#approve")).to_be_visible()
    for _ in range(await page.locator("[data-flagged]").count()):
        await page.keyboard.press("a")
        if await page.evaluate("document.activeElement.name?.startsWith('value.')"):  # there is nothing to accept
            await page.keyboard.press("Escape")
            await page.keyboard.press("x")
    await expect(page.locator("#approve")).to_be_enabled()
    await press(page, "Approve")
    await expect(page.locator("#said")).to_contain_text("now.")


async def test_an_operator_halts_finds_and_pauses(demo: Demo, browser: Browser) -> None:
    page = await logged_in(demo, browser)
    await press(page, "Halt$")
    await reach(page, "Reason")
    await page.keyboard.type("the disk is full")
    await page.keyboard.press("Enter")
    await expect(page.locator("#halted-now")).to_contain_text("the disk is full")
    await press(page, "Resume everything")
    await expect(page.locator("#halted-now")).to_be_empty()
    await page.keyboard.press("/")
    await page.keyboard.type("a lamp")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/ui/instances?**")
    await reach(page, "Select a lamp")
    await page.keyboard.press("Space")
    await press(page, "Preview")
    await expect(page.locator("h1")).to_contain_text("1 instance")
    await press(page, "Cancel")
    await expect(page.locator("h1")).to_contain_text("Instances")
