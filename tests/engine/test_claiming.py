"""Claiming: a worker takes ready work under a lease with a new fence, and gives back what it does not do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest

from interlock.engine import Claim, Result, claiming
from interlock.engine.instance import row_of
from interlock.engine.unit import Unit
from interlock.machine import Again, Fail, Go
from interlock.store import Store, span
from interlock.testing import Trial
from tests.support.machines import (
    ANN,
    LETTER,
    PARCEL,
    Unreachable,
    claim_one,
    do,
    kinds,
    last_row,
    pass_time,
    trial_of,
)
from tests.support.racing import race


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, PARCEL, LETTER) as trial:
        yield trial


# -- pick-up


def test_a_claim_takes_the_declared_pick_up_with_its_history_row(trial: Trial) -> None:
    it = trial.create("parcel")
    claim = claim_one(trial)
    assert (claim.id, claim.instance.state, claim.step) == (it, "packing", "packing")
    row = last_row(trial, it)
    assert (row.kind, row.from_state, row.to_state, row.event) == ("moved", "ordered", "packing", "start")
    assert row.actor == f"worker:{trial.worker}"


def test_a_claim_in_the_state_of_the_work_itself_moves_nothing(trial: Trial) -> None:
    it = trial.create("letter")
    assert claim_one(trial).step == "draft"
    assert kinds(trial, it) == ["created"]


def test_a_claim_holds_the_instance_for_the_handlers_time(trial: Trial) -> None:
    it = trial.create("parcel")
    claim = claim_one(trial)
    held = trial.get(it)
    assert (held.wake, held.holder, held.fence) == ("lease", trial.worker, claim.fence)
    assert held.due_at == claim.until == trial.clock.now() + span(timedelta(minutes=15))
    assert held.claimed_at == trial.clock.now()


# -- batches


def test_what_needs_only_a_lease_and_what_needs_more_are_claimed_together(trial: Trial) -> None:
    """Letters are leased, parcels moved when they are picked up, and one letter's data lies beside its row."""
    big = {"item": "tea", "note": "x" * 20_000, "weight": 1}
    plain = [trial.create("letter"), trial.create("letter")]
    others = [trial.create("parcel"), trial.create("letter", big), trial.create("parcel")]
    claims = {claim.id: claim for claim in trial.claim(5)}
    assert claims.keys() == {*plain, *others}
    for it, claim in claims.items():
        assert claim.stored == row_of(trial.get(it))
        assert claim.instance == trial.get(it)
    assert claims[others[1]].instance.data == big


def test_a_claim_reads_only_what_a_plain_move_needs_and_the_rest_where_more_is_needed(trial: Trial) -> None:
    big = {"item": "tea", "note": "x" * 20_000, "weight": 1}
    plain = [trial.create("letter"), trial.create("letter"), trial.create("letter")]
    others = [trial.create("parcel"), trial.create("letter", big)]
    needed: list[int] = []

    def job(unit: Unit) -> list[Claim]:
        claims = claiming.claim(unit, trial.worker, trial.queues, 5, whole=False)
        needed.append(unit.needed_whole)
        return claims

    claims = {claim.id: claim for claim in trial.write(job)}
    assert claims.keys() == {*plain, *others}
    assert needed == [len(others)]
    for it, claim in claims.items():
        assert claim.stored == (row_of(trial.get(it)) if it in others else None)
        assert (claim.state, claim.fence) == (trial.get(it).state, trial.get(it).fence)
    assert claims[others[1]].instance.data == big
    outcomes = dict(
        zip(plain, (Go("waiting"), Go("waiting", data={"note": "new"}), Fail(Unreachable("away"))), strict=True)
    )
    assert trial.engine.finish([Result(claims[it], outcome) for it, outcome in outcomes.items()]) == [True] * 3
    assert [trial.state(it) for it in plain[:2]] == ["waiting", "waiting"]
    assert trial.get(plain[1]).data["note"] == "new"
    error = trial.get(plain[2]).error
    assert error is not None
    assert error["type"] == "Unreachable"


def test_a_claim_takes_as_many_as_it_asks_for(trial: Trial) -> None:
    ids = set(trial.engine.create_many("parcel", [None] * 5))
    first, second, third = trial.claim(3), trial.claim(3), trial.claim(3)
    assert (len(first), len(second), len(third)) == (3, 2, 0)
    assert {claim.id for claim in first + second} == ids


def test_whoever_asks_for_nothing_gets_nothing(trial: Trial) -> None:
    trial.create("parcel")
    assert trial.claim(0) == []
    assert trial.engine.claim(trial.worker, [], 5) == []


def test_what_is_claimed_is_not_claimed_again(trial: Trial) -> None:
    trial.create("parcel")
    assert len(trial.claim()) == 1
    assert trial.claim(worker=trial.new_worker()) == []


def test_what_waits_for_a_person_is_not_claimed(trial: Trial) -> None:
    trial.create("parcel")
    do(trial, Go("checking"))
    assert trial.claim() == []


def test_a_batch_of_results_is_written_in_one_transaction(trial: Trial) -> None:
    trial.engine.create_many("parcel", [None] * 4)
    claims = trial.claim(4)
    targets = ["shipped", "checking", "shipped", "checking"]
    results = [Result(claim, Go(to)) for claim, to in zip(claims, targets, strict=True)]
    assert trial.engine.finish(results) == [True] * 4
    assert [trial.state(claim.id) for claim in claims] == targets


