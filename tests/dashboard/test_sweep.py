"""Every page, in light and dark, wide and on a phone: no error, no other host, nothing that people would trip over."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, async_playwright

from interlock.apps.sample import parcel
from interlock.engine.schedules import ScheduleSpec
from interlock.machine import FINAL, Machine, Outcome, State, Transition, WorkError
from interlock.worker import Task
from tests.support.api import BY
from tests.support.browser import CHROMIUM, RunningService, needs_browser, run_service, window
from tests.support.site import EVIL

pytestmark = [needs_browser, pytest.mark.longer, pytest.mark.asyncio(loop_scope="module")]
TAGS = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]
PAGES = (
    "/ui",
    "/ui/machines/parcel",
    "/ui/machines/parcel/flow",
    "/ui/instances",
    "/ui/instances?machine=parcel&text=tea",
    "/ui/instances/{instance}",
    "/ui/instances/{instance}?tab=data",
    "/ui/instances/{instance}?tab=artifacts",
    "/ui/instances/{instance}?tab=family",
    "/ui/reviews",
    "/ui/dead-letters",
    "/ui/workers",
    "/ui/schedules",
    "/ui/outbox",
    "/ui/alerts",
    "/ui/costs",
    "/ui/audit",
    "/ui/settings",
    "/ui/halt",
    "/ui/logout",
)

SOAK = bool(os.environ.get("INTERLOCK_SOAK"))
"""Every page in every combination is looked at in the long run; else each page wide and light, or small and dark."""


class Broken(WorkError):
    """It cannot be done."""


broken = Machine(
    "broken",
    initial="trying",
    states=[State("trying"), State("done", FINAL)],
    transitions=[Transition("trying", "done", on="do")],
)


@broken.work("trying")
def fail(task: Task[dict[str, object]]) -> Outcome:
    raise Broken(EVIL)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """With something on every page."""
    with run_service(tmp_path_factory.mktemp("service") / "interlock.db", [parcel, broken]) as made:
        engine = made.engine
        for content in ("tea", "books", "a grand piano", "an anvil of iron", EVIL[:60]):
            it = engine.create("parcel", {"content": content}, labels={"shop": "north"})
            engine.keep_artifact(it.id, "note.txt", b"some text", media_type="text/plain")
            engine.keep_artifact(it.id, "page.html", f"<h1>{EVIL}</h1>".encode(), media_type="text/html")
        engine.create("broken", key=EVIL)
        engine.schedules.put(ScheduleSpec("nightly", "parcel", "30 2 * * *", data={"content": "tea"}), actor=BY)
        engine.outbox.put("mail", "a@b.c", EVIL, {"text": EVIL}, workspace="default")
        engine.leases.take("sandbox-7", "worker one", timedelta(minutes=5))
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        made = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        await made.close()


@pytest.mark.parametrize(
    ("width", "theme"), [(390, "dark"), *([(1440, "light"), (1440, "dark"), (390, "light")] if SOAK else [])]
)
async def test_no_page_has_an_error_or_a_barrier(
    place: RunningService, browser: Browser, theme: str, width: int
) -> None:
    instance = next(i for i in place.engine.page(limit=100).instances if i.machine == "parcel")
    options = {"color_scheme": theme, "viewport": {"width": width, "height": 900}}
    found: list[str] = []
    async with window(browser, place, "owner", **options) as owner:
        for path in PAGES if SOAK else PAGES[width == 390 :: 2]:
            await owner.go(path.format(instance=instance.id))
            said = await owner.page.title()
            if "wrong" in said or "Not" in said:
                found.append(f"{path}: {said}")
            wide = await owner.page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            if wide > 1:
                found.append(f"{path}: {wide} px wider than the window")
            result = await Axe().run(owner.page, options={"runOnly": TAGS})
            for violation in result.response["violations"]:
                nodes = "; ".join(str(node["target"]) for node in violation["nodes"][:3])
                found.append(f"{path}: {violation['impact']} {violation['id']}: {nodes}")
        assert found + owner.troubles == []


async def test_the_login_page_too(place: RunningService, browser: Browser) -> None:
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(f"{place.url}/ui/login")
    result = await Axe().run(page, options={"runOnly": TAGS})
    assert [v["id"] for v in result.response["violations"]] == []
    await context.close()
