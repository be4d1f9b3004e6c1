"""People and schedules of the demo, and what each part sets up."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from interlock.demo.part import Part
from interlock.engine import Engine
from interlock.engine.schedules import ScheduleSpec
from interlock.machine import SYSTEM, Actor
from interlock.people import People, Role
from interlock.people.errors import NameTaken

BY_DEMO = Actor(SYSTEM, "demo")
PEOPLE = (("mara", Role.REVIEWER), ("ivo", Role.REVIEWER), ("guest", Role.VIEWER))
HARBOUR = ScheduleSpec(
    "harbour post",
    "parcel",
    "*/10 * * * *",
    zone="Europe/Berlin",
    data={"content": "the harbour's post"},
    labels={"shop": "harbour"},
)
MARKET = ScheduleSpec("market day", "parcel", "0 8 * * 6", zone="Europe/Berlin", data={"content": "market stalls"})


def set_up(engine: Engine, parts: Sequence[Part]) -> None:
    """Add people and schedules that are missing."""
    people = People(engine)
    for name, role in PEOPLE:
        with suppress(NameTaken):
            people.add(name, role=role, by=BY_DEMO, email=f"{name}@demo.invalid")
    there = {schedule.name for schedule in engine.schedules.all()}
    if HARBOUR.name not in there:
        engine.schedules.put(HARBOUR, actor=BY_DEMO)
    for part in parts:
        if part.set_up is not None:
            part.set_up(engine)
    if len(engine.schedules.all()) < 2:  # no part has one that is paused
        engine.schedules.put(MARKET, actor=BY_DEMO)
        engine.schedules.pause(MARKET.name, actor=BY_DEMO)
