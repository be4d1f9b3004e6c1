"""What auto-apply stores: rules that change, answers with their scope, pages of rows, and who is stopped."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa

from interlock.apps.jobs.autoapply.answers import Scope
from interlock.apps.jobs.autoapply.answers.bank import SavedAnswer
from interlock.apps.jobs.autoapply.records import answers, applications, logs, rules, seekers
from interlock.apps.jobs.autoapply.rules import check_rule
from interlock.apps.jobs.tables import apply_rule, saved_answer
from interlock.engine import Unreadable
from tests.apps.jobs.autoapply.applicant import HERE, Applicant


def test_a_rule_keeps_its_id_and_gets_a_digest_for_its_criteria_alone(applicant: Applicant) -> None:
    made = applicant.rule(titles=["Engineer"])
    renamed = check_rule({"name": "renamed", "titles": ["Engineer"], "paused": True})
    stored = applicant.engine.write(lambda unit: rules.put(unit, HERE, made.id, renamed, "bob"))
    assert (stored.id, stored.name, stored.paused, stored.changed_by) == (made.id, "renamed", True, "bob")
    assert stored.digest == made.digest
    other = check_rule({"name": "renamed", "titles": ["Gardener"]})
    assert applicant.engine.write(lambda unit: rules.put(unit, HERE, made.id, other, "bob")).digest != made.digest


def test_rules_are_those_of_their_workspace_until_they_are_deleted(applicant: Applicant) -> None:
    made = applicant.rule()
    assert [one.id for one in applicant.engine.read(lambda conn: rules.of(conn, HERE))] == [made.id]
    assert applicant.engine.read(lambda conn: rules.of(conn, "elsewhere")) == []
    assert applicant.engine.read(lambda conn: rules.find(conn, "elsewhere", made.id)) is None
    assert applicant.engine.read(rules.workspaces) == [HERE]
    applicant.engine.write(lambda unit: rules.delete(unit, HERE, made.id, "ann"))
    assert applicant.engine.read(lambda conn: rules.find(conn, HERE, made.id)) is None
    assert applicant.engine.read(lambda conn: rules.names(conn, HERE)) == {made.id: "all"}
    assert applicant.engine.read(rules.workspaces) == []


def test_a_rule_that_was_changed_by_hand_says_that_it_cannot_be_read(applicant: Applicant) -> None:
    made = applicant.rule()
    applicant.engine.write(lambda unit: unit.conn.execute(sa.update(apply_rule).values(rule='{"name": 1')))
    with pytest.raises(Unreadable, match="set it again"):
        applicant.engine.read(lambda conn: rules.find(conn, HERE, made.id))


def saved(label: str = "Notice period", value: object = "4 weeks", **more: object) -> SavedAnswer:
    return SavedAnswer.model_validate({"label": label, "value": value, **more})


def test_a_newer_answer_takes_the_place_of_the_older_one_with_the_same_use(applicant: Applicant) -> None:
    it = uuid4()
    for one in (
        saved(),
        saved(value="2 weeks"),
        saved(value="now", scope=Scope.COMPANY, company="kind boats"),
        saved(value="never", scope=Scope.ONCE, application=str(it)),
        saved("Languages", ("en", "de"), options_key="en|de|fr"),
    ):
        applicant.engine.write(lambda unit, one=one: answers.remember(unit, HERE, one, "ann"))
    bank = applicant.engine.read(lambda conn: answers.bank(conn, HERE))
    assert [one.value for one in bank] == ["2 weeks", "now", "never", ("en", "de")]
    assert bank[2].application == str(it)
    assert applicant.engine.read(lambda conn: answers.bank(conn, "elsewhere")) == ()


def test_uses_are_counted_and_answers_forgotten(applicant: Applicant) -> None:
    made: UUID = applicant.engine.write(lambda unit: answers.remember(unit, HERE, saved(), "ann"))
    for _ in range(2):
        applicant.engine.write(lambda unit: answers.count_uses(unit, HERE, [saved(), saved("other")]))
    [row] = applicant.engine.read(lambda conn: answers.page(conn, HERE))
    assert (row.answer.uses, row.used_at is not None, row.saved_by) == (2, True, "ann")
    assert applicant.engine.write(lambda unit: answers.forget(unit, "elsewhere", made)) is False
    assert applicant.engine.write(lambda unit: answers.forget(unit, HERE, made)) is True


def test_an_answer_that_cannot_be_read_spoils_no_other(applicant: Applicant) -> None:
    for label in ("a", "b"):
        applicant.engine.write(lambda unit, label=label: answers.remember(unit, HERE, saved(label), "ann"))
    broken = sa.update(saved_answer).where(saved_answer.c.label == "a").values(value="{")
    applicant.engine.write(lambda unit: unit.conn.execute(broken))
    assert [one.label for one in applicant.engine.read(lambda conn: answers.bank(conn, HERE))] == ["b"]


def test_applications_come_in_pages_by_status_and_words(applicant: Applicant) -> None:
    made = [applicant.choose(applicant.match(number)) for number in range(3)]
    assert [one.id for one in applicant.rows(limit=2)] == made[:0:-1]
    assert [one.id for one in applicant.rows(after=made[1])] == [made[0]]
    assert [one.id for one in applicant.rows(q="boats 2")] == [made[2]]
    assert applicant.rows(q="100%") == []
    assert applicant.rows(statuses=["submitted"]) == []
    assert applicant.engine.read(lambda conn: applications.counts(conn, HERE)) == {"queued": 3}
    assert applicant.engine.read(lambda conn: applications.counts(conn, "elsewhere")) == {}


def test_the_log_comes_in_pages(applicant: Applicant) -> None:
    it = applicant.choose(applicant.match())
    for number in range(4):
        applicant.engine.write(
            lambda unit, number=number: logs.write(
                unit, HERE, f"e{number}", "ann", status="x", instance_id=it, reason="long " * 1000
            )
        )
    page = applicant.engine.read(lambda conn: logs.page(conn, HERE, application=it, limit=2))
    assert [one.event for one in page] == ["e3", "e2"]
    assert len(page[0].reason) == logs.LONGEST
    assert [one.event for one in applicant.engine.read(lambda conn: logs.page(conn, HERE, after=page[-1].id))] == [
        "e1",
        "e0",
        "enqueue",
    ]


def test_everything_is_stopped_and_started_by_workspace(applicant: Applicant) -> None:
    applicant.engine.write(lambda unit: seekers.stop(unit, HERE, "ann"))
    found = applicant.engine.read(lambda conn: seekers.stopped(conn, HERE))
    assert found is not None
    assert found.by == "ann"
    assert applicant.engine.read(lambda conn: seekers.stopped(conn, "elsewhere")) is None
    applicant.engine.write(lambda unit: seekers.start(unit, HERE))
    assert applicant.engine.read(lambda conn: seekers.stopped(conn, HERE)) is None
