"""What stands around the instances of the demo: people, an agent's token, schedules."""

from __future__ import annotations

from contextlib import suppress

from interlock.engine import Engine
from interlock.engine.schedules import ScheduleSpec
from interlock.machine import SYSTEM, Actor
from interlock.people import People, Role
from interlock.people.errors import NameTaken

BY_DEMO = Actor(SYSTEM, "demo")
PEOPLE = (("mara", Role.REVIEWER), ("ivo", Role.REVIEWER), ("guest", Role.VIEWER))
TOKEN = "apply-bot"  # noqa: S105 - a name
HARBOUR = ScheduleSpec(
    "harbour post",
    "parcel",
    "*/10 * * * *",
    zone="Europe/Berlin",
    data={"content": "the harbour's post"},
    labels={"shop": "harbour"},
)
CRAWL = ScheduleSpec(
    "crawl boards",
    "source",
    "0 */6 * * *",
    overlap="skip",
    data={"url": "https://boards.example/all", "company_name": "all boards", "stage": "CRAWL"},
)
MARKET = ScheduleSpec("market day", "parcel", "0 8 * * 6", zone="Europe/Berlin", data={"content": "market stalls"})


def put_up(engine: Engine, machines: set[str]) -> None:
    """Let people in and set up schedules, as far as they are not there yet."""
    people = People(engine)
    for name, role in PEOPLE:
        with suppress(NameTaken):
            people.add(name, role=role, by=BY_DEMO, email=f"{name}@demo.invalid")
    if TOKEN not in {token.name for token in people.tokens()}:
        # Nobody ever learns its secret: it is there to be looked at, and to be revoked.
        people.create_token("default", TOKEN, kind="agent", by=BY_DEMO, scopes=("read", "claims"))
    there = {schedule.name for schedule in engine.schedules.all()}
    paused = CRAWL if CRAWL.machine in machines else MARKET
    for spec in (HARBOUR, paused):
        if spec.name not in there:
            engine.schedules.put(spec, actor=BY_DEMO)
            if spec is paused:
                engine.schedules.pause(spec.name, actor=BY_DEMO)
