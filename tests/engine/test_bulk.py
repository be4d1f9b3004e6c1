"""Bulk actions: what a filter takes, what each action does, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa

from interlock.engine import InvalidData, NotFound, Refused, bulk, bulk_actions
from interlock.engine.bulk import Bulk
from interlock.engine.deadletters import Filter
from interlock.engine.listing import Count, Where
from interlock.machine import (
    FINAL,
    USER,
    Facts,
    Fail,
    Failures,
    Go,
    Guard,
    KeyScope,
    Machine,
    Rule,
    State,
    Transition,
)
from interlock.store import Store, service_tables
from interlock.testing import Trial, broken_laws
from tests.support.machines import ANN, BOSS, PARCEL, Parcel, Refusal, Unreachable, by_hand, claim_one, do, job

ORDERED = {"machine": "parcel", "state": "ordered"}


def run(trial: Trial, bulk_id: UUID, batch: int = 100) -> Bulk:
    """All batches, until there is none."""
    while trial.engine.bulk.step(batch) is not None:
        pass
    return trial.engine.bulk.get(bulk_id)


def start(trial: Trial, action: str, chosen: Any = ORDERED, target: str = "instances", **options: Any) -> Bulk:
    return trial.engine.bulk.start(target, action, chosen, actor=ANN, reason="spring cleaning", **options)


def parcels(trial: Trial, count: int, **options: Any) -> list[UUID]:
    return [trial.create("parcel", **options) for _ in range(count)]


def kinds(trial: Trial, instance_id: UUID) -> list[str]:
    return [row.kind for row in trial.engine.history(instance_id)]


AT_ONCE = Failures(state="failed", otherwise=Rule((Exception,), retries=0))


@pytest.fixture
def failing(store: Store) -> Iterator[Trial]:
    """A trial whose jobs are dead letters after one failure."""
    with Trial([PARCEL, job(AT_ONCE, key=KeyScope.LIVE)], store=store) as made:
        yield made
        assert broken_laws(made.engine) == []


def letters(trial: Trial, count: int, error: Exception | None = None, **options: Any) -> list[UUID]:
    """Jobs that failed for good; their letters."""
    known = {one.id for one in trial.engine.dead_letters.find()}
    for _ in range(count):
        trial.create("job", **options)
        trial.finish(claim_one(trial), Fail(error or Unreachable("nobody answers")))
    return sorted(one.id for one in trial.engine.dead_letters.find() if one.id not in known)


# -- instances


def test_an_action_is_done_to_all_that_match_and_to_no_other(trial: Trial) -> None:
    mine = parcels(trial, 5)
    other = trial.create("invoice")
    done = run(trial, start(trial, "pause").id, batch=2)
    assert (done.status, done.total, done.done, done.refused, done.problems) == ("done", 5, 5, 0, ())
    assert done.finished_at == trial.clock.now()
    assert all(trial.get(one).paused_at for one in mine)
    assert trial.get(other).paused_at is None
    row = trial.engine.history(mine[0])[-1]
    assert (row.kind, row.actor) == ("paused", "user:ann")
    assert row.payload == {"reason": f"spring cleaning (bulk action {done.id})"}


def test_each_action_on_instances(trial: Trial) -> None:
    [it] = parcels(trial, 1)
    run(trial, start(trial, "pause").id)
    assert trial.get(it).paused_at is not None
    run(trial, start(trial, "resume", {"paused": True}).id)
    assert trial.get(it).paused_at is None
    do(trial, Go("checking"))
    run(
        trial,
        start(trial, "fire", {"state": "checking"}, arguments={"event": "approve", "data": {"note": "good"}}).id,
    )
    assert (trial.state(it), trial.data(it)["note"]) == ("shipped", "good")
    [other] = parcels(trial, 1)
    run(trial, start(trial, "cancel").id)
    assert (trial.state(other), trial.state(it)) == ("cancelled", "shipped")


def test_retrying_instances_retries_their_open_dead_letters(failing: Trial) -> None:
    letters(failing, 2)
    fine = failing.create("job")
    done = run(failing, start(failing, "retry", {"machine": "job"}).id)
    assert (done.done, done.refused) == (2, 1)
    assert [p.problem for p in done.problems] == ["job … has no open dead letter; nothing is allowed now"]
    assert done.problems[0].example == str(fine)
    assert failing.engine.dead_letters.find() == []
    assert failing.engine.count(Where(state="first")).n == 3


def test_batches_are_as_big_as_they_are_asked_for_and_tell_how_far_they_are(trial: Trial) -> None:
    parcels(trial, 5)
    started = start(trial, "pause")
    first = trial.engine.bulk.step(2)
    assert first is not None
    assert (first.id, first.status, first.done, first.total) == (started.id, "running", 2, 5)
    assert trial.engine.count(Where(paused=True)).n == 2


def test_what_comes_after_the_start_is_not_touched(trial: Trial) -> None:
    old = parcels(trial, 2)
    started = start(trial, "pause")
    [same_moment] = parcels(trial, 1)
    trial.clock.advance(timedelta(seconds=1))
    [later] = parcels(trial, 1)
    done = run(trial, started.id, batch=1)
    assert (done.done, done.total) == (2, 2)
    assert [trial.get(one).paused_at is not None for one in (*old, same_moment, later)] == [True, True, False, False]


def test_also_where_the_ids_of_another_host_run_behind(trial: Trial) -> None:
    parcels(trial, 1)
    started = start(trial, "pause")
    trial.clock.advance(timedelta(seconds=1))
    [later] = parcels(trial, 1)
    _ids_up_to(trial, later)
    assert run(trial, started.id).done == 1
    assert trial.get(later).paused_at is None


def _ids_up_to(trial: Trial, newest: UUID) -> None:
    trial.write(lambda unit: unit.conn.execute(sa.update(service_tables.bulk).values(upto_id=newest)))


def test_a_duration_counts_to_the_start_of_the_action(trial: Trial) -> None:
    fresh, old = parcels(trial, 2)
    trial.clock.advance(timedelta(hours=1))
    assert claim_one(trial).id == fresh  # it has just entered its next state
    started = start(trial, "pause", Where(machine="parcel", in_state_for=timedelta(minutes=30)))
    trial.clock.advance(timedelta(hours=5))
    assert run(trial, started.id).done == 1
    assert (trial.get(fresh).paused_at, trial.get(old).paused_at) == (None, trial.clock.now())


def test_what_no_longer_matches_when_its_turn_comes_is_left_alone(trial: Trial) -> None:
    first, second = parcels(trial, 2)
    started = start(trial, "pause")
    trial.engine.fire(second, "cancel", actor=ANN)
    done = run(trial, started.id)
    assert (done.done, done.refused) == (1, 0)
    assert trial.get(first).paused_at is not None


def test_one_that_is_refused_is_counted_with_its_reason_and_holds_up_nobody(trial: Trial) -> None:
    parcels(trial, 3)
    shipped = [do(trial, Go("shipped")).id for _ in range(2)]
    done = run(trial, start(trial, "pause", {"machine": "parcel"}).id, batch=2)
    assert (done.status, done.done, done.refused, done.total) == ("done", 1, 2, 3)
    [problem] = done.problems
    assert problem.problem.startswith("parcel … has ended in 'shipped', so there is nothing to pause")
    assert (problem.count, problem.example) == (2, str(min(shipped)))


def test_twenty_different_reasons_are_kept(store: Store) -> None:
    def counted(facts: Facts) -> str:
        return f"reason {facts.data['weight']}"

    with Trial([_guarded(counted)], store=store) as trial:
        for weight in range(1, 26):
            trial.create("parcel", {"weight": weight})
        done = run(trial, start(trial, "fire", arguments={"event": "go"}).id)
        assert (done.refused, len(done.problems)) == (25, 20)
        assert "reason 1" in done.problems[0].problem


def _guarded(guard: Guard) -> Machine:
    return by_hand(
        Machine(
            "parcel",
            initial="ordered",
            states=[State("ordered"), State("gone", FINAL)],
            transitions=[
                Transition("ordered", "gone", on="go", by=USER, guard=guard),
                Transition("ordered", "gone", on="work"),
            ],
            data=Parcel,
        )
    )


def test_a_guard_that_breaks_is_a_refusal_of_its_item_alone(store: Store) -> None:
    def breaks(facts: Facts) -> bool:
        if facts.data["weight"] == 2:
            raise ZeroDivisionError("a bug in the guard")
        return True

    with Trial([_guarded(breaks)], store=store) as trial:
        made = [trial.create("parcel", {"weight": weight}) for weight in (1, 2, 3)]
        done = run(trial, start(trial, "fire", arguments={"event": "go"}).id)
        assert [trial.state(one) for one in made] == ["gone", "ordered", "gone"]
        assert (done.done, done.refused) == (2, 1)
        assert "the guard 'breaks' of 'go' raised ZeroDivisionError: a bug in the guard" in done.problems[0].problem
        assert broken_laws(trial.engine) == []


def test_of_an_item_that_is_refused_nothing_stays_in_the_database(failing: Trial) -> None:
    """A person's retry closes the dead letters before the move is tried, which the key's new owner forbids."""
    [letter] = letters(failing, 1, key="a")
    failing.create("job", key="a")
    done = run(failing, start(failing, "fire", {"state": "failed"}, arguments={"event": "retry"}).id)
    assert (done.done, done.refused) == (0, 1)
    assert "job 'a' exists already" in done.problems[0].problem
    assert failing.engine.dead_letters.get(letter).status == "open"


# -- dead letters


@pytest.mark.parametrize(
    ("action", "status"), [("retry", "retried"), ("resolve", "resolved"), ("discard", "discarded")]
)
def test_each_action_on_dead_letters(failing: Trial, action: str, status: str) -> None:
    wanted = letters(failing, 3)
    others = letters(failing, 1, Refusal("no"))
    chosen = {"error_type": "Unreachable"}
    done = run(failing, start(failing, action, chosen, target="dead_letters").id, batch=2)
    assert (done.done, done.refused, done.total) == (3, 0, 3)
    found = [failing.engine.dead_letters.get(one) for one in wanted]
    assert [(one.status, one.closed_by) for one in found] == [(status, "user:ann")] * 3
    assert failing.engine.dead_letters.get(others[0]).status == "open"


def test_a_letter_that_somebody_closed_meanwhile_is_left_alone(failing: Trial) -> None:
    first, second = letters(failing, 2)
    started = start(failing, "discard", Filter(machine="job"), target="dead_letters")
    failing.engine.dead_letters.resolve(second, actor=BOSS)
    assert run(failing, started.id).done == 1
    assert failing.engine.dead_letters.get(second).status == "resolved"
    assert failing.engine.dead_letters.get(first).status == "discarded"


def test_letters_that_come_later_are_not_touched(failing: Trial) -> None:
    letters(failing, 1)
    started = start(failing, "discard", {"machine": "job"}, target="dead_letters")
    failing.clock.advance(timedelta(seconds=1))
    [later] = letters(failing, 1)
    _ids_up_to(failing, later)
    assert run(failing, started.id).done == 1
    assert failing.engine.dead_letters.get(later).status == "open"


# -- workspaces


def test_only_the_given_workspaces_are_touched(trial: Trial) -> None:
    red, blue = trial.create("parcel", workspace="red"), trial.create("parcel", workspace="blue")
    green = trial.create("parcel", workspace="green")
    assert trial.engine.bulk.preview("instances", "pause", ORDERED, workspaces={"red", "blue"}).count.n == 2
    done = run(trial, start(trial, "pause", workspaces={"red", "blue"}).id)
    assert done.done == 2
    assert [trial.get(one).paused_at is not None for one in (red, blue, green)] == [True, True, False]
    assert run(trial, start(trial, "pause", {**ORDERED, "workspace": "green"}, workspaces={"red"}).id).done == 0


def test_dead_letters_too(failing: Trial) -> None:
    [red] = letters(failing, 1, workspace="red")
    [blue] = letters(failing, 1, workspace="blue")
    run(failing, start(failing, "discard", {"machine": "job"}, target="dead_letters", workspaces={"red"}).id)
    assert [failing.engine.dead_letters.get(one).status for one in (red, blue)] == ["discarded", "open"]


def test_somebody_sees_those_that_touch_only_his_workspaces(trial: Trial) -> None:
    trial.create("parcel", workspace="red")
    red = start(trial, "pause", workspaces={"red"})
    both = start(trial, "pause", workspaces={"red", "blue"})
    everything = start(trial, "pause")
    named = start(trial, "pause", {**ORDERED, "workspace": "blue"})

    def seen(workspaces: set[str] | None) -> set[UUID]:
        return {one.id for one in trial.engine.bulk.page(workspaces=workspaces).bulks}

    assert seen({"red"}) == {red.id}
    assert seen({"red", "blue"}) == {red.id, both.id, named.id}
    assert seen(None) == {red.id, both.id, named.id, everything.id}
    assert seen(set()) == set()
    assert (red.workspace, both.workspace, named.workspace) == ("red", None, "blue")


# -- previews


def test_a_preview_counts_and_shows_the_first_few_and_changes_nothing(trial: Trial) -> None:
    made = parcels(trial, 7)
    found = trial.engine.bulk.preview("instances", "pause", ORDERED)
    assert (found.count, found.sample) == (Count(7, True), made[:5])
    assert trial.engine.count(Where(paused=True)).n == 0
    assert trial.engine.bulk.page().bulks == []


def test_a_preview_stops_counting(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    parcels(trial, 4)
    monkeypatch.setattr(bulk, "MOST", 3)
    assert trial.engine.bulk.preview("instances", "pause", ORDERED).count == Count(3, False)
    monkeypatch.setattr(bulk, "MOST", 4)
    assert trial.engine.bulk.preview("instances", "pause", ORDERED).count == Count(4, True)


# -- stopping and looking


def test_what_is_stopped_does_nothing_more_and_keeps_what_was_done(trial: Trial) -> None:
    parcels(trial, 5)
    started = start(trial, "pause")
    trial.engine.bulk.step(2)
    stopped = trial.engine.bulk.stop(started.id, actor=BOSS)
    assert (stopped.status, stopped.done, stopped.finished_at) == ("stopped", 2, trial.clock.now())
    assert trial.engine.bulk.step() is None
    assert trial.engine.count(Where(paused=True)).n == 2
    assert trial.engine.bulk.stop(started.id, actor=BOSS) == stopped


def test_what_is_done_cannot_be_stopped(trial: Trial) -> None:
    started = start(trial, "pause")
    assert started.status == "done", "nothing matched"
    with pytest.raises(Refused, match=f"bulk action {started.id} is done already"):
        trial.engine.bulk.stop(started.id, actor=ANN)
    with pytest.raises(NotFound, match="there is no bulk action"):
        trial.engine.bulk.stop(uuid4(), actor=ANN)


def test_several_take_turns(trial: Trial) -> None:
    parcels(trial, 4)
    trial.create("invoice")
    first = start(trial, "pause")
    trial.clock.advance(timedelta(seconds=1))
    second = start(trial, "pause", {"machine": "invoice"})
    turns = []
    for _ in range(3):
        trial.clock.advance(timedelta(seconds=1))
        stepped = trial.engine.bulk.step(1)
        assert stepped is not None
        turns.append(stepped.id)
    assert turns == [first.id, second.id, first.id]


def test_pages_show_the_newest_first(trial: Trial) -> None:
    parcels(trial, 1)
    made = [start(trial, "pause") for _ in range(3)]
    page = trial.engine.bulk.page(limit=2)
    rest = trial.engine.bulk.page(limit=2, after=page.next)
    assert [one.id for one in (*page.bulks, *rest.bulks)] == [one.id for one in made[::-1]]
    assert rest.next is None
    assert trial.engine.bulk.page(status="done").bulks == []
    with pytest.raises(InvalidData, match="1 to 500 rows, not 0"):
        trial.engine.bulk.page(limit=0)


def test_who_started_and_stopped_it_is_written_down(trial: Trial) -> None:
    parcels(trial, 1)
    made = start(trial, "pause")
    trial.engine.bulk.stop(made.id, actor=BOSS)
    a = service_tables.action
    rows = trial.engine.read(
        lambda conn: conn.execute(sa.select(a.c.actor, a.c.what, a.c.target).order_by(a.c.id)).all()
    )
    assert [tuple(row) for row in rows] == [
        ("user:ann", "bulk.start", str(made.id)),
        ("owner:boss", "bulk.stop", str(made.id)),
    ]
    assert (made.actor, made.reason, made.filter["where"]) == ("user:ann", "spring cleaning", ORDERED)


# -- filters as JSON


def test_every_field_of_a_filter_survives_the_way_through_json() -> None:
    where = Where(
        machine="m",
        state="s",
        workspace="w",
        key="k",
        label=("a", "b"),
        error="E",
        finished=True,
        paused=False,
        in_state_for=timedelta(hours=1, seconds=1),
        root=uuid4(),
        text="t",
        workspaces=frozenset({"w"}),
        machines=frozenset({"m"}),
    )
    assert set(bulk_actions.to_json(where)) == set(Where.__slots__), "none is left out"
    assert bulk_actions.where_from_json(bulk_actions.to_json(where)) == where
    assert bulk_actions.to_json(Where(in_state_for=timedelta(hours=1))) == {"in_state_for": "PT1H"}
    letters = Filter(machine="m", fingerprint="f", error_type="E", step="s", workspace="w")
    assert bulk_actions.filter_from_json(bulk_actions.to_json(letters)) == letters


def test_a_duration_may_be_given_in_seconds() -> None:
    assert bulk_actions.where_from_json({"in_state_for": 90}).in_state_for == timedelta(seconds=90)


# -- what is refused


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize(
    "chosen",
    [{}, Where(), {"workspace": "red"}, Where(workspace="red", workspaces=frozenset({"red"})), {"state": None}],
)
def test_an_empty_filter_is_refused_and_a_workspace_alone_is_empty(trial: Trial, chosen: Any) -> None:
    with pytest.raises(InvalidData, match="an empty filter would select all instances"):
        start(trial, "pause", chosen, workspaces={"red"})
    with pytest.raises(InvalidData, match="an empty filter"):
        trial.engine.bulk.preview("instances", "pause", chosen)


@pytest.mark.parametrize("chosen", [{}, Filter(), {"workspace": "red"}])
def test_an_empty_filter_for_dead_letters_is_refused(trial: Trial, chosen: Any) -> None:
    with pytest.raises(InvalidData, match="an empty filter would select all dead letters"):
        start(trial, "discard", chosen, target="dead_letters")


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize(
    ("target", "action", "chosen", "arguments", "message"),
    [
        ("people", "pause", ORDERED, {}, "done to instances or dead_letters, not to 'people'"),
        ("instances", "delete", ORDERED, {}, "no bulk action 'delete' for instances; there are pause, resume, cancel"),
        ("dead_letters", "pause", {"step": "x"}, {}, "no bulk action 'pause' for dead_letters; there are retry"),
        ("instances", "fire", ORDERED, {}, "needs the event's name"),
        ("instances", "fire", ORDERED, {"event": 3}, "needs the event's name"),
        ("instances", "fire", ORDERED, {"event": "x", "data": [1]}, "`data` must be a mapping"),
        ("instances", "pause", ORDERED, {"event": "x"}, "'pause' does not take 'event'"),
        ("instances", "pause", {"colour": "red"}, {}, "the filter has no field 'colour'; it takes machine, state"),
        ("instances", "pause", {"paused": "perhaps"}, {}, "the filter cannot be used: paused:"),
        ("instances", "pause", {"root": "x"}, {}, "the filter cannot be used: root:"),
        ("instances", "pause", {"machine": object()}, {}, "the filter is not JSON"),
        ("instances", "pause", Filter(machine="parcel"), {}, "chosen by a Where, not by a Filter"),
        ("dead_letters", "retry", Where(machine="parcel"), {}, "chosen by a Filter, not by a Where"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(
    trial: Trial, target: str, action: str, chosen: Any, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidData, match=message):
        start(trial, action, chosen, target=target, arguments=arguments)
    assert trial.engine.bulk.page().bulks == []
