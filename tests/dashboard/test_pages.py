"""Every page of the demo's world in a browser, each in one width and theme; `test_demo.py` has all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from tests.support.browser import CHROMIUM, RunningService, needs_browser
from tests.support.crawling import SAME, crawl
from tests.support.demo_world import demo_world

ALIKE = (
    "|machines/(company|source|listing|job|run|loan)|machines/(?!contract)[a-z_]+/flow"
    "|show=(done|working|closed|archived|all|saved|dismissed)|outcome="
)
"""Pages that only the long run looks at: others have the same template and something in it."""

pytestmark = [needs_browser, pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with demo_world(tmp_path_factory.mktemp("demo"), stories=24) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        made = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        await made.close()


@pytest.mark.soak
async def test_no_page_of_the_demo_has_an_error_or_a_barrier(place: RunningService, browser: Browser) -> None:
    made = await crawl(browser, place.url, lambda: place.link("owner"), skip=SAME + ALIKE, turns=True, windows=2)
    assert made.findings == []
    assert len(made.seen) > 50, "the crawl reaches the pages of all applications"
