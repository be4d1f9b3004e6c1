"""A posting is closed by two complete crawls that do not show it, and by nothing less."""

from __future__ import annotations

import pytest

from interlock.apps.jobs.finder.records import sources
from interlock.testing import Trial
from tests.apps.jobs.finder.fetching.site import Site, answer

from .finding import ME, Acme, active, add_source, crawl, crawls, give_profile, items, rows, run, states, the_source

GONE = answer("gone", 404)
ERROR = answer("broken", 500)
PAGE = answer("<html><h1>Welcome</h1></html>", content_type="text/html")


def test_what_two_complete_crawls_do_not_show_is_closed(trial: Trial, board: Acme) -> None:
    board.show("1", "2")
    source_id = active(trial, board)
    assert states(trial) == {"1": "open", "2": "open"}
    board.show("1")
    crawl(trial, source_id)
    assert states(trial) == {"1": "open", "2": "uncertain"}
    trial.advance(hours=23)
    crawl(trial, source_id)
    assert states(trial) == {"1": "open", "2": "uncertain"}
    trial.advance(hours=2)
    crawl(trial, source_id)
    assert states(trial) == {"1": "open", "2": "closed"}
    assert crawls(trial)[-1] == {
        "verdict": "complete",
        "reasons": [],
        "listed": 1,
        "parsed": 1,
        "unreadable": 0,
        "unchanged": 1,
        "new": 0,
        "changed": 0,
        "updated": 0,
        "reopened": 0,
        "renamed": 0,
        "refused": 0,
        "unseen": 1,
        "closed": 1,
    }


@pytest.mark.soak("postgresql")
def test_a_crawl_that_shows_it_between_begins_the_count_again(trial: Trial, board: Acme) -> None:
    board.show("1", "2")
    source_id = active(trial, board)
    for hours in range(3):
        board.show("1")
        crawl(trial, source_id)
        assert states(trial)["2"] == "uncertain", hours
        trial.advance(hours=30)
        board.show("1", "2")
        crawl(trial, source_id)
        assert states(trial)["2"] == "open", hours


@pytest.mark.soak("postgresql")
def test_no_other_crawl_closes_anything(trial: Trial, board: Acme) -> None:
    board.show("1", "2")
    source_id = active(trial, board)
    board.show("1")
    partial = {**board.rows["1"], "id": None, "absolute_url": None}
    for reply in (ERROR, PAGE, answer('{"jobs": [{"id"'), answer('{"error": 1}')):
        board.broken(reply)
        crawl(trial, source_id)
        trial.advance(days=2)
        assert states(trial) == {"1": "open", "2": "open"}
    board.broken(None)
    board.rows["odd"] = partial
    for _ in range(3):
        crawl(trial, source_id)
        trial.advance(days=2)
    assert crawls(trial)[-1]["verdict"] == "partial"
    assert crawls(trial)[-1]["unreadable"] == 1
    assert states(trial) == {"1": "open", "2": "open"}


@pytest.mark.soak("postgresql")
def test_an_empty_board_is_complete_and_closes_its_postings(trial: Trial, board: Acme) -> None:
    board.show("1")
    source_id = active(trial, board)
    board.show()
    crawl(trial, source_id)
    trial.advance(days=2)
    crawl(trial, source_id)
    assert crawls(trial)[-1]["verdict"] == "complete"
    assert states(trial) == {"1": "closed"}


@pytest.mark.soak("postgresql")
def test_a_feed_shows_its_newest_and_closes_nothing(trial: Trial, site: Site) -> None:
    def feed(*keys: str) -> bytes:
        entries = "".join(
            f"<item><title>Engineer {key}</title><link>{site.url(f'/jobs/{key}')}</link></item>" for key in keys
        )
        return answer(f'<?xml version="1.0"?><rss version="2.0"><channel><title>Jobs</title>{entries}</channel></rss>')

    for key in "123":
        site.routes[f"/jobs/{key}"] = answer(f"<html><h1>Engineer {key}</h1><p>{'Work. ' * 40}</p></html>")
    site.routes["/feed.xml"] = feed("1", "2")
    add_source(trial, site.url("/feed.xml"), type_hint="rss")
    run(trial)
    found = the_source(trial)
    assert found.status == "active", found.status_reason
    site.routes["/feed.xml"] = feed("2", "3")
    for _ in range(3):
        crawl(trial, found.id)
        trial.advance(days=2)
    assert {one.url.rpartition("/")[2]: one.missed for one in rows(trial)} == {"1": 0, "2": 0, "3": 0}
    assert crawls(trial)[-1]["verdict"] == "complete"
    assert crawls(trial)[-1]["unseen"] == 1


@pytest.mark.soak("postgresql")
def test_a_posting_that_comes_back_is_opened_and_filtered_again(trial: Trial, board: Acme) -> None:
    give_profile(trial)
    board.show("1", "2")
    source_id = active(trial, board)
    board.show("1")
    crawl(trial, source_id)
    trial.advance(days=2)
    crawl(trial, source_id)
    [closed] = [one for one in rows(trial) if one.state == "closed"]
    board.show("1", "2")
    crawl(trial, source_id)
    [again] = [one for one in rows(trial) if one.id == closed.id]
    assert (again.state, again.closed_reason, again.missed) == ("open", None, 0)
    assert again.item_id != closed.item_id
    assert crawls(trial)[-1]["reopened"] == 1
    trial.advance(minutes=20)
    assert trial.get(again.item_id).finished_at is not None


@pytest.mark.soak("postgresql")
def test_a_board_that_is_not_there_twice_is_gone(trial: Trial, board: Acme) -> None:
    board.show("1")
    source_id = active(trial, board)
    board.broken(GONE)
    item = crawl(trial, source_id)
    assert item.state == "FAILED"
    assert the_source(trial).status == "active"
    assert the_source(trial).gone == 1
    board.broken(None)
    crawl(trial, source_id)
    assert the_source(trial).gone == 0
    board.broken(GONE)
    crawl(trial, source_id)
    crawl(trial, source_id)
    found = the_source(trial)
    assert (found.status, found.next_crawl_at) == ("disabled", None)
    assert "gone" in found.status_reason
    assert states(trial) == {"1": "open"}, "only a list can say that a posting is not on it"
    before = len(items(trial, "source"))
    trial.advance(days=10)
    trial.look_after()
    assert len(items(trial, "source")) == before


@pytest.mark.soak("postgresql")
def test_five_failures_in_a_row_disable_a_source_until_a_person_enables_it(trial: Trial, board: Acme) -> None:
    board.show("1")
    source_id = active(trial, board)
    board.broken(ERROR)
    for failures in range(1, 5):
        assert crawl(trial, source_id).state == "FAILED"
        assert the_source(trial).consecutive_failures == failures, "once for a crawl, not for each attempt"
    board.broken(None)
    crawl(trial, source_id)
    assert the_source(trial).consecutive_failures == 0
    board.broken(ERROR)
    for _ in range(5):
        assert the_source(trial).status == "active"
        crawl(trial, source_id)
    found = the_source(trial)
    assert found.status == "disabled"
    assert "5 crawls in a row failed" in found.status_reason
    assert "500" in found.status_reason
    trial.advance(days=1)
    trial.look_after()
    trial.run_until_idle()
    assert len(crawls(trial)) == 11
    board.broken(None)
    trial.engine.write(lambda unit: sources.enable(unit, source_id, f"by {ME.name}"))
    run(trial)
    assert the_source(trial).status == "active"
    assert crawls(trial)[-1]["verdict"] == "complete"
