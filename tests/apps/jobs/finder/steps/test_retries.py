"""Retries, pauses that a host asks for, and what stays of a posting whose page cannot be read."""

from __future__ import annotations

from datetime import timedelta

import pytest

from interlock.apps.jobs.finder import intake
from interlock.store import span
from interlock.testing import Trial
from tests.apps.jobs.finder.fetching.site import Site, SiteRequest, answer

from .conftest import Made
from .finding import HERE, ME, Acme, active, crawl, crawls, give_profile, items, rows, run, the_source

ERROR = answer("broken", 500)
pytestmark = pytest.mark.soak("postgresql")


@pytest.mark.parametrize("most", [0, 1, 3, 5])
def test_a_step_is_retried_as_often_as_the_settings_say(made: Made, site: Site, board: Acme, most: int) -> None:
    trial = made(site.host, max_retries=most)
    board.show("1")
    source_id = active(trial, board)
    board.broken(ERROR)
    site.asked.clear()
    item = trial.engine.write(lambda unit: intake.crawl(unit, HERE, source_id, ME)).item
    said = []
    for _ in range(most):
        trial.run_until_idle()
        said.append(trial.data(item.id)["message"])
        assert trial.state(item.id) == "FAILED"
        assert the_source(trial).consecutive_failures == 0
        trial.clock.set(trial.get(item.id).due_at)
    trial.run_until_idle()
    assert said == [f"Processing failed. Will retry ({number}/{most})" for number in range(1, most + 1)]
    assert trial.state(item.id) == "FAILED"
    assert len([one for one in site.paths() if one.startswith(board.path)]) == most + 1
    assert the_source(trial).consecutive_failures == 1
    message = trial.data(item.id)["message"]
    assert "500" in message
    assert "robots.txt" in message
    assert "explain" in message


def test_a_failure_of_any_kind_counts_for_the_health_of_its_source(trial: Trial, board: Acme) -> None:
    board.show("1")
    source_id = active(trial, board)
    item = trial.engine.write(lambda unit: intake.crawl(unit, HERE, source_id, ME)).item
    for _ in range(3):  # three lost workers are poison
        worker = trial.new_worker()
        trial.claim(worker=worker)
        trial.lose(worker)
    assert trial.state(item.id) == "FAILED"
    assert the_source(trial).consecutive_failures == 1
    assert crawls(trial)[-1]["verdict"] == "failed"
    assert "lost" in crawls(trial)[-1]["reasons"][0]


def test_a_posting_whose_page_cannot_be_read_stays_with_what_is_known(trial: Trial, board: Acme, site: Site) -> None:
    give_profile(trial)
    board.texts = False
    board.show("1")
    site.routes[f"{board.path}/1"] = ERROR

    def list_only(asked: SiteRequest) -> list[object]:
        found = board._list(asked)
        site.routes[f"{board.path}/1"] = ERROR
        return list(found)

    site.routes[board.path] = list_only
    active(trial, board)
    trial.advance(hours=2)
    [item] = items(trial, "listing")
    assert item.state == "FAILED"
    [found] = rows(trial)
    assert found.outcome == "failed"
    assert found.flag.startswith("unknown")
    assert (found.title, found.state) == ("Senior Python Engineer 1", "open")
    assert "troubleshooting" in item.data["message"] or "explain" in item.data["message"]


def test_a_host_that_is_busy_costs_no_attempt(trial: Trial, board: Acme) -> None:
    board.show("1")
    source_id = active(trial, board)
    board.broken(answer("later", 429, retry_after="1800"))
    item = trial.engine.write(lambda unit: intake.crawl(unit, HERE, source_id, ME)).item
    trial.run_until_idle()
    found = trial.get(item.id)
    assert (found.state, found.failures) == ("PROCESSING", {})
    assert found.due_at is not None
    assert found.due_at - trial.clock.now() >= span(timedelta(seconds=1799))
    board.broken(None)
    trial.advance(minutes=31)
    assert trial.state(item.id) == "SUCCESS"
    assert crawls(trial)[-1]["verdict"] == "complete"


def test_a_host_that_is_always_busy_is_a_failure_at_last(trial: Trial, board: Acme) -> None:
    board.show("1")
    source_id = active(trial, board)
    board.broken(answer("later", 429, retry_after="3600"))
    item = trial.engine.write(lambda unit: intake.crawl(unit, HERE, source_id, ME)).item
    trial.advance(days=5)
    assert trial.state(item.id) == "FAILED"
    assert the_source(trial).consecutive_failures == 1
    assert crawls(trial)[-1]["verdict"] == "failed"


def test_a_short_pause_is_waited_for_in_place(trial: Trial, board: Acme, site: Site) -> None:
    board.show("1")
    source_id = active(trial, board)
    there = trial.clock.now()
    replies = [answer("later", 429, retry_after="7", connection="close")]

    def busy_once(asked: SiteRequest) -> list[object]:
        return [replies.pop()] if replies else list(board._list(asked))

    site.routes[board.path] = busy_once
    assert crawl(trial, source_id).state == "SUCCESS"
    assert crawls(trial)[-1]["verdict"] == "complete"
    assert trial.clock.now() - there >= span(timedelta(seconds=7))
    run(trial)
