"""The review beside the page in a real browser: keys, a drag on the page, and two reviewers at once."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator, Sequence
from uuid import UUID

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Dialog, Page, async_playwright, expect

from interlock.apps.contracts import registry
from interlock.apps.contracts.ingest import stored
from interlock.apps.contracts.models import Contract
from interlock.apps.contracts.settings import ContractSettings
from interlock.engine import Engine, reviews
from interlock.machine import Actor
from interlock.testing import Trial
from tests.support.browser import CHROMIUM, RunningService, needs_browser, run_service, window
from tests.support.contracts import CLEAR, DOUBTFUL, OPENING, close_reader
from tests.support.files import pdf
from tests.support.waiting import eventually

pytestmark = [needs_browser, pytest.mark.asyncio(loop_scope="module")]
TAGS = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]
HOSTILE = "Nord <script>alert(1)</script><img src=x onerror=alert(2)> Tools, Inc."
BLANK = (OPENING[0], OPENING[1].replace("March 5, 2024", "________, 2024"), *DOUBTFUL[0][2:], "", *DOUBTFUL[1])


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


def in_review(engine: Engine, name: str, pages: Sequence[Sequence[str]] = DOUBTFUL) -> UUID:
    """A contract that waits for a person."""
    content = pdf(pages)
    data = Contract(filename=name, pdf=hashlib.sha256(content).hexdigest())
    it = engine.create("contract", data, key=name, by_application=True)
    engine.keep_artifact(it.id, "original", content, media_type="application/pdf")
    Trial(engine).run_until_idle()
    assert engine.get(it.id).state == "review_required"
    return it.id


def fields(engine: Engine, it: UUID) -> dict[str, dict[str, object]]:
    return engine.read(lambda conn: stored.fields(conn, it, engine.get(it).data))


async def ready(page: Page) -> None:
    await expect(page.locator("#keys-bar")).to_be_visible()  # the script is there


async def taken(page: Page) -> None:
    await ready(page)
    await page.locator("#take button").click()
    await expect(page.locator("#approve")).to_be_attached()
    await ready(page)
    await expect(page.locator("#stage[data-inked], #words")).to_be_visible()  # the page has its size


async def test_a_reviewer_decides_with_keys_and_the_other_sees_it(place: RunningService, browser: Browser) -> None:
    it = in_review(place.engine, "keys.pdf", [BLANK])
    async with window(browser, place, "mara") as mara, window(browser, place, "ivo") as ivo:
        await mara.go(f"/ui/contracts/{it}/review")
        await taken(mara.page)
        approve = mara.page.locator("#approve")
        await expect(approve).to_be_disabled()
        await expect(mara.page.locator("#missing")).to_contain_text("still need a decision")
        await ivo.go(f"/ui/contracts/{it}/review")
        await expect(ivo.page.locator("#taken")).to_contain_text("mara has claimed it")
        await expect(ivo.page.locator("#approve")).to_have_count(0)
        await mara.page.locator("h1").click()
        await mara.page.keyboard.press("?")
        await expect(mara.page.locator("dialog#keys")).to_be_visible()
        await mara.page.keyboard.press("Escape")
        chosen = mara.page.locator(".field.chosen")
        await expect(chosen).to_have_attribute("data-field", "parties")
        await mara.page.keyboard.press("a")
        await expect(mara.page.locator("[name='do.parties'][value=accept]")).to_be_checked()
        await mara.page.keyboard.press("n")
        await expect(chosen).to_have_attribute("data-field", "agreement_date")
        await mara.page.keyboard.press("x")
        await expect(mara.page.locator("[name='do.agreement_date'][value=absent]")).to_be_checked()
        await mara.page.locator("#field-agreement_date summary").click()
        await expect(chosen).to_have_attribute("data-field", "agreement_date")
        await mara.page.keyboard.press("e")
        typed = mara.page.locator("[name='value.agreement_date']")
        await expect(typed).to_be_focused()
        await typed.fill("2024-03-05")
        await mara.page.keyboard.press("Enter")  # goes on, and sends nothing
        await expect(mara.page.locator("#missing")).to_have_text("Every doubtful field has a decision")
        await expect(chosen).not_to_have_attribute("data-field", "agreement_date")
        await expect(approve).to_be_enabled()
        await approve.click()
        await expect(mara.page.locator("#said")).to_contain_text("validated now")
        await expect(ivo.page.locator("#decided")).to_contain_text("by mara")  # without a reload
        mara.fine()
        ivo.fine()
    extracted = fields(place.engine, it)
    assert extracted["agreement_date"]["normalised"] == "2024-03-05"
    assert next(row for row in place.engine.history(it) if row.event == "approve").actor == "user:mara"


async def test_a_drag_on_the_page_sets_the_evidence_of_the_chosen_field(
    place: RunningService, browser: Browser
) -> None:
    it = in_review(place.engine, "drag.pdf")
    async with window(browser, place, "mara") as mara:
        await mara.go(f"/ui/contracts/{it}/review?field=parties")
        await taken(mara.page)
        lit = mara.page.locator(".marks rect.lit")
        await expect(lit.first).to_be_visible()
        leaf = await mara.page.locator(".leaf").bounding_box()
        assert leaf is not None
        scale = leaf["width"] / 612
        await mara.page.mouse.move(leaf["x"] + 70 * scale, leaf["y"] + 80 * scale)
        await mara.page.mouse.down()
        await mara.page.mouse.move(leaf["x"] + 205 * scale, leaf["y"] + 96 * scale, steps=4)
        await expect(mara.page.locator(".marks rect.drag")).to_have_count(1)
        await mara.page.mouse.up()
        await expect(mara.page.locator("#field-parties [data-marked]")).to_contain_text("page 1: SUPPLY AGREEMENT")
        await expect(mara.page.locator("[name='at.parties']")).to_have_value("1:0-16")
        await expect(mara.page.locator("[name='do.parties'][value=correct]")).to_be_checked()
        await mara.page.locator("[name='do.parties'][value=accept]").check()
        await mara.page.locator("#field-governing_law summary").click()  # its place is on the other page
        await expect(mara.page.locator("[data-page-word]")).to_have_text("Page 2 of 2")
        await expect(mara.page.locator(".leaf img")).to_have_attribute("src", f"/workflows/{it}/pages/2?scale=2")
        await mara.page.locator("#approve").click()
        await expect(mara.page.locator("#said")).to_contain_text("validated now")
        mara.fine()
    extracted = fields(place.engine, it)["parties"]
    assert extracted["quote"] == "SUPPLY AGREEMENT"
    assert isinstance(extracted["human"], dict)
    assert extracted["human"]["action"] == "accept"


async def test_a_drag_along_one_line_takes_whole_words_at_any_zoom(place: RunningService, browser: Browser) -> None:
    it = in_review(place.engine, "line.pdf")
    async with window(browser, place, "mara") as mara:
        await mara.go(f"/ui/contracts/{it}/review?field=parties")
        await taken(mara.page)
        before = await width_of(mara.page)
        await mara.page.keyboard.press("+")
        await mara.page.keyboard.press("+")
        assert await width_of(mara.page) > 1.2 * before
        await mara.page.locator("[data-zoom=fit]").click()
        stage = await mara.page.locator("#stage").bounding_box()
        assert stage is not None
        assert await width_of(mara.page) <= stage["width"]
        await mara.page.keyboard.press("+")
        leaf = await mara.page.locator(".leaf").bounding_box()
        box = await mara.page.evaluate(
            "fetch(document.getElementById('stage').dataset.text + 'page=1&box=70,80,200,95').then(r => r.json())"
        )
        left, top, right, bottom = box["boxes"][0]
        assert leaf is not None
        scale, middle = leaf["width"] / 612, (top + bottom) / 2
        await mara.page.mouse.move(leaf["x"] + (left + 9) * scale, leaf["y"] + middle * scale)
        await mara.page.mouse.down()
        await mara.page.mouse.move(leaf["x"] + (right - 9) * scale, leaf["y"] + middle * scale, steps=4)
        await mara.page.mouse.up()
        await expect(mara.page.locator("[name='at.parties']")).to_have_value("1:0-16")
        await expect(mara.page.locator("#field-parties [data-short] del")).to_contain_text("Harbor")
        mara.fine()


async def width_of(page: Page) -> float:
    leaf = await page.locator(".leaf").bounding_box()
    assert leaf is not None
    return leaf["width"]


async def test_words_are_marked_with_a_finger(place: RunningService, browser: Browser) -> None:
    it = in_review(place.engine, "finger.pdf")
    touch = {"has_touch": True, "viewport": {"width": 820, "height": 1100}}
    async with window(browser, place, "mara", **touch) as mara:
        await mara.go(f"/ui/contracts/{it}/review?field=parties")
        await taken(mara.page)
        await mara.page.locator("[data-select]").tap()
        await expect(mara.page.locator("[data-select]")).to_have_attribute("aria-pressed", "true")
        leaf = await mara.page.locator(".leaf").bounding_box()
        assert leaf is not None
        scale = leaf["width"] / 612
        session = await mara.page.context.new_cdp_session(mara.page)
        places = [{"x": leaf["x"] + x * scale, "y": leaf["y"] + 88 * scale} for x in (80, 120, 190)]
        await session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": places[:1]})
        for point in places[1:]:
            await session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
        await session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        await expect(mara.page.locator("[name='at.parties']")).to_have_value("1:0-16")
        mara.fine()


async def test_words_are_found_and_the_keys_walk_through_what_is_uncertain(
    place: RunningService, browser: Browser
) -> None:
    it = in_review(place.engine, "search.pdf", [BLANK])
    async with window(browser, place, "guest") as guest:
        await guest.go(f"/ui/contracts/{it}/review")
        await ready(guest.page)
        await guest.page.keyboard.press("f")
        await guest.page.keyboard.type("agreement")
        await guest.page.keyboard.press("Enter")
        await expect(guest.page.locator("[data-hit-word]")).to_contain_text("1 of ")
        await expect(guest.page.locator(".marks rect.hit.here").first).to_be_visible()
        await guest.page.keyboard.press("Enter")
        await expect(guest.page.locator("[data-hit-word]")).to_contain_text("2 of ")
        await guest.page.keyboard.press("Escape")
        chosen = guest.page.locator(".field.chosen")
        await expect(chosen).to_have_attribute("data-field", "parties")
        await guest.page.keyboard.press("n")
        await expect(chosen).to_have_attribute("data-field", "agreement_date")
        await guest.page.keyboard.press("p")
        await expect(chosen).to_have_attribute("data-field", "parties")
        guest.fine()


async def test_leaving_the_page_releases_the_review(place: RunningService, browser: Browser) -> None:
    it = in_review(place.engine, "leaving.pdf")
    async with window(browser, place, "mara") as mara, window(browser, place, "ivo") as ivo:
        await mara.go(f"/ui/contracts/{it}/review")
        await taken(mara.page)
        await ivo.go(f"/ui/contracts/{it}/review")
        await expect(ivo.page.locator("#taken")).to_contain_text("mara has claimed it")
        await mara.go("/ui/reviews")
        await eventually_free(place, it)
        await ivo.go(f"/ui/contracts/{it}/review")
        await taken(ivo.page)
        await ivo.page.locator("#release-button").click()
        await expect(ivo.page.locator("#said")).to_contain_text("Released")
        assert place.engine.reviews.waiting(instance_id=it)[0].claimed_by is None
        mara.fine()
        ivo.fine()


async def eventually_free(place: RunningService, it: UUID) -> None:
    def free() -> bool:
        return place.engine.reviews.waiting(instance_id=it)[0].claimed_by is None

    await asyncio.to_thread(eventually, free)


async def test_a_window_that_comes_too_late_can_only_read(place: RunningService, browser: Browser) -> None:
    it = in_review(place.engine, "late.pdf")
    async with window(browser, place, "mara") as mara, window(browser, place, "ivo") as ivo:
        await mara.go(f"/ui/contracts/{it}/review")
        await taken(mara.page)
        await mara.page.locator("#field-parties textarea").fill("Nordwind Tools, Inc.")
        task = place.engine.reviews.waiting(instance_id=it)[0]
        place.engine.write(lambda unit: reviews.release(unit, task.id, Actor.parse("user:mara")), name="review")
        await ivo.go(f"/ui/contracts/{it}/review")
        await taken(ivo.page)
        await ivo.page.locator("[name='do.parties'][value=accept]").check()
        await ivo.page.locator("#approve").click()
        await expect(ivo.page.locator("#said")).to_contain_text("validated now")
        await expect(mara.page.locator("#too-late")).to_contain_text("by ivo")
        await expect(mara.page.locator("#approve")).to_be_disabled()
        await expect(mara.page.locator("#field-parties textarea")).to_be_disabled()
        mara.fine()
        ivo.fine()


async def test_the_blind_check_shows_no_reading_and_asks_before_an_empty_answer(
    place: RunningService, browser: Browser
) -> None:
    place.engine.core.settings["contracts"] = ContractSettings(blind_share=1.0)
    content = pdf(CLEAR)
    data = Contract(filename="sample.pdf", pdf=hashlib.sha256(content).hexdigest())
    it = place.engine.create("contract", data, key="sample", by_application=True).id
    place.engine.keep_artifact(it, "original", content, media_type="application/pdf")
    Trial(place.engine).run_until_idle()
    place.engine.core.settings["contracts"] = ContractSettings(blind_share=0.0)
    async with window(browser, place, "mara") as mara:
        asked: list[str] = []

        async def refuse(dialog: Dialog) -> None:
            asked.append(dialog.message)
            await (dialog.dismiss() if len(asked) == 1 else dialog.accept())

        mara.page.on("dialog", refuse)
        await mara.go(f"/ui/contracts/{it}/blind")
        await mara.page.locator("#take button").click()
        await expect(mara.page.locator("#done")).to_be_visible()
        text = await mara.page.content()
        assert "Nordwind" not in text
        assert "New York" not in text
        await expect(mara.page.locator(".leaf img")).to_be_visible()
        result = await Axe().run(mara.page, options={"runOnly": TAGS})
        assert [f"{v['id']}: {v['nodes'][0]['target']}" for v in result.response["violations"]] == []
        await mara.page.keyboard.press("a")
        await expect(mara.page.locator("#done")).to_be_visible()
        assert len(asked) == 1
        assert place.engine.reviews.waiting(instance_id=it)[0].status == "open"
        await mara.page.keyboard.press("a")
        await expect(mara.page.locator("#said")).to_contain_text("is counted")
        mara.fine()
    assert place.engine.reviews.waiting(instance_id=it) == []


@pytest.mark.parametrize(("theme", "width"), [pytest.param("light", 1440, marks=pytest.mark.soak), ("dark", 390)])
async def test_hostile_text_does_nothing_and_nobody_trips(
    place: RunningService, browser: Browser, theme: str, width: int
) -> None:
    law = "laws principles <script>alert(1)</script>"
    pages = [[line.replace("Nordwind Tools, Inc.", HOSTILE).replace("laws principles", law) for line in BLANK]]
    it = in_review(place.engine, f"<img src=x onerror=alert(3)> {width}.pdf", pages)
    options = {"color_scheme": theme, "viewport": {"width": width, "height": 900}}
    async with window(browser, place, "mara", **options) as mara:
        dialogs: list[str] = []
        mara.page.on("dialog", lambda d: dialogs.append(d.message))
        await mara.go(f"/ui/contracts/{it}/review?field=governing_law")
        await taken(mara.page)
        await expect(mara.page.locator("#field-governing_law blockquote")).to_contain_text("<script>alert(1)")
        wide = await mara.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 1
        result = await Axe().run(mara.page, options={"runOnly": TAGS})
        assert [f"{v['id']}: {v['nodes'][0]['target']}" for v in result.response["violations"]] == []
        assert dialogs == []
        mara.fine()
