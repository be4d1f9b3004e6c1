"""Spawning: children inherit their lineage, and four checks keep a lineage from running in circles."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest

from interlock.engine import Instance, Result, lineage
from interlock.engine.application import refused_spawns
from interlock.machine import Fail, Go, Spawn, Stay
from interlock.store import Store
from interlock.testing import Trial
from tests.support.machines import (
    ANN,
    LETTER,
    PARCEL,
    claim_one,
    do,
    kinds,
    last_row,
    page,
    parcel,
    pass_time,
    trial_of,
)
from tests.support.racing import race

SITE, PAGE, DEEP = page("site"), page("page"), page("deep", max_depth=2)


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, SITE, PAGE, DEEP, PARCEL, LETTER) as trial:
        yield trial


def spawn(trial: Trial, *wanted: Spawn) -> UUID:
    """What is next is read and finds these."""
    return do(trial, Go("read", spawn=wanted)).id


def child_of(trial: Trial, parent: UUID) -> Instance:
    [child] = trial.engine.children(parent)
    return child


def refusal(trial: Trial, parent: UUID) -> str:
    row = last_row(trial, parent)
    assert row.kind == "spawn_refused"
    assert trial.engine.children(parent) == []
    reason: str = row.payload["reason"]
    return reason


# -- lineage


def test_a_child_knows_its_parent_its_root_and_its_depth(trial: Trial) -> None:
    root = trial.create("site", key="a")
    spawn(trial, Spawn("page", key="b"))
    child = child_of(trial, root)
    spawn(trial, Spawn("page", key="c"))
    grandchild = child_of(trial, child.id)
    assert (trial.get(root).root, trial.get(root).depth, trial.get(root).parent) == (root, 0, None)
    assert (child.root, child.depth, child.parent) == (root, 1, root)
    assert (grandchild.root, grandchild.depth, grandchild.parent) == (root, 2, child.id)
    assert trial.get(root).trace_id == child.trace_id == grandchild.trace_id


def test_a_child_is_created_with_its_data_by_the_worker_of_its_parent(trial: Trial) -> None:
    root = trial.create("site")
    spawn(trial, Spawn("parcel", data={"weight": 4}, key="p-1"))
    child = child_of(trial, root)
    assert (child.machine, child.state, child.wake, child.key) == ("parcel", "ordered", "work", "p-1")
    assert child.data == {"item": "tea", "weight": 4, "note": ""}
    [row] = trial.engine.history(child.id)
    assert (row.kind, row.actor) == ("created", f"worker:{trial.worker}")


def test_the_parents_history_names_the_child(trial: Trial) -> None:
    root = trial.create("site")
    spawn(trial, Spawn("page", key="b"))
    row = last_row(trial, root)
    assert row.kind == "spawned"
    assert row.payload == {"machine": "page", "key": "b", "child": str(child_of(trial, root).id)}


def test_a_child_inherits_workspace_and_priority_unless_given_its_own(trial: Trial) -> None:
    root = trial.create("site", workspace="theirs", priority=0)
    spawn(trial, Spawn("page", key="b"), Spawn("page", key="c", priority=3))
    children = trial.engine.children(root)
    assert {(child.key, child.workspace, child.priority) for child in children} == {
        ("b", "theirs", 0),
        ("c", "theirs", 3),
    }


def test_what_stays_may_spawn_as_well(trial: Trial) -> None:
    root = trial.create("letter")
    do(trial, Go("waiting"))
    trial.engine.fire(root, "approve", actor=ANN)
    do(trial, Stay(spawn=(Spawn("page", key="b"),)))
    assert child_of(trial, root).key == "b"


def test_a_late_outcome_spawns_nothing(trial: Trial) -> None:
    root = trial.create("site")
    claim = claim_one(trial)
    trial.engine.pause(root)
    assert trial.finish(claim, Go("read", spawn=(Spawn("page", key="b"),))) is False
    assert trial.engine.children(root) == []


def test_children_without_a_key_are_as_many_as_wanted(trial: Trial) -> None:
    root = trial.create("site")
    spawn(trial, *[Spawn("page")] * 3)
    assert len(trial.engine.children(root)) == 3


# -- the four checks


def test_first_a_lineage_is_at_most_so_deep(trial: Trial) -> None:
    trial.create("deep", key="k-0")
    for depth in (1, 2):
        parent = spawn(trial, Spawn("deep", key=f"k-{depth}"))
        assert child_of(trial, parent).depth == depth
    last = spawn(trial, Spawn("deep", key="k-3"))
    assert refusal(trial, last) == "depth: the lineage is 2 deep, at most 2"


def test_by_default_ten_levels_are_allowed_and_no_more(trial: Trial) -> None:
    trial.create("page", key="k-0")
    parents = [spawn(trial, Spawn("page", key=f"k-{depth}")) for depth in range(1, 12)]
    assert [len(trial.engine.children(parent)) for parent in parents] == [1] * 10 + [0]
    assert refusal(trial, parents[-1]) == "depth: the lineage is 10 deep, at most 10"


def test_second_nothing_spawns_what_is_among_its_ancestors(trial: Trial) -> None:
    root = trial.create("site", key="example.org/a")
    spawn(trial, Spawn("page", key="example.org/b"))
    child = spawn(trial, Spawn("page", key="example.org/c"))
    grandchild = spawn(trial, Spawn("page", key="example.org/a"))
    assert refusal(trial, grandchild) == f"circle: ancestor {root} (site) has the same key"
    assert child_of(trial, root).id == child


def test_second_nor_itself(trial: Trial) -> None:
    root = trial.create("page", key="example.org/a")
    spawn(trial, Spawn("page", key="example.org/a"))
    assert refusal(trial, root).startswith(f"circle: ancestor {root}")


def test_third_nothing_is_spawned_that_is_under_way_in_the_lineage(trial: Trial) -> None:
    root = trial.create("site")
    spawn(trial, Spawn("page", key="b", priority=3), Spawn("page", key="c", priority=0))
    second = spawn(trial, Spawn("page", key="b"))
    [first] = [child for child in trial.engine.children(root) if child.key == "b"]
    assert refusal(trial, second) == f"under way: page {first.id} has the same key in this lineage, in open"


def test_third_not_even_twice_by_one_outcome(trial: Trial) -> None:
    root = trial.create("site")
    spawn(trial, Spawn("page", key="b"), Spawn("page", key="b"))
    assert child_of(trial, root).key == "b"
    assert kinds(trial, root)[-2:] == ["spawned", "spawn_refused"]
    assert last_row(trial, root).payload["reason"].startswith("under way: ")


def test_fourth_nothing_is_spawned_that_has_ended_in_the_lineage(trial: Trial) -> None:
    root = trial.create("site")
    spawn(trial, Spawn("page", key="b", priority=0), Spawn("page", key="c", priority=3))
    do(trial, Go("skipped"))
    [first] = [child for child in trial.engine.children(root) if child.key == "b"]
    second = spawn(trial, Spawn("page", key="b"))
    assert refusal(trial, second) == f"done: page {first.id} has the same key in this lineage and ended in skipped"


def test_fourth_nor_what_has_failed_for_good(trial: Trial) -> None:
    trial.create("site")
    spawn(trial, Spawn("page", key="b", priority=0), Spawn("page", key="c", priority=3, data={}))
    for _ in range(4):
        do(trial, Fail(ValueError("no answer")))
        pass_time(trial, minutes=5)
    second = spawn(trial, Spawn("page", key="b"))
    assert refusal(trial, second).endswith("has the same key in this lineage and ended in failed")


def test_what_waits_for_a_retry_is_under_way(trial: Trial) -> None:
    trial.create("site")
    spawn(trial, Spawn("page", key="b", priority=0), Spawn("page", key="c", priority=3))
    do(trial, Fail(ValueError("no answer")))
    second = spawn(trial, Spawn("page", key="b"))
    assert refusal(trial, second).endswith("has the same key in this lineage, in failed")


def test_the_same_key_of_another_kind_is_another_item(trial: Trial) -> None:
    root = trial.create("site", key="a")
    spawn(trial, Spawn("page", key="b"), Spawn("deep", key="b"))
    assert {child.machine for child in trial.engine.children(root)} == {"page", "deep"}


# -- a refused spawn


def test_a_refused_spawn_is_recorded_and_stops_nothing_else(trial: Trial) -> None:
    root = trial.create("site", key="a")
    spawn(trial, Spawn("page", key="a"), Spawn("page", key="b"))
    assert (trial.state(root), child_of(trial, root).key) == ("read", "b")
    [row] = [row for row in trial.engine.history(root) if row.kind == "spawn_refused"]
    assert (row.payload["machine"], row.payload["key"], row.actor) == ("page", "a", f"worker:{trial.worker}")
    assert row.payload["reason"].startswith("circle: ")


# -- across lineages: one open item per key


def test_across_lineages_there_is_one_open_item_per_key(trial: Trial) -> None:
    open_one = trial.create("page", key="b", at=trial.clock.time + timedelta(hours=1))
    root = trial.create("site")
    spawn(trial, Spawn("page", key="b"))
    assert refusal(trial, root) == f"page 'b' exists already, as instance {open_one}"


def test_once_it_has_ended_another_lineage_may_spawn_it_again(trial: Trial) -> None:
    trial.create("page", key="b")
    do(trial, Go("read"))
    root = trial.create("site")
    spawn(trial, Spawn("page", key="b"))
    assert child_of(trial, root).key == "b"


def test_a_key_that_is_given_up_in_a_batch_can_be_taken_in_the_same_batch(trial: Trial) -> None:
    ending, finder = trial.create("page", key="b"), trial.create("site")
    claims = {claim.id: claim for claim in trial.claim(2)}
    outcomes = [
        Result(claims[ending], Go("read")),
        Result(claims[finder], Go("read", spawn=(Spawn("page", key="b"),))),
    ]
    assert trial.engine.finish(outcomes) == [True, True]
    assert child_of(trial, finder).key == "b"


def test_of_many_lineages_that_want_a_key_at_once_one_gets_it(trial: Trial) -> None:
    roots = trial.engine.create_many("site", [None] * 8)
    claims = trial.claim(8)
    race(8, lambda number: trial.finish(claims[number], Go("read", spawn=(Spawn("page", key="b"),))))
    assert sum(len(trial.engine.children(root)) for root in roots) == 1
    assert sorted(kinds(trial, root)[-1] for root in roots) == sorted(["spawned", *["spawn_refused"] * 7])
    assert {trial.state(root) for root in roots} == {"read"}


def test_a_stage_of_the_same_item_is_no_spawn(store: Store) -> None:
    """It walks through a final state to its next stage, and is still the same item in its lineage."""
    with trial_of(store, parcel("item")) as trial:
        it = trial.create("item", key="k")
        for _ in range(15):
            do(trial, Go(("shipped", "ordered")))
        assert (trial.get(it).depth, trial.engine.children(it)) == (0, [])


# -- reading refusals


def test_refused_children_are_listed_the_newest_first_with_their_reasons(trial: Trial) -> None:
    trial.engine.create("site", key="a")
    parent = spawn(trial, Spawn("site", key="a"), Spawn("page", key="b"), Spawn("page", key="b"))
    found, more = trial.engine.read(lambda c: refused_spawns(c, "default", ["site"]))
    assert [(one.instance_id, one.machine, one.key) for one in found] == [(parent, "page", "b"), (parent, "site", "a")]
    assert found[1].reason.startswith("circle: ")
    assert found[0].tracking_id == trial.engine.get(parent).trace_id
    assert more is None
    first, after = trial.engine.read(lambda c: refused_spawns(c, "default", ["site"], limit=1))
    assert [one.key for one in first] == ["b"]
    second, last = trial.engine.read(lambda c: refused_spawns(c, "default", ["site"], before=after))
    assert ([one.key for one in second], last) == (["a"], None)
    for elsewhere in (("north", ["site"]), ("default", ["page"])):
        assert trial.engine.read(lambda c: refused_spawns(c, *elsewhere)) == ([], None)  # noqa: B023


def test_a_page_of_refusals_looks_at_a_part_of_the_history(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineage, "SCANNED", 2)
    trial.engine.create("site", key="a")
    spawn(trial, Spawn("site", key="a"))
    for number in range(3):
        trial.engine.create("page", key=str(number))
    seen, before = [], None
    for _ in range(20):
        found, before = trial.engine.read(lambda c: refused_spawns(c, "default", ["site"], before=before))  # noqa: B023
        seen += [one.key for one in found]
        if before is None:
            break
    assert seen == ["a"]
