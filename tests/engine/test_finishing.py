"""Finishing: what each outcome does to an instance, and what becomes of one that does not fit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.engine import Claim, Result, finishing
from interlock.machine import OWNER, Actor, Again, Ask, Fail, Go, Machine, Message, Outcome, Patch, Review, Spawn, Stay
from interlock.store import RowChanged, Store, micros, span, tables
from interlock.testing import Trial
from tests.support.machines import (
    ANN,
    INVOICE,
    LETTER,
    PARCEL,
    Parcel,
    claim_one,
    decided_by_the_test,
    do,
    job,
    kinds,
    last_row,
    pass_time,
    trial_of,
)

LOOSE = job()


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, PARCEL, INVOICE, LETTER, LOOSE) as trial:
        yield trial


def outbox(trial: Trial) -> list[Any]:
    return list(trial.engine.read(lambda conn: conn.execute(sa.select(tables.outbox)).all()))


# -- without a second look

CHANGES: dict[str, Callable[[Trial, Claim], object]] = {
    "paused": lambda trial, claim: trial.engine.pause(claim.id, actor=ANN),
    "forced": lambda trial, claim: trial.engine.force(claim.id, "packing", actor=Actor(OWNER, "bo"), reason="again"),
    "saved": lambda trial, claim: trial.write(lambda unit: finishing.save(unit, claim, {"note": "half"})),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_result_for_what_is_not_as_it_was_claimed_writes_nothing_until_it_is_read(trial: Trial, what: str) -> None:
    ids = [trial.create("parcel") for _ in range(3)]
    claims = {claim.id: claim for claim in trial.claim(3)}
    CHANGES[what](trial, claims[ids[1]])
    before = {it: kinds(trial, it) for it in ids}
    results = [Result(claims[it], Go("checking")) for it in ids]
    with pytest.raises(RowChanged):
        trial.write(lambda unit: finishing.finish(unit, results))
    assert {it: kinds(trial, it) for it in ids} == before
    # The engine reads them then: what is still held is written, and the others are not hurt.
    assert trial.engine.finish(results) == [True, what == "saved", True]
    assert [trial.state(it) for it in ids] == ["checking", "checking" if what == "saved" else "packing", "checking"]
    assert trial.engine.verify().problems == ()


def test_a_result_that_is_written_twice_in_one_batch_counts_once(trial: Trial) -> None:
    it = trial.create("parcel")
    claim = claim_one(trial)
    before = kinds(trial, it)
    assert trial.engine.finish([Result(claim, Go("checking"))] * 2) == [True, False]
    assert kinds(trial, it) == [*before, "moved"]


# -- moves


def test_a_move_is_written_with_its_step_its_reason_and_how_long_it_took(trial: Trial) -> None:
    it = trial.create("parcel")
    claim = claim_one(trial)
    trial.clock.advance(timedelta(seconds=90))
    trial.finish(claim, Go("checking", data={"note": "heavy", "weight": 9}, reason="packed well"))
    row = last_row(trial, it)
    assert (row.from_state, row.to_state, row.event) == ("packing", "checking", "pack")
    assert row.payload == {
        "reason": "packed well",
        "step": "packing",
        "took": span(timedelta(seconds=90)),
        "set": {"note": "heavy", "weight": 9},
    }


def test_a_mapping_sets_the_named_fields_and_a_model_replaces_all(trial: Trial) -> None:
    first, second = trial.create("parcel", {"item": "ink"}), trial.create("parcel", {"item": "ink"})
    patches: dict[UUID, Patch] = {first: {"weight": 2}, second: Parcel(weight=2)}
    for claim in trial.claim(2):
        trial.finish(claim, Go("checking", data=patches[claim.id]))
    assert trial.data(first) == {"item": "ink", "weight": 2, "note": ""}
    assert trial.data(second) == {"item": "tea", "weight": 2, "note": ""}


def test_a_chain_passes_a_final_state_in_one_transaction_with_a_row_each(trial: Trial) -> None:
    it = trial.create("parcel", key="p-1")
    do(trial, Go(("shipped", "ordered"), data={"note": "second round"}))
    rows = trial.engine.history(it)
    assert [(row.from_state, row.to_state) for row in rows[-2:]] == [("packing", "shipped"), ("shipped", "ordered")]
    assert [row.seq for row in rows] == [1, 2, 3, 4]
    assert (trial.get(it).wake, trial.get(it).finished_at) == ("work", None)
    assert trial.data(it)["note"] == "second round"


def test_a_chain_ends_where_it_rests(trial: Trial) -> None:
    it = trial.create("parcel")
    do(trial, Go(("shipped", "ordered")))
    do(trial, Go("shipped"))
    assert trial.get(it).finished_at == trial.clock.now()
    assert trial.path(it) == ["ordered", "packing", "shipped", "ordered", "packing", "shipped"]


def test_a_chain_with_an_undeclared_link_moves_nothing(trial: Trial) -> None:
    it = trial.create("parcel")
    do(trial, Go(("shipped", "packing")))
    assert trial.path(it) == ["ordered", "packing"]


def test_the_next_work_can_wait_for_a_moment(trial: Trial) -> None:
    trial.create("parcel")
    later = trial.clock.time + timedelta(hours=1)
    claim = do(trial, Go(("shipped", "ordered"), at=later))
    assert trial.get(claim.id).due_at == micros(later)
    assert trial.claim() == []


def test_messages_lie_in_the_outbox_after_the_commit(trial: Trial) -> None:
    it = trial.create("parcel")
    do(trial, Go("checking", messages=(Message("mail", "ann@example.org", "Look", {"weight": 2}),)))
    [row] = outbox(trial)
    assert (row.instance_id, row.channel, row.recipient, row.subject) == (it, "mail", "ann@example.org", "Look")
    assert (json.loads(row.body), row.status, row.at) == ({"weight": 2}, "waiting", trial.clock.now())


def test_an_outcome_opens_reviews_beside_the_state(trial: Trial) -> None:
    it = trial.create("parcel")
    do(trial, Go("checking", asks=(Ask("seal", Review("Is the seal whole?", {"yes": "approve"}), {"photo": "p1"}),)))
    [review] = trial.engine.reviews.waiting(instance_id=it)
    assert (review.name, review.state, review.evidence) == ("seal", None, {"photo": "p1"})


# -- outcomes that do not fit


NONSENSE: list[tuple[str, Outcome, str]] = [
    ("an undeclared move", Go("cancelled"), "there is no transition 'first' → 'cancelled'"),
    ("a move for people", Go("done"), "there is no transition 'first' → 'done'; from here lead: second"),
    ("no move", Go(()), "Go names no state"),
    ("staying in work", Stay(), "a handler of a work state cannot return Stay"),
    ("no outcome", "a string", "returned str; it must return Go, Stay, Again or Fail"),  # type: ignore[list-item]
    ("data that is no data", Go("second", data=["x"]), "data must be a model or a mapping"),  # type: ignore[arg-type]
    ("data that JSON cannot hold", Go("second", data={"x": object()}), "data.x is a value of type object"),
    ("entering unstarted what nothing starts", Go("second", unstarted=True), "cannot be entered unstarted"),
    ("an unknown child", Go("second", spawn=(Spawn("parrot"),)), "there is no machine 'parrot'"),
    ("an unfit child", Go("second", spawn=(Spawn("parcel", {"weight": 0}),)), "weight: Input should be greater than 0"),
]


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize(("outcome", "message"), [case[1:] for case in NONSENSE], ids=[case[0] for case in NONSENSE])
def test_nonsense_is_a_failure_of_the_step_and_nothing_of_it_is_kept(
    trial: Trial, outcome: Outcome, message: str
) -> None:
    it = trial.create("job", {"kept": 1})
    do(trial, outcome)
    after = trial.get(it)
    assert (after.state, after.data) == ("first", {"kept": 1})
    assert after.error is not None
    assert after.error["type"] == "InvalidOutcome"
    assert message in after.error["message"]
    assert sum(after.failures.values()) == 1
    assert kinds(trial, it) == ["created", "failed"]
    assert trial.engine.verify().instances == 1


def test_a_transition_that_is_for_people_is_nonsense_for_a_worker(trial: Trial) -> None:
    it = trial.create("letter")
    do(trial, Go("waiting"))
    trial.engine.fire(it, "approve", actor=ANN)
    do(trial, Go("draft"))
    error = trial.get(it).error
    assert error is not None
    assert "the transition 'waiting' → 'draft' is not for workers" in error["message"]
    assert trial.state(it) == "waiting"


def test_nonsense_takes_its_messages_children_and_reviews_with_it(trial: Trial) -> None:
    it = trial.create("parcel")
    asks = (Ask("seal", Review("Is the seal whole?")),)
    bad = Go(("checking", "shipped", "packing"), messages=(Message("mail", "ann"),), spawn=(Spawn("job"),), asks=asks)
    do(trial, bad)
    assert (trial.engine.children(it), outbox(trial), trial.engine.reviews.waiting()) == ([], [], [])


def test_nonsense_in_a_batch_does_not_sink_what_is_beside_it(trial: Trial) -> None:
    ids = trial.engine.create_many("job", [{}] * 3)
    claims = sorted(trial.claim(3), key=lambda claim: ids.index(claim.id))
    outcomes: list[Outcome] = [Go("second"), Go("nowhere"), Go("second")]
    results = [Result(claim, outcome) for claim, outcome in zip(claims, outcomes, strict=True)]
    assert trial.engine.finish(results) == [True, True, True]
    assert [trial.state(i) for i in ids] == ["second", "first", "second"]


def test_data_too_big_in_a_batch_fails_its_own_step_alone(trial: Trial) -> None:
    ids = trial.engine.create_many("job", [{}] * 3)
    claims = sorted(trial.claim(3), key=lambda claim: ids.index(claim.id))
    sizes = [10, 300_000, 100_000]
    results = [Result(c, Go("second", data={"text": "x" * size})) for c, size in zip(claims, sizes, strict=True)]
    assert trial.engine.finish(results) == [True, True, True]
    assert [trial.state(i) for i in ids] == ["second", "first", "second"]
    error = trial.get(ids[1]).error
    assert error is not None
    assert error["type"] == "DataTooBig"
    assert trial.data(ids[1]) == {}


@pytest.mark.parametrize("outcome", [None, 7, "text", object()])
def test_a_handler_that_returns_nonsense_fails_its_step(store: Store, outcome: Any) -> None:
    with trial_of(store, LOOSE.with_handlers({"first": lambda _: outcome})) as trial:
        it = trial.create("job")
        trial.step()
        error = trial.get(it).error
        assert error is not None
        assert error["type"] == "InvalidOutcome"
        assert "the handler of 'first' returned" in error["message"]


# -- again


def test_again_runs_the_same_step_later_and_costs_no_attempt(trial: Trial) -> None:
    it = trial.create("parcel")
    do(trial, Again(timedelta(minutes=10), data={"note": "no paper"}, reason="out of paper"))
    after = trial.get(it)
    assert (after.state, after.failures, after.data["note"]) == ("packing", {}, "no paper")
    assert after.due_at == trial.clock.now() + span(timedelta(minutes=10))
    row = last_row(trial, it)
    assert (row.kind, row.payload["reason"], row.payload["at"]) == ("again", "out of paper", after.due_at)
    trial.clock.advance(timedelta(minutes=9, seconds=59))
    assert trial.claim() == []
    trial.clock.advance(timedelta(seconds=1))
    assert do(trial, Go("shipped")).id == it


def test_again_passes_the_step_so_that_its_counters_start_anew(trial: Trial) -> None:
    it = trial.create("parcel")
    do(trial, Fail(ValueError("no paper")))
    pass_time(trial, minutes=5)
    do(trial, Again(timedelta(0)))
    assert trial.get(it).error is not None, "what went wrong last is still shown"
    assert trial.get(it).failures == {}


# -- a failure is an outcome


def test_failing_and_raising_are_the_same(store: Store) -> None:
    def raises(_: Any) -> Outcome:
        raise ValueError("no paper")

    def counted(handler: Any, machine: Machine) -> tuple[Any, ...]:
        with Trial([machine.with_handlers({"first": handler, "second": decided_by_the_test})], store=None) as trial:
            it = trial.create("job")
            trial.step()
            after = trial.get(it)
            assert after.error is not None
            return after.state, after.failures, after.error["type"], after.error["message"]

    assert counted(raises, LOOSE) == counted(lambda _: Fail(ValueError("no paper")), LOOSE)
