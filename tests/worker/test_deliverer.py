"""The deliverer: at least once, several at a time, and nobody slow stops the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from interlock.engine import Engine
from interlock.engine.outbox import OutboxMessage
from interlock.store import Store
from interlock.testing import VirtualClock
from interlock.worker.deliverer import Channel, Deliverer, DeliveryFailed, DeliveryRefused
from tests.support.machines import PARCEL
from tests.support.racing import race
from tests.support.waiting import eventually
from tests.worker.channels import Gate, Noted

Opener = Callable[..., Deliverer]


@pytest.fixture
def engine(store: Store) -> Engine:
    return Engine(store, [PARCEL], seed=1)


@pytest.fixture
def deliverer() -> Iterator[Opener]:
    """Starts deliverers and stops them at the end."""
    started: list[Deliverer] = []

    def start(
        engine: Engine, channels: dict[str, Channel], pause: float = Deliverer.pause, **options: Any
    ) -> Deliverer:
        made = Deliverer(engine, channels, **options)
        made.pause = pause
        made.start()
        started.append(made)
        return made

    yield start
    for one in started:
        one.stop()
    for one in started:
        one.join(20)


def statuses(engine: Engine) -> list[str]:
    return [message.status for message in engine.outbox.page(limit=500).messages]


def has_attempts(engine: Engine, message_id: UUID, attempts: int) -> bool:
    """Whether so many attempts are written down."""
    return len(engine.outbox.deliveries(message_id)) == attempts


def is_all(engine: Engine, status: str) -> Callable[[], bool]:
    return lambda: set(statuses(engine)) == {status}


def test_a_message_is_delivered_as_soon_as_it_is_put_down(engine: Engine, deliverer: Opener) -> None:
    channel = Noted()
    loop = deliverer(engine, {"mail": channel}, pause=600)  # so that only the message itself can wake it
    eventually(lambda: loop.rounds > 0)
    made = engine.outbox.put("mail", "ann@example.org", "Hello", {"text": "tea is ready"})
    eventually(is_all(engine, "delivered"))
    [message] = channel.got
    assert (message.id, message.subject, message.body, message.attempts) == (made, "Hello", {"text": "tea is ready"}, 1)
    [row] = engine.outbox.deliveries(made)
    assert (row.outcome, row.detail) == ("delivered", "noted")


def test_what_waited_while_nobody_delivered_is_delivered_at_the_start(engine: Engine, deliverer: Opener) -> None:
    for n in range(30):
        engine.outbox.put("mail", f"{n:02}@example.org")
    channel = Noted()
    deliverer(engine, {"mail": channel})
    eventually(is_all(engine, "delivered"))
    assert channel.recipients == [f"{n:02}@example.org" for n in range(30)]


@pytest.mark.parametrize(
    ("error", "status", "outcome", "message"),
    [
        (DeliveryFailed("451 later"), "waiting", "failed", "451 later"),
        (DeliveryRefused("550 never"), "dead", "refused", "550 never"),
        (ValueError("a bug"), "waiting", "failed", "ValueError: a bug"),
        (SystemExit("bye"), "waiting", "failed", "SystemExit: bye"),
    ],
)
def test_what_a_channel_raises_decides_whether_it_is_tried_again(
    engine: Engine, deliverer: Opener, error: BaseException, status: str, outcome: str, message: str
) -> None:
    def raising(_: OutboxMessage) -> None:
        raise error

    made = engine.outbox.put("mail", "ann@example.org")
    deliverer(engine, {"mail": Noted(raising)})
    [row] = eventually(lambda: engine.outbox.deliveries(made))
    assert (row.outcome, row.detail) == (outcome, message)
    found = engine.outbox.get(made)
    assert (found.status, found.last_error, found.attempts) == (status, message, 1)


def test_what_failed_is_tried_again_when_its_time_has_come(store: Store, deliverer: Opener) -> None:
    clock = VirtualClock()
    engine = Engine(store, [PARCEL], clock=clock)
    tries: list[int] = []

    def at_the_third(message: OutboxMessage) -> None:
        tries.append(message.attempts)
        if len(tries) < 3:
            raise DeliveryFailed("not yet", retry_after=timedelta(hours=1))

    made = engine.outbox.put("mail", "ann@example.org")
    loop = deliverer(engine, {"mail": Noted(at_the_third)})
    for number in (1, 2):
        eventually(partial(has_attempts, engine, made, number))
        clock.advance(timedelta(hours=1))
        loop.wake()
    eventually(is_all(engine, "delivered"))
    assert tries == [1, 2, 3]


def test_a_slow_recipient_does_not_stop_the_others(engine: Engine, deliverer: Opener) -> None:
    gate = Gate("slow")
    channel = Noted(gate)
    for _ in range(20):
        engine.outbox.put("webhook", "slow")
    for n in range(20):
        engine.outbox.put("webhook", f"quick-{n:02}")
    deliverer(engine, {"webhook": channel})
    eventually(lambda: len(channel.recipients) == 20)
    assert channel.recipients == [f"quick-{n:02}" for n in range(20)]
    assert 1 <= len(gate.inside) <= 4
    gate.open()
    eventually(is_all(engine, "delivered"))


def test_a_slow_channel_does_not_stop_the_others(engine: Engine, deliverer: Opener) -> None:
    everybody = [f"{n}@example.org" for n in range(20)]
    gate, quick = Gate(*everybody), Noted()
    for address in everybody:
        engine.outbox.put("mail", address)
    engine.outbox.put("webhook", "ops")
    deliverer(engine, {"mail": Noted(gate), "webhook": quick})
    eventually(lambda: quick.recipients == ["ops"])
    eventually(lambda: len(gate.inside) == 4)
    gate.open()
    eventually(is_all(engine, "delivered"))


def test_no_more_are_under_way_at_once_than_its_concurrency(engine: Engine, deliverer: Opener) -> None:
    everybody = [f"{n}@example.org" for n in range(12)]
    gate = Gate(*everybody)
    for address in everybody:
        engine.outbox.put("mail", address)
    loop = deliverer(engine, {"mail": Noted(gate)}, concurrency=3)
    eventually(lambda: len(gate.inside) == 3)
    rounds = loop.rounds
    loop.wake()
    eventually(lambda: loop.rounds > rounds)
    assert len(gate.inside) == 3
    gate.open()
    eventually(is_all(engine, "delivered"))


def test_that_holds_with_more_channels_than_concurrency(engine: Engine, deliverer: Opener) -> None:
    gate = Gate("ann", "bob")
    engine.outbox.put("mail", "ann")
    engine.outbox.put("webhook", "bob")
    loop = deliverer(engine, {"mail": Noted(gate), "webhook": Noted(gate)}, concurrency=1)
    eventually(lambda: gate.inside)
    rounds = loop.rounds
    loop.wake()
    eventually(lambda: loop.rounds > rounds)
    assert loop.busy == 1
    gate.open()
    eventually(is_all(engine, "delivered"))


def test_a_channel_that_never_returns_is_given_up_and_its_hand_is_free_again(engine: Engine, deliverer: Opener) -> None:
    gate = Gate("stuck@example.org")
    stuck = engine.outbox.put("mail", "stuck@example.org")
    loop = deliverer(engine, {"mail": Noted(gate)}, concurrency=1, limit=timedelta(seconds=0.2))
    eventually(lambda: gate.inside)
    engine.outbox.put("mail", "ann@example.org")
    eventually(lambda: "delivered" in statuses(engine))
    [row] = engine.outbox.deliveries(stuck)
    assert (row.outcome, row.detail) == ("failed", "no answer within 0.2 seconds")
    gate.open()  # its late answer changes nothing
    eventually(lambda: not loop.busy)
    assert engine.outbox.get(stuck).status == "waiting"
    assert len(engine.outbox.deliveries(stuck)) == 1


def test_stopping_takes_nothing_more_and_sees_to_the_end_what_is_under_way(engine: Engine) -> None:
    gate = Gate("a@example.org")
    channel = Noted(gate)
    first = engine.outbox.put("mail", "a@example.org")
    loop = Deliverer(engine, {"mail": channel})
    loop.start()
    eventually(lambda: gate.inside and loop.rounds >= 2)  # one in which it took it, one in which there was no more
    loop.stop()
    second = engine.outbox.put("mail", "b@example.org")
    gate.open()
    loop.join(20)
    assert engine.outbox.get(first).status == "delivered"
    assert (engine.outbox.get(second).status, engine.outbox.get(second).attempts) == ("waiting", 0)


def test_a_channel_that_is_not_configured_here_is_left_to_others(engine: Engine, deliverer: Opener) -> None:
    made = engine.outbox.put("pigeon", "ann")
    channel = Noted()
    loop = deliverer(engine, {"mail": channel})
    engine.outbox.put("mail", "ann@example.org")
    eventually(lambda: channel.recipients == ["ann@example.org"])
    eventually(lambda: not loop.busy)
    assert (engine.outbox.get(made).status, engine.outbox.get(made).attempts) == ("waiting", 0)
    assert [u.channel for u in engine.outbox.unconfigured({"mail"})] == ["pigeon"]


def test_without_any_channel_it_does_nothing(engine: Engine, deliverer: Opener) -> None:
    made = engine.outbox.put("mail", "ann@example.org")
    loop = deliverer(engine, {})
    eventually(lambda: loop.rounds > 0)
    assert engine.outbox.get(made).attempts == 0


def test_two_processes_deliver_each_message_once(engines: Callable[..., Engine], deliverer: Opener) -> None:
    one, two = engines(), engines()
    channel = Noted()
    names = [f"{n:03}@example.org" for n in range(120)]
    for name in names:
        one.outbox.put("mail", name)
    race(2, lambda n: deliverer((one, two)[n], {"mail": channel}))
    eventually(is_all(one, "delivered"))
    assert channel.recipients == names


def test_the_outcome_is_kept_and_written_when_the_database_is_back(engine: Engine, deliverer: Opener) -> None:
    gate = Gate("ann@example.org")
    channel = Noted(gate)
    made = engine.outbox.put("mail", "ann@example.org")
    loop = deliverer(engine, {"mail": channel})
    eventually(lambda: gate.inside)
    engine.store.write(lambda conn: conn.exec_driver_sql("ALTER TABLE delivery RENAME TO elsewhere"))
    gate.open()
    eventually(lambda: loop.troubles > 0)
    engine.store.write(lambda conn: conn.exec_driver_sql("ALTER TABLE elsewhere RENAME TO delivery"))
    eventually(is_all(engine, "delivered"))
    assert (len(channel.got), len(engine.outbox.deliveries(made))) == (1, 1)
