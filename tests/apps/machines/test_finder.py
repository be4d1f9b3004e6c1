"""The finder's items: stages in a chain, three retries for each stage, and lineages that cannot run in circles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID, uuid4

import pytest

from interlock.apps.jobs.finder.machine import company, listing, source
from interlock.engine import KeyTaken, Refused
from interlock.machine import Go, Machine, Outcome, Spawn
from interlock.store import Store
from interlock.testing import Trial
from interlock.worker import Task
from tests.apps.machines.recipes import Outage
from tests.apps.machines.scripted_trial import ANN, CLOCK, ScriptedTrial

pytestmark = pytest.mark.soak("postgresql")

STAGES = {
    company: ["FETCH", "EXTRACT", "ANALYZE", "SAVE"],
    source: ["DISCOVER", "VALIDATE", "CONFIGURE", "TEST"],
    listing: ["SCRAPE", "FILTER", "ANALYZE", "SAVE"],
}
URL = "https://acme.example"
each_machine = pytest.mark.parametrize("machine", STAGES, ids=lambda machine: machine.name)


@pytest.fixture
def address() -> str:
    """A key that no other test knows."""
    return f"https://{uuid4()}.example"


def pipeline(machine: Machine, seen: list[str]) -> Machine:
    """The machine with a handler for each stage, which notes it and goes on to the next."""

    def stage(name: str, after: str | None) -> Callable[[Task[Any]], Outcome]:
        def handle(_: Task[Any]) -> Outcome:
            seen.append(name)
            return Go(("SUCCESS", "PENDING"), data={"stage": after}) if after else Go("SUCCESS")

        return handle

    names = STAGES[machine]
    return machine.with_handlers(
        {("PROCESSING", name): stage(name, after) for name, after in zip(names, [*names[1:], None], strict=True)}
    )


# -- stages


@each_machine
def test_one_item_walks_all_stages_and_rests_in_success_after_the_last(store: Store, machine: Machine) -> None:
    seen: list[str] = []
    with Trial([pipeline(machine, seen)], store=store) as trial:
        it = trial.create(machine.name, {"url": URL}, key=URL)
        trial.run_until_idle()
        assert seen == STAGES[machine]
        assert trial.path(it) == ["PENDING", *["PROCESSING", "SUCCESS", "PENDING"] * 3, "PROCESSING", "SUCCESS"]
        assert trial.get(it).finished_at is not None
        assert trial.engine.explain(it).waits_for == "nothing"


@each_machine
def test_the_chain_through_success_is_one_transaction_with_a_row_for_each_move(
    trial: ScriptedTrial, machine: Machine
) -> None:
    first, second = STAGES[machine][:2]
    it = trial.begin(machine.name)
    claim = trial.take(it)
    seq = trial.get(it).seq
    trial.work(it, Go(("SUCCESS", "PENDING"), data={"stage": second}))
    rows = trial.rows(it, after=seq)
    assert [(r.seq, r.from_state, r.to_state, r.event) for r in rows] == [
        (seq + 1, "PROCESSING", "SUCCESS", "succeed"),
        (seq + 2, "SUCCESS", "PENDING", "next_stage"),
    ]
    assert {(r.at, r.actor) for r in rows} == {(trial.clock.now(), f"worker:{claim.worker}")}
    assert rows[0].payload["step"] == f"PROCESSING:{first}"
    assert trial.take(it).step == f"PROCESSING:{second}"


def test_success_in_between_ends_nothing_and_the_last_one_frees_the_key(trial: ScriptedTrial, address: str) -> None:
    it = trial.begin("listing", key=address)
    for after in ("FILTER", "ANALYZE", "SAVE"):
        trial.work(it, Go(("SUCCESS", "PENDING"), data={"stage": after}))
        assert trial.get(it).finished_at is None
        with pytest.raises(KeyTaken):
            trial.begin("listing", key=address)
    trial.work(it, Go("SUCCESS"))
    assert trial.get(it).finished_at is not None
    trial.begin("listing", key=address)


def test_what_rests_in_success_is_moved_by_nobody(trial: ScriptedTrial) -> None:
    it = trial.begin("company")
    trial.work(it, Go("SUCCESS"))
    for actor in (CLOCK, ANN):
        with pytest.raises(Refused, match="is final; nothing is allowed now"):
            trial.fire(it, "next_stage", actor)
    assert trial.claims(it) == []


def test_a_crawl_is_a_new_source_that_begins_at_its_own_stage(trial: ScriptedTrial, address: str) -> None:
    found = trial.begin("source", key=address)
    trial.work(found, Go("SUCCESS"))
    crawl = trial.begin("source", {"stage": "CRAWL", "url": URL}, key=address)
    assert trial.take(crawl).step == "PROCESSING:CRAWL"


@pytest.mark.parametrize(("stage", "to"), [("FILTER", "FILTERED"), ("ANALYZE", "SKIPPED")])
def test_a_listing_that_does_not_pass_rests_and_is_not_retried(trial: ScriptedTrial, stage: str, to: str) -> None:
    it = trial.begin("listing", {"stage": stage})
    trial.work(it, Go(to, data={"message": "7 strikes (threshold: 5)"}))
    trial.wait(days=30)
    assert (trial.state(it), trial.claims(it), trial.letters(it)) == (to, [], [])
    assert trial.data(it)["message"] == "7 strikes (threshold: 5)"


# -- failures


def used_up(trial: ScriptedTrial, it: UUID) -> list[timedelta]:
    """Fail until no retry is left; the waits between."""
    waits: list[timedelta] = []
    while trial.get(it).finished_at is None:
        assert len(waits) < 10, "it was never given up"
        trial.work(it, Outage("the site is down"))
        if trial.get(it).due_at is not None:
            waits.append(trial.due_in(it))
            trial.wait(waits[-1])
    return waits


@each_machine
def test_a_stage_is_tried_four_times_and_then_rests_in_failed_as_a_dead_letter(
    trial: ScriptedTrial, machine: Machine
) -> None:
    it = trial.begin(machine.name)
    waits = used_up(trial, it)
    planned = [timedelta(seconds=s) for s in (30, 60, 120)]
    assert len(waits) == 3
    assert all(0.8 * plan <= wait <= 1.2 * plan for wait, plan in zip(waits, planned, strict=True))
    assert trial.path(it) == ["PENDING", *["PROCESSING", "FAILED", "PENDING"] * 3, "PROCESSING", "FAILED"]
    (letter,) = trial.letters(it)
    assert (letter.step, letter.attempts, letter.error_type) == (f"PROCESSING:{STAGES[machine][0]}", 4, "Outage")
    assert trial.engine.explain(it).waits_for == "person"
    trial.wait(days=30)
    assert trial.state(it) == "FAILED"


def test_each_stage_has_retries_of_its_own(trial: ScriptedTrial) -> None:
    it = trial.begin("company")
    for stage, after in pairwise(STAGES[company]):
        for _ in range(3):
            trial.work(it, Outage(stage))
            trial.wait(minutes=3)
        trial.work(it, Go(("SUCCESS", "PENDING"), data={"stage": after}))
        assert trial.data(it)["stage"] == after
    assert trial.letters(it) == []
    assert len(used_up(trial, it)) == 3


def test_a_retry_does_the_same_stage_again_and_keeps_what_the_others_found(trial: ScriptedTrial) -> None:
    it = trial.begin("company", {"website": URL})
    trial.work(it, Go(("SUCCESS", "PENDING"), data={"stage": "EXTRACT", "pages": {URL: "abc"}}))
    trial.work(it, Outage())
    trial.wait(seconds=36)
    claim = trial.take(it)
    assert (claim.step, claim.instance.data["pages"]) == ("PROCESSING:EXTRACT", {URL: "abc"})


def test_a_person_retries_the_dead_letter_with_all_retries_anew(trial: ScriptedTrial, address: str) -> None:
    """Trap A8: a letter that is put back must not be a dead letter again at the first mishap."""
    it = trial.begin("company", {"stage": "ANALYZE"}, key=address)
    used_up(trial, it)
    (letter,) = trial.letters(it)
    again = trial.engine.dead_letters.retry(letter.id, actor=ANN, reason="the site is back")
    assert (again.id, again.state, again.data["stage"]) == (it, "PENDING", "ANALYZE")
    assert trial.letters(it) == []
    assert len(used_up(trial, it)) == 3
    assert len(trial.letters(it)) == 1


def test_a_person_who_fires_the_retry_gets_all_retries_anew_too(trial: ScriptedTrial) -> None:
    """Trap A8, by the declared transition FAILED to PENDING instead of the dead letter."""
    it = trial.begin("company")
    used_up(trial, it)
    trial.fire(it, "retry", ANN)
    assert trial.letters(it) == []
    assert len(used_up(trial, it)) == 3


def test_a_dead_letter_is_not_taken_up_again_while_another_item_has_its_key(trial: ScriptedTrial, address: str) -> None:
    it = trial.begin("listing", key=address)
    used_up(trial, it)
    trial.begin("listing", key=address)
    (letter,) = trial.letters(it)
    with pytest.raises(KeyTaken):
        trial.engine.dead_letters.retry(letter.id, actor=ANN)
    assert (trial.state(it), len(trial.letters(it))) == ("FAILED", 1)


# -- lineages


def spawning(trial: ScriptedTrial, parent: UUID, machine: str, key: str) -> Mapping[str, Any]:
    """The parent's last stage spawns a child: the history row that says what came of it."""
    trial.work(parent, Go("SUCCESS", spawn=(Spawn(machine, {"url": key}, key=key),)))
    return next(r.payload for r in trial.rows(parent) if r.kind in {"spawned", "spawn_refused"})


