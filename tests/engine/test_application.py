"""What an application uses of the engine inside a transaction, without reading its tables."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa

from interlock.engine import NotFound, leases
from interlock.engine import application as app
from interlock.engine.application import Unit
from interlock.machine import (
    FAILED,
    FINAL,
    OWNER,
    SYSTEM,
    USER,
    WAITING,
    Actor,
    Failures,
    Machine,
    Review,
    Rule,
    Spawn,
    State,
    Transition,
)
from interlock.store import Store, span
from interlock.testing import Trial, broken_laws

ANN = Actor(USER, "ann")
HEAVY = Review("Is it heavy?", decisions={"yes": "", "no": ""})
HOUR = timedelta(hours=1)
parcel = Machine(
    "parcel",
    initial="packed",
    states=[State("packed", WAITING, waits_for="a courier"), State("sent", FINAL)],
    transitions=[Transition("packed", "sent", on="send", by=USER)],
    reviews=[HEAVY],
)
label = Machine(
    "label",
    initial="printed",
    states=[State("printed", WAITING, waits_for="its parcel"), State("used", FINAL)],
    transitions=[Transition("printed", "used", on="use", by=USER)],
)


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with Trial([parcel, label], store=store) as trial:
        yield trial
        assert broken_laws(trial.engine) == []


def made(trial: Trial, **options: Any) -> UUID:
    return trial.create("parcel", options.pop("data", None), **options)


def ids(found: list[Any]) -> list[UUID]:
    return [one.id for one in found]


def test_an_instance_is_found_by_its_id_only_as_what_it_is(trial: Trial) -> None:
    it = made(trial, workspace="mine", data={"big": "x" * 20_000})
    read = trial.engine.read
    assert read(lambda conn: app.get(conn, it, machine="parcel")) == trial.get(it)
    assert read(lambda conn: app.get(conn, it, machine="parcel", workspace="mine")).data["big"]
    assert read(lambda conn: app.find(conn, it, machine="label")) is None
    assert read(lambda conn: app.find(conn, it, machine="parcel", workspace="theirs")) is None
    with pytest.raises(NotFound, match="there is no parcel"):
        read(lambda conn: app.get(conn, uuid4(), machine="parcel"))


def test_an_instance_is_found_by_its_key_as_the_transaction_sees_it(trial: Trial) -> None:
    it = made(trial, key="k", data={"big": "x" * 20_000})

    def job(unit: Unit) -> None:
        assert app.find_by_key(unit, "default", "parcel", "none") is None
        seen = app.find_by_key(unit, "default", "parcel", "k", lock=False)
        assert seen is not None
        assert (seen.id, len(seen.data["big"])) == (it, 20_000)
        locked = app.find_by_key(unit, "default", "parcel", "k")
        assert locked is not None
        assert app.find_by_key(unit, "default", "parcel", "k") is locked
        assert ids(app.lock_by_keys(unit, "default", "parcel", ["k", "free"])) == [it]
        assert app.free_keys(unit, "default", "parcel", ["k", "free"]) == {"free"}

    trial.write(job)


def test_instances_are_listed_by_what_the_application_knows(trial: Trial) -> None:
    mine = [made(trial, workspace="mine", key=str(number)) for number in range(4)]
    other = made(trial, workspace="theirs")
    trial.engine.fire(mine[3], "send", actor=ANN)
    children = trial.write(lambda unit: [app.spawn(unit, unit.lock(mine[0]), Spawn("label"), ANN) for _ in range(2)])
    chosen = sa.select(sa.literal(mine[1], sa.Uuid).label("id")).union_all(sa.select(sa.literal(other, sa.Uuid)))
    among = sa.select(chosen.subquery().c.id)
    cases: list[tuple[str, dict[str, Any], list[UUID]]] = [
        ("parcel", {"workspace": "mine"}, mine),
        ("parcel", {"states": ("packed",)}, [*mine[:3], other]),
        ("parcel", {"states": ("packed", "sent"), "workspace": "mine"}, mine),
        ("parcel", {"ids": [other, mine[2]]}, [mine[2], other]),
        ("parcel", {"among": among}, [mine[1], other]),
        ("parcel", {"workspace": "mine", "after": mine[0], "limit": 2}, mine[1:3]),
        ("parcel", {"workspace": "mine", "newest_first": True, "limit": 2}, [mine[3], mine[2]]),
        ("parcel", {"workspace": "mine", "newest_first": True, "after": mine[1]}, [mine[0]]),
        ("label", {"children_of": mine[0]}, children),
        ("label", {"children_of": sa.select(sa.literal(mine[0], sa.Uuid))}, children),
        ("label", {"children_of": other}, []),
    ]
    for machine, options, wanted in cases:
        assert ids(trial.engine.read(lambda conn: app.instances(conn, machine, **options))) == wanted, options  # noqa: B023


def test_data_changes_with_a_row_and_not_without_a_change(trial: Trial) -> None:
    it = made(trial, data={"size": 1, "notes": {"a": 1}})

    def change(patch: dict[str, Any], **options: Any) -> Any:
        return trial.write(lambda unit: app.change(unit, unit.lock(it), patch, ANN, **options))

    assert change({"size": 1}) is None
    assert change({"size": 2}, payload={"reason": "measured"}) == {"size": 2}
    assert change({"notes": {"b": 2}}, kind="noted", merges=("notes",)) == {}
    assert trial.data(it) == {"size": 2, "notes": {"a": 1, "b": 2}}
    rows = trial.engine.read(lambda conn: app.history(conn, it))
    assert [row.kind for row in rows] == ["created", "amended", "noted"]
    assert rows[1].payload == {"set": {"size": 2}, "reason": "measured"}


def test_a_review_is_opened_for_a_state_or_beside_it(trial: Trial) -> None:
    it = made(trial)

    def job(unit: Unit) -> tuple[UUID, UUID]:
        instance = unit.lock(it)
        of_state = app.ask(unit, instance, "weight", HEAVY, state="packed")
        beside = app.ask(unit, instance, "beside", HEAVY, evidence={"kg": 3})
        unit.record(instance, "noted", ANN)
        return of_state, beside

    of_state, beside = trial.write(job)
    trial.engine.fire(it, "send", actor=ANN)
    found = [trial.engine.reviews.get(one) for one in (of_state, beside)]
    assert [(one.status, one.evidence) for one in found] == [("closed", {}), ("open", {"kg": 3})]


def test_a_queue_is_served_while_a_process_lives_that_works_on_it(trial: Trial) -> None:
    now = trial.clock.now()
    assert trial.engine.read(lambda conn: app.is_served(conn, now, "parcel"))
    assert not trial.engine.read(lambda conn: app.is_served(conn, now, "nobody"))


def test_a_lease_changes_hands_beside_its_instance(trial: Trial) -> None:
    it, write, now = made(trial), trial.engine.store.write, trial.clock.now()

    def row() -> leases.LeaseRow | None:
        return trial.engine.read(lambda conn: leases.read_row(conn, "dock:1"))

    assert row() is None
    first = trial.engine.leases.take("dock:1", "ann", HOUR, instance_id=it)
    assert row() == leases.LeaseRow("ann", now + span(HOUR), it)
    assert write(lambda conn: leases.prolong(conn, now, "dock:1", "ann", 2 * HOUR))
    assert not write(lambda conn: leases.prolong(conn, now, "dock:1", "bob", HOUR))
    later = now + span(2 * HOUR)
    assert not write(lambda conn: leases.prolong(conn, later, "dock:1", "ann", HOUR)), "it ran out"
    assert trial.engine.read(lambda conn: leases.run_out(conn, later, ("dock:%",))) == ["dock:1"]
    assert trial.engine.read(lambda conn: leases.run_out(conn, later, ("gate:%",))) == []
    assert trial.engine.read(lambda conn: leases.run_out(conn, now, ("dock:%",))) == []
    write(lambda conn: leases.hand_over(conn, later, "dock:1", ["ann"], "bob", HOUR))
    taken = trial.engine.read(lambda conn: leases.find(conn, later, "dock:1"))
    assert taken is not None
    assert (taken.holder, taken.fence) == ("bob", first.fence + 1)
    write(lambda conn: leases.postpone(conn, later, "dock:1", 3 * HOUR))
    assert not write(lambda conn: leases.free(conn, "dock:1", ["bob"], unexpired_at=later + span(3 * HOUR)))
    assert not write(lambda conn: leases.free(conn, "dock:1", ["ann"]))
    assert write(lambda conn: leases.free(conn, "dock:1", ["ann", "bob"]))
    assert row() == leases.LeaseRow(None, None, None)


def test_instances_of_several_states_come_in_one_order_and_in_pages(trial: Trial) -> None:
    all_of_them = [made(trial) for _ in range(6)]
    for one in all_of_them[::2]:
        trial.engine.fire(one, "send", actor=ANN)
    made(trial, workspace="elsewhere")
    read = trial.engine.read
    mine: dict[str, Any] = {"workspace": "default", "states": ["sent", "packed"]}
    newest = read(lambda conn: app.instances(conn, "parcel", newest_first=True, limit=4, **mine))
    assert ids(newest) == all_of_them[:1:-1]
    rest = read(lambda conn: app.instances(conn, "parcel", newest_first=True, after=newest[-1].id, limit=4, **mine))
    assert ids(rest) == all_of_them[1::-1]
    assert ids(read(lambda conn: app.instances(conn, "parcel", limit=2, **mine))) == all_of_them[:2]


def test_only_unfinished_instances_that_wait_long_are_stuck(trial: Trial) -> None:
    old, sent = made(trial), made(trial)
    trial.engine.fire(sent, "send", actor=ANN)
    trial.clock.advance(HOUR * 2)
    made(trial)
    label_id = trial.create("label")
    trial.clock.advance(timedelta(minutes=30))
    machines = [parcel, label]
    read = trial.engine.read
    assert ids(read(lambda conn: app.stuck(conn, machines, trial.engine.clock.now(), HOUR))) == [old]
    found = read(lambda conn: app.stuck(conn, machines, trial.engine.clock.now(), HOUR / 4))
    assert ids(found)[0] == old
    assert set(ids(found)) >= {old, label_id}
    assert sent not in ids(found)


def test_one_that_gave_up_hides_nobody_that_is_stuck_in_the_same_state(store: Store) -> None:
    stone = Machine(
        "stone",
        initial="lying",
        states=[State("lying", WAITING, waits_for="a push"), State("broken", FAILED), State("gone", FINAL)],
        transitions=[
            Transition("lying", "broken", on="break", by=USER),
            Transition("broken", "lying", on="retry", by=(SYSTEM, USER)),
            Transition(("lying", "broken"), "gone", on="remove", by=USER),
        ],
        failures=Failures(state="broken", retry="retry", otherwise=Rule((Exception,), retries=3)),
    )
    with Trial([stone], store=store) as trial:
        given_up, stuck = trial.create("stone", workspace="theirs"), trial.create("stone")
        trial.engine.force(given_up, "broken", actor=Actor(OWNER, "ann"), reason="it is dust")
        assert trial.get(given_up).finished_at is not None
        trial.engine.fire(stuck, "break", actor=ANN)
        trial.clock.advance(HOUR * 30)
        now = trial.clock.now()
        found = trial.engine.read(lambda conn: app.stuck(conn, [stone], now, HOUR * 24, workspace="default"))
        assert ids(found) == [stuck]
        assert broken_laws(trial.engine) == []
