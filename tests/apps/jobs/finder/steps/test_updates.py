"""What a source states beside the text may change, and two sources may show one posting."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from interlock.apps.jobs.finder.records.postings import PostingRow
from interlock.apps.jobs.finder.records.sources import disable
from interlock.testing import Trial
from tests.apps.jobs.finder.fetching.site import Site, answer

from .finding import GOOD, Acme, active, active_at, add_source, crawl, crawls, give_profile, items, row, rows, run

pytestmark = pytest.mark.soak("postgresql")
PASSED = "2026-01-04T00:00:00Z"


def test_a_last_day_that_is_set_later_is_seen(trial: Trial, board: Acme) -> None:
    give_profile(trial)
    board.show("1", application_deadline="2027-01-01T00:00:00Z")
    source_id = active(trial, board)
    trial.advance(minutes=15)
    assert [one.outcome for one in rows(trial)] == ["matched"]
    trial.advance(days=10)
    board.show("1", application_deadline=PASSED)
    crawl(trial, source_id)
    assert (crawls(trial)[-1]["updated"], crawls(trial)[-1]["changed"]) == (1, 1)
    run(trial)
    [found] = rows(trial)
    assert found.outcome == "filtered"
    assert "2026-01-04" in found.reason
    assert len(items(trial, "listing")) == 1, "it is scored again, and not worked on again"
    crawl(trial, source_id)
    assert crawls(trial)[-1]["updated"] == 0


def test_a_value_that_the_list_states_replaces_the_one_that_was_read_out_of_the_text(trial: Trial, board: Acme) -> None:
    give_profile(trial)
    board.show("1", content=GOOD + "<p>This is a full-time position.</p>")
    source_id = active(trial, board)
    trial.advance(minutes=15)
    assert stored(trial).employment_type == "full_time"
    assert "employment_type" in stored(trial).derived
    kind = {"name": "Employment Type", "value": "Part-time", "value_type": "single_select"}
    board.rows["1"] = row(board, "1", content=GOOD + "<p>This is a full-time position.</p>", metadata=[kind])
    crawl(trial, source_id)
    run(trial)
    assert stored(trial).employment_type == "part_time"
    assert stored(trial).evidence["employment_type"].source == "board"
    assert "employment_type" not in stored(trial).derived


def test_two_sources_that_word_one_posting_in_two_ways_do_not_change_it_in_turns(trial: Trial, site: Site) -> None:
    give_profile(trial)
    one, other = feed(trial, site, GOOD), api(trial, site, f"{GOOD}<p>In other words.</p>")
    for source_id in (one, other, one, other):
        crawl(trial, source_id)
        trial.advance(minutes=15)
        run(trial)
        assert {crawls(trial)[-1][name] for name in ("new", "changed", "updated")} == {0}
    assert len(items(trial, "listing")) == 1
    [found] = rows(trial)
    assert found.source_id == one
    assert "In other words" not in (stored(trial).description_text or "")
    assert stored(trial).employment_type == "part_time", "what the first leaves open is added"


def test_a_source_takes_a_posting_over_when_its_first_source_is_disabled(trial: Trial, site: Site) -> None:
    one, other = feed(trial, site, GOOD), api(trial, site, f"{GOOD}<p>In other words.</p>")
    trial.engine.write(lambda unit: disable(unit, one, "enough"))
    crawl(trial, other)
    [found] = rows(trial)
    assert found.source_id == other
    assert "In other words" in (stored(trial).description_text or "")
    assert crawls(trial)[-1]["changed"] == 1


def stored(trial: Trial) -> Any:
    [found] = rows(trial)
    return PostingRow(found).posting


def feed(trial: Trial, site: Site, text: str) -> UUID:
    item = {"id": "1", "url": site.url("/acme/jobs/1"), "title": "Senior Python Engineer", "content_html": text}
    body = {"version": "https://jsonfeed.org/version/1.1", "title": "Acme", "items": [item]}
    site.routes["/acme/feed.json"] = answer(json.dumps(body), content_type="application/feed+json")
    return active_at(trial, site.url("/acme/feed.json"))


def api(trial: Trial, site: Site, text: str) -> UUID:
    job = {"title": "Senior Python Engineer", "url": site.url("/acme/jobs/1"), "description": text}
    body = {"jobs": [{**job, "employment_type": "part_time"}]}
    site.routes["/acme/api/jobs"] = answer(json.dumps(body), content_type="application/json")
    config = {"endpoints": {"search": "jobs"}, "response_path": "jobs"}
    item = add_source(trial, site.url("/acme/api"), type_hint="api", company_name="Acme", config=config)
    run(trial)
    return UUID(trial.get(item.id).data["source_id"])