def only_child(trial: ScriptedTrial, parent: UUID) -> UUID:
    (child,) = trial.engine.children(parent)
    return child.id


def test_a_spawned_item_inherits_its_root_and_is_one_deeper(store: Store) -> None:
    with Trial([m.with_handlers({"PROCESSING": found_next}) for m in STAGES], store=store) as trial:
        root = trial.create("company", {"url": "0"}, key="0")
        trial.run_until_idle(limit=100)
        line = [trial.get(root)]
        while children := trial.engine.children(line[-1].id):
            line += children
        assert [i.machine for i in line[:4]] == ["company", "source", "listing", "company"]
        assert [i.depth for i in line] == list(range(11)), "spawning stops at depth ten"
        assert {(i.root, i.trace_id) for i in line} == {(root, line[0].trace_id)}
        refused = [r.payload["reason"] for r in trial.engine.history(line[-1].id) if r.kind == "spawn_refused"]
        assert refused == ["depth: the lineage is 10 deep, at most 10"]


def found_next(task: Task[Any]) -> Outcome:
    """Every item finds another: a company a source, a source a listing, a listing a company."""
    after = {"company": "source", "source": "listing", "listing": "company"}[task.machine]
    url = str(int(task.data.url) + 1)
    return Go("SUCCESS", spawn=(Spawn(after, {"url": url}, key=url),))


