"""The finder of the demo: the demo world's companies, sources and postings, found by the real chain over real HTTP."""

from __future__ import annotations

import random
from functools import cache
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.finder import intake
from interlock.apps.jobs.finder.profiles.profile_file import parse_profile, sample
from interlock.apps.jobs.finder.records import profiles, sources
from interlock.apps.jobs.tables import company as C
from interlock.apps.jobs.world import World
from interlock.demo import MARA, Part
from interlock.demo.surroundings import BY_DEMO
from interlock.engine import Engine, Instance
from interlock.engine.application import Unit
from interlock.machine import InterlockError
from interlock.people import OPERATORS

PORT = 8430
"""The world's port, or the next one that is free. Stored addresses name it, so a later start takes the same."""
PORTS = 20
ANSWERS = {"job_board": "discover", "validate": "enable"}
LEFT = 3
"""Reviews that are left for whoever looks at the demo."""


@cache
def world(port: int) -> World:
    """The world of this process, served until it ends."""
    made = World(port=port)
    made.__enter__()
    return made


def start(engine: Engine) -> None:
    """Serve the world, and let the finder look at it."""
    there = engine.read(_port)
    for port in [there] if there else [*range(PORT, PORT + PORTS), 0]:
        try:
            host = world(port).host
            break
        except InterlockError:
            continue
    else:
        return  # its port belongs to somebody else now; what is stored stays
    settings = intake.settings_in(engine.setting("jobs"))
    hosts = list(dict.fromkeys([*settings.private_hosts, host]))
    applying = settings.autoapply.model_copy(update={"demo_host": host})
    engine.core.settings["jobs"] = settings.model_copy(update={"private_hosts": hosts, "autoapply": applying})


def opening(engine: Engine, rng: random.Random) -> None:
    """The sample profile, and all companies of the world."""

    def job(unit: Unit) -> None:
        if profiles.find(unit.conn, OPERATORS) is None:
            intake.set_profile(unit, OPERATORS, parse_profile(sample()), BY_DEMO)
        for one in _described(unit.conn):
            intake.add_company(unit, OPERATORS, one["name"], one["website"], BY_DEMO)

    engine.write(job, name="set_profile")


def begin(engine: Engine, rng: random.Random, fate: str) -> UUID:
    """The next company of the world, then its other sources, then another crawl."""
    return engine.write(lambda unit: _next(unit, rng), name="demo")


def _next(unit: Unit, rng: random.Random) -> UUID:
    described = _described(unit.conn)
    known = set(unit.conn.execute(sa.select(C.c.name)).scalars())
    for one in described:
        if one["name"] not in known:
            added = intake.add_company(unit, OPERATORS, one["name"], one["website"], BY_DEMO)
            if added.new:
                return added.item.id
    found = sources.page(unit.conn, OPERATORS, limit=200)
    urls = {one.url for one in found}
    for one in described:
        for board in one["sources"]:
            if board["url"] not in urls and board["kind"] != "api":
                added = intake.add_source(unit, OPERATORS, board["url"], BY_DEMO, company_name=one["name"])
                if added.new and rng.random() < 0.5:
                    return added.item.id
    active = [one for one in found if one.enabled]
    if not active:
        return intake.add_company(unit, OPERATORS, described[0]["name"], described[0]["website"], BY_DEMO).item.id
    return intake.start_crawl(unit, rng.choice(active), BY_DEMO).item.id


def decide(engine: Engine, rng: random.Random) -> None:
    """Somebody looks at boards and sources that wait, but for the newest."""
    waiting = [one for one in engine.reviews.waiting() if one.name in ANSWERS]
    for review in waiting[:-LEFT]:
        engine.reviews.decide(review.id, ANSWERS[review.name], actor=MARA)


def react(engine: Engine, instance: Instance, rng: random.Random) -> None:
    """Nothing of the finder waits in a state."""


def _described(conn: sa.Connection) -> list[dict[str, Any]]:
    port = _port(conn)
    companies: list[dict[str, Any]] = (world(port) if port else _any()).described()["companies"]
    return companies


def _any() -> World:
    """The world that was started, before anything of it is stored."""
    for port in [*range(PORT, PORT + PORTS), 0]:
        try:
            return world(port)
        except InterlockError:
            continue
    raise InterlockError("the demo world has no port")


def _port(conn: sa.Connection) -> int | None:
    """The port that stored addresses of the world name."""
    found = conn.execute(sa.select(C.c.website).where(C.c.website.like("http://127.0.0.1:%")).limit(1)).scalar()
    return urlsplit(found).port if found else None


FINDER = Part(
    "finder",
    acts={},
    past=False,
    start=start,
    opening=opening,
    begin=begin,
    react=react,
    each=decide,
    waiting={},
    share=5,
)
