"""Pauses of people: nothing that they stopped goes on by itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest

from interlock.apps.jobs.autoapply.errors import ModelQuotaExceeded
from interlock.apps.jobs.autoapply.records.rules import RuleRow
from interlock.apps.jobs.autoapply.review import deciding
from interlock.engine.application import Unit
from interlock.machine import Fail
from interlock.testing import broken_laws
from tests.apps.jobs.autoapply.applicant import ANN, HERE, Applicant

Act = Callable[[Unit, UUID, UUID], object]
PAUSES: dict[str, tuple[Act, Act]] = {
    "all": (
        lambda unit, *_: deciding.pause_all(unit, HERE, ANN),
        lambda unit, *_: deciding.resume_all(unit, HERE, ANN),
    ),
    "rule": (
        lambda unit, _, rule: deciding.pause_rule(unit, HERE, rule, ANN),
        lambda unit, _, rule: deciding.resume_rule(unit, HERE, rule, ANN),
    ),
    "application": (
        lambda unit, it, _: deciding.pause(unit, HERE, it, ANN),
        lambda unit, it, _: deciding.resume(unit, HERE, it, ANN),
    ),
}


def paused_for_an_hour(applicant: Applicant) -> tuple[UUID, RuleRow]:
    """An application that the system has paused because the model's quota was used up."""
    rule = applicant.rule()
    taken = applicant.take(rule, applicant.match()).application
    assert taken is not None
    [claim] = applicant.trial.claim()
    applicant.trial.finish(claim, Fail(ModelQuotaExceeded("429")))
    assert (applicant.trial.state(taken.id), applicant.row(taken.id).paused_by) == ("paused", "system")
    return taken.id, rule


@pytest.mark.parametrize("what", PAUSES)
def test_what_the_system_has_paused_until_a_moment_stays_paused_when_a_person_pauses_it(
    applicant: Applicant, what: str
) -> None:
    it, rule = paused_for_an_hour(applicant)
    pause, resume = PAUSES[what]
    applicant.engine.write(lambda unit: pause(unit, it, rule.id))
    row = applicant.row(it)
    assert (row.status, row.scheduled_for) == ("paused", None)
    assert (row.paused_by or "").split(":")[0] == {"application": "ann"}.get(what, what)
    applicant.trial.advance(timedelta(hours=3))
    assert applicant.trial.state(it) == "paused"
    applicant.engine.write(lambda unit: resume(unit, it, rule.id))
    assert applicant.trial.state(it) == "queued"
    assert broken_laws(applicant.engine) == []


def test_a_rule_that_is_resumed_while_all_are_stopped_resumes_nothing(applicant: Applicant) -> None:
    it, rule = paused_for_an_hour(applicant)
    applicant.engine.write(lambda unit: deciding.pause_rule(unit, HERE, rule.id, ANN))
    applicant.engine.write(lambda unit: deciding.pause_all(unit, HERE, ANN))
    changed = applicant.engine.write(lambda unit: deciding.resume_rule(unit, HERE, rule.id, ANN))
    assert (changed, applicant.trial.state(it)) == (deciding.Changed(0, 1), "paused")
    changed = applicant.engine.write(lambda unit: deciding.resume_all(unit, HERE, ANN))
    assert (changed, applicant.trial.state(it)) == (deciding.Changed(1, 0), "queued")
