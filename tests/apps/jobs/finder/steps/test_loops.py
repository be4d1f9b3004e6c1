"""Worlds that are made to loop come to an end, and say why."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from interlock.apps.jobs.finder import intake
from interlock.apps.jobs.finder.records import sources
from interlock.apps.jobs.world import World
from interlock.testing import Trial
from tests.apps.jobs.finder.fetching.site import Site, SiteRequest

from .conftest import Made
from .finding import (
    HERE,
    ME,
    Acme,
    active,
    add_source,
    crawl,
    crawls,
    give_profile,
    items,
    row,
    rows,
    run,
    states,
)

pytestmark = pytest.mark.soak("postgresql")


def refusals(trial: Trial, *machines: str) -> list[str]:
    """The reasons of the spawns that were refused."""
    return [
        str(entry.payload["reason"])
        for machine in machines or ("company", "source", "listing")
        for one in items(trial, machine)
        for entry in trial.engine.history(one.id)
        if entry.kind == "spawn_refused"
    ]


def test_ids_that_change_in_each_answer_are_the_postings_that_they_were(trial: Trial, board: Acme) -> None:
    give_profile(trial)
    board.show("1", "2", "3")
    source_id = active(trial, board)
    before = len(items(trial, "listing"))
    matched = {one.id for one in rows(trial, "matched")}
    for turn in range(10, 16):
        board.rows = {
            key: {**row(board, key), "id": f"{turn}{key}", "title": f"Senior Python Engineer {key}"}
            for key in ("1", "2", "3")
        }
        crawl(trial, source_id)
        trial.advance(hours=30)
        assert crawls(trial)[-1]["renamed"] == 3
    assert len(rows(trial)) == 3
    assert len(items(trial, "listing")) == before
    assert {one.id for one in rows(trial, "matched")} == matched
    assert {one.state for one in rows(trial)} == {"open"}


def test_ids_that_change_in_a_list_without_texts_come_to_an_end(trial: Trial, board: Acme) -> None:
    give_profile(trial)
    board.texts = False
    board.show("1", "2")
    source_id = active(trial, board)
    sizes = []
    for turn in range(10, 16):
        board.rows = {key: {**row(board, key), "id": f"{turn}{key}"} for key in ("1", "2")}
        crawl(trial, source_id)
        trial.advance(hours=7)
        sizes.append(len(items(trial, "listing")))
    assert sizes[-1] == sizes[3] <= 8
    assert len(rows(trial)) <= 8
    shown = [one for one in rows(trial) if one.state == "open"]
    assert len(shown) == 2
    assert all("5 years of Python" in one.posting for one in shown), "the text that was scraped is kept"


def test_a_page_that_is_gone_while_the_list_has_it_is_asked_for_once_a_day(
    trial: Trial, site: Site, board: Acme
) -> None:
    board.texts = False
    board.show("1")

    def without_details(asked: SiteRequest) -> Sequence[object]:
        found = board._list(asked)
        del site.routes[f"{board.path}/1"]
        return found

    site.routes[board.path] = without_details
    source_id = active(trial, board)
    assert states(trial) == {"1": "closed"}
    for _ in range(3):
        crawl(trial, source_id)
        trial.advance(hours=6)
    assert len(items(trial, "listing")) == 1
    site.routes[board.path] = board._list
    trial.advance(hours=12)
    crawl(trial, source_id)
    assert len(items(trial, "listing")) == 2
    assert states(trial) == {"1": "open"}


def test_the_company_that_is_made_to_loop_ends(made: Made, world: World) -> None:
    trial = made(world.host)
    give_profile(trial)
    site = f"{world.url}/ouroboros"
    trial.engine.write(lambda unit: intake.add_company(unit, HERE, "Ouroboros Systems", site, ME))
    add_source(trial, f"{site}/feed.rss", type_hint="rss")
    sizes = []
    for _ in range(9):
        run(trial, 2)
        for review in trial.engine.reviews.waiting():
            decision = "enable" if review.name == "validate" else "discover"
            trial.engine.reviews.decide(review.id, decision, actor=ME)
        run(trial, 1)
        trial.advance(hours=6, minutes=1)
        sizes.append([len(items(trial, "company")), len(items(trial, "listing")), len(rows(trial))])
    # What grows are the crawls that the schedule starts, and nothing that they start.
    assert sizes[-1] == sizes[-4], sizes
    assert len(items(trial, "source")) <= 9 * 4
    assert max(item.depth for name in ("company", "source", "listing") for item in items(trial, name)) <= 10


def test_a_lineage_is_ten_deep_at_most_across_crawls(trial: Trial, board: Acme) -> None:
    give_profile(trial)
    board.show("1")
    source_id = active(trial, board)
    trial.engine.write(lambda unit: sources.update(unit, source_id, spawn_depth=10))
    board.show("1", "2")
    item = crawl(trial, source_id)
    assert (item.depth, item.root) == (10, item.id)
    assert refusals(trial, "source") == ["depth: the lineage is 10 deep, at most 10"]
    found = {one.posting_key: one for one in rows(trial)}["greenhouse:acme:2"]
    assert found.outcome == "skipped"
    assert str(item.id) in found.reason
    assert crawls(trial)[-1]["refused"] == 1
