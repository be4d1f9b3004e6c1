"""The life cycles, written out from the specifications and compared with what is declared."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from interlock.apps.contracts import registry as contracts
from interlock.apps.jobs import registry as jobs
from interlock.apps.jobs.autoapply.planned import planned
from interlock.apps.sessions import registry as sessions
from interlock.machine import KeyScope, Machine

MACHINES: dict[str, Machine] = {machine.name: machine for app in (jobs, sessions, contracts) for machine in app}
MACHINES["planned_application"] = planned


@dataclass(frozen=True)
class Table:
    """A life cycle as its specification has it: states with their kinds, and pairs with who takes them."""

    initial: str
    key: str
    states: dict[str, str]
    pairs: dict[tuple[str, str], set[str]]


ITEM_STATES = {
    "PENDING": "work",
    "PROCESSING": "work",
    "SUCCESS": "final",
    "SKIPPED": "final",
    "FAILED": "failed",
}

ITEM_PAIRS = {
    ("PENDING", "PROCESSING"): {"worker"},
    ("PROCESSING", "SUCCESS"): {"worker"},
    ("PROCESSING", "SKIPPED"): {"worker"},
    ("PROCESSING", "FAILED"): {"worker", "system"},
    ("SUCCESS", "PENDING"): {"worker"},
    ("FAILED", "PENDING"): {"system", "user"},
}

TABLES = {
    "company": Table("PENDING", "live", ITEM_STATES, ITEM_PAIRS),
    "source": Table("PENDING", "live", ITEM_STATES, ITEM_PAIRS),
    "listing": Table(
        "PENDING",
        "live",
        {**ITEM_STATES, "FILTERED": "final"},
        {**ITEM_PAIRS, ("PROCESSING", "FILTERED"): {"worker"}},
    ),
    "job": Table(
        "discovered",
        "forever",
        {
            "discovered": "waiting",
            "queued": "waiting",
            "applied": "final",
            "expired": "final",
            "rejected": "final",
        },
        {
            ("discovered", "queued"): {"agent", "worker"},
            ("queued", "applied"): {"agent", "worker", "user"},
            ("queued", "discovered"): {"agent", "worker", "system", "user"},
            ("discovered", "expired"): {"agent", "system", "user"},
            ("queued", "expired"): {"system", "user"},
            ("applied", "expired"): {"user"},
            ("rejected", "expired"): {"user"},
            ("discovered", "rejected"): {"user"},
            ("queued", "rejected"): {"user"},
            ("applied", "rejected"): {"user"},
            ("expired", "rejected"): {"user"},
        },
    ),
    "run": Table(
        "pending",
        "forever",
        {
            "pending": "waiting",
            "submitted": "waiting",
            "success": "final",
            "failed": "final",
            "lost": "final",
        },
        {
            ("pending", "submitted"): {"agent", "worker"},
            ("pending", "success"): {"agent", "worker"},
            ("pending", "failed"): {"agent", "worker"},
            ("pending", "lost"): {"system"},
            ("submitted", "success"): {"agent", "worker", "user"},
            ("submitted", "failed"): {"agent", "worker", "user"},
        },
    ),
    "application": Table(
        "queued",
        "live",
        {
            "queued": "work",
            "preparing": "work",
            "ready_to_submit": "work",
            "submitted": "final",
            "failed": "failed",
            "paused": "waiting",
            "requires_review": "waiting",
            "withdrawn": "final",
        },
        {
            ("queued", "preparing"): {"worker"},
            ("queued", "paused"): {"user"},
            ("queued", "withdrawn"): {"user"},
            ("preparing", "ready_to_submit"): {"worker"},
            ("preparing", "failed"): {"worker", "system"},
            ("preparing", "paused"): {"user"},
            ("ready_to_submit", "requires_review"): {"worker"},
            ("ready_to_submit", "submitted"): {"worker"},
            ("ready_to_submit", "failed"): {"worker", "system"},
            ("ready_to_submit", "paused"): {"user"},
            ("ready_to_submit", "withdrawn"): {"user"},
            ("requires_review", "submitted"): {"worker", "user"},
            ("requires_review", "withdrawn"): {"user"},
            ("requires_review", "paused"): {"user"},
            ("requires_review", "failed"): {"worker", "system", "user"},
            ("failed", "queued"): {"system", "user"},
            ("failed", "withdrawn"): {"system", "user"},
            ("failed", "paused"): {"system", "user"},
            ("paused", "queued"): {"system", "user"},
            ("paused", "withdrawn"): {"user"},
            ("submitted", "withdrawn"): {"user"},
        },
    ),
    "planned_application": Table(
        "queued",
        "live",
        {
            "queued": "work",
            "validating": "work",
            "preparing": "work",
            "ready_to_submit": "work",
            "scheduled": "work",
            "submitted": "final",
            "interview_requested": "final",
            "failed": "failed",
            "paused": "waiting",
            "requires_review": "waiting",
            "withdrawn": "final",
        },
        {
            ("queued", "validating"): {"worker"},
            ("queued", "paused"): {"user"},
            ("queued", "withdrawn"): {"user"},
            ("validating", "preparing"): {"worker"},
            ("validating", "withdrawn"): {"worker"},
            ("validating", "failed"): {"worker", "system"},
            ("validating", "paused"): {"user"},
            ("preparing", "ready_to_submit"): {"worker"},
            ("preparing", "failed"): {"worker", "system"},
            ("preparing", "paused"): {"user"},
            ("ready_to_submit", "requires_review"): {"worker"},
            ("ready_to_submit", "scheduled"): {"worker", "user"},
            ("ready_to_submit", "submitted"): {"worker"},
            ("ready_to_submit", "failed"): {"worker", "system"},
            ("ready_to_submit", "paused"): {"user"},
            ("ready_to_submit", "withdrawn"): {"user"},
            ("requires_review", "submitted"): {"worker", "user"},
            ("requires_review", "scheduled"): {"worker", "user"},
            ("requires_review", "withdrawn"): {"user"},
            ("requires_review", "paused"): {"user"},
            ("requires_review", "failed"): {"worker", "system", "user"},
            ("scheduled", "ready_to_submit"): {"worker"},
            ("scheduled", "paused"): {"user"},
            ("scheduled", "withdrawn"): {"user"},
            ("failed", "queued"): {"system", "user"},
            ("failed", "withdrawn"): {"system", "user"},
            ("failed", "paused"): {"system", "user"},
            ("paused", "queued"): {"system", "user"},
            ("paused", "withdrawn"): {"user"},
            ("submitted", "interview_requested"): {"user"},
            ("submitted", "withdrawn"): {"user"},
            ("interview_requested", "withdrawn"): {"user"},
        },
    ),
    "session": Table(
        "pending",
        "live",
        {
            "pending": "work",
            "in_progress": "work",
            "needs_review": "waiting",
            "needs_review_ip_returned": "final",
            "archived": "final",
        },
        {
            ("pending", "in_progress"): {"worker"},
            ("in_progress", "needs_review"): {"worker", "system"},
            ("in_progress", "pending"): {"system"},
            ("needs_review", "pending"): {"user", "agent", "system"},
            ("needs_review", "needs_review_ip_returned"): {"system"},
            ("needs_review_ip_returned", "pending"): {"user"},
            ("pending", "archived"): {"user"},
            ("in_progress", "archived"): {"user"},
            ("needs_review", "archived"): {"user", "system"},
            ("needs_review_ip_returned", "archived"): {"user"},
            ("archived", "pending"): {"user"},
            ("archived", "needs_review"): {"user"},
            ("archived", "needs_review_ip_returned"): {"user"},
        },
    ),
    "loan": Table(
        "borrowing",
        "live",
        {
            "borrowing": "work",
            "held": "waiting",
            "returning": "work",
            "returned": "final",
            "stuck": "failed",
        },
        {
            ("borrowing", "held"): {"worker"},
            ("borrowing", "returned"): {"worker", "system"},
            ("borrowing", "stuck"): {"worker", "system"},
            ("held", "returning"): {"worker", "system", "user"},
            ("returning", "returned"): {"worker"},
            ("returning", "stuck"): {"worker", "system"},
            ("stuck", "returning"): {"user"},
            ("stuck", "returned"): {"user"},
        },
    ),
    "contract": Table(
        "pending",
        "forever",
        {
            "pending": "work",
            "parsing_pdf": "work",
            "extracting": "work",
            "validating": "work",
            "review_required": "waiting",
            "validated": "work",
            "comparing": "work",
            "completed": "final",
            "rejected": "final",
            "timed_out": "final",
            "failed": "failed",
        },
        {
            ("pending", "parsing_pdf"): {"worker"},
            ("parsing_pdf", "extracting"): {"worker"},
            ("parsing_pdf", "failed"): {"worker", "system"},
            ("extracting", "validating"): {"worker"},
            ("extracting", "failed"): {"worker", "system"},
            ("validating", "validated"): {"worker"},
            ("validating", "review_required"): {"worker"},
            ("validating", "failed"): {"worker", "system"},
            ("review_required", "validated"): {"user"},
            ("review_required", "rejected"): {"user"},
            ("review_required", "timed_out"): {"system"},
            ("validated", "comparing"): {"worker"},
            ("comparing", "completed"): {"worker"},
            ("comparing", "failed"): {"worker", "system"},
            ("failed", "parsing_pdf"): {"system", "user"},
            ("failed", "extracting"): {"system", "user"},
            ("failed", "validating"): {"system", "user"},
            ("failed", "comparing"): {"system", "user"},
            ("failed", "rejected"): {"system", "user"},
        },
    ),
}

PICK_UPS = {
    "company": {("PENDING", "PROCESSING")},
    "source": {("PENDING", "PROCESSING")},
    "listing": {("PENDING", "PROCESSING")},
    "job": set(),
    "run": set(),
    "application": {("queued", "preparing")},
    "planned_application": {("queued", "validating")},
    "session": set(),
    "loan": set(),
    "contract": {("pending", "parsing_pdf"), ("validated", "comparing")},
}

ARMS = {
    "listing": {("PENDING", "profile_given")},
    "application": {("requires_review", "approve")},
    "planned_application": {("requires_review", "approve")},
    "session": {("pending", "prompt")},
    "contract": {("pending", "run"), ("extracting", "run"), ("validated", "run")},
}


def test_these_are_the_machines() -> None:
    assert [machine.name for machine in jobs] == ["company", "source", "listing", "job", "run", "application"]
    assert [machine.name for machine in sessions] == ["session", "loan"]
    assert [machine.name for machine in contracts] == ["contract"]


@pytest.mark.parametrize("name", TABLES)
def test_states(name: str) -> None:
    machine, table = MACHINES[name], TABLES[name]
    assert {state.name: state.kind.value for state in machine.states.values()} == table.states
    assert machine.initial == table.initial
    assert machine.key == KeyScope(table.key)


@pytest.mark.parametrize("name", TABLES)
def test_pairs(name: str) -> None:
    machine, table = MACHINES[name], TABLES[name]
    assert {(e.source, e.to): {by.value for by in e.by} for e in machine.edges} == table.pairs
    declared = [(e.source, e.to) for e in machine.edges]
    twice = {pair: [e.on for e in machine.edges_between(*pair)] for pair in declared if declared.count(pair) > 1}
    assert twice == TWO_EVENTS.get(name, {}), "each other pair is declared once"


# To reject a packet and to withdraw the application are two things, with a reason each.
_REJECTED = {("requires_review", "withdrawn"): ["reject", "withdraw"]}
TWO_EVENTS = {"application": _REJECTED, "planned_application": _REJECTED}


@pytest.mark.parametrize("name", TABLES)
def test_pick_ups_and_arms(name: str) -> None:
    machine = MACHINES[name]
    assert {(e.source, e.to) for e in machine.edges if e.pick_up} == PICK_UPS[name]
    assert {(arm.state, arm.on) for arm in machine.arms} == ARMS.get(name, set())


@pytest.mark.parametrize("name", TABLES)
def test_an_instance_can_be_created_from_nothing(name: str) -> None:
    data = MACHINES[name].data
    assert data is not None
    assert data() == data.model_validate_json(data().model_dump_json())
    with pytest.raises(ValueError, match="no_such_field"):
        data(no_such_field=1)


@pytest.mark.parametrize("name", sorted(set(TABLES) - {"company", "source", "listing"}))
def test_nothing_but_a_person_leads_out_of_a_final_state(name: str) -> None:
    machine = MACHINES[name]
    out = [e for e in machine.edges if machine.states[e.source].kind == "final"]
    assert {by.value for edge in out for by in edge.by} <= {"user"}
