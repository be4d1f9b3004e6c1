"""A reviewer's day in a real browser: keys, forms, and two windows that tell each other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from uuid import UUID

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright, expect

from interlock.apps.sample import parcel
from tests.support.browser import CHROMIUM, RunningService, needs_browser, run_service, window
from tests.support.effects_and_reviews import leaflet
from tests.support.site import EVIL

pytestmark = [needs_browser, pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with run_service(tmp_path_factory.mktemp("service") / "interlock.db", [parcel, leaflet]) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        made = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        await made.close()


def heavy(place: RunningService, name: str) -> str:
    """A parcel that goes to customs, where a person is asked."""
    return str(place.engine.create("parcel", {"content": name}).id)


async def press(page: Page, key: str, shown: str) -> None:
    """A key on the page that shows this, once its script is there."""
    await expect(page.locator(".inbox .detail h2").first).to_have_text(shown)
    await page.wait_for_load_state("load")
    await page.keyboard.press(key)


async def test_a_reviewer_decides_with_keys_and_the_other_window_sees_it(
    place: RunningService, browser: Browser
) -> None:
    made = {name: heavy(place, name) for name in ("one heavy thing", "another heavy thing", "a third heavy thing")}
    async with window(browser, place, "mara") as mara, window(browser, place, "guest") as guest:
        await mara.go("/ui/reviews")
        await guest.go("/ui/reviews")
        for name in made:
            await expect(mara.page.locator(".inbox .list a", has_text=name)).to_be_visible()
            await expect(guest.page.locator(".inbox .list a", has_text=name)).to_be_visible()
        names = await mara.page.locator(".inbox .list a b").all_text_contents()  # as the workers were done with them
        await mara.page.locator(".inbox .list a", has_text=names[0]).click()
        await press(mara.page, "j", names[0])
        await expect(mara.page.locator(".inbox .detail h2").first).to_have_text(names[1])
        await press(mara.page, "k", names[1])
        await expect(mara.page.locator(".inbox .detail h2").first).to_have_text(names[0])
        await press(mara.page, "?", names[0])
        await expect(mara.page.locator("dialog#keys")).to_be_visible()
        await mara.page.keyboard.press("Escape")
        await mara.page.get_by_label("Reason").first.fill("a, r and l are typed here and do nothing")
        await expect(mara.page.locator(".inbox .detail h2").first).to_have_text(names[0])
        await mara.page.locator("h1").first.focus()
        await mara.page.locator("button[data-hotkey=a]").click()
        await expect(mara.page.locator("#said")).to_contain_text("Decided: clear")
        await expect(guest.page.locator(".inbox .list a", has_text=names[0])).to_have_count(0)
        await expect(mara.page.locator(".inbox .list a", has_text=names[0])).to_have_count(0)
        mara.fine()
        guest.fine()
    done = place.engine.get(UUID(made[names[0]]))
    assert done.state == "shipped"
    assert place.engine.history(done.id)[-1].actor == "user:mara"
    assert place.engine.history(done.id)[-1].payload["reason"].startswith("a, r and l")


async def test_a_decision_is_undone_where_the_machine_leads_back(place: RunningService, browser: Browser) -> None:
    made = place.engine.create("leaflet", {}, key="spring sale").id
    async with window(browser, place, "mara") as mara:
        await mara.go("/ui/reviews?machine=leaflet")
        await mara.page.get_by_role("button", name="Print").click()
        await expect(mara.page.locator("#said")).to_have_text("Decided: print, now approved")
        await expect(mara.page.locator("#inbox-list a")).to_have_count(0)
        await mara.page.get_by_role("button", name="Undo: back to proof").click()
        await expect(mara.page.locator("#said")).to_have_text("Undone: proof again")
        await expect(mara.page.locator("#inbox-list a")).to_have_count(1)
        await expect(mara.page.get_by_role("button", name="Undo")).to_have_count(0)
        await expect(mara.page.get_by_role("button", name="Print")).to_be_visible()
        mara.fine()
    assert [row.to_state for row in place.engine.history(made)] == ["proof", "approved", "proof"]


async def test_the_link_to_the_content_takes_the_focus_there(place: RunningService, browser: Browser) -> None:
    async with window(browser, place, "guest") as guest:
        await guest.go("/ui/settings")
        await guest.page.keyboard.press("Tab")
        await guest.page.keyboard.press("Enter")
        await expect(guest.page.locator("main")).to_be_focused()
        await guest.page.keyboard.press("Tab")
        await expect(guest.page.locator("main :focus")).to_have_count(1)
        guest.fine()


async def test_what_somebody_types_stays_while_the_page_keeps_up(place: RunningService, browser: Browser) -> None:
    heavy(place, "a slow decision here")
    async with window(browser, place, "ivo") as ivo:
        await ivo.go("/ui/reviews")
        await ivo.page.locator(".inbox .list a", has_text="a slow decision here").click()
        field = ivo.page.get_by_label("Reason").first
        await field.fill("half a sent")
        for number in range(3):
            heavy(place, f"newcomer number {number} is heavy")
        await expect(ivo.page.locator(".inbox .list a", has_text="newcomer number 2")).to_be_visible()
        await expect(field).to_have_value("half a sent")
        await expect(field).to_be_focused()
        ivo.fine()


async def test_without_a_script_the_same_can_be_done(place: RunningService, browser: Browser) -> None:
    heavy(place, "decided without a script")
    async with window(browser, place, "mara", java_script_enabled=False) as mara:
        await mara.go("/ui/reviews")
        for _ in range(50):
            if await mara.page.locator(".inbox .list a", has_text="decided without a script").count():
                break
            await mara.page.reload()
        await mara.page.locator(".inbox .list a", has_text="decided without a script").click()
        await mara.page.get_by_role("button", name="Send back").first.click()
        await expect(mara.page.locator("#said")).to_contain_text("Decided: send back")


async def test_hostile_text_does_nothing(place: RunningService, browser: Browser) -> None:
    place.engine.create("parcel", {"content": EVIL[:70] + "x"}, key=EVIL, labels={"evil": EVIL})
    async with window(browser, place, "owner") as owner:
        dialogs: list[str] = []
        owner.page.on("dialog", lambda d: dialogs.append(d.message))
        await owner.go("/ui/reviews")
        await expect(owner.page.locator(".inbox .list a", has_text="<script>")).to_be_visible()
        await owner.page.locator(".inbox .list a", has_text="<script>").click()
        await expect(owner.page.locator(".inbox .detail h2").first).to_contain_text("<script>alert(1)</script>")
        assert dialogs == []
        owner.fine()
