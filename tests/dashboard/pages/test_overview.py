"""The overview: what is going on, in numbers that lead to where one acts."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from uuid import uuid4

import pytest
import sqlalchemy as sa

from interlock.machine import OWNER, Actor
from interlock.store import Micros
from interlock.store import service_tables as s
from interlock.store import tables as t
from tests.support.api import BY
from tests.support.rollups import roll_all
from tests.support.site import EVIL, Site


def page(site: Site, who: str = "owner", query: str = "") -> str:
    roll_all(site.api.engine)
    answer = site.get(f"/ui{query}", who)
    assert answer.status_code == 200
    text: str = answer.text
    return text


def figures(text: str) -> dict[str, str]:
    """The figures by their names."""
    found = re.findall(r'class="figure[^"]*"[^>]*><span>(.*?)</span><b>(.*?)</b>', text)
    return {name: html.unescape(value) for name, value in found}


def links(text: str) -> dict[str, str]:
    found = re.findall(r'<a class="figure[^"]*" href="([^"]*)"><span>(.*?)</span>', text)
    return {name: html.unescape(to) for to, name in found}


def alert(site: Site, sentence: str, machine: str | None = "order") -> None:
    now: Micros = site.api.clock.now()
    row = {
        "id": uuid4(),
        "rule": "r",
        "machine": machine,
        "status": "open",
        "sentence": sentence,
        "value": 9.0,
        "threshold": 1.0,
        "opened_at": now,
        "seen_at": now,
        "notices": 1,
    }
    site.api.engine.write(lambda unit: unit.conn.execute(sa.insert(s.alert).values(row)))


# -- who sees it


@pytest.mark.parametrize("who", ["owner", "member", "reviewer", "viewer", "north-owner", "north-viewer"])
def test_everybody_who_is_logged_in_has_an_overview(site: Site, who: str) -> None:
    assert "<h1" in page(site, who)


def test_whoever_is_not_logged_in_is_sent_to_the_login(site: Site) -> None:
    browser = site.browser()
    browser.cookies.clear()
    assert browser.get("/ui", follow_redirects=False).headers["location"] == "/ui/login?after=/ui"


def test_another_workspace_is_not_in_the_numbers_nor_in_the_lists(site: Site) -> None:
    site.api.asked(key="key-of-ours")
    site.api.asked(workspace="north", key="key-of-theirs")
    assert figures(page(site, "viewer"))["Unfinished"] == "1"
    assert "key-of-theirs" not in page(site, "viewer")
    assert "key-of-ours" not in page(site, "north-owner")
    assert figures(page(site, "north-owner"))["Open reviews"] == "1"


# -- what it says


def test_figures_lead_to_where_one_acts(site: Site) -> None:
    assert links(page(site)) == {
        "Open reviews": "/ui/reviews",
        "Dead letters": "/ui/dead-letters",
        "Open alerts": "/ui/alerts",
        "Queue lag": "/ui/workers",
        "Workers alive": "/ui/workers",
        "Unfinished": "/ui/instances",
        "Finished in 24 h": "/ui/instances?show=finished",
        "Success rate": "/ui/instances?show=finished",
        "Failed attempts": "/ui/dead-letters",
    }


def test_the_figures_are_those_of_the_last_day(site: Site) -> None:
    sent, refused = site.api.asked(), site.api.asked()
    site.api.engine.fire(sent.id, "approve", actor=BY)
    site.api.engine.fire(refused.id, "refuse", actor=BY)
    site.api.asked()
    found = figures(page(site))
    assert found["Unfinished"] == "1"
    assert found["Finished in 24 h"] == "2"
    assert found["Success rate"] == "50 %"
    assert found["Open reviews"] == "1"
    assert found["Retry rate"] == "0 %"
    assert 'aria-label="2 finished in 24 hours"' in page(site)


def test_a_dead_letter_is_counted_with_its_failed_attempts(site: Site) -> None:
    site.api.dead()
    found = figures(page(site))
    assert found["Dead letters"] == "1"
    row = re.search(r'<tr data-key="order">.*?</tr>', page(site), re.DOTALL)
    assert row is not None
    assert '<a class="bad" href="/ui/dead-letters?machine=order">1</a>' in row[0]


def test_a_machine_is_a_line_with_its_kinds_and_what_is_there_longest(site: Site) -> None:
    made = site.api.asked(key="slow one")
    site.api.clock.advance(timedelta(hours=3, minutes=5))
    row = re.search(r'<tr data-key="order">.*?</tr>', page(site), re.DOTALL)
    assert row is not None
    assert '<a href="/ui/machines/order">' in row[0]
    assert "needs a person" in row[0]
    assert f'<a href="/ui/instances/{made.id}" title="asked">3 h 5 min</a>' in row[0]
    assert '<a class="due" href="/ui/reviews?machine=order">1</a>' in row[0]


def test_what_waits_longest_comes_first_and_says_for_what(site: Site) -> None:
    site.api.asked({"item": "an early order"}, key="early")
    site.api.clock.advance(timedelta(hours=1))
    site.api.new({"item": "a late order"})
    site.api.clock.advance(timedelta(minutes=1))
    rows = re.findall(r"<tr data-key=\"[0-9a-f-]{36}\">.*?</tr>", page(site), re.DOTALL)
    assert ["an early order" in rows[0], "a person to approve it" in rows[0], "1 h 1 min" in rows[0]] == [True] * 3
    assert ["a late order" in rows[1], "a worker" in rows[1]] == [True] * 2


def test_an_empty_service_says_what_would_fill_it(site: Site) -> None:
    assert "No unfinished instances." in page(site)
    assert figures(page(site))["Success rate"] == "—"


# -- over time


@pytest.mark.parametrize(
    ("query", "words", "columns"),
    [("", "24 hours", 25), ("?span=1h", "1 hour", 61), ("?span=7d", "7 days", 169), ("?span=%3Cb%3E", "24 hours", 25)],
)
def test_the_window_of_the_plots_is_part_of_the_address(site: Site, query: str, words: str, columns: int) -> None:
    text = page(site, query=query)
    assert re.findall(r'aria-current="true">(.*?)</a>', text) == [words]
    assert f'aria-label="0 finished in {words}"' in text
    assert text.count('class="f-none"') == 2 * columns


def test_what_finished_is_in_the_column_of_its_hour(site: Site) -> None:
    site.api.engine.fire(site.api.asked().id, "approve", actor=BY)
    site.api.clock.advance(timedelta(hours=2))
    titles = re.findall(r"<title>(\d\d:00 to \d\d:00 UTC: \d+ finished)</title>", page(site))
    assert [title.endswith(": 1 finished") for title in titles][-3:] == [True, False, False]
    assert sum(title.endswith(": 1 finished") for title in titles) == 1


# -- alerts and pauses


def test_an_open_alert_stands_on_top_in_words_for_operators_only(site: Site) -> None:
    alert(site, "order: queue lag is 9 minutes, more than 5 minutes")
    assert "<b>Order: queue lag is 9 minutes, more than 5 minutes</b>" in page(site)
    assert figures(page(site))["Open alerts"] == "1"
    assert "queue lag is 9 minutes" not in page(site, "north-owner")
    assert "Open alerts" not in figures(page(site, "north-owner"))


def test_a_machine_that_stands_still_is_marked(site: Site) -> None:
    now = site.api.clock.now()
    row = {"machine": "order", "actor": "user:ann", "reason": "", "at": now}
    site.api.engine.write(lambda unit: unit.conn.execute(sa.insert(s.halt).values(row)))
    assert (
        re.search(r'<tr data-key="order"><td>.*?<span class="pill person" title="by ann">halted</span>', page(site))
        is not None
    )


# -- what comes from outside is text


def test_hostile_text_is_shown_as_text(site: Site) -> None:
    made = site.api.asked({"item": EVIL})
    evil = sa.update(t.instance).where(t.instance.c.id == made.id).values(key=EVIL)
    site.api.engine.write(lambda unit: unit.conn.execute(evil))
    alert(site, f"x{EVIL}")
    text = page(site)
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert text.count(html.escape(EVIL, quote=False).replace('"', "&#34;").replace("'", "&#39;")) == 3


def test_the_name_of_whoever_looks_after_an_alert_is_text(site: Site) -> None:
    alert(site, "no worker is alive", None)
    who = str(Actor(OWNER, "<script>x</script>"))
    site.api.engine.write(
        lambda unit: unit.conn.execute(sa.update(s.alert).values(acknowledged_at=1, acknowledged_by=who))
    )
    text = page(site)
    assert "<script>x" not in text
    assert "acknowledged by" in text


def test_an_empty_service_says_what_one_can_do_next(site: Site) -> None:
    first = page(site)
    assert "What you can do next" in first
    assert 'href="/ui/machines/order/new"' in first
    site.api.new()
    roll_all(site.api.engine)
    assert "What you can do next" not in page(site)