def test_an_address_in_the_ancestry_is_not_spawned_again(store: Store) -> None:
    with ScriptedTrial(list(STAGES), store) as trial:
        root = trial.begin("listing", key=URL)
        spawning(trial, root, "company", "https://acme.example/about")
        refused = spawning(trial, only_child(trial, root), "listing", URL)
        assert refused["reason"].startswith(f"circle: ancestor {root}")


def test_an_address_that_is_under_way_or_done_in_the_lineage_is_not_spawned_again(store: Store) -> None:
    with ScriptedTrial(list(STAGES), store) as trial:
        root = trial.begin("company", key="a")
        twice = (Spawn("source", key="b"), Spawn("source", key="b"))
        trial.work(root, Go("SUCCESS", spawn=twice))
        child = only_child(trial, root)
        assert [r.payload["reason"][:9] for r in trial.rows(root) if r.kind == "spawn_refused"] == ["under way"]

        trial.work(child, Go(("SUCCESS", "PENDING"), data={"stage": "VALIDATE"}, spawn=(Spawn("listing", key="c"),)))
        nested = only_child(trial, child)
        assert trial.get(child).finished_at is None
        trial.work(nested, Go("SKIPPED"))
        trial.work(child, Go("SUCCESS", spawn=(Spawn("listing", key="c"),)))
        reasons = [r.payload["reason"] for r in trial.rows(child) if r.kind == "spawn_refused"]
        assert reasons == [f"done: listing {nested} has the same key in this lineage and ended in SKIPPED"]


@pytest.mark.parametrize("middle", [True, False])
def test_only_the_last_success_blocks_an_address_in_its_lineage_for_good(store: Store, middle: bool) -> None:
    with ScriptedTrial(list(STAGES), store) as trial:
        root = trial.begin("company", key="a")
        again = Go(("SUCCESS", "PENDING"), data={"stage": "SAVE"}, spawn=(Spawn("listing", key="b"),))
        trial.work(root, again)
        child = only_child(trial, root)
        trial.work(child, Go(("SUCCESS", "PENDING"), data={"stage": "SAVE"}) if middle else Go("SUCCESS"))
        trial.work(root, Go("SUCCESS", spawn=(Spawn("listing", key="b"),)))
        (reason,) = [r.payload["reason"] for r in trial.rows(root) if r.kind == "spawn_refused"]
        assert reason.startswith("under way" if middle else "done")


def test_another_lineage_may_look_at_what_is_done_but_not_at_what_is_open(store: Store) -> None:
    with ScriptedTrial(list(STAGES), store) as trial:
        it = trial.begin("listing", key=URL)
        first, second = trial.begin("source", key="s1"), trial.begin("source", key="s2")
        assert "exists already" in spawning(trial, first, "listing", URL)["reason"]
        trial.work(it, Go("FILTERED"))
        assert "child" in spawning(trial, second, "listing", URL)
