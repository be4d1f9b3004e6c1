"""The specification's scheduled functions, for those who call them: rules decide, and what was missed is found."""

from __future__ import annotations

import logging
from uuid import UUID

from interlock.apps.jobs.autoapply.machine import PREPARING, QUEUED
from interlock.apps.jobs.autoapply.planned import VALIDATING
from interlock.apps.jobs.autoapply.queueing import enqueueing
from interlock.apps.jobs.autoapply.records import applications, decisions, rules
from interlock.apps.jobs.autoapply.steps import duties
from interlock.engine.application import Unit, error_summary, must_raise

log = logging.getLogger("interlock.autoapply")
AT_ONCE = 25
"""Postings of a rule that one call decides about; a duty goes on with the others."""


def match_now(unit: Unit, workspace: str, rule_id: UUID | None = None) -> tuple[int, int]:
    """Let the rules decide about the best matches that wait: how many were judged, and how many queued."""
    judged = queued = 0
    for rule in rules.of(unit.conn, workspace):
        if rule.paused or rule_id not in (None, rule.id):
            continue
        for posting_id in decisions.undecided(unit.conn, rule, unit.now, AT_ONCE):
            judged += 1
            try:
                with unit.savepoint() as inner:
                    made = enqueueing.enqueue_by_rule(inner, workspace, rule.id, posting_id)
            except BaseException as error:
                if must_raise(error):
                    raise
                log.error("rule %s cannot decide about posting %s: %s", rule.id, posting_id, error_summary(error))
                duties.set_aside(unit, rule, posting_id, error_summary(error))
                continue
            queued += int(made is not None and made.application is not None)
    return judged, queued


def process_queue(unit: Unit, workspace: str) -> dict[str, int]:
    """Wake queued applications that nobody works on; how many are queued and in preparation."""
    duties.wake_queued(unit, workspace)
    found = applications.counts(unit.conn, workspace)
    return {"queued": found.get(QUEUED, 0), "preparing": found.get(VALIDATING, 0) + found.get(PREPARING, 0)}


def retry_failed(unit: Unit, workspace: str) -> dict[str, int]:
    """Queue failed applications whose retry was missed, and withdraw those that have none left."""
    return duties.retry_failed(unit, workspace)
