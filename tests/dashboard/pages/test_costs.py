"""The page of costs: sums by day, application and task, budgets for those who see the installation."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from interlock.ai.calls import Ended, Question, note
from interlock.config import AiSettings
from interlock.dashboard import plots
from interlock.dashboard.formatting import dollars
from interlock.dashboard.pages.costs import DOLLAR
from interlock.machine import Application
from interlock.watch import costs
from tests.support.api import order
from tests.support.site import EVIL, Site

CENT = 10_000_000


def spend(site: Site, cents: int | None, *, task: str = "judge", workspace: str = "default", **how: Any) -> None:
    model = how.pop("model", "big-model")
    question = Question(None, workspace, None, None, task, "v1", "cheap", "openai", model, 1, "h", None, "order")
    cost = None if cents is None else cents * CENT
    ended = Ended(model, input_tokens=1000, output_tokens=20, cost=cost, **how)
    site.api.engine.write(lambda unit: note(unit, None, question, ended))


def text_of(page: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.text))


def test_costs_are_shown_by_application_task_and_day(site: Site) -> None:
    site.api.engine.registry.applications["shop"] = Application("shop", machines=[order])
    spend(site, 500)
    site.api.clock.advance(timedelta(days=2))
    spend(site, 150)
    spend(site, 2, task="name_it", model="small-model")
    spend(site, None, error_type="ModelTimeout")
    spend(site, 0, cached=True)
    spend(site, 0, model="rules")
    page = text_of(site.get("/ui/costs"))
    assert "Today $1.52" in page
    assert "30 days $6.52 1 unpriced" in page
    assert "Model calls 4 in 30 days" in page
    assert "From the cache 1" in page
    assert "By rules 1" in page
    assert "shop $6.52 + ? 6 1 1 6,000 120" in page
    assert "judge shop · big-model $6.50 + ? 4 1 1 4,000 80" in page
    assert "name it shop · small-model $0.0200 1 0 0 1,000 20" in page
    assert page.index("big-model") < page.index("small-model"), "the most expensive first"
    assert "$6.52 spent in 30 days" in site.get("/ui/costs").text
    assert "7 days $6.52" in text_of(site.get("/ui/costs?span=7d"))
    assert "30 days $6.52" in text_of(site.get("/ui/costs?span=" + EVIL[:10]))
    site.api.clock.advance(timedelta(days=6))
    assert "7 days $1.52" in text_of(site.get("/ui/costs?span=7d"))


def test_budgets_say_what_is_left_and_what_a_spent_one_does(site: Site) -> None:
    assert "No budgets." in site.get("/ui/costs").text
    given = {"budgets": {"all": {"day": 2, "month": 100}, "shop": {"day": 1}}}
    site.api.engine.registry.applications["shop"] = Application("shop", machines=[order])
    site.api.engine.core.settings["ai"] = AiSettings.model_validate(given)
    spend(site, 180)
    page = text_of(site.get("/ui/costs"))
    assert "Installation a day 90 % $1.80 of $2.00 almost used" in page
    assert "Installation a month 1.8 % $1.80 of $100.00 calls are allowed" in page
    assert "shop a day 180.0 % $1.80 of $1.00 spent: models are not asked" in page


def test_others_see_the_costs_of_their_workspaces_without_budgets(site: Site) -> None:
    site.api.engine.core.settings["ai"] = AiSettings.model_validate({"budgets": {"all": {"day": 2}}})
    spend(site, 100)
    spend(site, 7, workspace="north")
    page = text_of(site.get("/ui/costs", "north-owner"))
    assert "Today $0.0700" in page
    assert "Budgets" not in page
    assert "Today $1.07" in text_of(site.get("/ui/costs", "viewer"))


def test_names_from_outside_are_escaped_and_the_page_stays_small(site: Site) -> None:
    for number in range(60):
        spend(site, number, task=f"{EVIL}{number}")
        site.api.clock.advance(timedelta(days=1))
    page = site.get("/ui/costs?span=90d")
    assert "<script>alert" not in page.text
    assert len(page.content) < 200_000


def test_dollars_are_shown_with_the_digits_that_matter() -> None:
    shown = [dollars(nano) for nano in (0, 1, 100_000, 600_000, 990_000_000, 1_000_000_000, 1_234_567_890_000)]
    assert shown == ["$0.00", "<$0.0001", "$0.0001", "$0.0006", "$0.9900", "$1.00", "$1,234.57"]


def test_a_bar_a_day_has_its_amount_and_an_empty_month_an_axis() -> None:
    days = [(n * costs.DAY, n * CENT) for n in range(10)]
    plot = plots.daily(days, "spent", dollars, top=DOLLAR)
    assert (len(plot.bars), plot.sentence) == (10, "$0.4500 spent in 10 days")
    assert (plot.bars[9].height, plot.bars[9].title) == (90.0, "Sat 10 Jan: $0.0900 spent")
    assert (plot.bars[0].height, plot.ticks[0], plot.ticks[-1]) == (0.0, "$0.1000", "$0.00")
    nothing = plots.daily([(0, 0)], "spent", dollars, top=DOLLAR)
    assert (nothing.ticks[0], nothing.ticks[-1]) == ("$1.00", "$0.00")
