"""How an instance of each of the nine machines comes to each of its states, and takes each of its transitions."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from interlock.apps.contracts.errors import NotRetryable
from interlock.apps.contracts.machine import contract
from interlock.apps.jobs.autoapply.errors import InvalidJobUrl, ModelQuotaExceeded, SiteUnreachable
from interlock.apps.jobs.autoapply.machine import application
from interlock.apps.jobs.autoapply.planned import planned
from interlock.apps.jobs.claims import machine as claims
from interlock.apps.jobs.finder.machine import company, listing, source
from interlock.apps.sessions.machine import loan, session
from interlock.machine import SYSTEM, USER, WORKER, Actor, By, EffectUnknown, Go, Machine
from interlock.worker.port import EnginePort
from interlock.worker.task import make_task
from tests.apps.machines.scripted_trial import ANN, CLOCK, HAND, ROBOT, ScriptedTrial

Step = Callable[[ScriptedTrial, UUID], object]


def alone(machine: Machine) -> Machine:
    """The life cycle without what else happens when a state is entered: here each machine is walked by itself."""
    twin = copy.copy(machine)
    twin.followers = {}
    return twin


def beside(machine: Machine, name: str) -> Machine:
    """Another version of a machine, under a name of its own so that both can be walked in one trial."""
    twin = alone(machine)
    twin.name, twin.others, twin.earlier = name, (), ()
    return twin


job, run = alone(claims.job), alone(claims.run)
planned_application = beside(planned, "planned_application")
MACHINES = [company, source, listing, job, run, application, planned_application, session, loan, contract]


class Outage(Exception):
    """Something that no rule names, and that may be over the next time."""


@dataclass(frozen=True)
class From:
    """A step that takes its transition on the way from another state."""

    state: str
    step: Step


@dataclass(frozen=True)
class Recipes:
    """For one machine: the way to each state, from one before it, and who takes each transition how."""

    machine: Machine
    reach: Mapping[str, tuple[str, Step]]
    takes: Mapping[tuple[str, str], Mapping[By, Step | From]]
    data: dict[str, Any] = field(default_factory=dict)

    def at(self, trial: ScriptedTrial, state: str) -> UUID:
        """A new instance in this state; held by a worker where the recipe says so."""
        if state == self.machine.initial:
            return trial.begin(self.machine.name, self.data)
        before, step = self.reach[state]
        it = self.at(trial, before)
        step(trial, it)
        assert trial.state(it) == state, trial.engine.explain(it).sentence
        return it


# -- steps


def picks_up(trial: ScriptedTrial, it: UUID) -> object:
    return trial.take(it)


def goes(*to: str, **options: Any) -> Step:
    """The handler ends with this move, or chain of moves."""
    return lambda trial, it: trial.work(it, Go(to, **options))


def raises(error: Exception) -> Step:
    return lambda trial, it: trial.work(it, error)


def fires(event: str, actor: Actor, **data: Any) -> Step:
    return lambda trial, it: trial.fire(it, event, actor, data=data or None)


def waits(**parts: float) -> Step:
    return lambda trial, _: trial.wait(timedelta(**parts))


def both(*steps: Step) -> Step:
    return lambda trial, it: [step(trial, it) for step in steps]


def runs_out_of_time(trial: ScriptedTrial, it: UUID) -> None:
    """The handler is still at it after its fifteen minutes."""
    if trial.get(it).holder is None:
        trial.take(it)
    trial.wait(minutes=15)


def loses_its_worker(trial: ScriptedTrial, it: UUID) -> None:
    trial.lose_worker(it)


def starts(trial: ScriptedTrial, it: UUID) -> None:
    """From inside its handler a session goes in progress, and keeps its worker."""
    claim = trial.take(it)
    make_task(claim, EnginePort(trial.engine, claim)).move("in_progress")


def all_fire(event: str, *actors: Actor) -> dict[By, Step | From]:
    return {actor.kind: fires(event, actor) for actor in actors}


def fails(error: Exception) -> dict[By, Step | From]:
    return {WORKER: raises(error), SYSTEM: runs_out_of_time}


# -- the finder

FINDER_REACH: dict[str, tuple[str, Step]] = {
    "PROCESSING": ("PENDING", picks_up),
    "SUCCESS": ("PROCESSING", goes("SUCCESS")),
    "SKIPPED": ("PROCESSING", goes("SKIPPED")),
    "FAILED": ("PROCESSING", raises(Outage())),
}


def finder_takes(next_stage: str) -> dict[tuple[str, str], Mapping[By, Step | From]]:
    return {
        ("PENDING", "PROCESSING"): {WORKER: picks_up},
        ("PROCESSING", "SUCCESS"): {WORKER: goes("SUCCESS")},
        ("PROCESSING", "SKIPPED"): {WORKER: goes("SKIPPED")},
        ("PROCESSING", "FAILED"): fails(Outage()),
        ("SUCCESS", "PENDING"): {WORKER: From("PROCESSING", goes("SUCCESS", "PENDING", data={"stage": next_stage}))},
        ("FAILED", "PENDING"): {SYSTEM: waits(seconds=36), USER: fires("retry", ANN)},
    }


COMPANY = Recipes(company, FINDER_REACH, finder_takes("EXTRACT"))
SOURCE = Recipes(source, FINDER_REACH, finder_takes("VALIDATE"))
LISTING = Recipes(
    listing,
    {**FINDER_REACH, "FILTERED": ("PROCESSING", goes("FILTERED"))},
    {**finder_takes("FILTER"), ("PROCESSING", "FILTERED"): {WORKER: goes("FILTERED")}},
)

# -- claims

JOB = Recipes(
    job,
    {
        "queued": ("discovered", fires("claim", ROBOT, run_id="r1")),
        "applied": ("queued", fires("apply", ROBOT)),
        "expired": ("discovered", fires("expire", CLOCK)),
        "rejected": ("discovered", fires("reject", ANN)),
    },
    {
        ("discovered", "queued"): all_fire("claim", ROBOT, HAND),
        ("queued", "applied"): all_fire("apply", ROBOT, HAND, ANN),
        ("queued", "discovered"): all_fire("release", ROBOT, HAND, CLOCK, ANN),
        ("discovered", "expired"): all_fire("expire", ROBOT, CLOCK, ANN),
        ("queued", "expired"): all_fire("expire", CLOCK, ANN),
        ("applied", "expired"): all_fire("expire", ANN),
        ("rejected", "expired"): all_fire("expire", ANN),
        ("discovered", "rejected"): all_fire("reject", ANN),
        ("queued", "rejected"): all_fire("reject", ANN),
        ("applied", "rejected"): all_fire("reject", ANN),
        ("expired", "rejected"): all_fire("reject", ANN),
    },
    {"board": "ramp", "job_id": "12345"},
)

RUN = Recipes(
    run,
    {
        "submitted": ("pending", fires("submit", ROBOT)),
        "success": ("submitted", fires("succeed", ROBOT)),
        "failed": ("submitted", fires("fail", ROBOT)),
        "lost": ("pending", fires("lose", CLOCK)),
    },
    {
        ("pending", "submitted"): all_fire("submit", ROBOT, HAND),
        ("pending", "success"): all_fire("succeed", ROBOT, HAND),
        ("pending", "failed"): all_fire("fail", ROBOT, HAND),
        ("pending", "lost"): all_fire("lose", CLOCK),
        ("submitted", "success"): all_fire("succeed", ROBOT, HAND, ANN),
        ("submitted", "failed"): all_fire("fail", ROBOT, HAND, ANN),
    },
    {"run_id": "r1", "board": "ramp", "job_id": "12345", "agent": ROBOT.name},
)

# -- auto-apply


def approved(step: Step) -> Step:
    """Its user approves, and the work that this lets run ends with the step."""
    return both(fires("approve", ANN), step)


APPLICATION = Recipes(
    application,
    {
        "preparing": ("queued", picks_up),
        "ready_to_submit": ("preparing", goes("ready_to_submit")),
        "requires_review": ("ready_to_submit", goes("requires_review")),
        "submitted": ("ready_to_submit", goes("submitted")),
        "failed": ("preparing", raises(SiteUnreachable())),
        "paused": ("queued", fires("pause", ANN)),
        "withdrawn": ("queued", fires("withdraw", ANN)),
    },
    {
        ("queued", "preparing"): {WORKER: picks_up},
        ("queued", "paused"): all_fire("pause", ANN),
        ("queued", "withdrawn"): all_fire("withdraw", ANN),
        ("preparing", "ready_to_submit"): {WORKER: goes("ready_to_submit")},
        ("preparing", "failed"): fails(SiteUnreachable()),
        ("preparing", "paused"): all_fire("pause", ANN),
        ("ready_to_submit", "requires_review"): {WORKER: goes("requires_review")},
        ("ready_to_submit", "submitted"): {WORKER: goes("submitted")},
        ("ready_to_submit", "failed"): fails(SiteUnreachable()),
        ("ready_to_submit", "paused"): all_fire("pause", ANN),
        ("ready_to_submit", "withdrawn"): all_fire("withdraw", ANN),
        ("requires_review", "submitted"): {
            WORKER: approved(goes("submitted")),
            USER: From("ready_to_submit", both(raises(EffectUnknown()), fires("submit", ANN))),
        },
        ("requires_review", "withdrawn"): all_fire("reject", ANN),
        ("requires_review", "paused"): all_fire("pause", ANN),
        ("requires_review", "failed"): {
            WORKER: approved(raises(SiteUnreachable())),
            SYSTEM: approved(runs_out_of_time),
            USER: From("ready_to_submit", both(raises(EffectUnknown()), fires("fail", ANN))),
        },
        ("failed", "queued"): {SYSTEM: waits(minutes=15), USER: fires("retry", ANN)},
        ("failed", "withdrawn"): {SYSTEM: From("preparing", raises(InvalidJobUrl())), USER: fires("withdraw", ANN)},
        ("failed", "paused"): {SYSTEM: From("preparing", raises(ModelQuotaExceeded())), USER: fires("pause", ANN)},
        ("paused", "queued"): {
            SYSTEM: From("preparing", both(raises(ModelQuotaExceeded()), waits(hours=1))),
            USER: fires("resume", ANN),
        },
        ("paused", "withdrawn"): all_fire("withdraw", ANN),
        ("submitted", "withdrawn"): all_fire("withdraw", ANN),
    },
    {"user_id": "ann", "company": "acme"},
)

PLANNED = Recipes(
    planned_application,
    {
        **APPLICATION.reach,
        "validating": ("queued", picks_up),
        "preparing": ("validating", goes("preparing")),
        "scheduled": ("ready_to_submit", goes("scheduled")),
        "interview_requested": ("submitted", fires("request_interview", ANN)),
    },
    {
        **{pair: who for pair, who in APPLICATION.takes.items() if pair != ("queued", "preparing")},
        ("queued", "validating"): {WORKER: picks_up},
        ("validating", "preparing"): {WORKER: goes("preparing")},
        ("validating", "withdrawn"): {WORKER: goes("withdrawn")},
        ("validating", "failed"): fails(SiteUnreachable()),
        ("validating", "paused"): all_fire("pause", ANN),
        ("ready_to_submit", "scheduled"): {WORKER: goes("scheduled"), USER: fires("schedule", ANN)},
        ("requires_review", "scheduled"): {WORKER: approved(goes("scheduled")), USER: fires("schedule", ANN)},
        ("scheduled", "ready_to_submit"): {WORKER: goes("ready_to_submit")},
        ("scheduled", "paused"): all_fire("pause", ANN),
        ("scheduled", "withdrawn"): all_fire("withdraw", ANN),
        ("submitted", "interview_requested"): all_fire("request_interview", ANN),
        ("interview_requested", "withdrawn"): all_fire("withdraw", ANN),
    },
    APPLICATION.data,
)

# -- sessions


def archived_and_back(state: str) -> dict[By, Step | From]:
    return {USER: From(state, both(fires("archive", ANN), fires("unarchive", ANN)))}


SESSION = Recipes(
    session,
    {
        "in_progress": ("pending", starts),
        "needs_review": ("in_progress", goes("needs_review")),
        "needs_review_ip_returned": ("needs_review", fires("return_ip", CLOCK)),
        "archived": ("needs_review", fires("archive", ANN)),
    },
    {
        ("pending", "in_progress"): {WORKER: starts},
        ("in_progress", "needs_review"): {WORKER: goes("needs_review"), SYSTEM: runs_out_of_time},
        ("in_progress", "pending"): {SYSTEM: loses_its_worker},
        ("needs_review", "pending"): all_fire("prompt", ANN, ROBOT, CLOCK),
        ("needs_review", "needs_review_ip_returned"): all_fire("return_ip", CLOCK),
        ("needs_review_ip_returned", "pending"): all_fire("prompt", ANN),
        ("pending", "archived"): all_fire("archive", ANN),
        ("in_progress", "archived"): all_fire("archive", ANN),
        ("needs_review", "archived"): all_fire("archive", ANN, CLOCK),
        ("needs_review_ip_returned", "archived"): all_fire("archive", ANN),
        ("archived", "pending"): archived_and_back("pending"),
        ("archived", "needs_review"): archived_and_back("needs_review"),
        ("archived", "needs_review_ip_returned"): archived_and_back("needs_review_ip_returned"),
    },
    {"user_id": "ann", "prompt_id": "p1"},
)


def used_up(*steps: Step) -> Step:
    """The first attempt and four retries, each after its wait."""
    return both(*[*steps, waits(seconds=120)] * 5)


LOAN = Recipes(
    loan,
    {
        "held": ("borrowing", goes("held")),
        "returning": ("held", fires("give_back", CLOCK)),
        "returned": ("returning", goes("returned")),
        "stuck": ("returning", used_up(raises(Outage()))),
    },
    {
        ("borrowing", "held"): {WORKER: goes("held")},
        ("borrowing", "returned"): {WORKER: goes("returned"), SYSTEM: fires("lend_nothing", CLOCK)},
        ("borrowing", "stuck"): {WORKER: raises(EffectUnknown()), SYSTEM: fires("fail", CLOCK)},
        ("held", "returning"): all_fire("give_back", HAND, CLOCK, ANN),
        ("returning", "returned"): {WORKER: goes("returned")},
        ("returning", "stuck"): {WORKER: used_up(raises(Outage())), SYSTEM: fires("fail", CLOCK)},
        ("stuck", "returning"): all_fire("retry", ANN),
        ("stuck", "returned"): {USER: fires("resolve", ANN, resolution="resolved")},
    },
)

# -- contracts


def failed_and_back(state: str) -> dict[By, Step | From]:
    return {
        SYSTEM: From(state, both(raises(Outage()), waits(seconds=12))),
        USER: From(state, both(raises(Outage()), fires("retry", ANN))),
    }


CORRECTION = {"field": "parties", "action": "correct", "value": ["A", "B"], "evidence": None}
CONTRACT = Recipes(
    contract,
    {
        "parsing_pdf": ("pending", picks_up),
        "extracting": ("parsing_pdf", goes("extracting")),
        "validating": ("extracting", goes("validating")),
        "review_required": ("validating", goes("review_required")),
        "validated": ("validating", goes("validated")),
        "comparing": ("validated", picks_up),
        "completed": ("comparing", goes("completed")),
        "rejected": ("review_required", fires("reject", ANN)),
        "timed_out": ("review_required", waits(hours=24)),
        "failed": ("extracting", raises(Outage())),
    },
    {
        ("pending", "parsing_pdf"): {WORKER: picks_up},
        ("parsing_pdf", "extracting"): {WORKER: goes("extracting")},
        ("parsing_pdf", "failed"): fails(Outage()),
        ("extracting", "validating"): {WORKER: goes("validating")},
        ("extracting", "failed"): fails(Outage()),
        ("validating", "validated"): {WORKER: goes("validated")},
        ("validating", "review_required"): {WORKER: goes("review_required")},
        ("validating", "failed"): fails(Outage()),
        ("review_required", "validated"): {USER: fires("approve", ANN, decisions=[CORRECTION])},
        ("review_required", "rejected"): {USER: fires("reject", ANN, review_note="not ours")},
        ("review_required", "timed_out"): {SYSTEM: waits(hours=24)},
        ("validated", "comparing"): {WORKER: picks_up},
        ("comparing", "completed"): {WORKER: goes("completed")},
        ("comparing", "failed"): fails(Outage()),
        ("failed", "parsing_pdf"): failed_and_back("parsing_pdf"),
        ("failed", "extracting"): failed_and_back("extracting"),
        ("failed", "validating"): failed_and_back("validating"),
        ("failed", "comparing"): failed_and_back("comparing"),
        ("failed", "rejected"): {SYSTEM: From("extracting", raises(NotRetryable())), USER: fires("give_up", ANN)},
    },
)

PARTS = (COMPANY, SOURCE, LISTING, JOB, RUN, APPLICATION, PLANNED, SESSION, LOAN, CONTRACT)
RECIPES = {recipes.machine.name: recipes for recipes in PARTS}
