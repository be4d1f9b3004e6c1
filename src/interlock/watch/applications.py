"""Metrics and alert rules of applications.

A mistake in one of them is logged and left out; everything else is still measured.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping

import sqlalchemy as sa

from interlock.machine import Application, InterlockError, Registry, attribute
from interlock.store import Micros

log = logging.getLogger(__name__)
NAME = re.compile(r"[a-z][a-z0-9_]{0,49}")
_logged: dict[tuple[str, str], str] = {}
"""Application and what of it → the mistake that was logged last, so that a lasting one is logged once."""


def metrics(conn: sa.Connection, registry: Registry, now: Micros) -> dict[tuple[str, str], float]:
    """Application and metric → the value now."""
    found: dict[tuple[str, str], float] = {}
    for application in registry.applications.values():
        if application.metrics is not None:
            try:
                with conn.begin_nested():  # on PostgreSQL a failed statement would end everybody's reading
                    given = attribute(application.metrics, "a function that returns metrics", "metrics")(conn, now)
                values = _checked(given)
            except Exception as error:
                mistake(application, "metrics", error)
            else:
                found |= {(application.name, name): value for name, value in values.items()}
    return found


def names(conn: sa.Connection, registry: Registry, now: Micros) -> list[str]:
    """The metrics as alert rules name them: `application.metric`."""
    return [f"{application}.{name}" for application, name in metrics(conn, registry, now)]


def _checked(given: Mapping[str, float]) -> dict[str, float]:
    for name, value in given.items():
        if not NAME.fullmatch(name):
            raise InterlockError(f"{name!r} cannot name a metric; use up to 50 small letters, digits and _")
        if not math.isfinite(value):
            raise InterlockError(f"the metric {name!r} is {value!r}, not a number")
    return {name: float(value) for name, value in given.items()}


def mistake(application: Application, what: str, error: Exception) -> None:
    """Log what is wrong with an application's metrics or rules, once while it lasts."""
    text = f"{type(error).__name__}: {error}"
    if _logged.get((application.name, what)) != text:
        _logged[application.name, what] = text
        log.error("the %s of the application %s are left out: %s", what, application.name, text, exc_info=error)
