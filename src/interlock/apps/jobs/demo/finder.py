"""The finder of the demo: companies lead to sources, sources to listings, a few listings to a match."""

from __future__ import annotations

import random
from uuid import UUID

from interlock.apps.jobs.demo.postings import PLACES, careers_page, title
from interlock.apps.jobs.finder.machine import (
    FILTERED,
    PENDING,
    PROCESSING,
    SKIPPED,
    SUCCESS,
    company,
    listing,
    source,
)
from interlock.apps.jobs.finder.models import Company, CompanyStage, Listing, ListingStage, Source, SourceStage
from interlock.demo import Pace, Part, Scene
from interlock.demo.names import company_name, slug
from interlock.demo.surroundings import BY_DEMO
from interlock.engine import Engine, Instance
from interlock.engine.schedules import ScheduleSpec
from interlock.machine import SYSTEM, Actor, Go, Outcome, Spawn, WorkError
from interlock.worker import Task

SCOUT = Actor(SYSTEM, "scout")
ON = (SUCCESS, PENDING)
"""The chain to the next stage."""
CRAWL = ScheduleSpec(
    "crawl boards",
    "source",
    "0 */6 * * *",
    overlap="skip",
    data={"url": "https://boards.example/all", "company_name": "all boards", "stage": "CRAWL"},
)


class SiteAway(WorkError):
    """The site did not answer."""


class TeapotAnswered(WorkError):
    """The site's answer is not a posting."""


def begin(engine: Engine, rng: random.Random, fate: str) -> UUID:
    name = company_name(rng)
    home = f"https://{slug(name)}.example/{rng.randrange(10**6)}"
    data = {"url": home, "website": home, "company_name": name, "message": "teapots" if fate == "teapot" else ""}
    return engine.create(company.name, data, key=home, actor=SCOUT).id


def study_company(task: Task[Company], rng: random.Random) -> Outcome:
    data = task.data
    if rng.random() < 0.03:
        raise SiteAway(f"{data.website} did not answer within 20 s")
    match data.stage:
        case CompanyStage.FETCH:
            page = careers_page(data.company_name, [title(rng) for _ in range(3)])
            kept = task.keep("careers.html", page, media_type="text/html")
            return Go(ON, data={"stage": CompanyStage.EXTRACT, "pages": {data.website: kept}})
        case CompanyStage.EXTRACT:
            found = {"people": rng.randrange(20, 4000), "founded": rng.randrange(1950, 2024)}
            return Go(ON, data={"stage": CompanyStage.ANALYZE, "extracted": found})
        case CompanyStage.ANALYZE:
            if rng.random() < 0.1 and not data.message:
                return Go(SKIPPED, data={"message": "they hire only by post"})
            return Go(ON, data={"stage": CompanyStage.SAVE, "analysis": {"score": rng.randrange(35, 99)}})
    board = f"{data.website}/jobs"
    wanted = {"url": board, "company_name": data.company_name, "message": data.message}
    return Go(SUCCESS, data={"company_id": str(task.id)}, spawn=(Spawn(source.name, wanted, key=board),))


def study_source(task: Task[Source], rng: random.Random) -> Outcome:
    data = task.data
    match data.stage:
        case SourceStage.DISCOVER:
            kind = rng.choice(("greenhouse", "lever", "ashby", "rss"))
            return Go(ON, data={"stage": SourceStage.VALIDATE, "source_type": kind, "confidence": "high"})
        case SourceStage.VALIDATE:
            return Go(ON, data={"stage": SourceStage.CONFIGURE})
        case SourceStage.CONFIGURE:
            return Go(ON, data={"stage": SourceStage.TEST, "config": {"path": "/jobs.json", "every": "6 h"}})
    count = 1 + rng.randrange(3)
    paths = ["teapot"] if data.message else []
    paths += [str(rng.randrange(10**7)) for _ in range(count)]
    spawned = tuple(
        Spawn(listing.name, {"url": f"{data.url}/{path}", "company_name": data.company_name}, key=f"{data.url}/{path}")
        for path in paths
    )
    return Go(SUCCESS, data={"found": len(paths), "source_id": str(task.id)}, spawn=spawned)


def study_listing(task: Task[Listing], rng: random.Random) -> Outcome:
    data = task.data
    if data.url.endswith("/teapot"):
        raise TeapotAnswered(f"{data.url} answered 418")
    match data.stage:
        case ListingStage.SCRAPE:
            if rng.random() < 0.04:
                raise SiteAway(f"{data.url} did not answer within 20 s")
            found = {"title": title(rng), "place": rng.choice(PLACES), "salary": f"{rng.randrange(45, 130)},000 EUR"}
            return Go(ON, data={"stage": ListingStage.FILTER, "job_data": found, "scrape_method": "json"})
        case ListingStage.FILTER:
            strikes = rng.randrange(6)
            seen = {"filter_result": {"strikes": strikes, "most": 3}}
            if strikes > 3:
                return Go(FILTERED, data=seen, reason=f"{strikes} strikes, at most 3")
            return Go(ON, data={"stage": ListingStage.ANALYZE, **seen})
        case ListingStage.ANALYZE:
            return Go(ON, data={"stage": ListingStage.SAVE, "match_result": {"score": rng.randrange(55, 99)}})
    return Go(SUCCESS, data={"match_id": f"m{rng.randrange(10**6):06}"})


def react(engine: Engine, instance: Instance, rng: random.Random) -> None:
    """Nothing of the finder waits for a person."""


def set_up(engine: Engine) -> None:
    if CRAWL.name not in {schedule.name for schedule in engine.schedules.all()}:
        engine.schedules.put(CRAWL, actor=BY_DEMO)
        engine.schedules.pause(CRAWL.name, actor=BY_DEMO)


QUICK = Pace(0.3, 1.0, ("looking",))
FINDER = Part(
    "finder",
    acts={
        company.name: {PROCESSING: study_company},
        source.name: {PROCESSING: study_source},
        listing.name: {PROCESSING: study_listing},
    },
    begin=begin,
    react=react,
    waiting={},
    set_up=set_up,
    share=5,
    scenes=(Scene("teapot", 5),),
    paces={(name, PROCESSING): QUICK for name in (company.name, source.name, listing.name)},
)
