"""A running handler asks a person: one question, one answer, also after a crash; and the default at the deadline."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from pydantic import BaseModel, Field

from interlock.engine import AlreadyDecided, Forbidden, Instance, InvalidData, OpenReview
from interlock.engine.questions import Answer
from interlock.engine.retention.erasing import Erasing
from interlock.engine.unit import Unit
from interlock.machine import (
    FAILED,
    FINAL,
    OWNER,
    SYSTEM,
    USER,
    Actor,
    Failures,
    Go,
    Machine,
    Outcome,
    Review,
    Rule,
    State,
    Transition,
    WorkError,
    fixed,
)
from interlock.store import Store, span
from interlock.store import tables as t
from interlock.testing import Trial, broken_laws
from interlock.worker import AsyncTask, Cancelled, Task

ANN = Actor(USER, "ann")
HOUR = timedelta(hours=1)
TOOL = Review("May the agent run this?", decisions={"allow": "", "deny": ""})


class Budget(BaseModel):
    amount: int = Field(default=0, le=100)
    note: str = ""


MONEY = Review("How much may it spend?", decisions={"spend": ""}, form=Budget, role="owner")
MOVING = Review("Shall it stop?", decisions={"stop": "withdraw"})
Handler = Callable[[Task[Any]], Outcome]


class Flaky(WorkError):
    """Fails once and is tried again."""


def build(handler: Any) -> Machine:
    machine = Machine(
        "build",
        initial="running",
        states=[
            State("running"),
            State("checking"),
            State("failed", FAILED),
            State("done", FINAL),
            State("gone", FINAL),
        ],
        transitions=[
            Transition("running", "checking", on="check"),
            Transition("checking", "running", on="again"),
            Transition(("running", "checking"), "done", on="finish"),
            Transition(("running", "checking"), "failed", on="fail", by=SYSTEM),
            Transition("failed", "running", on="retry", by=SYSTEM),
            Transition(("running", "failed"), "gone", on="withdraw", by=USER),
        ],
        failures=Failures(
            state="failed", rules=(Rule((Flaky, "QuestionClosed"), retries=2, backoff=fixed(timedelta(minutes=1))),)
        ),
        reviews=[TOOL, MONEY, MOVING],
    )
    machine.work("running", timeout=timedelta(minutes=5))(handler)
    machine.work("checking")(lambda task: Go("running" if task.data.get("back") else "done"))
    return machine


def allowed(task: Task[Any]) -> Outcome:
    answer = task.ask("tool", TOOL, deadline=HOUR, default="deny", evidence={"tool": "rm"})
    return Go("done", {"decision": answer.decision, "by": answer.by, "default": answer.by_default})


@pytest.fixture
def trial_with(store: Store) -> Iterator[Callable[[Any], Trial]]:
    trials: list[Trial] = []

    def start(handler: Any) -> Trial:
        trials.append(Trial([build(handler)], store=store))
        return trials[-1]

    yield start
    for trial in trials:
        assert broken_laws(trial.engine) == []
        trial.close()


def asked(trial: Trial, instance_id: UUID) -> OpenReview:
    (found,) = trial.engine.reviews.waiting(instance_id=instance_id)
    return found


def started(trial: Trial, **data: Any) -> UUID:
    it = trial.create("build", data)
    trial.run_until_idle()
    return it


def crash(trial: Trial) -> None:
    trial.lose(trial.worker)
    trial.worker = trial.new_worker()


def test_the_handler_waits_for_the_answer_and_goes_on_with_it(trial_with: Callable[[Any], Trial]) -> None:
    trial = trial_with(allowed)
    it = started(trial)
    review = asked(trial, it)
    assert (review.name, review.title, review.role, review.evidence) == ("tool", TOOL.title, "reviewer", {"tool": "rm"})
    assert (review.state, review.due_at) == (None, trial.clock.now() + span(HOUR))
    assert (trial.state(it), trial.get(it).wake) == ("running", "lease")
    trial.answer(it, "tool", "allow", actor=ANN)
    trial.run_until_idle()
    assert trial.data(it) == {"decision": "allow", "by": "user:ann", "default": False}
    assert [row.kind for row in trial.engine.history(it)] == ["created", "asked", "reviewed", "moved"]


def test_an_async_handler_awaits_it(trial_with: Callable[[Any], Trial]) -> None:
    async def awaits(task: AsyncTask[Any]) -> Outcome:
        answer = await task.ask("tool", TOOL, deadline=HOUR, default="deny")
        return Go("done", {"decision": answer.decision})

    trial = trial_with(awaits)
    it = started(trial)
    trial.answer(it, "tool", "allow")
    trial.run_until_idle()
    assert trial.data(it) == {"decision": "allow"}


def test_at_the_deadline_the_system_decides_the_default(trial_with: Callable[[Any], Trial]) -> None:
    trial = trial_with(allowed)
    it = started(trial)
    review = asked(trial, it)
    trial.advance(minutes=59)
    assert trial.engine.reviews.get(review.id).status == "open"
    trial.advance(minutes=1)
    assert trial.data(it) == {"decision": "deny", "by": "system", "default": True}
    decided = trial.engine.reviews.get(review.id)
    assert (decided.decision, decided.decided_by, decided.decided_at) == ("deny", "system", review.due_at)
    (row,) = [row for row in trial.engine.history(it) if row.kind == "reviewed"]
    assert (row.actor, row.payload["reason"]) == ("system", "nobody answered by the deadline")


def test_a_person_who_comes_after_the_deadline_comes_too_late(trial_with: Callable[[Any], Trial]) -> None:
    trial = trial_with(allowed)
    it = started(trial)
    review = asked(trial, it)
    trial.clock.advance(HOUR)
    with pytest.raises(AlreadyDecided, match="its default, deny, is the answer"):
        trial.engine.reviews.decide(review.id, "allow", actor=ANN)
    trial.run_until_idle()
    assert trial.data(it)["decision"] == "deny"


def test_the_time_limit_does_not_count_while_a_person_thinks(trial_with: Callable[[Any], Trial]) -> None:
    trial = trial_with(allowed)
    it = started(trial)
    trial.advance(minutes=30)
    assert trial.get(it).due_at == asked(trial, it).due_at + span(timedelta(minutes=5))  # type: ignore[operator]
    trial.answer(it, "tool", "allow")
    trial.run_until_idle()
    assert trial.state(it) == "done"


def test_after_a_crash_the_handler_waits_for_the_same_question(trial_with: Callable[[Any], Trial]) -> None:
    trial = trial_with(allowed)
    it = started(trial)
    review = asked(trial, it)
    crash(trial)
    trial.run_until_idle()
    assert asked(trial, it).id == review.id
    trial.answer(it, "tool", "allow")
    trial.run_until_idle()
    assert trial.data(it)["decision"] == "allow"
    assert [row.kind for row in trial.engine.history(it)].count("asked") == 1


def test_an_answer_that_came_while_nobody_ran_it_is_given_to_the_next_attempt(
    trial_with: Callable[[Any], Trial],
) -> None:
    trial = trial_with(allowed)
    it = started(trial)
    crash(trial)
    trial.answer(it, "tool", "allow", actor=ANN)
    trial.run_until_idle()
    assert trial.data(it)["by"] == "user:ann"


def test_a_crash_after_the_answer_asks_nobody_again(trial_with: Callable[[Any], Trial]) -> None:
    trial = trial_with(allowed)
    it = trial.create("build")
    trial.will_answer("tool", "allow", actor=ANN)
    (claim,) = trial.claim()
    trial.run(claim)  # the answer was given to it, and its worker dies before it can say what came of it
    crash(trial)
    trial.run_until_idle()
    assert trial.data(it)["by"] == "user:ann"
    assert [row.kind for row in trial.engine.history(it)].count("asked") == 1


def test_a_failure_and_its_retry_keep_the_answer(trial_with: Callable[[Any], Trial]) -> None:
    def fails_once(task: Task[Any]) -> Outcome:
        answer = task.ask("tool", TOOL, deadline=HOUR, default="deny")
        if task.attempt == 1:
            raise Flaky("try me again")
        return Go("done", {"decision": answer.decision})

    trial = trial_with(fails_once)
    it = started(trial)
    trial.answer(it, "tool", "allow")
    trial.advance(minutes=5)
    assert trial.data(it) == {"decision": "allow"}
    assert trial.engine.reviews.waiting(instance_id=it) == []


def test_a_question_that_is_open_when_its_step_fails_waits_for_the_retry(trial_with: Callable[[Any], Trial]) -> None:
    def gives_up(task: Task[Any]) -> Outcome:
        if task.attempt == 2:
            return Go("done", {"decision": task.ask("tool", TOOL, deadline=HOUR, default="deny").decision})
        task.open_question("tool", TOOL, {"deadline": HOUR, "default": "deny"})
        raise Flaky("it did not wait")

    trial = trial_with(gives_up)
    it = started(trial)
    review = asked(trial, it)
    assert (trial.state(it), review.status) == ("failed", "open")
    trial.advance(minutes=2)
    assert asked(trial, it).id == review.id
    trial.answer(it, "tool", "allow")
    trial.run_until_idle()
    assert trial.data(it) == {"decision": "allow"}


def test_the_next_visit_of_the_step_asks_anew(trial_with: Callable[[Any], Trial]) -> None:
    def twice(task: Task[Any]) -> Outcome:
        answer = task.ask("tool", TOOL, deadline=HOUR, default="deny")
        seen = [*task.data.get("seen", []), answer.decision]
        return Go("checking" if len(seen) == 1 else "done", {"seen": seen, "back": len(seen) == 1})

    trial = trial_with(twice)
    it = started(trial)
    trial.answer(it, "tool", "allow")
    trial.run_until_idle()
    trial.answer(it, "tool", "deny")
    trial.run_until_idle()
    assert trial.data(it)["seen"] == ["allow", "deny"]


def test_two_names_are_two_questions_and_one_name_is_one(trial_with: Callable[[Any], Trial]) -> None:
    def several(task: Task[Any]) -> Outcome:
        answers = [task.ask(name, TOOL, deadline=HOUR, default="deny").decision for name in ("one", "two", "one")]
        return Go("done", {"answers": answers})

    trial = trial_with(several)
    it = started(trial)
    trial.answer(it, "one", "allow")
    trial.run_until_idle()
    trial.answer(it, "two", "deny")
    trial.run_until_idle()
    assert trial.data(it) == {"answers": ["allow", "deny", "allow"]}


def test_one_name_is_not_asked_with_two_reviews(trial_with: Callable[[Any], Trial]) -> None:
    def confused(task: Task[Any]) -> Outcome:
        task.ask("one", TOOL, deadline=HOUR, default="deny")
        return Go("done", task.ask("one", MONEY, deadline=HOUR, default="spend", default_form={"amount": 1}).form)

    trial = trial_with(confused)
    trial.will_answer("one", "allow")
    it = started(trial)
    error = trial.get(it).error
    assert error is not None
    assert "'one' of build was asked with another review in this visit of its step" in error["message"]


def test_a_form_is_checked_and_given_to_the_handler(trial_with: Callable[[Any], Trial]) -> None:
    def spend(task: Task[Any]) -> Outcome:
        answer = task.ask(
            "money", MONEY, title="How much for a domain?", deadline=HOUR, default="spend", default_form={"amount": 7}
        )
        return Go("done", {"amount": answer.form["amount"]})

    trial = trial_with(spend)
    chief = Actor(OWNER, "chief", roles=frozenset({"owner", "reviewer"}))
    one, two = started(trial), started(trial)
    assert asked(trial, one).title == "How much for a domain?"
    with pytest.raises(InvalidData, match=r"amount: .*less than or equal to 100"):
        trial.answer(one, "money", "spend", {"amount": 500}, actor=chief)
    with pytest.raises(Forbidden, match="is for the role owner"):
        trial.answer(one, "money", "spend", {"amount": 5}, actor=Actor(USER, "ann", roles=frozenset({"reviewer"})))
    trial.answer(one, "money", "spend", {"amount": "50"}, actor=chief)
    trial.run_until_idle()
    trial.advance(hours=1)
    assert (trial.data(one), trial.data(two)) == ({"amount": 50}, {"amount": 7})


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize(
    ("review", "options", "why"),
    [
        (TOOL, {"default": "perhaps"}, "no decision 'perhaps' for its default; it takes allow, deny"),
        (TOOL, {"deadline": timedelta(0)}, "needs a deadline after now"),
        (TOOL, {"deadline": timedelta.max}, "needs a deadline after now, and within 36500 days"),
        (MOVING, {"default": "stop"}, "its answer is for the handler"),
        (Review("Undeclared?", decisions={"deny": ""}), {}, "add it to the machine's reviews="),
        (MONEY, {"default": "spend", "default_form": {"amount": 101}}, "default_form of .* amount: "),
    ],
)
def test_what_could_never_be_answered_is_refused(
    trial_with: Callable[[Any], Trial], review: Review, options: dict[str, Any], why: str
) -> None:
    trial = trial_with(lambda task: task.ask("q", review, **{"deadline": HOUR, "default": "deny", **options}))
    it = started(trial)
    error = trial.get(it).error
    assert error is not None
    assert error["type"] == "InvalidData"
    assert re.search(why, error["message"])


def test_a_move_closes_the_question_with_its_reason(trial_with: Callable[[Any], Trial]) -> None:
    ended: list[BaseException] = []

    def notes(task: Task[Any]) -> Outcome:
        try:
            return allowed(task)
        except BaseException as error:
            ended.append(error)
            raise

    trial = trial_with(notes)
    it = started(trial)
    review = asked(trial, it)
    trial.engine.fire(it, "withdraw", actor=ANN)
    closed = trial.engine.reviews.get(review.id)
    assert (closed.status, closed.closed_reason) == ("closed", "the instance moved to 'gone'")
    with pytest.raises(AlreadyDecided, match="is closed: the instance moved to 'gone'"):
        trial.engine.reviews.decide(review.id, "allow", actor=ANN)
    trial.run_until_idle()
    assert [type(error) for error in ended] == [Cancelled]
    assert trial.state(it) == "gone"


def test_a_pause_leaves_the_question_open_and_its_answer_is_kept(trial_with: Callable[[Any], Trial]) -> None:
    trial = trial_with(allowed)
    it = started(trial)
    trial.engine.pause(it, actor=ANN)
    trial.run_until_idle()
    trial.answer(it, "tool", "allow", actor=ANN)
    trial.engine.resume(it, actor=ANN)
    trial.run_until_idle()
    assert trial.data(it)["by"] == "user:ann"


def test_explain_says_what_it_waits_for_and_what_happens_by_itself(trial_with: Callable[[Any], Trial]) -> None:
    trial = trial_with(allowed)
    it = started(trial)
    said = trial.engine.explain(it)
    assert said.waits_for == "person"
    assert "asked 'May the agent run this?'" in said.sentence
    assert "waits for a person with the role reviewer to answer" in said.sentence
    assert "by 2026-01-05 10:00:00 UTC (in 60 minutes), the answer is 'deny'." in said.sentence
    assert [coming.what for coming in said.upcoming] == ["if nobody answers, the answer is 'deny'"]


def test_followers_of_the_question_run_with_the_answer_and_with_the_default(store: Store) -> None:
    machine, seen = build(allowed), []

    @machine.decided("tool")
    def follow(unit: Unit, instance: Instance, review: OpenReview, actor: Actor) -> None:
        seen.append((review.decision, str(actor)))

    with Trial([machine], store=store) as trial:
        one, _ = started(trial), started(trial)
        trial.answer(one, "tool", "allow", actor=ANN)
        trial.advance(hours=1)
        assert broken_laws(trial.engine) == []
    assert seen == [("allow", "user:ann"), ("deny", "system")]


def test_a_default_that_a_follower_refuses_fails_the_step_by_its_rules(store: Store) -> None:
    machine = build(allowed)

    @machine.decided("tool")
    def never(unit: Unit, instance: Instance, review: OpenReview, actor: Actor) -> None:
        if review.decided_by == "system":
            raise ValueError("a person has to say")

    with Trial([machine], store=store) as trial:
        it = started(trial)
        first = asked(trial, it)
        trial.advance(hours=1)
        closed = trial.engine.reviews.get(first.id)
        assert (closed.status, closed.closed_reason) == ("closed", "its default was refused: a person has to say")
        assert (trial.state(it), trial.get(it).error["type"]) == ("failed", "QuestionClosed")  # type: ignore[index]
        trial.advance(minutes=1)
        assert asked(trial, it).id != first.id
        trial.answer(it, "tool", "allow")
        trial.run_until_idle()
        assert trial.state(it) == "done"
        assert broken_laws(trial.engine) == []


def test_what_was_asked_about_a_person_is_erased_with_the_rest(trial_with: Callable[[Any], Trial]) -> None:
    def about_ann(task: Task[Any]) -> Outcome:
        task.ask(
            "money",
            MONEY,
            title="How much for ann@example.org?",
            evidence={"who": "ann@example.org"},
            deadline=HOUR,
            default="spend",
            default_form={"note": "ann@example.org"},
        )
        return Go("done")

    trial = trial_with(about_ann)
    it = started(trial)
    trial.advance(hours=1)
    *_, report = Erasing(trial.engine, Actor(OWNER, "chief"), "asked to be forgotten").every("ann@example.org")
    assert report.instances == [it]
    left = trial.engine.read(lambda conn: str(conn.execute(sa.select(t.review)).all()))
    assert "ann@example.org" not in left
    assert trial.engine.verify().problems == ()


def test_an_answer_is_a_value(trial_with: Callable[[Any], Trial]) -> None:
    answers: list[Answer] = []

    def keeps(task: Task[Any]) -> Outcome:
        answers.append(task.ask("tool", TOOL, deadline=HOUR, default="deny"))
        return Go("done")

    trial = trial_with(keeps)
    trial.will_answer("tool", "allow", actor=ANN)
    started(trial)
    (answer,) = answers
    assert (answer.decision, answer.form, answer.by, answer.by_default) == ("allow", {}, "user:ann", False)
