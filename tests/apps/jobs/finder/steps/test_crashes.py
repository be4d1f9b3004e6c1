"""A worker that dies anywhere in a crawl loses no posting, and starts no listing twice."""

from __future__ import annotations

import json
import logging
import random
import signal
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

import pytest

from interlock.apps.jobs.application import application
from interlock.apps.jobs.claims.machine import job
from interlock.apps.jobs.claims.machine import run as attempt
from interlock.apps.jobs.finder import company, intake, listing, source
from interlock.apps.jobs.finder.records import postings, sources
from interlock.apps.jobs.finder.steps import crawls as crawling
from interlock.apps.jobs.finder.steps.duties import start_crawls
from interlock.apps.jobs.settings import JobsSettings
from interlock.apps.jobs.world import World
from interlock.engine import Claim, Engine
from interlock.machine import Registry
from interlock.store import failpoints
from interlock.testing import Trial, VirtualClock
from interlock.worker import Worker
from tests.apps.jobs.finder.fetching.site import Site, SiteRequest, answer
from tests.support.forking import PROCESSES
from tests.support.killing import die_after, die_at
from tests.support.waiting import eventually

from .finding import GOOD, HERE, ME, Acme, active, active_at, crawls, items, rows, run, the_source

FINDER = Registry(
    [
        replace(
            application,
            machines=[company, source, listing, job, attempt],
            handlers=[one for one in application.handlers if "autoapply" not in one],
        )
    ]
)


class Died(Exception):
    """The worker is dead."""


def its_claim(trial: Trial, worker: UUID) -> Claim:
    """Claim the crawl, and let everything else that is ready go on."""
    found = None
    for one in trial.claim(100, worker=worker):
        if trial.get(one.id).machine == "source":
            found = one
        else:
            trial.finish(one, trial.run(one))
    assert found is not None
    return found


def dying(trial: Trial, at: int) -> bool:
    """Run the crawl with a worker that dies at the so manieth point of a commit. False if it ended before."""
    worker = trial.new_worker()
    claim = its_claim(trial, worker)
    points = 0

    def hook(name: str) -> None:
        nonlocal points
        points += 1
        if points >= at:
            raise Died(name)

    failpoints.hook = hook
    try:
        outcome = trial.run(claim)
        died = points >= at
    finally:
        failpoints.hook = None
    if died:
        trial.lose(worker)
    else:
        trial.finish(claim, outcome)
    return died


@pytest.mark.soak("postgresql")
def test_a_crash_at_any_commit_of_a_crawl_loses_and_doubles_nothing(
    trial: Trial, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawling, "PART", 2)
    board = Acme(site)
    board.show("0-0")
    source_id = active(trial, board)
    at, wanted = 1, {"0-0"}
    while True:
        wanted = {f"{at}-{number}" for number in range(4)}
        board.show(*wanted)
        item = trial.engine.write(lambda unit: intake.crawl(unit, HERE, source_id, ME)).item
        died = dying(trial, at) and dying(trial, at + 1)
        if trial.get(item.id).finished_at is None:
            claim = its_claim(trial, trial.new_worker())
            trial.finish(claim, trial.run(claim))
        assert trial.state(item.id) == "SUCCESS"
        there = {one.posting_key.rpartition(":")[2] for one in rows(trial)}
        assert wanted <= there, at
        assert crawls(trial)[-1]["parsed"] == 4
        trial.run_until_idle()
        if not died:
            break
        at += 2
    assert at > 10, "there were many points"
    each_once(trial.engine, None)
    assert the_source(trial).consecutive_failures == 0


