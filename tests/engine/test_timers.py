"""Timers and reminders: counted from the entry into the state; a timer fires its event, a reminder moves nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.machine import (
    FINAL,
    SYSTEM,
    USER,
    WAITING,
    Facts,
    Go,
    Machine,
    Reminder,
    State,
    Stay,
    Timer,
    Transition,
)
from interlock.store import Store, span, tables
from interlock.testing import Trial
from tests.support.machines import ANN, LETTER, by_hand, claim_one, do, kinds, last_row, pass_time, trial_of


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, LETTER) as trial:
        yield trial


@pytest.fixture
def waiting(trial: Trial) -> UUID:
    it = trial.create("letter", workspace="post")
    do(trial, Go("waiting"))
    return it


def outbox(trial: Trial) -> list[Any]:
    return list(trial.engine.read(lambda conn: conn.execute(sa.select(tables.outbox)).all()))


def after(trial: Trial, it: UUID) -> list[tuple[str, float]]:
    """What happened since it waits, with the hours after its entry."""
    rows = trial.engine.history(it)
    entry = next(row for row in rows if row.to_state == "waiting")
    return [(row.kind, (row.at - entry.at) / span(timedelta(hours=1))) for row in rows if row.seq > entry.seq]


def test_a_timer_fires_its_event_by_the_system_when_its_time_has_come(trial: Trial, waiting: UUID) -> None:
    entered = trial.get(waiting).entered_at
    trial.advance(hours=23, minutes=59)
    assert trial.state(waiting) == "waiting"
    trial.advance(minutes=1)
    row = last_row(trial, waiting)
    assert (row.from_state, row.to_state, row.event) == ("waiting", "binned", "expire")
    assert (row.actor, row.payload["why"], row.at) == ("system", "timer", entered + span(timedelta(hours=24)))


def test_reminders_and_timers_come_in_the_order_of_their_times(trial: Trial, waiting: UUID) -> None:
    trial.advance(hours=48)
    assert after(trial, waiting) == [("reminded", 12.0), ("reminded", 22.0), ("moved", 24.0)]


def test_a_reminder_moves_nothing_and_tells_somebody(trial: Trial, waiting: UUID) -> None:
    trial.advance(hours=12)
    assert (trial.state(waiting), trial.get(waiting).wake) == ("waiting", None)
    assert last_row(trial, waiting).payload["message"] == "A letter has waited half a day."
    [message] = outbox(trial)
    assert (message.channel, message.recipient, message.subject) == (
        "reminder",
        "post",
        "A letter has waited half a day.",
    )
    assert json.loads(message.body) == {"instance": str(waiting), "machine": "letter", "state": "waiting"}


def test_each_timer_is_done_once(trial: Trial, waiting: UUID) -> None:
    pass_time(trial, hours=13)
    pass_time(trial)
    assert kinds(trial, waiting).count("reminded") == 1


def test_after_a_long_night_everything_missed_is_done_in_order(trial: Trial, waiting: UUID) -> None:
    pass_time(trial, hours=300)
    assert [kind for kind, _ in after(trial, waiting)] == ["reminded", "reminded", "moved"]


def test_leaving_the_state_stops_its_timers(trial: Trial, waiting: UUID) -> None:
    trial.engine.fire(waiting, "bin", actor=ANN)
    assert trial.get(waiting).timer_at is None
    trial.advance(hours=48)
    assert outbox(trial) == []


def test_entering_the_state_again_starts_them_anew(trial: Trial, waiting: UUID) -> None:
    trial.clock.advance(timedelta(hours=20))
    trial.engine.tick()
    trial.engine.fire(waiting, "rewrite", actor=ANN)
    do(trial, Go("waiting"))
    assert trial.get(waiting).timer_at == trial.clock.now() + span(timedelta(hours=12))
    trial.advance(hours=23)
    assert trial.state(waiting) == "waiting"


def test_work_in_the_state_does_not_stop_them(trial: Trial, waiting: UUID) -> None:
    trial.clock.advance(timedelta(hours=11))
    trial.engine.fire(waiting, "approve", actor=ANN)
    do(trial, Stay())
    trial.advance(hours=13)
    assert after(trial, waiting)[-1] == ("moved", 24.0)


def test_a_timer_takes_the_work_away_from_the_worker_who_holds_it(trial: Trial, waiting: UUID) -> None:
    pass_time(trial, hours=23, minutes=50)
    trial.engine.fire(waiting, "approve", actor=ANN)
    claim = claim_one(trial)
    pass_time(trial, minutes=10)
    assert trial.state(waiting) == "binned"
    assert trial.finish(claim, Go("sent")) is False


def not_on_holiday(facts: Facts) -> bool | str:
    return not facts.data.get("holiday") or "nobody is there"


def test_a_timer_whose_guard_says_no_is_written_down_and_the_next_one_counts(store: Store) -> None:
    vote = by_hand(
        Machine(
            "vote",
            initial="open",
            states=[
                State(
                    "open",
                    WAITING,
                    waits_for="the voters",
                    timers=(
                        Timer(timedelta(hours=1), fire="close"),
                        Timer(timedelta(hours=2), fire="drop"),
                        Reminder(timedelta(minutes=90), "Vote!"),
                    ),
                ),
                State("closed", FINAL),
                State("dropped", FINAL),
            ],
            transitions=[
                Transition("open", "closed", on="close", by=(SYSTEM, USER), guard=not_on_holiday),
                Transition("open", "dropped", on="drop", by=SYSTEM),
            ],
        )
    )
    with trial_of(store, vote) as trial:
        it = trial.create("vote", {"holiday": True})
        trial.advance(hours=1)
        row = last_row(trial, it)
        assert (row.kind, row.event, row.payload["why"]) == ("refused", "close", "timer")
        assert "nobody is there" in row.payload["reason"]
        trial.advance(hours=1)
        assert (trial.state(it), kinds(trial, it)) == ("dropped", ["created", "refused", "reminded", "moved"])
