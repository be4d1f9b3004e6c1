"""The register's pages in a real browser: upload, list, comparison, calendar; by keyboard alone, and for everybody."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, async_playwright, expect

from interlock.apps.contracts import registry
from interlock.testing import Trial
from tests.support.browser import CHROMIUM, RunningService, needs_browser, run_service, window
from tests.support.contracts import CLEAR, DOUBTFUL, ENERGY, close_reader
from tests.support.files import pdf

pytestmark = [needs_browser, pytest.mark.asyncio(loop_scope="module")]
TAGS = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with run_service(tmp_path_factory.mktemp("service") / "interlock.db", registry, work=False) as made:
        yield made
    close_reader()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        made = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        await made.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "clear.pdf").write_bytes(pdf(CLEAR))
    (folder / "strom.pdf").write_bytes(pdf(ENERGY))
    (folder / "doubtful.pdf").write_bytes(pdf(DOUBTFUL))
    (folder / "x.pdf").write_bytes(b"hello")
    return folder


async def accessible(page: Page) -> None:
    wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 1
    result = await Axe().run(page, options={"runOnly": TAGS})
    assert [f"{v['id']}: {v['nodes'][0]['target']}" for v in result.response["violations"]] == []


async def test_files_are_uploaded_listed_and_compared(place: RunningService, browser: Browser, files: Path) -> None:
    async with window(browser, place, "otto") as otto:
        page = otto.page
        await otto.go("/ui/contracts/upload")
        await expect(page.locator("#send")).to_be_hidden()  # the script is there, and sends by itself
        await page.locator("#files").set_input_files([files / "clear.pdf", files / "x.pdf", files / "strom.pdf"])
        rows = page.locator("#files-list li")
        await expect(rows).to_have_count(3)
        await expect(page.locator("[data-count]")).to_have_text("2 of 3 accepted")
        await expect(rows.nth(0)).to_contain_text("it looks like: Commercial agreement")
        await expect(rows.nth(1)).to_contain_text("'x.pdf' is not a PDF: it is text (5 bytes)")
        await expect(rows.nth(2)).to_contain_text("nergy")
        await accessible(page)
        content = list((files / "doubtful.pdf").read_bytes())
        await page.evaluate(
            """content => {
              const data = new DataTransfer()
              data.items.add(new File([new Uint8Array(content)], 'dropped.pdf', { type: 'application/pdf' }))
              const dropped = new DragEvent('drop', { dataTransfer: data, bubbles: true })
              document.getElementById('drop').dispatchEvent(dropped)
            }""",
            content,
        )
        await expect(page.locator("[data-count]")).to_have_text("3 of 4 accepted")
        Trial(place.engine).run_until_idle()
        await otto.go("/ui/contracts?q=limitation")
        await expect(page.locator(".contracts tbody tr")).to_have_count(2)
        await page.locator(".contracts input[name=id]").nth(0).check()
        await page.locator(".contracts input[name=id]").nth(1).check()
        await page.get_by_role("button", name="Compare the two selected").click()
        await expect(page.locator(".comparison h1")).to_have_text("clear.pdf → dropped.pdf")
        await expect(page.locator(".comparison .tag").first).to_have_css("display", "inline-block")
        await accessible(page)
        otto.fine()


@pytest.mark.parametrize(("theme", "width"), [("light", 390), pytest.param("dark", 1440, marks=pytest.mark.soak)])
async def test_list_and_calendar_are_for_everybody(
    place: RunningService, browser: Browser, theme: str, width: int
) -> None:
    options = {"color_scheme": theme, "viewport": {"width": width, "height": 900}}
    async with window(browser, place, "guest", **options) as guest:
        await guest.go("/ui/contracts")
        await expect(guest.page.locator("h1")).to_have_text("Contracts")
        await accessible(guest.page)
        await guest.go("/ui/contracts/calendar?months=all")
        await expect(guest.page.locator("h1")).to_have_text("Ends and notice dates")
        await accessible(guest.page)
        guest.fine()


async def test_the_calendar_is_used_by_keyboard_alone(place: RunningService, browser: Browser) -> None:
    async with window(browser, place, "mara") as mara:
        page = mara.page
        await mara.go("/ui/contracts/calendar?months=all")
        await expect(page.locator(".events li").first).to_contain_text("Nordwind Tools, Inc. and Harbor Retail LLC")
        button = page.get_by_role("button", name="Create an address")
        for _ in range(60):
            await page.keyboard.press("Tab")
            if await button.evaluate("one => one === document.activeElement"):
                break
        await page.keyboard.press("Enter")
        await expect(page.locator("#feed")).to_be_visible()
        address = await page.locator("#feed").inner_text()
        assert address.startswith(place.url)
        answer = await page.request.get(address)
        assert answer.status == 200
        assert "BEGIN:VEVENT" in await answer.text()
        async with page.expect_download() as download:
            await page.get_by_role("link", name="Download .ics").click()
        assert (await download.value).suggested_filename == "contracts.ics"
        mara.fine()


async def test_uploading_works_without_a_script(place: RunningService, browser: Browser, files: Path) -> None:
    async with window(browser, place, "otto", java_script_enabled=False) as otto:
        await otto.go("/ui/contracts/upload")
        await otto.page.locator("#files").set_input_files([files / "doubtful.pdf", files / "x.pdf"])
        await otto.page.locator("#send").click()
        await expect(otto.page.locator("[data-count]")).to_have_text("1 of 2 accepted")
        await expect(otto.page.locator("#files-list")).to_contain_text("Known already")
