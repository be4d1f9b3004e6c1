"""The versions of the machine: which one new applications get, and what all of them share.

Every process serves both, so that applications of the other version go on while an operator migrates them, or forever.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

from interlock.apps.jobs.autoapply.machine import application
from interlock.apps.jobs.autoapply.planned import planned
from interlock.apps.jobs.settings import JobsSettings
from interlock.machine import Machine

F = TypeVar("F", bound=Callable[..., Any])
VERSIONS = (application, planned)


def _without_time(data: dict[str, Any]) -> dict[str, Any]:
    """Version 1 waits for no chosen time."""
    return {**data, "scheduled_for": None}


application.followed_by(planned)
application.upgrades = {planned.digest(): _without_time}


def chosen(settings: JobsSettings) -> Machine:
    """The version that new applications get."""
    return planned if settings.autoapply.planned else application


def work(state: str, *, timeout: timedelta) -> Callable[[F], F]:
    """Declares the function that does the work of a state, in every version that has the state."""

    def register(handler: F) -> F:
        for machine in VERSIONS:
            if state in machine.states:
                machine.work(state, timeout=timeout)(handler)
        return handler

    return register


def entering(*states: str) -> Callable[[F], F]:
    """Declares a function that runs whenever an application enters one of these states, in every version."""

    def register(follower: F) -> F:
        for machine in VERSIONS:
            machine.entering(*(state for state in states if state in machine.states))(follower)
        return follower

    return register


def decided(name: str) -> Callable[[F], F]:
    """Declares a function that runs when a review of this name is decided, in every version."""

    def register(follower: F) -> F:
        for machine in VERSIONS:
            machine.decided(name)(follower)
        return follower

    return register
