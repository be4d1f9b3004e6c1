"""What people and tokens did is listed, the newest first, by who, what and where."""

from __future__ import annotations

from datetime import timedelta

import pytest

from interlock.engine import Engine, InvalidData
from interlock.engine.unit import Unit
from interlock.machine import AGENT, OWNER, USER, Actor
from interlock.people import People, record
from interlock.testing import VirtualClock


@pytest.fixture
def done(engine: Engine, people: People, clock: VirtualClock) -> People:
    """Six things that were done."""
    for n, (who, what, workspace) in enumerate(
        [
            (Actor(USER, "ann"), "schedule_put", "red"),
            (Actor(OWNER, "ann"), "schedule_put", "default"),
            (Actor(USER, "ann/laptop"), "bulk_started", "red"),
            (Actor(AGENT, "ann2"), "bulk_started", "red"),
            (Actor(USER, "a_n"), "login", None),
            (Actor(USER, "joann"), "login", None),
        ]
    ):
        clock.advance(timedelta(seconds=1))

        def write(
            unit: Unit, who: Actor = who, what: str = what, workspace: str | None = workspace, n: int = n
        ) -> None:
            record(unit, who, what, f"target {n}", workspace=workspace, details={"n": n})

        engine.write(write)
    return people


def numbers(people: People, **filters: str) -> list[int]:
    return [action.details["n"] for action in people.actions(**filters).actions]  # type: ignore[arg-type]


def test_they_are_listed_the_newest_first_with_all_that_was_said(done: People, clock: VirtualClock) -> None:
    [first, *_] = done.actions().actions
    assert (first.actor, first.what, first.target, first.workspace) == ("user:joann", "login", "target 5", None)
    assert (first.details, first.at) == ({"n": 5}, clock.now())
    assert numbers(done) == [5, 4, 3, 2, 1, 0]


def test_a_name_finds_all_that_a_person_did_and_an_actor_only_that(done: People) -> None:
    assert numbers(done, actor="ann") == [2, 1, 0]
    assert numbers(done, actor="user:ann") == [0]
    assert numbers(done, actor="a_n") == [4]
    assert numbers(done, actor="%") == []


def test_they_are_filtered_by_what_and_by_workspace(done: People) -> None:
    assert numbers(done, what="login") == [5, 4]
    assert numbers(done, workspace="red") == [3, 2, 0]
    assert numbers(done, workspace="red", what="bulk_started", actor="ann") == [2]


def test_what_was_done_is_found_by_the_words_of_pages_and_by_its_subject(engine: Engine) -> None:
    names = ["alert_rule.put", "alert_rule.remove", "alert.acknowledge", "alert_rules"]
    for number, name in enumerate(names):
        engine.write(lambda unit, n=number, name=name: record(unit, Actor(USER, "ann"), name, "it", details={"n": n}))
    people = People(engine)
    assert numbers(people, what="alert rule remove") == [1]
    assert numbers(people, what="alert rule") == [1, 0]
    assert numbers(people, what="alert") == [2]
    assert numbers(people, what="alert rule remov") == []
    assert numbers(people, what="alert%") == []


def test_pages_follow_each_other_and_end(done: People) -> None:
    seen: list[int] = []
    after = None
    for _ in range(3):
        page = done.actions(after=after, limit=2)
        seen += [action.details["n"] for action in page.actions]
        after = page.next
    assert seen == [5, 4, 3, 2, 1, 0]
    assert after is None


@pytest.mark.parametrize("limit", [0, 501])
def test_a_page_is_bounded(done: People, limit: int) -> None:
    with pytest.raises(InvalidData, match="1 to 500"):
        done.actions(limit=limit)


def test_what_is_undone_is_not_written_down(engine: Engine, people: People) -> None:
    def fail(unit: Unit) -> None:
        record(unit, Actor(USER, "ann"), "nothing", "at all")
        raise InvalidData("it came to nothing")

    with pytest.raises(InvalidData):
        engine.write(fail)
    assert people.actions().actions == []
