"""Stories that chance tells too seldom, led by hand through engine and model: after every step they agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from interlock.engine import Claim
from interlock.machine import By, Go, Stay
from interlock.store import Store
from tests.engine.model.people import Conformance


class Story(Conformance):
    """A story that a test tells, step by step."""

    def __init__(self, store: Store) -> None:
        self.store = store
        super().__init__()

    def database(self) -> AbstractContextManager[Store]:
        return nullcontext(self.store)

    def then(self, step: Callable[..., Any], *args: Any) -> None:
        step(*args)
        self.the_engine_and_the_model_agree()

    def claims_it(self) -> Claim:
        claim = self.claimed(0)
        assert claim is not None
        self.the_engine_and_the_model_agree()
        return claim

    def goes(self, *path: str) -> None:
        self.then(self.end, self.claims_it(), Go(path))

    def fails(self, error: str) -> None:
        self.claims_it()
        self.then(self.finish_with_an_error, 0, error)

    def waits(self, minutes: int) -> None:
        self.then(self.time_passes, minutes, True)

    def sends(self, kind: str) -> None:
        self.claims_it()
        self.then(self.intend, 0, False, kind, True)

    def is_fired(self, *events: str) -> None:
        self.then(self.fire, 0, events, By.USER, None, None, None)

    def decides(self, name: str, decision: str) -> None:
        """Decide the first open review of this name."""
        open_ones = [review for review in self.model.reviews if review["status"] == "open"]
        number = next(n for n, review in enumerate(open_ones) if review["name"] == name)
        self.then(self.decide, number, sorted(open_ones[number]["decisions"]).index(decision), By.USER)

    @property
    def it(self) -> dict[str, Any]:
        return self.model.instances[0]

    @property
    def statuses(self) -> list[str]:
        return [effect["status"] for effect in self.model.effects]


@pytest.fixture
def story(store: Store) -> Iterator[Story]:
    answer = Story(store)
    answer.then(answer.first, "ann", None)
    yield answer
    answer.teardown()


def test_failures_of_one_step_are_counted_on_while_another_step_is_passed(story: Story) -> None:
    story.goes("layout")
    story.fails("busy")
    story.waits(61)
    story.goes("layout")
    assert story.it["failures"] == {"layout|Busy": 1}
    story.fails("busy")
    assert story.it["state"] == "failed"


def test_one_look_finds_an_instance_that_is_due_in_two_ways(story: Story) -> None:
    story.fails("glitch")
    story.waits(500)  # the retry and the reminder
    assert story.it["state"] == "queued"
    story.claims_it()
    story.waits(500)  # the time limit of the handler and the timer of the state
    assert story.it["state"] == "cancelled"


def test_a_chain_of_events_leaves_a_pause_as_it_is(story: Story) -> None:
    story.then(story.pause_or_resume, 0, By.USER, 240, False)
    story.is_fired("hold", "resume")
    assert story.it["paused"]
    story.waits(240)
    assert (story.it["state"], story.it["paused"]) == ("queued", False)


def test_who_holds_it_now_does_not_send_what_an_earlier_one_meant_to_send(story: Story) -> None:
    story.claims_it()
    story.then(story.intend, 0, False, "mail", False)
    story.then(story.lose_a_worker, 0)
    story.claims_it()
    story.then(story.send_or_settle, 0, 0, "send")
    assert story.statuses == ["intended"]


def test_what_was_meant_to_be_sent_and_never_was_uses_its_limit_once(story: Story) -> None:
    story.claims_it()
    story.then(story.intend, 0, False, "mail", False)
    story.then(story.lose_a_worker, 0)
    story.sends("mail")
    assert [len(uses) for uses in story.model.uses.values()] == [1]


def test_a_state_asks_once_though_its_work_came_there_and_stayed(story: Story) -> None:
    claim = story.claims_it()
    story.then(story.write_from_a_handler, 0, "move")
    assert story.it["state"] == "proofread"
    story.then(story.end, claim, Stay())
    assert [review["status"] for review in story.model.reviews] == ["closed", "open"]


def test_an_answer_about_what_was_sent_says_nothing_about_what_is_on_its_way(story: Story) -> None:
    story.sends("mail")
    story.fails("unknown")
    story.then(story.deal_with_a_dead_letter, 0, "retry")
    story.sends("invoice")
    story.decides("verify_effect", "did_not_arrive")
    assert story.statuses == ["failed", "sent"]


def test_an_answer_about_one_step_says_nothing_about_another(story: Story) -> None:
    story.sends("mail")
    story.goes("layout")
    story.sends("mail")
    story.fails("unknown")
    story.decides("verify_effect", "did_not_arrive")
    assert story.statuses == ["sent", "failed"]


def test_a_verified_effect_starts_nothing_that_was_started_and_paused_meanwhile(story: Story) -> None:
    story.goes("proofread")
    story.decides("proofread", "approve")
    story.fails("unknown")
    story.decides("proofread", "approve")
    story.then(story.pause_or_resume, 0, By.USER, None, False)
    story.decides("verify_effect", "arrived")
    assert [letter["status"] for letter in story.model.letters] == ["open"]


def test_a_verified_effect_goes_on_after_the_pause(story: Story) -> None:
    story.fails("unknown")
    story.then(story.pause_or_resume, 0, By.USER, 30, False)
    story.decides("verify_effect", "arrived")
    story.waits(45)
    assert [letter["status"] for letter in story.model.letters] == ["retried"]
    story.goes("proofread")


def test_what_rests_in_a_final_state_is_moved_by_nobody_but_people(story: Story) -> None:
    story.goes("delivered")
    story.then(story.fire, 0, ("next",), By.WORKER, None, None, None)
    story.then(story.fire, 0, ("next",), By.SYSTEM, None, None, None)
    assert story.it["state"] == "delivered"
