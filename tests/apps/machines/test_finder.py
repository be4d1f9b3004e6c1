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
from tests.apps.machines.play import ANN, CLOCK, Play
from tests.apps.machines.recipes import Outage

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
def test_the_chain_through_success_is_one_transaction_with_a_row_for_each_move(play: Play, machine: Machine) -> None:
    first, second = STAGES[machine][:2]
    it = play.begin(machine.name)
    claim = play.take(it)
    seq = play.get(it).seq
    play.work(it, Go(("SUCCESS", "PENDING"), data={"stage": second}))
    rows = play.rows(it, after=seq)
    assert [(r.seq, r.from_state, r.to_state, r.event) for r in rows] == [
        (seq + 1, "PROCESSING", "SUCCESS", "succeed"),
        (seq + 2, "SUCCESS", "PENDING", "next_stage"),
    ]
    assert {(r.at, r.actor) for r in rows} == {(play.clock.now(), f"worker:{claim.worker}")}
    assert rows[0].payload["step"] == f"PROCESSING:{first}"
    assert play.take(it).step == f"PROCESSING:{second}"


def test_success_in_between_ends_nothing_and_the_last_one_frees_the_key(play: Play, address: str) -> None:
    it = play.begin("listing", key=address)
    for after in ("FILTER", "ANALYZE", "SAVE"):
        play.work(it, Go(("SUCCESS", "PENDING"), data={"stage": after}))
        assert play.get(it).finished_at is None
        with pytest.raises(KeyTaken):
            play.begin("listing", key=address)
    play.work(it, Go("SUCCESS"))
    assert play.get(it).finished_at is not None
    play.begin("listing", key=address)


def test_what_rests_in_success_is_moved_by_nobody(play: Play) -> None:
    it = play.begin("company")
    play.work(it, Go("SUCCESS"))
    for actor in (CLOCK, ANN):
        with pytest.raises(Refused, match="is final; nothing is allowed now"):
            play.fire(it, "next_stage", actor)
    assert play.claims(it) == []


def test_a_crawl_is_a_new_source_that_begins_at_its_own_stage(play: Play, address: str) -> None:
    found = play.begin("source", key=address)
    play.work(found, Go("SUCCESS"))
    crawl = play.begin("source", {"stage": "CRAWL", "url": URL}, key=address)
    assert play.take(crawl).step == "PROCESSING:CRAWL"


@pytest.mark.parametrize(("stage", "to"), [("FILTER", "FILTERED"), ("ANALYZE", "SKIPPED")])
def test_a_listing_that_does_not_pass_rests_and_is_not_retried(play: Play, stage: str, to: str) -> None:
    it = play.begin("listing", {"stage": stage})
    play.work(it, Go(to, data={"message": "7 strikes (threshold: 5)"}))
    play.wait(days=30)
    assert (play.state(it), play.claims(it), play.letters(it)) == (to, [], [])
    assert play.data(it)["message"] == "7 strikes (threshold: 5)"


# -- failures


def used_up(play: Play, it: UUID) -> list[timedelta]:
    """Fail until no retry is left; the waits between."""
    waits: list[timedelta] = []
    while play.get(it).finished_at is None:
        assert len(waits) < 10, "it was never given up"
        play.work(it, Outage("the site is down"))
        if play.get(it).due_at is not None:
            waits.append(play.due_in(it))
            play.wait(waits[-1])
    return waits


@each_machine
def test_a_stage_is_tried_four_times_and_then_rests_in_failed_as_a_dead_letter(play: Play, machine: Machine) -> None:
    it = play.begin(machine.name)
    waits = used_up(play, it)
    planned = [timedelta(seconds=s) for s in (30, 60, 120)]
    assert len(waits) == 3
    assert all(0.8 * plan <= wait <= 1.2 * plan for wait, plan in zip(waits, planned, strict=True))
    assert play.path(it) == ["PENDING", *["PROCESSING", "FAILED", "PENDING"] * 3, "PROCESSING", "FAILED"]
    (letter,) = play.letters(it)
    assert (letter.step, letter.attempts, letter.error_type) == (f"PROCESSING:{STAGES[machine][0]}", 4, "Outage")
    assert play.engine.explain(it).waits_for == "person"
    play.wait(days=30)
    assert play.state(it) == "FAILED"


def test_each_stage_has_retries_of_its_own(play: Play) -> None:
    it = play.begin("company")
    for stage, after in pairwise(STAGES[company]):
        for _ in range(3):
            play.work(it, Outage(stage))
            play.wait(minutes=3)
        play.work(it, Go(("SUCCESS", "PENDING"), data={"stage": after}))
        assert play.data(it)["stage"] == after
    assert play.letters(it) == []
    assert len(used_up(play, it)) == 3


