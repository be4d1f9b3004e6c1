"""Times of cron expressions, in a time zone."""

from __future__ import annotations

from collections.abc import Iterator
from zoneinfo import ZoneInfo

from cronsim import CronSim

from interlock.engine.error_details import message_of
from interlock.engine.errors import InvalidData
from interlock.store import Micros, micros, moment


def cron_times(cron: str, zone: str, after: Micros) -> Iterator[Micros]:
    """The times of a cron expression after a given time."""
    where = time_zone(zone)
    try:
        if len(cron) > 200:
            raise ValueError("it is longer than 200 characters")
        found = CronSim(cron, moment(after).astimezone(where))
    except Exception as error:  # the library may raise anything
        raise InvalidData(
            f"{cron!r} is not a cron expression: {message_of(error) or type(error).__name__}; "
            "write minute, hour, day of month, month and day of week, such as '30 6 * * 1-5'"
        ) from error
    for one in found:
        # In the hour that autumn repeats, the library may return a time of its first pass during the second.
        if (at := micros(one)) > after:
            yield at


def time_zone(name: str) -> ZoneInfo:
    """The time zone with this name. Raises InvalidData if there is none."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise InvalidData(f"there is no time zone {name!r}; use a name such as Europe/Berlin or UTC") from error


def next_time(cron: str, zone: str, after: Micros) -> Micros | None:
    """The first time after a given time; None if there is none."""
    return next(cron_times(cron, zone, after), None)
