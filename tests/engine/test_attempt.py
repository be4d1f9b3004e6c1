"""Attempts: without savepoints as long as all goes well, and with them as soon as one item fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.engine import Instance, Result
from interlock.engine.unit import Unit
from interlock.machine import FINAL, Actor, Edge, Go, Machine, State, Transition
from interlock.store import Store
from interlock.store.tables import limit_key
from interlock.testing import Trial, broken_laws


def followed(fail: Callable[[Unit, Instance], None]) -> Machine:
    """Its end is followed by a row in a table; then by `fail`."""
    machine = Machine(
        "followed",
        initial="new",
        states=[State("new"), State("done", FINAL)],
        transitions=[Transition("new", "done", on="do")],
    )

    @machine.work("new")
    def work(task: object) -> Go:
        return Go("done")

    @machine.entering("done")
    def note(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
        unit.conn.execute(sa.insert(limit_key).values(key=str(instance.data["n"])))
        fail(unit, instance)

    return machine


def on_two(do: Callable[[Unit], None]) -> Callable[[Unit, Instance], None]:
    return lambda unit, instance: do(unit) if instance.data["n"] == 2 else None


def _raise(unit: Unit) -> None:
    raise ValueError("not this one")


def _bad_statement(unit: Unit) -> None:
    unit.conn.execute(sa.text("SELECT nothing FROM nowhere"))


@contextmanager
def statements() -> Iterator[list[str]]:
    seen: list[str] = []

    def note(conn: Any, cursor: Any, text: str, *_: Any) -> None:
        seen.append(text)

    def saved(conn: Any, name: str) -> None:
        seen.append("SAVEPOINT")

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    sa.event.listen(sa.Engine, "savepoint", saved)
    try:
        yield seen
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)
        sa.event.remove(sa.Engine, "savepoint", saved)


def noted(trial: Trial) -> set[str]:
    return set(trial.engine.read(lambda conn: conn.execute(sa.select(limit_key.c.key)).scalars().all()))


def finish(trial: Trial) -> tuple[dict[int, str], list[str]]:
    """The states of five items by number after one batch of results, and the statements of the batch."""
    trial.engine.create_many("followed", [{"n": n} for n in range(5)])
    claims = trial.claim(5)
    with statements() as seen:
        assert trial.engine.finish([Result(claim, Go("done")) for claim in claims]) == [True] * 5
    after = [trial.get(claim.id) for claim in claims]
    return {one.data["n"]: one.state for one in after}, seen


def test_followers_of_a_batch_in_which_nothing_fails_make_no_savepoint(store: Store) -> None:
    with Trial([followed(lambda unit, instance: None)], store=store) as trial:
        states, seen = finish(trial)
        assert set(states.values()) == {"done"}
        assert noted(trial) == {"0", "1", "2", "3", "4"}
        assert "SAVEPOINT" not in seen
        assert sum("limit_key" in text for text in seen) == 5


@pytest.mark.parametrize("do", [_raise, _bad_statement], ids=["raises", "statement"])
def test_an_item_that_fails_is_undone_alone_and_the_others_are_written_once(
    store: Store, do: Callable[[Unit], None]
) -> None:
    with Trial([followed(on_two(do))], store=store) as trial:
        states, seen = finish(trial)
        assert states == {0: "done", 1: "done", 2: "new", 3: "done", 4: "done"}
        assert noted(trial) == {"0", "1", "3", "4"}
        assert "SAVEPOINT" in seen
        assert broken_laws(trial.engine) == []
