"""Small machines to try the engine on, and the few words that the tests drive them with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

from pydantic import BaseModel, Field

from interlock.engine import Claim, HistoryRow
from interlock.engine.unit import Unit
from interlock.machine import (
    AGENT,
    FAILED,
    FINAL,
    OWNER,
    SYSTEM,
    USER,
    WAITING,
    WORK,
    WORKER,
    Actor,
    Arm,
    Concurrent,
    Facts,
    Failures,
    KeyScope,
    Machine,
    Outcome,
    Reminder,
    State,
    Timer,
    Transition,
    Window,
    Work,
    WorkError,
    failed_at,
)
from interlock.store import Store
from interlock.store.ai import ai_answer, ai_call
from interlock.testing import Trial, broken_laws

T = TypeVar("T")
ANN = Actor(USER, "ann")
BOSS = Actor(OWNER, "boss")
ROBOT = Actor(AGENT, "robot")
THE_SYSTEM = Actor(SYSTEM)


class Unreachable(WorkError):
    """The other side does not answer."""


class Refusal(Unreachable):
    """The other side answered no."""


def decided_by_the_test(_: Any) -> Outcome:
    raise AssertionError("this test decides outcomes itself and runs no handler")


def by_hand(machine: Machine, *, timeout: timedelta = timedelta(minutes=15)) -> Machine:
    """The machine with a handler wherever one may be, for tests that claim and finish by themselves."""
    armed = {arm.state for arm in machine.arms}
    places = [s.name for s in machine.states.values() if s.kind is WORK or s.name in armed]
    return machine.with_handlers({place: Work(decided_by_the_test, timeout) for place in places})


@contextmanager
def trial_of(store: Store, *machines: Machine) -> Iterator[Trial]:
    """A trial at whose end the laws must hold, whatever the test did."""
    with Trial(machines, store=store) as trial:
        yield trial
        assert broken_laws(trial.engine) == []


def claim_one(trial: Trial, *, worker: UUID | None = None) -> Claim:
    [claim] = trial.claim(1, worker=worker)
    return claim


def do(trial: Trial, outcome: Outcome) -> Claim:
    """Claim what is next and finish it so."""
    claim = claim_one(trial)
    assert trial.finish(claim, outcome)
    return claim


def pass_time(trial: Trial, **parts: float) -> None:
    """Let time pass and what is due by itself happen, with nobody at work."""
    trial.clock.advance(timedelta(**parts))
    while trial.engine.tick():
        pass


def last_row(trial: Trial, instance_id: UUID) -> HistoryRow:
    return trial.engine.history(instance_id)[-1]


def kinds(trial: Trial, instance_id: UUID) -> list[str]:
    return [row.kind for row in trial.engine.history(instance_id)]


# -- a parcel: picked up, worked on, looked at by a person, and through a final state once more


class Parcel(BaseModel):
    item: str = "tea"
    weight: int = Field(default=1, gt=0)
    note: str = ""


def has_a_note(facts: Facts) -> bool | str:
    return bool(facts.data["note"]) or "a return needs a note that says why"


def parcel(name: str = "parcel", **options: Any) -> Machine:
    return by_hand(
        Machine(
            name,
            initial="ordered",
            states=[
                State("ordered"),
                State("packing"),
                State("checking", WAITING, waits_for="a clerk to look at it"),
                State("parked", WAITING, waits_for="a clerk to take it up again"),
                State("shipped", FINAL, good=True),
                State("returned", FINAL, good=False),
                State("cancelled", FINAL),
            ],
            transitions=[
                Transition("ordered", "packing", on="start", pick_up=True),
                Transition("ordered", "cancelled", on="cancel", by=USER),
                Transition("packing", "checking", on="pack"),
                Transition("packing", "shipped", on="ship"),
                Transition("packing", "checking", on="stop", by=USER),
                Transition("checking", "shipped", on="approve", by=USER, accepts=("note", "weight")),
                Transition("checking", "shipped", on="deliver", by=SYSTEM),
                Transition("checking", "packing", on="repack", by=(USER, AGENT)),
                Transition("checking", "returned", on="return", by=OWNER, guard=has_a_note),
                Transition("checking", "parked", on="park", by=USER),
                Transition(("checking", "parked"), "cancelled", on="cancel", by=USER),
                Transition("parked", "checking", on="resume", by=(USER, SYSTEM)),
                # By the system only inside a chain: what rests in shipped is reopened by people.
                Transition("shipped", "ordered", on="next", by=(WORKER, SYSTEM)),
                Transition("shipped", "checking", on="reopen", by=USER),
            ],
            data=Parcel,
            cancel="cancelled",
            **options,
        )
    )


PARCEL = parcel()
INVOICE = parcel("invoice", key=KeyScope.FOREVER)


# -- a letter: its work starts when somebody says so, and it is reminded and binned by time


def letter(*, guard: Callable[[Facts], bool | str] | None = None) -> Machine:
    return by_hand(
        Machine(
            "letter",
            initial="draft",
            states=[
                State("draft"),
                State(
                    "waiting",
                    WAITING,
                    waits_for="its author to approve it",
                    timers=(
                        Timer(timedelta(hours=24), fire="expire"),
                        Reminder(timedelta(hours=12), "A letter has waited half a day."),
                        Reminder(timedelta(hours=22), "A letter is binned in two hours."),
                    ),
                ),
                State("sent", FINAL, good=True),
                State("binned", FINAL),
            ],
            transitions=[
                Transition("draft", "waiting", on="write"),
                Transition("waiting", "sent", on="send"),
                Transition("waiting", "draft", on="rewrite", by=USER),
                Transition("waiting", "binned", on="bin", by=USER),
                Transition("waiting", "binned", on="expire", by=SYSTEM),
            ],
            arms=[
                Arm("draft", on="begin", by=USER),
                Arm("waiting", on="approve", by=USER, accepts=("note",), guard=guard),
            ],
            data=Parcel,
            cancel="binned",
        )
    )


LETTER = letter()


# -- a job: two steps that fail by whatever rules the test gives


def job(failures: Failures | None = None, **options: Any) -> Machine:
    timeout = options.pop("timeout", timedelta(minutes=15))
    lost = options.pop("lost", None)
    return by_hand(
        Machine(
            "job",
            initial="first",
            states=[
                State("first", lost=lost),
                State("second"),
                State("failed", FAILED),
                State("paused", WAITING, waits_for="the moment set by the system"),
                State("done", FINAL, good=True),
                State("given_up", FINAL, good=False),
            ],
            transitions=[
                Transition("first", "second", on="pass"),
                Transition("second", "first", on="go_back"),
                Transition("first", "second", on="skip", by=(USER, SYSTEM)),
                Transition("second", "done", on="finish"),
                Transition(("first", "second"), "failed", on="fail", by=(WORKER, SYSTEM)),
                Transition(("first", "second"), "paused", on="wait", by=(WORKER, SYSTEM)),
                Transition(("first", "second"), "given_up", on="refuse", by=(WORKER, SYSTEM, USER)),
                Transition("failed", "first", on="retry", by=(SYSTEM, USER), guard=failed_at("first")),
                Transition("failed", "second", on="retry", by=(SYSTEM, USER), guard=failed_at("second")),
                Transition("failed", "given_up", on="give_up", by=(SYSTEM, USER)),
                Transition("failed", "paused", on="wait", by=SYSTEM),
                Transition("paused", "first", on="resume", by=SYSTEM, guard=failed_at("first")),
                Transition("paused", "second", on="resume", by=SYSTEM, guard=failed_at("second")),
                Transition("paused", "given_up", on="give_up", by=USER),
            ],
            failures=failures,
            cancel="given_up",
            **options,
        ),
        timeout=timeout,
    )


# -- a page: found by other pages, and finding more


def page(name: str = "page", **options: Any) -> Machine:
    return by_hand(
        Machine(
            name,
            initial="open",
            states=[State("open"), State("read", FINAL, good=True), State("skipped", FINAL), State("failed", FAILED)],
            transitions=[
                Transition("open", "read", on="read"),
                Transition("open", "skipped", on="skip"),
                Transition("open", "failed", on="fail", by=(WORKER, SYSTEM)),
                Transition("failed", "open", on="retry", by=(SYSTEM, USER)),
            ],
            failures=Failures(state="failed"),
            **options,
        )
    )


# -- a picture: rendered on cards that take one or two at once


class Picture(BaseModel):
    card: str = "a"
    maker: str = "ann"
    room: int = 3


def picture(
    *limits: Window | Concurrent,
    takes: tuple[str, ...] = (),
    work_takes: tuple[str, ...] = (),
    failures: Failures | None = None,
    timeout: timedelta = timedelta(minutes=15),
) -> Machine:
    return by_hand(
        Machine(
            "picture",
            initial="queued",
            states=[
                State("queued"),
                State("rendering", timers=(Timer(timedelta(hours=8), fire="again"),)),
                State("shown", WAITING, waits_for="its maker to look at it"),
                State("paused", WAITING, waits_for="room in its limits"),
                State("done", FINAL, good=True),
                State("binned", FINAL),
            ],
            transitions=[
                Transition("queued", "rendering", on="render", pick_up=True),
                Transition("rendering", "shown", on="show"),
                Transition("rendering", "done", on="finish", takes=work_takes),
                Transition("rendering", "queued", on="again", by=(WORKER, SYSTEM, USER)),
                Transition("rendering", "paused", on="wait", by=SYSTEM),
                Transition("paused", "queued", on="resume", by=SYSTEM),
                Transition(("queued", "rendering", "shown"), "binned", on="bin", by=USER),
                Transition("shown", "done", on="publish", by=(USER, SYSTEM), takes=takes),
                Transition("shown", "queued", on="repaint", by=USER, takes=tuple(reversed(takes))),
            ],
            data=Picture,
            cancel="binned",
            limits=limits,
            failures=failures,
        ),
        timeout=timeout,
    )


def ask_a_model(unit: Unit, *, it: UUID, about: str) -> None:
    """A call of a model for the instance, with its kept answer, as the engine's tables have them."""
    call = unit.insert(
        ai_call,
        instance_id=it,
        workspace="default",
        for_user=about,
        task="t",
        prompt_version="1",
        tier="cheap",
        provider="none",
        model="rules",
        sample=0,
        attempt=1,
        took=1,
        cached=0,
        error=about,
        at=unit.now,
    )
    unit.insert(ai_answer, workspace="default", hash=str(it), task="t", model="m", output=about, call_id=call, at=1)
