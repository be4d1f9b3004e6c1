"""From a rule to the confirmation in a real browser, on the demo world over HTTP; and no barrier on any page."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from hashlib import sha256
from uuid import UUID

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, async_playwright, expect

from interlock.apps.jobs import registry
from interlock.apps.jobs.autoapply.board import cards
from interlock.apps.jobs.autoapply.board.stages import Stage
from interlock.apps.jobs.autoapply.queueing import enqueueing
from interlock.apps.jobs.autoapply.queueing.sweeping import match_now
from interlock.apps.jobs.autoapply.review import deciding
from interlock.apps.jobs.settings import JobsSettings
from interlock.apps.jobs.world import World
from tests.apps.jobs.autoapply.applicant import ANN, HERE
from tests.apps.jobs.autoapply.steps.sending import PERSON
from tests.apps.jobs.finder.rows import Finder
from tests.support.browser import CHROMIUM, RunningService, needs_browser, run_service, window
from tests.support.waiting import eventually

pytestmark = [needs_browser, pytest.mark.asyncio(loop_scope="module")]
TAGS = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]
PAGES = (
    "/ui/jobs",
    "/ui/jobs/applications",
    "/ui/jobs/applications/{by_hand}",
    "/ui/jobs/applications/{asked}",
    "/ui/jobs/board",
    "/ui/jobs/board/{sent}",
    "/ui/jobs/calendar",
    "/ui/jobs/apply-rules",
    "/ui/jobs/apply-rules/new",
    "/ui/jobs/answers",
    "/ui/jobs/numbers",
    "/ui/jobs/apply-data",
)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World() as made:
        yield made


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, world: World) -> Iterator[RunningService]:
    """With a profile, an opening of the world, and other matches."""
    given = JobsSettings(
        private_hosts=[world.host], rate=0, timeout=5, autoapply={"demo_host": world.host, "submit_timeout": 5}
    )
    folder = tmp_path_factory.mktemp("service")
    with run_service(folder / "interlock.db", registry, sections={"jobs": given}) as made:
        finder = Finder(made.engine)
        finder.profile(**PERSON)
        finder.settled(f"{world.url}/tidewater/jobs/booking-backend", company="Tidewater Freight")
        finder.settled("https://jobs.kind.example/1", company="Kind Boats", title="Senior Python Engineer")
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        made = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        await made.close()


async def fill_in(page: Page, **fields: str) -> None:
    for name, value in fields.items():
        await page.locator(f"#rule [name={name}]").fill(value)


async def test_a_person_makes_a_rule_approves_a_packet_and_sees_the_confirmation(
    place: RunningService, browser: Browser, world: World
) -> None:
    async with window(browser, place, "owner") as owner:
        page = owner.page
        await owner.go("/ui/jobs/apply-rules")
        await page.get_by_role("link", name="Add a rule").click()
        result = page.locator("#preview [role=status]")
        await expect(result).to_contain_text("It would select 2 of 2 stored matches.")
        await fill_in(page, name="harbours", companies="Tidewater Freight")
        await expect(result).to_contain_text("It would select 1 of 2 stored matches.")
        await expect(page.locator("#preview")).to_contain_text("not one of the companies")
        await page.get_by_role("button", name="Add rule").click()
        await expect(page.locator("#said")).to_contain_text("Stored.")
        place.engine.write(lambda unit: match_now(unit, HERE, None), name="match_rules")

        await page.get_by_role("link", name="Today").click()
        waiting = page.locator(".queue > li", has_text="Tidewater Freight")
        await expect(waiting).to_contain_text("Approve or reject its packet")
        await waiting.get_by_role("link").first.click()
        await expect(page.get_by_role("heading", name="Claim check")).to_be_visible()
        resume = await page.locator("iframe[title^=Resume]").get_attribute("src") or ""
        shown = await (await page.request.get(place.url + resume)).body()
        assert shown.startswith(b"%PDF")
        await expect(page.get_by_role("cell", name="mika@sand.example")).to_be_visible()
        assert world.received.list() == []
        await page.get_by_role("button", name="Approve this packet").click()
        await expect(page.locator(".meta .badge")).to_contain_text("submitted")
        [arrived] = world.received.list()
        reference = page.locator("dt", has_text="Reference").locator("xpath=following-sibling::dd[1]")
        await expect(reference).to_have_text(re.compile(r"^[0-9A-F]{8}$"))
        assert arrived["fields"]["email"] == "mika@sand.example"
        assert arrived["files"][0]["sha256"] == sha256(shown).hexdigest(), "exactly the file that was shown"

        await page.get_by_role("link", name="Board", exact=True).click()
        card = page.locator("[data-stage=submitted] .ticket", has_text="Tidewater Freight")
        await card.drag_to(page.locator("[data-stage=interview]"))
        await expect(page.locator("[data-stage=interview] .ticket")).to_contain_text("Tidewater Freight")
        owner.fine()


@pytest.fixture(scope="module")
def made(place: RunningService) -> dict[str, UUID]:
    """Applications of every kind of page: sent by hand, asked about, and sent."""
    finder, engine = Finder(place.engine), place.engine

    def apply(number: int) -> UUID:
        posting = finder.settled(f"https://jobs.kind{number}.example/{number}", company=f"Kind Boats {number}")
        queued = engine.write(lambda unit: enqueueing.enqueue_by_person(unit, HERE, posting, ANN))
        assert queued.application is not None
        it = queued.application.id
        eventually(lambda: engine.get(it).state == "requires_review")
        return it

    found = {"by_hand": apply(2), "asked": apply(3), "sent": apply(4)}
    engine.write(lambda unit: deciding.open_form(unit, HERE, found["by_hand"], ANN))
    engine.write(lambda unit: deciding.report(unit, HERE, found["sent"], "submitted", ANN))
    engine.write(lambda unit: cards.move_card(unit, HERE, found["sent"], Stage.SCREENING, "user:ann"))
    return found


@pytest.mark.soak
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 1280, 390])
async def test_no_page_has_an_error_or_a_barrier(
    place: RunningService, browser: Browser, made: dict[str, UUID], theme: str, width: int
) -> None:
    found: list[str] = []
    async with window(browser, place, "owner", color_scheme=theme, viewport={"width": width, "height": 900}) as owner:
        for template in PAGES:
            path = template.format(**made)
            await owner.go(path)
            wide = await owner.page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            if wide > 1:
                found.append(f"{path}: {wide} px wider than the window")
            result = await Axe().run(owner.page, options={"runOnly": TAGS})
            found += [f"{path}: {one['id']}: {one['nodes'][0]['target']}" for one in result.response["violations"]]
        assert found + owner.troubles == []
