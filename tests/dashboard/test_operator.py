"""An operator's day in a real browser: find, pause in bulk, mend what failed, stop everything, let it go on."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect

from interlock.engine.listing import Where
from interlock.machine import FINAL, USER, WAITING, Failures, Go, Machine, Outcome, Rule, State, Transition, WorkError
from interlock.worker import Task
from tests.support.browser import CHROMIUM, RunningService, needs_browser, run_service, window

pytestmark = [needs_browser, pytest.mark.asyncio(loop_scope="module")]
mended: set[str] = set()


class Jam(WorkError):
    """The press is jammed."""


press = Machine(
    "press",
    initial="printing",
    states=[State("printing"), State("drying", WAITING, waits_for="a person"), State("done", FINAL, good=True)],
    transitions=[Transition("printing", "drying", on="print"), Transition("drying", "done", on="take", by=USER)],
    failures=Failures(rules=(Rule((Jam,), retries=0),)),
)


@press.work("printing")
def printing(task: Task[dict[str, str]]) -> Outcome:
    if task.data.get("paper") == "thick" and "press" not in mended:
        raise Jam("the paper is stuck")
    return Go("drying")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with run_service(tmp_path_factory.mktemp("service") / "interlock.db", [press]) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        made = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        await made.close()


async def test_all_that_match_are_paused_and_another_window_sees_it(place: RunningService, browser: Browser) -> None:
    for n in range(12):
        place.engine.create("press", {"paper": "thin"}, key=f"sheet {n}", labels={"colour": "red" if n < 7 else "blue"})
    async with window(browser, place, "otto") as otto, window(browser, place, "guest") as guest:
        await guest.go("/ui/instances?machine=press&show=paused")
        await otto.go("/ui/instances?machine=press&label=colour%3Dred")
        await expect(otto.page.locator("tbody tr")).to_have_count(7)
        await otto.page.locator("#which").select_option(index=1)
        await otto.page.locator("#action").select_option("pause")
        await otto.page.get_by_role("button", name="Preview…").click()
        await expect(otto.page.locator("h1").last).to_contain_text("7 instances")
        await otto.page.get_by_label("Reason").fill("the ink is being changed")
        await otto.page.get_by_role("button", name="Pause 7 instances").click()
        await expect(otto.page.locator("main")).to_contain_text("7")
        await expect(guest.page.locator("tbody tr")).to_have_count(7)
        otto.fine()
        guest.fine()
    assert place.engine.count(Where(paused=True)).n == 7
    paused = place.engine.page(Where(paused=True), limit=1).instances[0]
    last = place.engine.history(paused.id)[-1]
    assert (last.kind, last.actor) == ("paused", "user:otto")
    assert "the ink is being changed" in last.payload["reason"]


async def test_what_failed_for_good_is_retried_after_it_was_mended(place: RunningService, browser: Browser) -> None:
    for _ in range(3):
        place.engine.create("press", {"paper": "thick"})
    async with window(browser, place, "otto") as otto, window(browser, place, "guest") as guest:
        await guest.go("/ui/dead-letters")
        await expect(guest.page.locator("#nav .pill.failed")).to_have_text("3")
        await otto.go("/ui/dead-letters")
        await otto.page.get_by_role("link", name="Jam").click()
        await expect(otto.page.locator("pre").first).to_contain_text("the paper is stuck")
        mended.add("press")
        await otto.page.locator("#all-retry summary").click()
        await otto.page.locator("#all-retry button").click()
        await expect(guest.page.locator("#letters")).not_to_contain_text("Jam")
        otto.fine()
        guest.fine()
    assert place.engine.dead_letters.find() == []


async def test_everything_stands_still_and_goes_on(place: RunningService, browser: Browser) -> None:
    async with window(browser, place, "otto") as otto, window(browser, place, "guest") as guest:
        await guest.go("/ui")
        await otto.go("/ui")
        await otto.page.get_by_role("link", name="Halt", exact=True).click()
        await otto.page.get_by_label("Reason").first.fill("fire drill")
        await otto.page.get_by_role("button", name="Halt everything").click()
        await expect(otto.page.get_by_role("heading", name="All machines are halted")).to_be_visible()
        await expect(guest.page.locator("#halted-now")).to_contain_text("All machines are halted by otto: fire drill")
        held = place.engine.create("press", {"paper": "thin"}, key="held back")
        await otto.go(f"/ui/instances/{held.id}")
        await expect(otto.page.locator(".callout").first).to_contain_text("otto")
        assert place.engine.get(held.id).state == "printing"
        await otto.go("/ui/halt")
        await otto.page.get_by_role("button", name="Resume everything").click()
        await expect(guest.page.locator("#halted-now")).to_be_empty()
        await otto.go(f"/ui/instances/{held.id}")
        await expect(otto.page.locator(".badge").first).to_contain_text("drying")
        otto.fine()
        guest.fine()


async def test_an_event_is_fired_with_a_button_and_the_timeline_shows_it(
    place: RunningService, browser: Browser
) -> None:
    it = place.engine.create("press", {"paper": "thin"}, key="the last sheet")
    async with window(browser, place, "otto") as otto, window(browser, place, "guest") as guest:
        await guest.go(f"/ui/instances/{it.id}")
        await otto.go(f"/ui/instances/{it.id}")
        await expect(otto.page.locator(".badge").first).to_contain_text("drying")
        await otto.page.locator("summary", has_text="Take").click()
        await otto.page.locator("details[open] button[type=submit]", has_text="Take").click()
        await expect(guest.page.locator(".badge").first).to_contain_text("done")
        await expect(guest.page.locator(".timeline")).to_contain_text("otto")
        assert await guest.page.locator("summary", has_text="Take").count() == 0
        otto.fine()
        guest.fine()


async def test_a_page_says_that_its_reader_is_logged_out_and_asks_for_nothing_more(
    place: RunningService, browser: Browser
) -> None:
    async with window(browser, place, "ivo") as ivo:
        await ivo.go("/ui/settings")
        other = await ivo.page.context.new_page()
        await other.goto(f"{place.url}/ui/logout")
        await other.get_by_role("button", name="Log out of this browser").click()
        await other.wait_for_url("**/ui/login")
        await expect(ivo.page.locator("#said")).to_contain_text("You are logged out.")
        asked: list[str] = []
        ivo.page.on("request", lambda request: asked.append(request.url))
        place.engine.create("press", {"paper": "thin"}, key="nobody looks")
        await ivo.page.evaluate("document.dispatchEvent(new Event('interlock:changed'))")
        assert asked == []
        await ivo.page.get_by_role("link", name="Log in again").click()
        await ivo.page.wait_for_url("**/ui/login?after=*settings")
        ivo.fine()


async def test_a_page_of_what_is_gone_says_so_once(place: RunningService, browser: Browser) -> None:
    async with window(browser, place, "otto") as otto:
        await otto.go("/ui/instances")
        await otto.page.evaluate(f"history.replaceState(null, '', '/ui/instances/{uuid4()}')")
        await otto.page.evaluate("document.dispatchEvent(new Event('interlock:changed'))")
        await expect(otto.page.locator("#said")).to_contain_text("This page is gone")
        await expect(otto.page.locator("[data-live-word]")).to_have_text("Not live")
        otto.fine()


async def test_filters_by_keyboard_apply_at_once_and_keep_the_focus(place: RunningService, browser: Browser) -> None:
    async with window(browser, place, "owner") as owner:
        page = owner.page
        await owner.go("/ui/instances")
        machine = page.get_by_label("Machine")
        await machine.focus()
        await page.keyboard.type("press")
        await expect(page).to_have_url(re.compile(r"\?machine=press$"))
        await expect(machine).to_be_focused()
        status = page.get_by_label("Status")
        await status.focus()
        await page.keyboard.type("paused")
        await expect(page).to_have_url(re.compile(r"\?machine=press&show=paused$"))
        await expect(page.locator("select[name=state]")).to_have_value("")
        await page.go_back()
        await expect(page.get_by_label("Status")).to_have_value("")
        await owner.go("/ui/audit")
        loads: list[str] = []
        page.on("request", lambda request: loads.append(request.url) if "from=" in request.url else None)
        await page.get_by_label("From").focus()
        await page.keyboard.type("02282026")
        await expect(page).to_have_url(re.compile("from=2026-02-28"))
        await expect(page.locator("#actions")).to_contain_text("user added")
        assert [one for one in loads if "from=2026-02-28" not in one] == []
        owner.fine()
