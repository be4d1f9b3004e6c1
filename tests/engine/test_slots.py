"""Slots: at most so many of a key are worked on at once; the others wait aside, in order, and no slot is ever lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.engine import Claim, Result, finishing
from interlock.machine import (
    FINAL,
    Again,
    Concurrent,
    Fail,
    Failures,
    Go,
    LimitReached,
    Machine,
    Rule,
    State,
    Transition,
    Window,
)
from interlock.store import Store, tables
from interlock.testing import Trial
from tests.support.counting import counted
from tests.support.machines import ANN, BOSS, by_hand, claim_one, do, pass_time, picture, trial_of
from tests.support.racing import race

ONE_A_CARD = Concurrent("gpu", "card:{card}", 1, ("rendering",))
TWO_A_MAKER = Concurrent("desk", "maker:{maker}", 2, ("rendering",))


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, picture(ONE_A_CARD)) as trial:
        yield trial


def create(trial: Trial, **options: object) -> UUID:
    """Each a second younger than the one before."""
    priority = options.pop("priority", 2)
    it = trial.create("picture", options, priority=priority)
    trial.clock.advance(timedelta(seconds=1))
    return it


def slots(trial: Trial) -> dict[str, set[UUID]]:
    held: dict[str, set[UUID]] = {}
    rows = trial.engine.read(lambda conn: conn.execute(sa.select(tables.limit_slot)).all())
    for row in rows:
        held.setdefault(row.key, set()).add(row.instance_id)
    return held


# -- blocked


def test_only_so_many_of_a_key_are_claimed_and_the_others_wait_aside(trial: Trial) -> None:
    first, second = create(trial), create(trial)
    assert [claim.id for claim in trial.claim(5)] == [first]
    after = trial.get(second)
    assert (after.state, after.wake, after.blocked_on) == ("queued", "blocked", "gpu/card:a")
    assert slots(trial) == {"gpu/card:a": {first}}


def test_what_waits_aside_is_not_looked_at_by_claims(trial: Trial) -> None:
    create(trial)
    waiting = create(trial)
    trial.claim(2)
    before = trial.get(waiting)
    for _ in range(3):
        assert trial.claim(5) == []
        assert trial.engine.tick() == 0
    assert trial.get(waiting) == before


def test_each_key_has_its_own_slots(trial: Trial) -> None:
    a, b, more_a = create(trial, card="a"), create(trial, card="b"), create(trial, card="a")
    assert {claim.id for claim in trial.claim(5)} == {a, b}
    assert trial.get(more_a).wake == "blocked"


def test_a_state_that_the_limit_does_not_name_needs_no_slot(store: Store) -> None:
    with trial_of(store, picture(Concurrent("gpu", "all", 1, ("shown",)))) as trial:
        create(trial)
        create(trial)
        assert len(trial.claim(5)) == 2
        assert slots(trial) == {}


def test_several_limits_must_all_have_a_slot_and_otherwise_none_is_taken(store: Store) -> None:
    with trial_of(store, picture(ONE_A_CARD, TWO_A_MAKER)) as trial:
        ids = [create(trial, card=card) for card in ("a", "a", "b", "c")]
        claims = trial.claim(5)
        assert {claim.id for claim in claims} == {ids[0], ids[2]}
        assert [trial.get(ids[n]).blocked_on for n in (1, 3)] == ["gpu/card:a", "desk/maker:ann"]
        assert slots(trial) == {
            "gpu/card:a": {ids[0]},
            "gpu/card:b": {ids[2]},
            "desk/maker:ann": {ids[0], ids[2]},
        }


# -- in order


def test_a_free_slot_goes_to_the_first_priority_and_then_to_the_oldest(trial: Trial) -> None:
    create(trial)
    claim = claim_one(trial)
    late, older, younger, urgent = (create(trial, priority=p) for p in (3, 2, 2, 0))
    assert trial.claim(8) == []
    order = []
    for _ in range(4):
        trial.finish(claim, Go("done"))
        claim = claim_one(trial)
        order.append(claim.id)
    assert order == [urgent, older, younger, late]


def test_one_slot_wakes_one_and_the_others_stay_aside(trial: Trial) -> None:
    create(trial)
    waiting = [create(trial) for _ in range(3)]
    claim = claim_one(trial)
    assert trial.claim(8) == []
    trial.finish(claim, Go("done"))
    assert [trial.get(it).wake for it in waiting] == ["work", "blocked", "blocked"]


def test_a_slot_that_was_freed_unnoticed_is_found_by_the_next_round(trial: Trial) -> None:
    """As when its waiters were held by another transaction at the moment when it was freed."""
    create(trial)
    waiting = create(trial)
    trial.claim(2)
    trial.engine.store.write(lambda conn: conn.execute(sa.delete(tables.limit_slot)))
    assert trial.engine.tick() == 1
    assert trial.get(waiting).wake == "work"


# -- every way out


def out_of_time(trial: Trial, claim: Claim) -> None:
    pass_time(trial, minutes=15)


def by_timer(trial: Trial, claim: Claim) -> None:
    for _ in range(8 * 6):
        trial.write(lambda unit: finishing.extend(unit, claim))
        pass_time(trial, minutes=10)
    assert trial.path(claim.id)[-1] == "queued"


WAYS_OUT: dict[str, Callable[[Trial, Claim], object]] = {
    "finish in a final state": lambda trial, claim: trial.finish(claim, Go("done")),
    "finish in another state": lambda trial, claim: trial.finish(claim, Go("shown")),
    "finish for later": lambda trial, claim: trial.finish(claim, Again(timedelta(hours=1))),
    "fail and retry": lambda trial, claim: trial.finish(claim, Fail(ValueError("no ink"))),
    "fail for good": lambda trial, claim: trial.finish(claim, Fail(LimitReached("no ink"))),
    "nonsense": lambda trial, claim: trial.finish(claim, Go("nowhere")),
    "pause": lambda trial, claim: trial.engine.pause(claim.id, actor=ANN),
    "cancel": lambda trial, claim: trial.engine.cancel(claim.id, actor=ANN),
    "fire": lambda trial, claim: trial.engine.fire(claim.id, "again", actor=ANN),
    "force": lambda trial, claim: trial.engine.force(claim.id, "shown", actor=BOSS, reason="enough"),
    "crash": lambda trial, claim: trial.lose(claim.worker),
    "give back": lambda trial, claim: trial.engine.give_back([claim]),
    "out of time": out_of_time,
    "timer": by_timer,
}


@pytest.mark.parametrize("way", WAYS_OUT.values(), ids=WAYS_OUT)
def test_every_way_out_frees_the_slot_and_wakes_who_waits(store: Store, way: Callable[[Trial, Claim], object]) -> None:
    failures = Failures(rules=(Rule((LimitReached,), dead_letter=True),))
    with trial_of(store, picture(ONE_A_CARD, failures=failures)) as trial:
        holder, waiting = create(trial), create(trial, priority=1)
        trial.engine.pause(waiting)
        claim = claim_one(trial)
        trial.engine.resume(waiting)
        assert trial.claim() == []
        assert (claim.id, trial.get(waiting).wake) == (holder, "blocked")
        way(trial, claim)
        assert trial.get(holder).holder is None
        assert slots(trial) == {}
        assert claim_one(trial).id == waiting
        assert slots(trial) == {"gpu/card:a": {waiting}}


def test_a_late_result_frees_nothing(trial: Trial) -> None:
    it, waiting = create(trial), create(trial, priority=3)
    old = claim_one(trial)
    trial.lose(old.worker)
    new = claim_one(trial, worker=trial.new_worker())
    assert (new.id, trial.claim()) == (it, [])
    assert trial.finish(old, Go("done")) is False
    assert slots(trial) == {"gpu/card:a": {it}}
    assert trial.get(waiting).wake == "blocked"


def test_what_is_claimed_again_uses_one_slot(trial: Trial) -> None:
    it = create(trial)
    for _ in range(3):
        do(trial, Go("queued"))
    claim_one(trial)
    assert slots(trial) == {"gpu/card:a": {it}}


# -- claims that meet a limit


def test_data_that_has_no_key_for_the_limit_fails_its_own_step_alone(store: Store) -> None:
    shot = by_hand(
        Machine(
            "shot",
            initial="taken",
            states=[State("taken"), State("done", FINAL)],
            transitions=[Transition("taken", "done", on="do")],
            limits=[Concurrent("gpu", "card:{card}", 1, ("taken",))],
        )
    )
    with trial_of(store, shot) as trial:
        bad, good = trial.create("shot"), trial.create("shot", {"card": "a"})
        assert [claim.id for claim in trial.claim(5)] == [good]
        after = trial.get(bad)
        assert after.error is not None
        assert "cannot be computed from the data: KeyError('card')" in after.error["message"]
        assert (after.wake, after.failures) == ("work", {"taken|Exception": 1})


def test_a_pick_up_whose_window_is_full_waits_by_its_rule_and_the_others_are_claimed(store: Store) -> None:
    shot = by_hand(
        Machine(
            "shot",
            initial="queued",
            states=[State("queued"), State("taken"), State("done", FINAL)],
            transitions=[
                Transition("queued", "taken", on="take", pick_up=True, takes=("hourly",)),
                Transition("taken", "done", on="do"),
            ],
            limits=[Window("hourly", "card:{card}", 1, timedelta(hours=1))],
            failures=Failures(rules=(Rule((LimitReached,), retries=9),)),
        )
    )
    with trial_of(store, shot) as trial:
        ids = [trial.create("shot", {"card": card}) for card in ("a", "a", "b")]
        assert {claim.id for claim in trial.claim(5)} == {ids[0], ids[2]}
        after = trial.get(ids[1])
        assert (after.state, after.wake, after.failures) == ("queued", "work", {"queued|LimitReached": 1})
        assert after.due_at is not None
        assert after.due_at > trial.clock.now()


# -- in a batch


def test_a_batch_frees_a_slot_for_each_result_and_wakes_one_for_each(store: Store) -> None:
    """By whatever way a result is written: plainly, with data, or after a failure."""
    with trial_of(store, picture(Concurrent("gpu", "card:{card}", 1, ("rendering",)))) as trial:
        cards = [f"card-{n}" for n in range(20)]
        for _ in range(3):
            trial.engine.create_many("picture", [{"card": card} for card in cards])
        claims = trial.claim(60)
        assert len(claims) == 20
        outcomes = [Go("done"), Go("done", data={"maker": "ben"}), Fail(ValueError("no"))]
        results = [Result(claim, outcomes[number % 3]) for number, claim in enumerate(claims)]
        assert trial.engine.finish(results) == [True] * 20
        again = trial.claim(60)
        assert sorted(claim.instance.data["card"] for claim in again) == sorted(cards)
        assert slots(trial) == {f"gpu/card:{claim.instance.data['card']}": {claim.id} for claim in again}
        blocked = sa.select(sa.func.count()).where(tables.instance.c.wake == "blocked")
        assert trial.engine.read(lambda conn: conn.execute(blocked).scalar_one()) == 20


def test_a_batch_of_many_keys_takes_as_many_statements_as_one_of_few(store: Store) -> None:
    counts = []
    with trial_of(store, picture(Concurrent("gpu", "card:{card}", 1, ("rendering",)))) as trial:
        for keys in (16, 40):
            trial.engine.create_many("picture", [{"card": f"{keys}-{n}"} for n in range(keys)])
            with counted() as statements:
                claims = trial.claim(keys)
                assert trial.engine.finish([Result(claim, Go("done")) for claim in claims]) == [True] * keys
            counts.append(len(statements))
    assert counts[0] == counts[1]


# -- under load


def held_at_once(conn: sa.Connection) -> list[int]:
    """How many are held at this moment, for each card."""
    held = sa.select(sa.func.count()).where(tables.instance.c.holder.is_not(None)).group_by(tables.instance.c.data)
    return list(conn.execute(held).scalars())


def test_under_load_no_more_are_worked_on_than_there_are_slots(store: Store) -> None:
    """Eight workers on two cards with two slots each: never more than two at a time, and all is done in the end."""
    with trial_of(store, picture(Concurrent("gpu", "card:{card}", 2, ("rendering",)))) as trial:
        ids = trial.engine.create_many("picture", [{"card": card} for _ in range(30) for card in ("a", "b")])
        workers = [trial.new_worker() for _ in range(8)]
        done: list[UUID] = []
        most: list[int] = []
        deadline = time.monotonic() + 60

        def work(number: int) -> None:
            turn = number
            while len(done) < len(ids):
                assert time.monotonic() < deadline, f"{len(done)} of {len(ids)} were done"
                claims = trial.engine.claim(workers[number], trial.queues, 2, turn := turn + 1)
                most.append(max(trial.engine.read(held_at_once), default=0))
                if all(trial.engine.finish([Result(claim, Go("done")) for claim in claims])):
                    done.extend(claim.id for claim in claims)
                if not claims:
                    trial.engine.tick()

        race(8, work)
        assert sorted(done) == sorted(ids)
        assert {trial.state(it) for it in ids} == {"done"}
        assert 0 < max(most) <= 2
        assert slots(trial) == {}
