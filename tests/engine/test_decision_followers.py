"""What else happens when a review beside a state is decided: in the same transaction, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from interlock.engine import Instance, OpenReview, Refused, firing, lineage, moves
from interlock.engine.unit import Unit
from interlock.machine import (
    FINAL,
    USER,
    WAITING,
    Actor,
    Ask,
    Go,
    Machine,
    Message,
    Outcome,
    Review,
    Spawn,
    State,
    Transition,
)
from interlock.store import Store
from interlock.testing import Trial, broken_laws
from interlock.worker import Task

ANN = Actor(USER, "ann")
VERIFY = Review("Did the letter arrive?", decisions={"arrived": "", "lost": "give_up", "unclear": ""})
Seen = list[tuple[str, str | None, str]]


def machines(seen: Seen) -> list[Machine]:
    letter = Machine(
        "letter",
        initial="writing",
        states=[
            State("writing"),
            State("sent", WAITING, waits_for="news of it"),
            State("read", FINAL),
            State("gone", FINAL),
        ],
        transitions=[
            Transition("writing", "sent", on="written"),
            Transition("sent", "read", on="arrived", by=USER),
            Transition("sent", "gone", on="give_up", by=USER),
        ],
        reviews=[VERIFY],
    )
    stamp = Machine(
        "stamp",
        initial="used",
        states=[State("used", WAITING, waits_for="nobody"), State("kept", FINAL)],
        transitions=[Transition("used", "kept", on="keep", by=USER)],
    )

    @letter.work("writing")
    def write(task: Task[Any]) -> Outcome:
        return Go("sent", asks=(Ask("verify", VERIFY), Ask("another", VERIFY)))

    @letter.decided("verify")
    def verified(unit: Unit, instance: Instance, review: OpenReview, actor: Actor) -> None:
        seen.append((instance.state, review.decision, str(actor)))
        if review.decision == "arrived":
            firing.fire(unit, instance.id, "arrived", actor, reason="somebody has seen it")
            lineage.spawn(unit, instance, Spawn("stamp"), actor)
            moves.send(unit, instance, (Message("webhook", "archive", "It arrived"),))
        if review.decision == "unclear":
            firing.fire(unit, instance.id, "arrived", actor)
            raise Refused("say whether it arrived")

    return [letter, stamp]


@pytest.fixture
def seen() -> Seen:
    return []


@pytest.fixture
def trial(store: Store, seen: Seen) -> Iterator[Trial]:
    with Trial(machines(seen), store=store) as trial:
        yield trial
        assert broken_laws(trial.engine) == []


def sent(trial: Trial) -> tuple[UUID, dict[str, OpenReview]]:
    it = trial.create("letter")
    trial.run_until_idle()
    return it, {review.name: review for review in trial.engine.reviews.waiting(instance_id=it)}


def test_a_follower_moves_the_instance_spawns_and_sends_with_the_decision(trial: Trial, seen: Seen) -> None:
    it, asked = sent(trial)
    trial.engine.reviews.decide(asked["verify"].id, "arrived", actor=ANN)
    assert seen == [("sent", "arrived", "user:ann")]
    assert trial.state(it) == "read"
    kinds = [row.kind for row in trial.engine.history(it)]
    assert kinds[-3:] == ["reviewed", "moved", "spawned"]
    assert [message.subject for message in trial.engine.outbox.page().messages] == ["It arrived"]


def test_what_a_follower_raises_undoes_the_decision_and_tells_the_person(trial: Trial, seen: Seen) -> None:
    it, asked = sent(trial)
    before = trial.get(it)
    with pytest.raises(Refused, match="say whether it arrived"):
        trial.engine.reviews.decide(asked["verify"].id, "unclear", actor=ANN)
    assert trial.get(it) == before
    assert trial.engine.reviews.get(asked["verify"].id).status == "open"
    assert trial.engine.reviews.decide(asked["verify"].id, "arrived", actor=ANN).decision == "arrived"


def test_a_follower_runs_after_the_event_of_the_decision(trial: Trial, seen: Seen) -> None:
    it, asked = sent(trial)
    trial.engine.reviews.decide(asked["verify"].id, "lost", actor=ANN)
    assert (trial.state(it), seen) == ("gone", [("gone", "lost", "user:ann")])


def test_a_follower_runs_once_for_a_decision_that_is_repeated(trial: Trial, seen: Seen) -> None:
    _, asked = sent(trial)
    for _ in range(2):
        trial.engine.reviews.decide(asked["verify"].id, "lost", actor=ANN)
    assert len(seen) == 1


def test_a_review_with_another_name_is_not_followed(trial: Trial, seen: Seen) -> None:
    it, asked = sent(trial)
    trial.engine.reviews.decide(asked["another"].id, "arrived", actor=ANN)
    assert (seen, trial.state(it)) == ([], "sent")


def test_the_review_of_a_state_is_followed_by_entering(seen: Seen) -> None:
    letter, _ = machines(seen)
    with pytest.raises(ValueError, match=r"'sent' is a state of machine 'letter'.*entering\(\)"):
        letter.decided("sent")
