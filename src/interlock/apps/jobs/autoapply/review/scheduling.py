"""The time at which an application is sent, where its user chooses one (version 2 of the machine)."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from interlock.apps.jobs.autoapply.machine import FAILED, PAUSED, PREPARING, QUEUED, READY_TO_SUBMIT, REQUIRES_REVIEW
from interlock.apps.jobs.autoapply.planned import SCHEDULE, SCHEDULED, VALIDATING
from interlock.apps.jobs.autoapply.records import applications
from interlock.apps.jobs.autoapply.review import by_hand, deciding
from interlock.apps.jobs.finder.intake import NotPossible
from interlock.engine import Instance
from interlock.engine.application import Unit, change, fire, hasten
from interlock.machine import Actor
from interlock.store import micros, moment

BEFORE = (QUEUED, VALIDATING, PREPARING, FAILED, PAUSED, SCHEDULED)
"""States in which the time is only noted; it counts when the application is ready."""
LONGEST = timedelta(days=365)


def schedule(
    unit: Unit,
    workspace: str,
    application_id: UUID,
    at: datetime | None,
    actor: Actor,
    *,
    packet_hash: str | None = None,
    reason: str = "",
) -> Instance:
    """Choose when it is sent; None sends it as soon as possible. One that waits for approval is approved with it."""
    deciding.require_person(actor)
    found = deciding.existing(unit, workspace, application_id)
    if SCHEDULED not in unit.machine(found).states:
        raise NotPossible(
            f"application {application_id} has a life cycle without chosen times; set planned in [jobs.autoapply], "
            "then `interlock machine migrate application --apply`"
        )
    if at is not None and not timedelta(0) < at - moment(unit.now) <= LONGEST:
        raise NotPossible(f"{at:%Y-%m-%d %H:%M %Z} is not within the next {LONGEST.days} days; choose a later time")
    if found.state in BEFORE:
        change(unit, found, {"scheduled_for": at}, actor, payload={"reason": reason or "its user chose the time"})
        if found.state == SCHEDULED:
            hasten(unit, found)
        if found.state != FAILED:  # there it says when it is retried
            applications.update(unit, found.id, scheduled_for=micros(at) if at is not None else None)
        return found
    if found.state not in (READY_TO_SUBMIT, REQUIRES_REVIEW) or at is None:
        raise NotPossible(f"application {application_id} is {found.state}; it cannot be given that time")
    given: dict[str, object] = {"scheduled_for": at}
    if found.state == REQUIRES_REVIEW:
        if by_hand.is_by_hand(found):
            raise NotPossible(f"only you can send application {application_id}; it needs no time")
        deciding.require_packet(found, packet_hash or "")
        given["approved_packet"] = packet_hash
    return fire(unit, found.id, SCHEDULE, actor, data=given, reason=reason)
