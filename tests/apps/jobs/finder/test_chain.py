"""The chain over real HTTP: from a company's address to a saved match, for each kind of source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.apps.jobs import registry
from interlock.apps.jobs.finder import intake
from interlock.apps.jobs.finder.profiles.profile_file import parse_profile, sample
from interlock.apps.jobs.finder.records import companies, sources
from interlock.apps.jobs.settings import ApiKey, JobsSettings
from interlock.apps.jobs.tables import company as C
from interlock.apps.jobs.tables import posting as P
from interlock.apps.jobs.world import World
from interlock.apps.jobs.world.custom_api import KEY
from interlock.engine import Instance
from interlock.engine.application import instances
from interlock.machine import USER, Actor
from interlock.store import Store
from interlock.testing import Trial, VirtualClock

ME = Actor(USER, "lena")
HERE = "default"


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World(clock=VirtualClock()) as made:
        yield made


@pytest.fixture
def trial(world: World, store: Store) -> Iterator[Trial]:
    world.faults.clear()
    key = ApiKey.model_validate({"host": world.host, "secret": KEY, "name": "X-Api-Key"})
    settings = JobsSettings(private_hosts=[world.host], api_keys={"brightwater": key})
    with Trial(registry, store=store, settings={"jobs": settings}) as made:
        yield made


def give_profile(trial: Trial) -> None:
    trial.engine.write(lambda unit: intake.set_profile(unit, HERE, parse_profile(sample()), ME))


def add_company(trial: Trial, one: dict[str, Any]) -> Instance:
    return trial.engine.write(lambda unit: intake.add_company(unit, HERE, one["name"], one["website"], ME)).item


def add_source(trial: Trial, url: str, **said: Any) -> Instance:
    return trial.engine.write(lambda unit: intake.add_source(unit, HERE, url, ME, **said)).item


def run(trial: Trial, rounds: int = 3) -> None:
    for _ in range(rounds):
        trial.run_until_idle()
        trial.look_after()
    trial.run_until_idle()


def rows(trial: Trial, outcome: str | None = None) -> list[Any]:
    query = sa.select(P).order_by(P.c.id)
    if outcome:
        query = query.where(P.c.outcome == outcome)
    return trial.engine.read(lambda conn: list(conn.execute(query)))


def items(trial: Trial, machine: str, *states: str) -> list[Instance]:
    return trial.engine.read(lambda conn: instances(conn, machine, states=states or None, limit=1000))


def all_sources(trial: Trial) -> list[sources.SourceRow]:
    return trial.engine.read(lambda conn: sources.page(conn, HERE, limit=100))


def test_a_companys_address_leads_to_saved_matches_that_agents_can_claim(trial: Trial, world: World) -> None:
    give_profile(trial)
    one = world.described()["companies"][0]
    item = add_company(trial, one)
    run(trial)
    assert trial.state(item.id) == "SUCCESS"
    row = trial.engine.read(lambda conn: companies.named(conn, HERE, one["name"]))
    assert row is not None
    assert (row.status, row.size_category, row.tier) == ("complete", "large", "S")
    assert row.facts["about"]
    assert row.facts["techStack"]
    assert sum(point["points"] for point in row.facts["points"]) == row.priority_score
    [board] = all_sources(trial)
    assert (board.source_type, board.status, board.confidence) == ("greenhouse", "active", "high")
    assert (board.company_id, board.last_scraped_status) == (row.id, "complete")
    matched = rows(trial, "matched")
    assert len(matched) == 3
    assert all(one.score >= 80 and one.company_id == row.id for one in matched)
    jobs = items(trial, "job", "discovered")
    assert {(one.data["board"], one.data["match_id"]) for one in jobs} == {
        ("greenhouse-tidewater", str(one.id)) for one in matched
    }
    # A crawl is a root of its own; what it found are its children.
    for posting in matched:
        found = trial.engine.get(posting.item_id)
        assert found.state == "SUCCESS"
        assert trial.engine.get(UUID(str(found.parent))).data["stage"] == "CRAWL"
        assert found.data["match_result"]["match_score"] == posting.score
        assert found.priority == 0


def test_the_address_alone_is_enough(trial: Trial, world: World) -> None:
    give_profile(trial)
    one = world.described()["companies"][0]
    add_company(trial, {**one, "name": ""})
    run(trial)
    row = trial.engine.read(lambda conn: companies.named(conn, HERE, one["name"]))
    assert row is not None, "its pages say what it is called"
    assert (row.name, row.facts["name"]) == (one["name"], one["name"])
    [board] = all_sources(trial)
    assert (board.name, board.status, board.confidence) == ("Tidewater Freight Greenhouse", "active", "high")
    assert len(rows(trial, "matched")) == 3


def test_a_profile_that_comes_later_or_changes_gives_known_companies_their_tier(trial: Trial, world: World) -> None:
    def row() -> Any:
        return trial.engine.read(lambda conn: companies.named(conn, HERE, one["name"]))

    one = world.described()["companies"][0]
    add_company(trial, one)
    run(trial)
    assert (row().tier, row().priority) == (None, 2)
    give_profile(trial)
    run(trial)
    found = row()
    assert (found.tier, found.priority, found.facts["tier"]) == ("S", 0, "S")
    assert sum(point["points"] for point in found.facts["points"]) == found.priority_score == 150
    assert found.facts["about"]
    elsewhere = parse_profile(sample().replace("city: Portland, region: OR", "city: Boise, region: ID"))
    trial.engine.write(lambda unit: intake.set_profile(unit, HERE, elsewhere, ME))
    run(trial)
    assert (row().tier, row().priority_score) == ("A", 100)
    stamp = row().updated_at
    trial.advance(hours=1)
    trial.look_after()
    assert row().updated_at == stamp, "and that was it"


@pytest.mark.soak("postgresql")
def test_every_kind_of_source_is_read_whole(trial: Trial, world: World) -> None:
    wanted = {}
    for one in world.described()["companies"]:
        for board in one["sources"]:
            hint = {"type_hint": "api", "config": board["config"]} if board["kind"] == "api" else {}
            add_source(trial, board["url"], company_name=one["name"], **hint)
            wanted[board["url"]] = (board["kind"], board["postings"])
    trial.run_until_idle()
    for review in trial.engine.reviews.waiting():
        assert review.evidence["rows"], "the first rows are shown"
        trial.engine.reviews.decide(review.id, "enable", actor=ME)
    run(trial)
    found = {}
    for row in all_sources(trial):
        assert row.status == "active", row
        [crawl] = trial.engine.read(lambda conn, row=row: sources.crawls(conn, row.id))
        assert crawl.verdict == "complete", (row.name, crawl.reasons)
        found[row.url] = (row.source_type, crawl.counts["parsed"])
    assert found == wanted, [one.error for one in items(trial, "source", "FAILED")]
    assert not items(trial, "listing", "FAILED")
    # Without a profile they are stored and wait, and go on when there is one.
    assert {row.outcome for row in rows(trial)} == {"waiting"}
    give_profile(trial)
    run(trial)
    assert {one.data["stage"] for one in items(trial, "listing", "PROCESSING")} == {"ANALYZE"}, "wait for their company"
    trial.advance(seconds=30)
    run(trial)
    ends = {row.outcome for row in rows(trial)}
    assert ends == {"matched", "filtered", "skipped"}


def test_what_was_filtered_says_why_and_can_be_taken_after_all(trial: Trial, world: World) -> None:
    give_profile(trial)
    add_source(trial, world.described()["companies"][0]["sources"][0]["url"])
    run(trial)
    row = rows(trial, "filtered")[0]
    item = trial.engine.get(row.item_id)
    assert item.state == "FILTERED"
    assert item.data["filter_result"]["rejection_summary"] == row.reason
    again = trial.engine.write(lambda unit: intake.unfilter(unit, HERE, row.id, ME, "I like it")).item
    assert again.id != item.id
    assert again.root == again.id
    run(trial)
    assert trial.state(item.id) == "FILTERED"
    assert trial.state(again.id) == "SUCCESS"
    assert trial.engine.get(again.id).data["filter_result"]["override"] == "lena: I like it"
    assert rows(trial)[[one.id for one in rows(trial)].index(row.id)].outcome == "matched"


def test_a_company_that_was_read_well_is_not_read_again_for_thirty_days(trial: Trial, world: World) -> None:
    one = world.described()["companies"][0]
    add_company(trial, one)
    run(trial)
    again = add_company(trial, one)
    trial.run_until_idle()
    assert trial.state(again.id) == "SKIPPED"
    assert "30 days" in trial.engine.get(again.id).data["message"]
    trial.advance(days=31)
    later = add_company(trial, one)
    trial.run_until_idle()
    assert trial.state(later.id) == "SUCCESS"


def test_a_company_is_looked_at_again_by_schedule_while_it_has_no_source(trial: Trial, world: World) -> None:
    add_company(trial, world.described()["companies"][3])  # its board waits for a person
    run(trial)
    before = len(items(trial, "company"))
    trial.look_after()
    assert len(items(trial, "company")) == before
    trial.advance(days=31)
    trial.look_after()
    assert len(items(trial, "company")) == before + 1


def test_an_uncertain_board_waits_for_a_person_who_may_have_it_looked_at(trial: Trial, world: World) -> None:
    item = add_company(trial, world.described()["companies"][3])
    run(trial)
    [review] = trial.engine.reviews.waiting()
    assert (review.name, review.evidence["confidence"]) == ("job_board", "medium")
    row = trial.engine.read(lambda conn: conn.execute(sa.select(C)).one())
    assert (row.job_board_url, row.board_confidence) == (review.evidence["job_board_url"], "medium")
    assert all_sources(trial) == []
    trial.engine.reviews.decide(review.id, "discover", actor=ME)
    run(trial)
    [board] = all_sources(trial)
    assert (board.source_type, board.status) == ("lever", "active")
    found = trial.engine.get(UUID(str(board.item_id)))
    assert (found.parent, found.root) == (item.id, item.id)


def test_a_board_that_names_no_company_is_named_after_itself(trial: Trial, world: World) -> None:
    give_profile(trial)
    add_source(trial, f"{world.url}/lever-host/brightwater")
    run(trial)
    [board] = all_sources(trial)
    assert board.company_name == "Brightwater"
    assert {row.company_name for row in rows(trial)} == {"Brightwater"}
