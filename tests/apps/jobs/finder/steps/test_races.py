"""Two at once: never two open items for one thing, two matches or two jobs for one opening, or a lost change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.apps.jobs.finder import intake
from interlock.apps.jobs.finder.records import postings, sources
from interlock.apps.jobs.tables import company as C
from interlock.apps.jobs.tables import source as S
from interlock.engine.application import Unit
from interlock.testing import Trial
from tests.apps.jobs.finder.fetching.site import Site, SiteRequest
from tests.support.racing import together

from .finding import (
    GOOD,
    HERE,
    ME,
    Acme,
    active,
    crawl,
    crawls,
    give_profile,
    items,
    row,
    rows,
    run,
    states,
    the_source,
)

SAID = {
    "title": "Senior Python Engineer",
    "company": "Kelp Works",
    "location": "Remote - United States",
    "description": GOOD,
}


def test_the_same_thing_added_at_once_is_one_item(trial: Trial) -> None:
    doors: list[Any] = [
        lambda unit: intake.add_company(unit, HERE, "Acme", "https://acme.example.org", ME),
        lambda unit: intake.add_source(unit, HERE, "https://boards.greenhouse.io/acme", ME),
        lambda unit: intake.add_listing(unit, HERE, "https://acme.example.org/jobs/1", ME),
        lambda unit: intake.add_listing(unit, HERE, "https://acme.example.org/jobs/2", ME, job_data=SAID),
    ]
    for door in doors:
        found = together(4, lambda _, door=door: trial.engine.write(door))
        assert len({one.item.id for one in found}) == 1, found
        assert [one.new for one in found].count(True) == 1
    assert len(rows(trial)) == 2
    assert len(items(trial, "company")) == len(items(trial, "source")) == 1
    assert len(items(trial, "listing")) == 2


def at_stage(trial: Trial, stage: str, many: int) -> None:
    """Let listings go on one by one until so many are ready for the stage."""
    for _ in range(50):
        ready = [one for one in items(trial, "listing") if one.data["stage"] == stage]
        if len(ready) == many:
            return
        claimed = trial.claim(16)
        for one in claimed:
            if trial.get(one.id).data.get("stage") != stage:
                trial.finish(one, trial.run(one))
        assert claimed
    raise AssertionError(f"they never come to {stage}")


def test_two_sightings_of_one_opening_saved_at_once_are_one_match(trial: Trial) -> None:
    give_profile(trial)
    for url in ("https://kelp.example.org/jobs/1", "https://other.example.net/kelp/1"):
        trial.engine.write(lambda unit, url=url: intake.add_listing(unit, HERE, url, ME, job_data=SAID))
    at_stage(trial, "SAVE", 2)
    claims = trial.claim(2)
    assert len(claims) == 2
    outcomes = together(2, lambda number: trial.run(claims[number]))
    for claim, outcome in zip(claims, outcomes, strict=True):
        assert not isinstance(outcome, Exception), outcome
        trial.finish(claim, outcome)
    assert sorted(one.outcome for one in rows(trial)) == ["matched", "skipped"]
    assert len(items(trial, "job")) == 1
    other = next(one for one in rows(trial) if one.outcome == "skipped")
    assert other.opening_id == next(one.id for one in rows(trial) if one.outcome == "matched")
    assert "same opening" in other.reason


def test_one_requisition_under_two_titles_is_one_match(trial: Trial) -> None:
    give_profile(trial)

    def add(unit: Unit, number: int, title: str) -> None:
        url = f"https://board{number}.example.org/jobs/{number}"
        posting = intake.posting_from(url, {**SAID, "title": title}, unit).model_copy(update={"requisition_id": "R-17"})
        seen = postings.take(unit, HERE, [posting], source_id=None, company_id=None)[0]
        intake.start_listing(unit, HERE, seen, ME)

    for number, title in enumerate(("Senior Python Engineer", "Senior Python Engineer, Harbours")):
        trial.engine.write(lambda unit, number=number, title=title: add(unit, number, title))
        run(trial)
    assert [one.outcome for one in rows(trial)] == ["matched", "skipped"]
    assert len(items(trial, "job")) == 1


def test_two_listings_of_an_unknown_company_at_once_make_one_company(trial: Trial) -> None:
    give_profile(trial)
    for number in range(2):
        said = {**SAID, "title": f"Senior Python Engineer {number}", "company_website": "https://kelp.example.org"}
        url = f"https://kelp.example.org/jobs/{number}"
        trial.engine.write(lambda unit, url=url, said=said: intake.add_listing(unit, HERE, url, ME, job_data=said))
    at_stage(trial, "ANALYZE", 2)
    claims = trial.claim(2)
    outcomes = together(2, lambda number: trial.run(claims[number]))
    for claim, outcome in zip(claims, outcomes, strict=True):
        assert not isinstance(outcome, Exception), outcome
        trial.finish(claim, outcome)
    assert len(items(trial, "company")) == 1
    assert trial.engine.read(lambda conn: conn.execute(sa.select(sa.func.count()).select_from(C)).scalar()) == 1


def meanwhile(trial: Trial, board: Acme, job: Any) -> None:
    """Do it while the list is read."""

    def answer_later(asked: SiteRequest) -> Sequence[object]:
        trial.engine.write(job)
        return board._list(asked)

    board.site.routes[board.path] = answer_later


@pytest.mark.soak("postgresql")
def test_a_source_that_is_disabled_while_it_is_crawled_stays_disabled(trial: Trial, board: Acme) -> None:
    board.show("1")
    source_id = active(trial, board)
    board.show("1", "2")
    meanwhile(trial, board, lambda unit: sources.disable(unit, source_id, "by lena"))
    assert crawl(trial, source_id).state == "SUCCESS"
    found = the_source(trial)
    assert (found.status, found.status_reason, found.next_crawl_at) == ("disabled", "by lena", None)
    assert states(trial) == {"1": "open", "2": "open"}
    trial.advance(days=1)
    run(trial)
    assert len(crawls(trial)) == 2


@pytest.mark.soak("postgresql")
def test_what_is_removed_while_it_is_worked_on_ends_the_work(trial: Trial, board: Acme) -> None:
    give_profile(trial)
    board.show("1")
    source_id = active(trial, board)
    board.show("1", "2")

    def remove(unit: Unit) -> None:
        unit.conn.execute(sa.delete(C))
        unit.conn.execute(sa.delete(S))

    meanwhile(trial, board, remove)
    item = crawl(trial, source_id)
    assert item.finished_at is not None
    trial.advance(minutes=15)
    run(trial)
    assert not [one for name in ("company", "source", "listing") for one in items(trial, name) if not one.finished_at]


def test_two_crawls_of_one_source_are_one(trial: Trial, board: Acme, site: Site) -> None:
    board.show("1")
    source_id = active(trial, board)
    found = together(4, lambda _: trial.engine.write(lambda unit: intake.crawl(unit, HERE, source_id, ME)))
    assert len({one.item.id for one in found}) == 1, found


@pytest.mark.soak("postgresql")
def test_workspaces_have_nothing_in_common(trial: Trial, board: Acme) -> None:
    """The same board in two workspaces: what one does or shows is never the other's."""
    board.show("1")
    give_profile(trial)
    for workspace in (HERE, "other"):
        trial.engine.write(lambda unit, workspace=workspace: intake.add_source(unit, workspace, board.url, ME))
    run(trial)
    run(trial)
    assert sorted((one.workspace, one.outcome) for one in rows(trial)) == [("default", "matched"), ("other", "waiting")]
    assert {(one.workspace, one.parent is None) for one in items(trial, "listing")} == {
        ("default", False),
        ("other", False),
    }
    other = trial.engine.read(lambda conn: sources.page(conn, "other"))[0]
    theirs = rows(trial, workspace="other")[0]
    for act in (
        lambda unit: intake.crawl(unit, HERE, other.id, ME),
        lambda unit: intake.unfilter(unit, HERE, theirs.id, ME),
        lambda unit: intake.decide(unit, HERE, theirs.id, "saved", ME),
    ):
        [error] = together(1, lambda _, act=act: trial.engine.write(act))
        assert type(error).__name__ == "NotFound", error
    board.show()
    trial.engine.write(lambda unit: intake.crawl(unit, "other", other.id, ME))
    run(trial)
    trial.advance(days=2)
    trial.engine.write(lambda unit: intake.crawl(unit, "other", other.id, ME))
    trial.run_until_idle()
    assert {one.workspace: one.state for one in rows(trial)} == {"default": "open", "other": "closed"}
    assert {one.workspace for one in items(trial, "job")} == {"default"}


