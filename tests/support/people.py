"""What several tests do: act as the owner, log in, look at what was written down."""

from __future__ import annotations

from interlock.machine import OWNER, Actor
from interlock.people import Action, Login, People

BY = Actor(OWNER, "owner")
PASSWORD = "three unrelated words"


def enter(people: People, name: str, password: str = PASSWORD, *, address: str = "10.0.0.1") -> Login:
    return people.login(name, password, address=address, browser="Firefox")


def newest(people: People) -> Action:
    return people.actions(limit=1).actions[0]


def whats(people: People) -> list[str]:
    """What was done, in order."""
    return [action.what for action in reversed(people.actions(limit=500).actions)]