@dataclass
class Pages:
    """A board of Teamtailor: a page has two postings, names the next page, and takes a second."""

    site: Site
    clock: VirtualClock
    pages: int
    name: str = "/teamtailor-host/paged"

    def __post_init__(self) -> None:
        self.site.routes[f"{self.name}/jobs.json"] = self._page

    @property
    def url(self) -> str:
        return self.site.url(self.name)

    def _page(self, asked: SiteRequest) -> Sequence[object]:
        self.clock.advance(timedelta(seconds=1))
        number = int(asked.path.partition("page=")[2] or 1)
        items = [
            {
                "id": f"{number}-{one}",
                "title": f"Senior Python Engineer {number}-{one}",
                "url": self.site.url(f"{self.name}/jobs/{number}00{one}-engineer"),
                "content_html": f"{GOOD}<p>Reference {number}-{one}.</p>",
            }
            for one in (1, 2)
        ]
        following = {"next_url": self.site.url(f"{self.name}/jobs.json?page={number + 1}")}
        document = {"version": "https://jsonfeed.org/version/1.1", "title": "Paged", "items": items}
        body = json.dumps({**document, **(following if number < self.pages else {})})
        return [answer(body, content_type="application/json", connection="close")]

    def asked(self) -> Counter[str]:
        return Counter(path for path in self.site.paths() if "jobs.json" in path)


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("after", [9, 30])
def test_a_crawl_whose_workers_die_again_and_again_goes_on_where_it_was(
    trial: Trial, site: Site, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawling, "PART", 2)
    board = Pages(site, trial.clock, pages=1)
    source_id = active_at(trial, board.url)
    board.pages = 12
    site.asked.clear()
    item = trial.engine.write(lambda unit: intake.crawl(unit, HERE, source_id, ME)).item
    deaths = 0
    while dying(trial, after):
        deaths += 1
        assert trial.state(item.id) == "PROCESSING", f"poison after {deaths} workers"
    assert trial.state(item.id) == "SUCCESS"
    assert deaths > 3
    assert crawls(trial)[-1]["parsed"] == 24
    assert max(board.asked().values()) <= 2, "no page was asked for once more after it was stored"
    trial.run_until_idle()
    each_once(trial.engine, 24)
    assert trial.engine.verify().problems == ()


@pytest.mark.soak("postgresql")
def test_a_crawl_that_always_loses_its_worker_at_the_same_place_is_poison_and_the_source_is_soon_crawled_again(
    trial: Trial, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawling, "PART", 2)
    board = Pages(site, trial.clock, pages=1)
    active_at(trial, board.url)
    board.pages = 6
    trial.advance(hours=6, minutes=-1)
    trial.clock.advance(timedelta(minutes=1))
    trial.look_after()
    [item] = items(trial, "source", "PENDING")
    with monkeypatch.context() as broken:
        for _ in range(3):
            parts = iter([postings.take, postings.take])
            broken.setattr(postings, "take", lambda *said, parts=parts, **named: next(parts, no_more)(*said, **named))
            worker = trial.new_worker()
            trial.run(its_claim(trial, worker))
            trial.lose(worker)
    assert trial.state(item.id) == "FAILED"
    assert crawls(trial)[-1]["reasons"] == ["3 workers were lost while they worked on this step"]
    assert len(rows(trial)) == 4
    assert the_source(trial).status == "active"
    trial.advance(seconds=15)
    run(trial)
    assert crawls(trial)[-1]["verdict"] == "complete"
    each_once(trial.engine, 12)


def no_more(*_: object, **__: object) -> None:
    raise Died


def each_once(engine: Engine, many: int | None) -> None:
    """Each posting has one row and one listing."""
    with Trial(engine) as trial:
        found = rows(trial)
        started = Counter(one.key for one in items(trial, "listing"))
        assert set(started) == {one.posting_key for one in found}
        assert set(started.values()) == {1}
        assert len(found) == (many or len(found))
        by_id = {one.id: one for one in items(trial, "listing")}
        assert all(by_id[one.item_id].data["posting_id"] == str(one.id) for one in found)


@dataclass(frozen=True)
class Orders:
    """A worker that dies at a point of a commit; without a name, at the so manieth point of all."""

    url: str
    host: str
    times: int
    point: str = ""


