"""The matches in a real browser: keys, undo, and nothing that people would trip over, on a phone in the dark."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, async_playwright, expect

from interlock.apps.jobs import registry
from tests.apps.jobs.finder.rows import Finder
from tests.support.browser import CHROMIUM, RunningService, needs_browser, run_service, window
from tests.support.site import EVIL

pytestmark = [needs_browser, pytest.mark.asyncio(loop_scope="module")]
TAGS = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]
ADDRESS = "https://boards.greenhouse.io/kind/jobs"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """With two matches and a posting that was filtered."""
    with run_service(tmp_path_factory.mktemp("service") / "interlock.db", registry, work=False) as made:
        finder = Finder(made.engine)
        finder.profile(filter={"old": 0})
        for number, title in enumerate(("Senior Backend Engineer, North", "Senior Backend Engineer, South")):
            finder.settled(f"{ADDRESS}/{number}", title=title)
        finder.settled(f"{ADDRESS}/9", title=f"Unpaid {EVIL}", description=f"<h1>Big</h1>{EVIL}")
        again = finder.posting(f"{ADDRESS}/10", title="Senior Backend Engineer, East")
        finder.set(again, outcome="skipped", reason=f"it is the same opening as {ADDRESS}/{'x' * 80}")
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        made = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        await made.close()


async def test_matches_are_dismissed_undone_and_opened_with_keys(place: RunningService, browser: Browser) -> None:
    async with window(browser, place, "owner") as owner:
        page = owner.page
        await owner.go("/ui/jobs/matches")
        rows = page.locator("[data-row]")
        await expect(rows).to_have_count(2)
        for key in ("j", "j", "k"):
            await page.keyboard.press(key)
        await expect(rows.nth(0)).to_be_focused()
        await page.keyboard.press("x")
        await expect(rows).to_have_count(1)
        await expect(rows.nth(0)).to_be_focused()
        await page.keyboard.press("u")
        await expect(rows).to_have_count(2)
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Requirements and your profile")).to_be_visible()
        owner.fine()


@pytest.mark.soak
async def test_the_pages_have_no_barrier_on_a_phone_in_the_dark(place: RunningService, browser: Browser) -> None:
    options = {"color_scheme": "dark", "viewport": {"width": 390, "height": 800}}
    found: list[str] = []
    async with window(browser, place, "owner", **options) as owner:
        await owner.go("/ui/jobs/why-not")
        filtered = await owner.page.locator("[data-open]", has_text="Unpaid").get_attribute("href")
        for path in ("/ui/jobs", "/ui/jobs/matches", "/ui/jobs/why-not", filtered):
            await owner.go(path or "")
            wide = await owner.page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            if wide > 1:
                found.append(f"{path}: {wide} px wider than the window")
            result = await Axe().run(owner.page, options={"runOnly": TAGS})
            found += [f"{path}: {one['id']}: {one['nodes'][0]['target']}" for one in result.response["violations"]]
        assert found + owner.troubles == []