def test_within_a_batch_each_result_is_judged_by_its_own_fence(trial: Trial) -> None:
    trial.engine.create_many("parcel", [None] * 3)
    claims = trial.claim(3)
    trial.engine.fire(claims[1].id, "stop", actor=ANN)
    assert trial.engine.finish([Result(claim, Go("shipped")) for claim in claims]) == [True, False, True]
    assert [trial.state(claim.id) for claim in claims] == ["shipped", "checking", "shipped"]


def test_the_same_result_twice_in_a_batch_counts_once(trial: Trial) -> None:
    it = trial.create("parcel")
    claim = claim_one(trial)
    assert trial.engine.finish([Result(claim, Go("checking")), Result(claim, Go("checking"))]) == [True, False]
    assert trial.path(it) == ["ordered", "packing", "checking"]


# -- fences


def test_a_fence_grows_with_every_claim_whatever_ended_the_one_before(trial: Trial) -> None:
    it = trial.create("parcel")
    claims = [claim_one(trial)]

    def once_more() -> None:
        pass_time(trial, minutes=5)  # a retry waits a little
        claims.append(claim_one(trial, worker=trial.new_worker()))

    trial.engine.give_back(claims[-1:])
    once_more()
    trial.lose(claims[-1].worker)
    once_more()
    trial.finish(claims[-1], Again(timedelta(minutes=1)))
    once_more()
    trial.finish(claims[-1], Fail(ValueError("no paper")))
    once_more()
    trial.engine.pause(it)
    trial.engine.resume(it)
    once_more()
    trial.engine.fire(it, ("stop", "repack"), actor=ANN)
    once_more()
    pass_time(trial, minutes=15)  # out of time
    once_more()
    fences = [claim.fence for claim in claims]
    assert fences == sorted(set(fences))
    assert {claim.id for claim in claims} == {it}
    assert [trial.finish(claim, Go("shipped")) for claim in claims] == [False] * 7 + [True]


def test_a_stale_fence_of_the_same_worker_counts_for_nothing(trial: Trial) -> None:
    it = trial.create("parcel")
    old = claim_one(trial)
    trial.engine.give_back([old])
    new = claim_one(trial)
    assert (old.worker, old.fence) != (new.worker, new.fence)
    assert trial.finish(old, Go("shipped")) is False
    assert trial.state(it) == "packing"
    assert trial.finish(new, Go("checking")) is True


def test_a_late_result_changes_nothing_at_all(trial: Trial) -> None:
    it = trial.create("parcel")
    claim = claim_one(trial)
    trial.engine.fire(it, "stop", actor=ANN)
    before = trial.get(it)
    late = Go("shipped", data={"note": "too late"}, reason="too late")
    assert trial.finish(claim, late) is False
    assert trial.finish(claim, Fail(ValueError("too late"))) is False
    assert trial.get(it) == before
    assert trial.engine.dead_letters.find() == []


# -- giving back


def test_what_is_given_back_is_ready_at_once_and_costs_nothing(trial: Trial) -> None:
    it = trial.create("parcel")
    claim = claim_one(trial)
    assert trial.engine.give_back([claim]) == 1
    after = trial.get(it)
    assert (after.state, after.wake, after.due_at) == ("packing", "work", trial.clock.now())
    assert (after.holder, after.failures, after.error) == (None, {}, None)
    row = last_row(trial, it)
    assert (row.kind, row.actor, row.payload) == ("given_back", f"worker:{trial.worker}", {"step": "packing"})
    assert claim_one(trial, worker=trial.new_worker()).id == it


def test_what_was_taken_away_meanwhile_is_not_given_back(trial: Trial) -> None:
    trial.engine.create_many("parcel", [None, None])
    first, second = trial.claim(2)
    trial.engine.fire(first.id, "stop", actor=ANN)
    assert trial.engine.give_back([first, second]) == 1
    assert trial.get(first.id).wake is None
    assert "given_back" not in kinds(trial, first.id)


# -- many workers


def test_two_workers_who_take_turns_never_get_the_same_instance(trial: Trial) -> None:
    trial.engine.create_many("parcel", [None] * 10)
    workers = [trial.new_worker(), trial.new_worker()]
    claims = [claim for turn in range(6) for claim in trial.claim(2, worker=workers[turn % 2])]
    assert len(claims) == len({claim.id for claim in claims}) == 10


def test_eight_workers_at_once_share_all_work_and_none_gets_anothers(trial: Trial) -> None:
    """Real threads, real transactions: every instance is claimed once and finished once."""
    ids = set(trial.engine.create_many("parcel", [None] * 160))
    workers = [trial.new_worker() for _ in range(8)]

    def work(number: int) -> list[UUID]:
        mine: list[UUID] = []
        turn = number
        while claims := trial.engine.claim(workers[number], trial.queues, 4, turn := turn + 1):
            assert all(trial.engine.finish([Result(claim, Go("shipped")) for claim in claims]))
            mine += [claim.id for claim in claims]
        return mine

    shares = race(8, work)
    # A claim may come back empty while others hold the rows that it saw, so what is left is taken now.
    shares.append([do(trial, Go("shipped")).id for _ in range(160 - sum(map(len, shares)))])
    assert Counter(i for share in shares for i in share) == Counter(ids)
    assert {trial.state(i) for i in ids} == {"shipped"}
    assert {trial.get(i).fence for i in ids} == {1}
