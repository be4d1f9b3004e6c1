"""Parcels of the demo: the sample machine with its own handlers."""

from __future__ import annotations

import random
from uuid import UUID

from interlock.apps.sample.machine import CUSTOMS, LABELLING, WEIGHING, label, parcel, weigh
from interlock.demo import IVO, MARA, Part, Scene
from interlock.engine import Engine, Instance
from interlock.machine import USER, Actor

CONTENTS = ("tea", "books", "a kettle", "an anvil", "clock parts", "a violin", "two chairs", "seeds", "a grand piano")
SHOPS = ("north", "south", "harbour")


def begin(engine: Engine, rng: random.Random, fate: str) -> UUID:
    shop = rng.choice(SHOPS)
    content = "a grand piano" if fate == "heavy" else rng.choice(CONTENTS)
    return engine.create(parcel.name, {"content": content}, labels={"shop": shop}, actor=Actor(USER, f"shop {shop}")).id


def react(engine: Engine, instance: Instance, rng: random.Random) -> None:
    for review in engine.reviews.waiting(instance_id=instance.id):
        decision, reason = rng.choice((("clear", ""), ("clear", "papers are complete"), ("send back", "too heavy")))
        engine.reviews.decide(review.id, decision, actor=rng.choice((MARA, IVO)), reason=reason)


PARCELS = Part(
    "parcels",
    acts={parcel.name: {WEIGHING: lambda task, _: weigh(task), LABELLING: lambda task, _: label(task)}},
    begin=begin,
    react=react,
    waiting={(parcel.name, CUSTOMS): 4},
    share=22,
    scenes=(Scene("heavy", 6, left=True), Scene("heavy", 1.5, left=True)),
)


def parts() -> list[Part]:
    return [PARCELS]
