"""The review beside the page in a real browser: keys, a drag on the page, and two reviewers at once."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterator, Sequence
from uuid import UUID

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, async_playwright, expect

from interlock.apps.contracts import registry
from interlock.apps.contracts.ingest import stored
from interlock.apps.contracts.models import Contract
from interlock.engine import Engine
from interlock.testing import Trial
from tests.support.browser import CHROMIUM, RunningService, needs_browser, run_service, window
from tests.support.contracts import DOUBTFUL, OPENING, close_reader
from tests.support.files import pdf

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


async def test_a_reviewer_decides_with_keys_and_another_is_told(place: RunningService, browser: Browser) -> None:
    it = in_review(place.engine, "keys.pdf", [BLANK])
    async with window(browser, place, "mara") as mara, window(browser, place, "ivo") as ivo:
        await mara.go(f"/ui/contracts/{it}/review")
        await ready(mara.page)
        approve = mara.page.locator("#approve")
        await expect(approve).to_be_disabled()
        await expect(mara.page.locator("#missing")).to_contain_text("still need a decision")
        await ivo.go(f"/ui/contracts/{it}/review")
        await expect(ivo.page.locator("#held")).to_contain_text("mara has claimed it")
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
        await mara.page.keyboard.press("e")
        typed = mara.page.locator("[name='value.agreement_date']")
        await expect(typed).to_be_focused()
        await typed.fill("2024-03-05")
        await mara.page.keyboard.press("Enter")  # goes on, and sends nothing
        await expect(mara.page.locator("#missing")).to_have_text("Every doubtful field has its decision")
        await expect(chosen).not_to_have_attribute("data-field", "agreement_date")
        await expect(approve).to_be_enabled()
        await approve.click()
        await expect(mara.page.locator("#said")).to_contain_text("keys.pdf: validated now")
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
        await ready(mara.page)
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


@pytest.mark.parametrize(("theme", "width"), [pytest.param("light", 1440, marks=pytest.mark.soak), ("dark", 390)])
async def test_hostile_text_does_nothing_and_nobody_trips(
    place: RunningService, browser: Browser, theme: str, width: int
) -> None:
    pages = [[line.replace("Nordwind Tools, Inc.", HOSTILE) for line in BLANK]]
    it = in_review(place.engine, f"<img src=x onerror=alert(3)> {width}.pdf", pages)
    options = {"color_scheme": theme, "viewport": {"width": width, "height": 900}}
    async with window(browser, place, "mara", **options) as mara:
        dialogs: list[str] = []
        mara.page.on("dialog", lambda d: dialogs.append(d.message))
        await mara.go(f"/ui/contracts/{it}/review?field=parties")
        await ready(mara.page)
        await expect(mara.page.locator("#field-parties blockquote")).to_contain_text("<script>alert(1)")
        wide = await mara.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 1
        result = await Axe().run(mara.page, options={"runOnly": TAGS})
        assert [f"{v['id']}: {v['nodes'][0]['target']}" for v in result.response["violations"]] == []
        assert dialogs == []
        mara.fine()
