"""Listing instances: filters, cursors, and counts that stop."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest

from interlock.engine import InvalidData, listing
from interlock.engine.listing import Count, Where
from interlock.machine import FINAL, OWNER, Actor, Go, Machine, Outcome, State, Transition, WorkError
from interlock.store import Store
from interlock.testing import Trial
from interlock.worker import Task


class Jam(WorkError):
    """The press is jammed."""


press = Machine(
    "press",
    initial="printing",
    states=[State("printing"), State("printed", FINAL)],
    transitions=[Transition("printing", "printed", on="print")],
)


def printing(task: Task[dict[str, object]]) -> Outcome:
    if task.data.get("jam"):
        raise Jam("50% of the paper is stuck")
    return Go("printed")


CHIEF = Actor(OWNER, "chief")


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with Trial([press.with_handlers({"printing": printing})], store=store) as made:
        yield made


def found(trial: Trial, where: Where) -> set[UUID]:
    return {instance.id for instance in trial.engine.page(where).instances}


def test_pages_follow_each_other_without_a_gap_or_a_double(trial: Trial) -> None:
    made = [trial.create("press") for _ in range(7)]
    seen: list[UUID] = []
    after = None
    sizes = []
    while True:
        page = trial.engine.page(after=after, limit=3)
        seen += [instance.id for instance in page.instances]
        sizes.append(len(page.instances))
        after = page.next
        if after is None:
            break
    assert seen == sorted(made, reverse=True)
    assert sizes == [3, 3, 1]


def test_what_is_created_meanwhile_does_not_shift_the_pages(trial: Trial) -> None:
    made = [trial.create("press") for _ in range(4)]
    first = trial.engine.page(limit=2)
    trial.create("press")
    second = trial.engine.page(after=first.next, limit=2)
    assert [i.id for i in (*first.instances, *second.instances)] == sorted(made, reverse=True)


def test_each_filter_finds_what_it_says(trial: Trial) -> None:
    done = trial.create("press", key="a", workspace="north")
    jammed = trial.create("press", {"jam": True}, labels={"colour": "red%", "size": "a4"})
    trial.run_until_idle()
    trial.clock.advance(timedelta(hours=1))
    fresh = trial.create("press", labels={"colour": "red"})
    trial.engine.pause(fresh)
    assert found(trial, Where()) == {done, jammed, fresh}
    assert found(trial, Where(machine="press")) == {done, jammed, fresh}
    assert found(trial, Where(machine="other")) == set()
    assert found(trial, Where(state="printed")) == {done}
    assert found(trial, Where(workspace="north")) == {done}
    assert found(trial, Where(key="a")) == {done}
    assert found(trial, Where(label=("colour", "red"))) == {fresh}
    assert found(trial, Where(label=("colour", "red%"))) == {jammed}
    assert found(trial, Where(error="Jam")) == {jammed}
    assert found(trial, Where(error="J%m")) == set()
    assert found(trial, Where(finished=True)) == {done}
    assert found(trial, Where(finished=False)) == {jammed, fresh}
    assert found(trial, Where(paused=True)) == {fresh}
    assert found(trial, Where(in_state_for=timedelta(minutes=30))) == {done, jammed}
    assert found(trial, Where(root=jammed)) == {jammed}
    assert found(trial, Where(state="printing", paused=False)) == {jammed}


def test_a_count_stops_counting(trial: Trial) -> None:
    trial.engine.create_many("press", [{} for _ in range(12)])
    assert trial.engine.count() == Count(12, True)
    assert trial.engine.count(Where(state="printed")) == Count(0, True)
    assert trial.engine.count(most=5) == Count(5, False)
    assert trial.engine.count(most=12) == Count(12, True)


def test_a_search_looks_at_so_many_rows_and_says_where_it_stopped(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MAX_SCANNED", 5)
    [first] = trial.engine.create_many("press", [{"paper": "Büttenpapier"}])
    trial.engine.create_many("press", [{} for _ in range(7)])
    where = Where(text="büttenPAPIER")
    assert trial.engine.count(where) == Count(0, False)
    page = trial.engine.page(where)
    assert (page.instances, page.next is not None) == ([], True)
    page = trial.engine.page(where, after=page.next)
    assert ([i.id for i in page.instances], page.next) == ([first], None)


def test_the_first_workspace_is_looked_for_among_so_many_rows(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    """No index has its instances, which are nearly all: among many of others they are found page by page."""
    monkeypatch.setattr(listing, "MAX_SCANNED", 5)
    mine = [trial.create("press") for _ in range(7)]
    for where in (Where(workspace="default"), Where(workspaces=frozenset({"default", "red"}))):
        assert trial.engine.count(where) == Count(7, True), "there are no others"
    for _ in range(7):
        trial.create("press", workspace="red")
    where = Where(workspace="default", workspaces=frozenset({"default"}))
    assert trial.engine.count(where) == Count(0, False)
    seen: list[UUID] = []
    after = None
    for _ in range(9):
        page = trial.engine.page(where, after=after)
        seen += [instance.id for instance in page.instances]
        if (after := page.next) is None:
            break
    assert seen == mine[::-1]
    assert trial.engine.count(Where(workspace="red")) == Count(7, True)


def test_a_search_in_the_first_workspace_reads_no_more_rows_of_others(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MAX_SCANNED", 5)
    mine = trial.create("press", {"paper": "laid"})
    for _ in range(12):
        trial.create("press", workspace="red")
    for where in (
        Where(workspace="default", text="laid"),
        Where(workspace="default", finished=False),
        Where(workspaces=frozenset({"default"}), state="printing"),
    ):
        assert trial.engine.count(where) == Count(0, False), "the newest five are of others"
        seen: list[UUID] = []
        after = None
        for _ in range(9):
            page = trial.engine.page(where, after=after)
            seen += [instance.id for instance in page.instances]
            if (after := page.next) is None:
                break
        assert after is None
        assert seen == [mine]


def test_text_is_found_in_keys_labels_and_data_also_in_data_that_lies_beside(trial: Trial) -> None:
    keyed = trial.create("press", key="order-77%")
    labelled = trial.create("press", labels={"colour": "77% red"})
    small = trial.create("press", {"paper": 'say "77%"'})
    big = trial.create("press", {"paper": "x" * 5000 + "77%"})
    trial.create("press", {"paper": "77 per cent"})
    assert found(trial, Where(text="77%")) == {keyed, labelled, small, big}
    assert found(trial, Where(text='"77%"')) == {small}


def test_only_the_workspaces_that_are_named_are_listed(trial: Trial) -> None:
    red, blue = trial.create("press", workspace="red"), trial.create("press", workspace="blue")
    trial.create("press", workspace="green")
    assert found(trial, Where(workspaces=frozenset({"red", "blue"}))) == {red, blue}
    assert found(trial, Where(workspaces=frozenset({"red"}), workspace="blue")) == set()
    assert found(trial, Where(workspaces=frozenset())) == set()


def test_a_filter_that_names_only_a_workspace_chooses_nothing() -> None:
    assert Where(workspace="red", workspaces=frozenset({"red"})).empty
    assert not Where(text="x").empty


@pytest.mark.parametrize("limit", [0, 501])
def test_a_page_has_a_sensible_size(trial: Trial, limit: int) -> None:
    with pytest.raises(InvalidData, match=f"1 to 500 rows, not {limit}"):
        trial.engine.page(limit=limit)


def oldest(trial: Trial, where: Where, *, after: UUID | None = None, limit: int = 50) -> listing.Page:
    now = trial.clock.now()
    return trial.engine.read(lambda conn: listing.page(conn, where, now, after=after, limit=limit, oldest=True))


def test_the_oldest_come_first_page_by_page_if_that_is_wanted(trial: Trial) -> None:
    made = [trial.create("press", {"n": n}) for n in range(7)]
    seen: list[UUID] = []
    after: UUID | None = None
    while True:
        page = oldest(trial, Where(), after=after, limit=3)
        seen += [i.id for i in page.instances]
        after = page.next
        if after is None:
            break
    assert seen == made


def test_a_search_from_the_oldest_says_where_it_stopped(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [trial.create("press", {"n": n}) for n in range(5)]
    monkeypatch.setattr(listing, "MAX_SCANNED", 2)
    where = Where(text="nothing has this")
    page = oldest(trial, where)
    assert page.instances == []
    assert page.next is not None
    assert made[1] <= page.next < made[2], "a place between two, which names none of them"


def test_those_that_are_longest_in_their_state_come_first_where_few_enough_are_there(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    early, late = trial.create("press", {"n": 1}), trial.create("press", {"n": 2})
    trial.clock.advance(timedelta(hours=1))
    state = trial.state(early)
    trial.engine.force(early, state, actor=CHIEF, reason="begins again")

    def longest(where: Where, **options: int) -> list[UUID] | None:
        found = trial.engine.read(lambda conn: listing.longest_in_state(conn, where, trial.clock.now(), **options))
        return None if found is None else [i.id for i in found]

    there = Where(machine="press", state=state)
    assert longest(there) == [late, early]
    assert longest(there, skip=1) == [early]
    assert longest(Where(machine="press")) is None
    monkeypatch.setattr(listing, "MOST_SORTED", 1)
    assert longest(there) is None
