"""The outbox: a message is taken, tried again, given up, and reported."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa

from interlock.engine import InvalidData, NotFound, Refused, outbox
from interlock.engine.listing import Count
from interlock.engine.outbox import OutboxMessage
from interlock.machine import DataTooBig, Go, Message
from interlock.store import SECOND, service_tables
from interlock.testing import Trial
from tests.support.machines import ANN, claim_one

LEASE = timedelta(minutes=2)
MAIL = {"mail"}


def take(trial: Trial, count: int = 10, channels: set[str] = MAIL) -> list[OutboxMessage]:
    return trial.engine.write(lambda unit: outbox.take(unit, channels, count, LEASE))


def fail(trial: Trial, message: OutboxMessage, error: str = "no", **options: object) -> bool:
    return trial.engine.write(lambda unit: outbox.failed(unit, message, error, attempt=uuid4(), **options))  # type: ignore[arg-type]


def deliver(trial: Trial, message: OutboxMessage) -> bool:
    return trial.engine.write(lambda unit: outbox.delivered(unit, message, attempt=uuid4(), detail="250 ok"))


def wait_of(trial: Trial, message_id: UUID) -> float:
    due = trial.engine.outbox.get(message_id).due_at
    assert due is not None
    return (due - trial.clock.now()) / SECOND


def dead(trial: Trial) -> UUID:
    """A message that was refused for good."""
    made = trial.engine.outbox.put("mail", "ann@example.org", workspace="red")
    [message] = take(trial)
    fail(trial, message, "550 nobody of that name", final=True)
    return made


# -- putting down


def test_a_message_of_an_outcome_is_due_at_once_and_belongs_to_its_instances_workspace(trial: Trial) -> None:
    it = trial.create("parcel", workspace="red")
    claim = claim_one(trial)
    trial.finish(claim, Go("shipped", messages=(Message("mail", "ann@example.org", "Shipped", {"item": "tea"}),)))
    [message] = trial.engine.outbox.page(instance_id=it).messages
    assert (message.workspace, message.due_at, message.status) == ("red", trial.clock.now(), "waiting")
    assert (message.channel, message.recipient, message.subject) == ("mail", "ann@example.org", "Shipped")
    assert message.body == {"item": "tea"}


def test_a_message_needs_no_instance(trial: Trial) -> None:
    made = trial.engine.outbox.put("webhook", "ops", "alert.opened", {"value": 3})
    found = trial.engine.outbox.get(made)
    assert (found.instance_id, found.workspace, found.body, found.attempts) == (None, None, {"value": 3}, 0)


def test_a_body_that_is_too_big_is_refused(trial: Trial) -> None:
    with pytest.raises(DataTooBig, match="the message's body has"):
        trial.engine.outbox.put("mail", "ann@example.org", body={"text": "x" * 300_000})


def test_a_recipient_that_no_database_keeps_is_refused(trial: Trial) -> None:
    with pytest.raises(InvalidData, match="the message's recipient"):
        trial.engine.outbox.put("mail", "ann\x00@example.org")


# -- taking


def test_what_is_taken_counts_an_attempt_and_is_not_taken_again_before_its_lease_ends(trial: Trial) -> None:
    made = trial.engine.outbox.put("mail", "ann@example.org")
    [message] = take(trial)
    assert (message.id, message.attempts) == (made, 1)
    assert take(trial) == []
    trial.clock.advance(LEASE - timedelta(microseconds=1))
    assert take(trial) == []
    trial.clock.advance(timedelta(microseconds=1))
    [again] = take(trial)
    assert (again.id, again.attempts) == (made, 2)


def test_only_the_channels_that_are_configured_are_taken(trial: Trial) -> None:
    trial.engine.outbox.put("pigeon", "ann")
    mail = trial.engine.outbox.put("mail", "ann@example.org")
    assert [message.id for message in take(trial)] == [mail]
    assert take(trial, channels=set()) == []


def test_the_longest_waiting_are_taken_first(trial: Trial) -> None:
    first = trial.engine.outbox.put("mail", "a@example.org")
    trial.clock.advance(timedelta(seconds=1))
    second = trial.engine.outbox.put("mail", "b@example.org")
    assert [m.id for m in take(trial, 1)] == [first]
    assert [m.id for m in take(trial, 1)] == [second]


def test_of_one_recipient_no_more_are_taken_than_it_may_have_though_it_has_many(trial: Trial) -> None:
    for _ in range(30):
        trial.engine.outbox.put("webhook", "slow")
    quick = trial.engine.outbox.put("webhook", "quick")
    taken = trial.engine.write(lambda unit: outbox.take(unit, {"webhook": 8}, 8, LEASE, each=2))
    assert sorted(m.recipient for m in taken) == ["quick", "slow", "slow"]
    assert quick in {m.id for m in taken}
    busy = {("webhook", "slow"): 2}
    assert trial.engine.write(lambda unit: outbox.take(unit, {"webhook": 6}, 6, LEASE, busy=busy, each=2)) == []


def test_a_channel_gets_no_more_than_its_room(trial: Trial) -> None:
    for n in range(6):
        trial.engine.outbox.put("mail", f"{n}@example.org")
    trial.engine.outbox.put("webhook", "ops")
    taken = trial.engine.write(lambda unit: outbox.take(unit, {"mail": 2, "webhook": 2}, 4, LEASE))
    assert [m.channel for m in taken] == ["mail", "mail", "webhook"]


# -- what came of it


def test_what_was_delivered_is_settled_with_its_attempt_in_the_log(trial: Trial) -> None:
    made = trial.engine.outbox.put("mail", "ann@example.org")
    [message] = take(trial)
    took = 3 * SECOND
    done = trial.engine.write(lambda unit: outbox.delivered(unit, message, took=took, detail="250 ok", attempt=uuid4()))
    assert done
    found = trial.engine.outbox.get(made)
    assert (found.status, found.settled_at, found.due_at) == ("delivered", trial.clock.now(), None)
    [row] = trial.engine.outbox.deliveries(made)
    assert (row.outcome, row.detail, row.took, row.at) == ("delivered", "250 ok", took, trial.clock.now() - took)
    trial.clock.advance(timedelta(days=1))
    assert take(trial) == []


def test_each_wait_is_twice_as_long_and_the_twelfth_failure_is_the_last(trial: Trial) -> None:
    made = trial.engine.outbox.put("mail", "ann@example.org")
    waits = []
    for number in range(1, 13):
        [message] = take(trial)
        assert message.attempts == number
        assert fail(trial, message, f"451 try {number}")
        if number < 12:
            waits.append(wait_of(trial, made))
            trial.clock.advance(timedelta(seconds=waits[-1]))
    assert all(0.8 <= wait / (10 * 2**n) <= 1.2 for n, wait in enumerate(waits)), waits
    assert len({round(wait / (10 * 2**n), 3) for n, wait in enumerate(waits)}) > 5, "they are spread"
    found = trial.engine.outbox.get(made)
    assert (found.status, found.last_error, found.due_at) == ("dead", "451 try 12", None)
    assert [row.outcome for row in trial.engine.outbox.deliveries(made)] == ["failed"] * 12


def test_a_wait_is_six_hours_at_most() -> None:
    assert outbox.BACKOFF.delay(40) == timedelta(hours=6)


def test_the_other_side_may_ask_for_a_longer_wait(trial: Trial) -> None:
    made = trial.engine.outbox.put("mail", "ann@example.org")
    [message] = take(trial)
    fail(trial, message, retry_after=timedelta(minutes=30))
    assert wait_of(trial, made) == 1800
    trial.clock.advance(timedelta(minutes=30))
    [message] = take(trial)
    fail(trial, message, retry_after=timedelta(seconds=1))
    assert wait_of(trial, made) >= 16, "a shorter one does not hurry it"


def test_a_refusal_for_good_is_not_tried_again(trial: Trial) -> None:
    made = dead(trial)
    found = trial.engine.outbox.get(made)
    assert (found.status, found.last_error, found.attempts) == ("dead", "550 nobody of that name", 1)
    assert [row.outcome for row in trial.engine.outbox.deliveries(made)] == ["refused"]
    trial.clock.advance(timedelta(days=1))
    assert take(trial) == []


def test_messages_whose_processes_die_each_time_are_given_up_too(trial: Trial) -> None:
    made = trial.engine.outbox.put("mail", "ann@example.org")
    for _ in range(12):
        assert len(take(trial)) == 1
        trial.clock.advance(LEASE)
    assert take(trial) == []
    found = trial.engine.outbox.get(made)
    assert (found.status, found.last_error) == ("dead", "12 attempts ended without a word: their processes died")


def test_a_failure_reported_too_late_changes_nothing_for_the_new_holder(trial: Trial) -> None:
    made = trial.engine.outbox.put("mail", "ann@example.org")
    [late] = take(trial)
    trial.clock.advance(LEASE)
    [mine] = take(trial)
    due = trial.engine.outbox.get(made).due_at
    assert not fail(trial, late, final=True)
    assert (trial.engine.outbox.get(made).status, trial.engine.outbox.get(made).due_at) == ("waiting", due)
    assert deliver(trial, mine)
    assert len(trial.engine.outbox.deliveries(made)) == 2, "both attempts are in the log"


def test_a_delivery_counts_however_late_it_is_reported(trial: Trial) -> None:
    made = trial.engine.outbox.put("mail", "ann@example.org")
    [late] = take(trial)
    trial.clock.advance(LEASE)
    [mine] = take(trial)
    fail(trial, mine, final=True)
    assert deliver(trial, late)
    assert trial.engine.outbox.get(made).status == "delivered"
    assert not deliver(trial, late), "once"


def test_an_attempt_reported_twice_is_one_row_in_the_log(trial: Trial) -> None:
    made = trial.engine.outbox.put("mail", "ann@example.org")
    [message] = take(trial)
    attempt = uuid4()
    for _ in range(2):
        trial.engine.write(lambda unit: outbox.delivered(unit, message, attempt=attempt))
    assert len(trial.engine.outbox.deliveries(made)) == 1


# -- people


def test_a_dead_message_is_retried_with_all_its_attempts_anew(trial: Trial) -> None:
    made = dead(trial)
    found = trial.engine.outbox.retry(made, actor=ANN)
    assert (found.status, found.attempts, found.settled_at) == ("waiting", 0, None)
    [message] = take(trial)
    assert message.attempts == 1
    [row] = _actions(trial)
    assert (row.actor, row.what, row.target, row.workspace) == ("user:ann", "message.retry", str(made), "red")


def test_a_dead_message_is_discarded_with_a_note(trial: Trial) -> None:
    made = dead(trial)
    assert trial.engine.outbox.discard(made, actor=ANN, note="she left").status == "discarded"
    [row] = _actions(trial)
    assert (row.what, row.details) == ("message.discard", '{"note":"she left"}')
    assert take(trial) == []


def _actions(trial: Trial) -> list[sa.Row[tuple[object, ...]]]:
    return list(trial.engine.read(lambda conn: conn.execute(sa.select(service_tables.action)).all()))


@pytest.mark.parametrize("action", ["retry", "discard"])
def test_only_a_dead_message_is_retried_or_discarded(trial: Trial, action: str) -> None:
    made = trial.engine.outbox.put("mail", "ann@example.org")
    with pytest.raises(Refused, match=f"message {made} is waiting; only a dead message"):
        getattr(trial.engine.outbox, action)(made, actor=ANN)
    with pytest.raises(NotFound, match="there is no message"):
        getattr(trial.engine.outbox, action)(uuid4(), actor=ANN)


# -- looking


def test_pages_show_the_newest_first_and_follow_each_other(trial: Trial) -> None:
    made = [trial.engine.outbox.put("mail", f"{n}@example.org") for n in range(5)]
    first = trial.engine.outbox.page(limit=3)
    second = trial.engine.outbox.page(limit=3, after=first.next)
    assert [m.id for m in (*first.messages, *second.messages)] == made[::-1]
    assert (len(first.messages), second.next) == (3, None)
    assert trial.engine.outbox.page(limit=5).next is None


def test_pages_are_filtered_by_status_channel_and_workspace(trial: Trial) -> None:
    gone = dead(trial)
    red = trial.engine.outbox.put("webhook", "ops", workspace="red")
    blue = trial.engine.outbox.put("mail", "ann@example.org", workspace="blue")
    nobodys = trial.engine.outbox.put("mail", "ann@example.org")

    def ids(**options: object) -> set[UUID]:
        return {m.id for m in trial.engine.outbox.page(**options).messages}  # type: ignore[arg-type]

    assert ids(status="dead") == {gone}
    assert ids(status="waiting") == {red, blue, nobodys}
    assert ids(channel="webhook") == {red}
    assert ids(workspaces={"red"}) == {gone, red}
    assert ids(workspaces={"red"}, status="waiting") == {red}
    assert ids(workspaces=()) == set()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": 0}, "1 to 500 rows, not 0"),
        ({"limit": 501}, "not 501"),
        ({"status": "lost"}, "'lost' is not a status of messages"),
    ],
)
def test_a_page_that_cannot_be_is_refused(trial: Trial, options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidData, match=message):
        trial.engine.outbox.page(**options)  # type: ignore[arg-type]


def test_counts_tell_how_many_there_are_of_each_status(trial: Trial) -> None:
    dead(trial)
    for workspace in ("red", "red", "blue"):
        trial.engine.outbox.put("mail", "ann@example.org", workspace=workspace)
    deliver(trial, take(trial, 1)[0])
    one, two, none = Count(1, True), Count(2, True), Count(0, True)
    assert trial.engine.outbox.counts() == {"waiting": two, "delivered": one, "dead": one, "discarded": none}
    assert trial.engine.outbox.counts(workspaces={"blue"})["waiting"] == one


def test_a_channel_that_nobody_has_configured_is_named_with_how_much_waits_and_since_when(trial: Trial) -> None:
    since = trial.clock.now()
    trial.engine.outbox.put("pigeon", "ann", workspace="red")
    trial.clock.advance(timedelta(hours=1))
    trial.engine.outbox.put("pigeon", "bob", workspace="blue")
    trial.engine.outbox.put("mail", "ann@example.org")
    [found] = trial.engine.outbox.unconfigured({"mail", "webhook"})
    assert (found.channel, found.waiting, found.since) == ("pigeon", 2, since)
    assert [u.waiting for u in trial.engine.outbox.unconfigured({"mail"}, workspaces={"blue"})] == [1]
    assert {u.channel for u in trial.engine.outbox.unconfigured(())} == {"pigeon", "mail"}
