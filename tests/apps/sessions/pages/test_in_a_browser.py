"""One day of somebody who works with agents, in a real browser, with a worker and the scripted agent behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, async_playwright, expect

from interlock.apps.sessions import control, registry
from interlock.apps.sessions.control import NewPrompt, NewSession
from interlock.apps.sessions.settings import SessionSettings
from interlock.machine import USER, Actor
from tests.support.browser import CHROMIUM, RunningService, needs_browser, run_service, window
from tests.support.sessions import REPO, make_repository
from tests.support.site import EVIL

pytestmark = [needs_browser, pytest.mark.asyncio(loop_scope="module")]
TAGS = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]
ROOT = "/ui/sessions"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("sessions")
    repo = {"url": str(make_repository(folder / "source")), "push": True, "merge": True}
    settings = SessionSettings.model_validate({"repos": {REPO: repo}, "folder": folder / "files"})
    with run_service(folder / "interlock.db", registry, sections={"sessions": settings}) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        made = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        await made.close()


async def test_a_day_with_an_agent(place: RunningService, browser: Browser) -> None:
    """Start, watch live, approve with a key, follow up, read the difference, cancel: without loading a page by hand."""
    async with window(browser, place, "otto") as otto:
        page = otto.page
        await otto.go(ROOT)
        await page.keyboard.press("n")
        await page.get_by_label("Task").fill("Remove what nobody needs")
        await page.get_by_label("Files").set_input_files(
            {"name": "plan.txt", "mimeType": "text/plain", "buffer": b"First the flags"}
        )
        await page.get_by_label("Task").focus()
        for _ in range(2):  # an impatient person
            await page.keyboard.press("Control+Enter")
        await expect(page.get_by_role("heading", name="Remove what nobody needs")).to_be_visible()
        await expect(page.get_by_text("plan.txt").first).to_be_visible()
        # The agent's lines come by themselves, and what is open stays open.
        first = page.locator("details.tool").first
        await expect(first).to_be_visible()
        await first.locator("summary").click()
        asks = page.get_by_role("heading", name="May the agent use execute_bash?")
        await expect(asks).to_be_visible()
        await expect(first).to_have_attribute("open", "")
        # A prompt that is being written survives what comes meanwhile.
        field = page.get_by_label("Your next prompt")
        await field.fill("Then write about")
        await page.keyboard.press("Escape")
        await page.keyboard.press("a")
        await expect(asks).to_have_count(0)
        await expect(page.locator(".ending.e-done")).to_have_count(1)
        await expect(field).to_have_value("Then write about")
        await field.fill("Then write about tea. demo: slow 60")
        await page.get_by_role("button", name="Send").click()
        await expect(page.get_by_role("article", name="Prompt 2")).to_be_visible()
        await expect(page.get_by_label("Your next prompt")).to_have_value("")
        page.once("dialog", lambda dialog: dialog.accept())
        await page.get_by_role("button", name="Cancel", exact=True).click()
        await expect(page.locator(".ending.e-cancelled")).to_have_count(1)
        await page.get_by_role("link", name="Changes").click()
        await expect(page.locator("tr.d-added").first).to_be_visible()
        otto.fine()


@pytest.mark.soak
async def test_the_pages_have_no_barrier_on_a_phone_and_a_desk(place: RunningService, browser: Browser) -> None:
    me = Actor(USER, "otto")

    def start(text: str) -> str:
        return str(
            place.engine.write(
                lambda unit: (
                    control.start_with_prompt(unit, "default", me, "otto", NewSession(REPO), NewPrompt(text))[0].id
                )
            )
        )

    done, asks = start(f"Write about {EVIL}"), start("Remove the build. demo: ask")
    found: list[str] = []
    for options in (
        {"color_scheme": "dark", "viewport": {"width": 390, "height": 844}},
        {"color_scheme": "light", "viewport": {"width": 1440, "height": 900}},
    ):
        async with window(browser, place, "otto", **options) as otto:
            await otto.go(f"{ROOT}/{done}")
            await expect(otto.page.locator(".ending")).to_have_count(1)
            await otto.go(f"{ROOT}/{asks}")
            await expect(otto.page.locator(".approval")).to_have_count(1)
            paths = ("", "/new", f"/{done}", f"/{asks}", f"/{done}/changes", "/pool", "/dead-letters")
            for path in paths:
                await otto.go(f"{ROOT}{path}")
                for summary in await otto.page.locator("details.tool > summary").all():
                    await summary.click()
                wide = await otto.page.evaluate(
                    "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                )
                if wide > 1:
                    found.append(f"{path}: {wide} px wider than the window")
                result = await Axe().run(otto.page, options={"runOnly": TAGS})
                found += [f"{path}: {one['id']}: {one['nodes'][0]['target']}" for one in result.response["violations"]]
            found += otto.troubles
    assert found == []


async def test_without_a_script_a_session_is_started_and_read(place: RunningService, browser: Browser) -> None:
    async with window(browser, place, "otto", java_script_enabled=False) as otto:
        page = otto.page
        await otto.go(f"{ROOT}/new")
        await page.get_by_label("Task").fill("Write about coffee")
        await page.get_by_role("button", name="Start session").click()
        await expect(page.get_by_role("heading", name="Write about coffee")).to_be_visible()
        for _ in range(100):
            if await page.locator(".ending.e-done").count():
                break
            await page.wait_for_timeout(200)
            await page.reload()
        await expect(page.locator(".ending.e-done")).to_have_count(1)
        otto.fine()