def opened(url: str, host: str) -> Engine:
    engine = Engine(url, FINDER)
    engine.core.settings["jobs"] = JobsSettings(private_hosts=[host], rate=0.2)
    return engine


def victim(orders: Orders) -> None:
    logging.disable()
    if orders.point:
        die_at(orders.point, orders.times)
    else:
        die_after(orders.times)
    with Worker(opened(orders.url, orders.host), concurrency=4, lease=timedelta(seconds=2), sweep_every=0.05) as worker:
        assert worker.id
        threading.Event().wait()


@pytest.mark.soak
def test_workers_killed_anywhere_in_a_crawl_of_a_thousand(world: World, url: str) -> None:
    engine = opened(url, world.host)
    with engine:
        engine.write(lambda unit: intake.add_source(unit, HERE, f"{world.url}/greenhouse-host/thousand", ME))
        with Trial(engine) as trial:
            trial.run_until_idle()
            source_id = the_source(trial).id
        points = [
            (f"{name}:{side}", times)
            for name, times in (
                ("_take", 1),
                ("_take", 2),
                ("_take", 8),
                ("progress", 5),
                ("_unseen", 1),
                ("_written", 1),
                ("finish", 30),
            )
            for side in ("before", "after")
        ]
        for point, times in points:
            # Three lost workers are poison; the next crawl goes on where it was.
            engine.write(lambda unit: intake.crawl(unit, HERE, source_id, ME))
            process = PROCESSES.Process(target=victim, args=(Orders(url, world.host, times, point),), daemon=True)
            process.start()
            process.join(6)
            process.kill()
            process.join(10)
            assert process.exitcode == -signal.SIGKILL
            process.close()
        engine.write(lambda unit: intake.crawl(unit, HERE, source_id, ME))
        with Worker(engine, concurrency=8, lease=timedelta(seconds=5), sweep_every=0.05):
            eventually(lambda: finished(engine), within=120)
        each_once(engine, 1000)


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["greenhouse", "lever"])
def test_workers_killed_at_random_while_a_crawl_of_a_thousand_runs(world: World, url: str, kind: str) -> None:
    """One page with a thousand postings, and ten with a hundred. Nobody asks for a crawl a second time."""
    chance = random.Random(f"kills {kind}")
    engine = opened(url, world.host)
    with engine:
        engine.write(lambda unit: intake.add_source(unit, HERE, f"{world.url}/{kind}-host/thousand", ME))
        with Trial(engine) as trial:
            while not (found := engine.read(lambda conn: sources.page(conn, HERE))) or found[0].status != "active":
                trial.run_until_idle()
                if found:
                    engine.write(lambda unit: sources.enable(unit, found[0].id))
        item = engine.write(lambda unit: intake.crawl(unit, HERE, found[0].id, ME)).item
        kills = 0
        while engine.get(item.id).finished_at is None or kills < 8:
            orders = Orders(url, world.host, chance.randrange(5, 150))
            process = PROCESSES.Process(target=victim, args=(orders,), daemon=True)
            process.start()
            process.join(12)
            process.kill()
            process.join(10)
            assert process.exitcode == -signal.SIGKILL
            process.close()
            kills += 1
            assert kills < 200
        with Worker(engine, concurrency=8, lease=timedelta(seconds=5), sweep_every=0.05):
            eventually(lambda: start_crawls(engine) or finished(engine, poison=True), within=400)
        each_once(engine, 1000)
        with Trial(engine) as trial:
            poison = {one.id for one in items(trial, "listing", "FAILED")}
        assert poison <= {one.instance_id for one in engine.dead_letters.find()}, "each waits for a person"


def finished(engine: Engine, *, poison: bool = False) -> bool:
    """Whether a thousand postings are stored and wait for a profile; or have lost three workers, if some may have."""
    with Trial(engine) as trial:
        found = rows(trial)
        return len(found) == 1000 and {one.outcome for one in found} - {"failed" if poison else ""} == {"waiting"}