def test_a_retry_does_the_same_stage_again_and_keeps_what_the_others_found(play: Play) -> None:
    it = play.begin("company", {"website": URL})
    play.work(it, Go(("SUCCESS", "PENDING"), data={"stage": "EXTRACT", "pages": {URL: "abc"}}))
    play.work(it, Outage())
    play.wait(seconds=36)
    claim = play.take(it)
    assert (claim.step, claim.instance.data["pages"]) == ("PROCESSING:EXTRACT", {URL: "abc"})


def test_a_person_retries_the_dead_letter_with_all_retries_anew(play: Play, address: str) -> None:
    """Trap A8: a letter that is put back must not be a dead letter again at the first mishap."""
    it = play.begin("company", {"stage": "ANALYZE"}, key=address)
    used_up(play, it)
    (letter,) = play.letters(it)
    again = play.engine.dead_letters.retry(letter.id, actor=ANN, reason="the site is back")
    assert (again.id, again.state, again.data["stage"]) == (it, "PENDING", "ANALYZE")
    assert play.letters(it) == []
    assert len(used_up(play, it)) == 3
    assert len(play.letters(it)) == 1


def test_a_person_who_fires_the_retry_gets_all_retries_anew_too(play: Play) -> None:
    """Trap A8, by the declared transition FAILED to PENDING instead of the dead letter."""
    it = play.begin("company")
    used_up(play, it)
    play.fire(it, "retry", ANN)
    assert play.letters(it) == []
    assert len(used_up(play, it)) == 3


def test_a_dead_letter_is_not_taken_up_again_while_another_item_has_its_key(play: Play, address: str) -> None:
    it = play.begin("listing", key=address)
    used_up(play, it)
    play.begin("listing", key=address)
    (letter,) = play.letters(it)
    with pytest.raises(KeyTaken):
        play.engine.dead_letters.retry(letter.id, actor=ANN)
    assert (play.state(it), len(play.letters(it))) == ("FAILED", 1)


# -- lineages


def spawning(play: Play, parent: UUID, machine: str, key: str) -> Mapping[str, Any]:
    """The parent's last stage spawns a child: the history row that says what came of it."""
    play.work(parent, Go("SUCCESS", spawn=(Spawn(machine, {"url": key}, key=key),)))
    return next(r.payload for r in play.rows(parent) if r.kind in {"spawned", "spawn_refused"})


def only_child(play: Play, parent: UUID) -> UUID:
    (child,) = play.engine.children(parent)
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
    with Play(list(STAGES), store) as play:
        root = play.begin("listing", key=URL)
        spawning(play, root, "company", "https://acme.example/about")
        refused = spawning(play, only_child(play, root), "listing", URL)
        assert refused["reason"].startswith(f"circle: ancestor {root}")


def test_an_address_that_is_under_way_or_done_in_the_lineage_is_not_spawned_again(store: Store) -> None:
    with Play(list(STAGES), store) as play:
        root = play.begin("company", key="a")
        twice = (Spawn("source", key="b"), Spawn("source", key="b"))
        play.work(root, Go("SUCCESS", spawn=twice))
        child = only_child(play, root)
        assert [r.payload["reason"][:9] for r in play.rows(root) if r.kind == "spawn_refused"] == ["under way"]

        play.work(child, Go(("SUCCESS", "PENDING"), data={"stage": "VALIDATE"}, spawn=(Spawn("listing", key="c"),)))
        nested = only_child(play, child)
        assert play.get(child).finished_at is None
        play.work(nested, Go("SKIPPED"))
        play.work(child, Go("SUCCESS", spawn=(Spawn("listing", key="c"),)))
        reasons = [r.payload["reason"] for r in play.rows(child) if r.kind == "spawn_refused"]
        assert reasons == [f"done: listing {nested} has the same key in this lineage and ended in SKIPPED"]


@pytest.mark.parametrize("middle", [True, False])
def test_only_the_last_success_blocks_an_address_in_its_lineage_for_good(store: Store, middle: bool) -> None:
    with Play(list(STAGES), store) as play:
        root = play.begin("company", key="a")
        again = Go(("SUCCESS", "PENDING"), data={"stage": "SAVE"}, spawn=(Spawn("listing", key="b"),))
        play.work(root, again)
        child = only_child(play, root)
        play.work(child, Go(("SUCCESS", "PENDING"), data={"stage": "SAVE"}) if middle else Go("SUCCESS"))
        play.work(root, Go("SUCCESS", spawn=(Spawn("listing", key="b"),)))
        (reason,) = [r.payload["reason"] for r in play.rows(root) if r.kind == "spawn_refused"]
        assert reason.startswith("under way" if middle else "done")


def test_another_lineage_may_look_at_what_is_done_but_not_at_what_is_open(store: Store) -> None:
    with Play(list(STAGES), store) as play:
        it = play.begin("listing", key=URL)
        first, second = play.begin("source", key="s1"), play.begin("source", key="s2")
        assert "exists already" in spawning(play, first, "listing", URL)["reason"]
        play.work(it, Go("FILTERED"))
        assert "child" in spawning(play, second, "listing", URL)