@pytest.mark.soak("postgresql")
def test_a_posting_that_changes_while_its_item_waits_is_filtered_as_it_is_now(trial: Trial, board: Acme) -> None:
    give_profile(trial)
    board.show("1")
    source_id = active(trial, board)
    board.rows["2"] = row(board, "2", company_name="Kelp Works")
    crawl_item = trial.engine.write(lambda unit: intake.crawl(unit, HERE, source_id, ME)).item
    while trial.get(crawl_item.id).finished_at is None:
        [first, *_] = [one for one in trial.claim(16) if trial.get(one.id).machine == "source"]
        trial.finish(first, trial.run(first))
    [item] = [one for one in items(trial, "listing") if one.key == "greenhouse:acme:2"]
    board.rows["2"] = row(
        board, "2", company_name="Kelp Works", title="Warehouse Manager", content="<p>Lift boxes.</p>"
    )
    trial.engine.write(lambda unit: intake._item(unit, intake.listing, HERE, "greenhouse:acme:2", {}, ME))
    again = trial.engine.write(lambda unit: intake.crawl(unit, HERE, source_id, ME)).item
    while trial.get(again.id).finished_at is None:
        for one in trial.claim(16):
            trial.finish(one, trial.run(one))
    trial.advance(minutes=15)
    run(trial)
    found = next(one for one in rows(trial) if one.posting_key == "greenhouse:acme:2")
    assert (found.title, found.outcome) == ("Warehouse Manager", "filtered")
    assert trial.get(item.id).finished_at is not None
