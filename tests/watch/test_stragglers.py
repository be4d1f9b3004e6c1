"""What is in its state the longest, what of it is longer than usual, and which versions are under way."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa

from interlock.engine import Engine
from interlock.machine import KeyScope, Machine
from interlock.store import SECOND, Micros, Store, open_store, span
from interlock.testing import Trial
from interlock.watch import measures, stragglers
from interlock.watch.histogram import MINUTE, DurationSummary
from tests.support.databases import shared_database
from tests.support.machines import BOSS, PARCEL, parcel, pass_time
from tests.support.query_plans import MACHINES, CaughtStatement, fill, nodes, postgres_plan, sqlite_plan
from tests.support.rollups import JOB, roll_all

USUAL = DurationSummary(n=10, mean=SECOND, median=SECOND, p90=40 * SECOND, worst=MINUTE)
STATES = tuple(PARCEL.states)


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with Trial([PARCEL, JOB], store=store) as made:
        yield made


def found(trial: Trial, *states: str, workspaces: set[str] | None = None) -> dict[str, stragglers.Straggler]:
    return trial.engine.read(lambda conn: stragglers.longest(conn, PARCEL, states or STATES, workspaces))


def test_of_each_state_the_one_that_entered_first_is_found(trial: Trial) -> None:
    first = trial.engine.create("parcel", {}, key="a")
    pass_time(trial, minutes=5)
    second = trial.engine.create("parcel", {}, key="b")
    pass_time(trial, minutes=5)
    state = first.state
    assert found(trial)[state].id == first.id
    assert found(trial)[state].since == first.entered_at
    # Whoever comes back is new there, however old it is.
    other = next(name for name in PARCEL.states if name != state)
    trial.engine.force(first.id, other, actor=BOSS, reason="moved")
    trial.engine.force(first.id, state, actor=BOSS, reason="and back")
    assert found(trial)[state].id == second.id
    assert found(trial)[state].key == "b"
    assert other not in found(trial)


def test_other_workspaces_are_not_seen(trial: Trial) -> None:
    mine = trial.engine.create("parcel", {}, workspace="default")
    trial.engine.create("parcel", {}, workspace="north")
    assert found(trial, mine.state, workspaces={"default"})[mine.state].id == mine.id
    assert found(trial, mine.state, workspaces={"south"}) == {}


@pytest.mark.parametrize(
    ("there", "usual", "paused", "expected"),
    [
        (121 * SECOND, USUAL, False, True),
        (119 * SECOND, USUAL, False, False),
        (59 * SECOND, DurationSummary(n=1, p90=1), False, False),
        (61 * SECOND, DurationSummary(n=1, p90=1), False, True),
        (3600 * SECOND, None, False, False),
        (3600 * SECOND, DurationSummary(), False, False),
        (3600 * SECOND, USUAL, True, False),
    ],
    ids=["three times", "not yet", "under a minute", "over a minute", "never seen", "no lengths", "paused"],
)
def test_unusual_is_three_times_what_nine_in_ten_need_and_at_least_a_minute(
    there: Micros, usual: DurationSummary | None, paused: bool, expected: bool
) -> None:
    one = stragglers.Straggler(uuid4(), "parcel", "ordered", None, 0, paused)
    assert stragglers.unusual(one, usual, there) is expected


def test_only_states_that_are_no_end_and_hold_something_are_looked_at(trial: Trial) -> None:
    ends = {name: 5 for name, state in PARCEL.states.items() if state.kind.value == "final"}
    assert stragglers.open_states(PARCEL, {**ends, PARCEL.initial: 1}) == [PARCEL.initial]
    assert stragglers.open_states(PARCEL, {PARCEL.initial: 0}) == []


def test_versions_under_way_are_counted_up_to_a_limit(trial: Trial) -> None:
    for _ in range(3):
        trial.engine.create("parcel", {})

    def seen(**options: int) -> stragglers.Versions:
        return trial.engine.read(lambda conn: stragglers.versions(conn, PARCEL, {"default"}, **options))

    assert seen() == stragglers.Versions({1: 3}, True)
    assert seen(most=2).whole is False
    assert seen(under_way=1_000_000) == stragglers.Versions({1: 1_000_000}, True), "one version needs no look"


def test_a_new_version_stands_first_and_is_there_before_anything_uses_it(trial: Trial, store: Store) -> None:
    trial.engine.create("parcel", {})
    machine = parcel(key=KeyScope.FOREVER)  # another life cycle, by its key
    engine = Engine(store, [machine], clock=trial.clock)
    before = engine.read(lambda conn: stragglers.versions(conn, machine))
    assert list(before.by_version.items()) == [(2, 0), (1, 1)]
    engine.create("parcel", {})
    assert engine.read(lambda conn: stragglers.versions(conn, machine)).by_version == {2: 1, 1: 1}


def test_series_of_each_machine_add_up_to_what_the_overview_says(trial: Trial) -> None:
    for _ in range(4):
        trial.engine.create("parcel", {})
        pass_time(trial, hours=7)
    roll_all(trial.engine)
    now = trial.clock.now()

    overview = trial.engine.read(lambda conn: measures.overview(conn, trial.engine.registry, now))
    series = trial.engine.read(lambda conn: measures.series_of_each(conn, ("created", "finished"), now))
    points = series["parcel", "created"]
    assert sum(p.n for p in points) == overview["parcel"].created == 3
    assert [b.at - a.at for a, b in pairwise(points)] == [span(timedelta(hours=1))] * 24
    assert ("job", "created") not in series


# -- what it costs


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def crowded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Fifty thousand instances."""
    url = shared_database(request, tmp_path_factory.mktemp("longest"))
    with open_store(url, durability="normal", wakeup="poll") as opened:
        opened.write(fill)
        yield opened


def asked_of(conn: sa.Connection, machine: Machine) -> CaughtStatement:
    caught: list[CaughtStatement] = []

    def note(_conn: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        caught.append(CaughtStatement(statement, parameters))

    sa.event.listen(conn, "before_cursor_execute", note)
    stragglers.longest(conn, machine, [machine.initial], {"default"})
    sa.event.remove(conn, "before_cursor_execute", note)
    [asked] = caught
    return asked


def test_the_oldest_of_a_state_are_read_by_the_index_and_no_more_than_a_few(crowded: Store) -> None:
    machine = MACHINES[0]
    if crowded.dialect == "sqlite":
        plan = crowded.read(lambda conn: sqlite_plan(conn, asked_of(conn, machine)))
        reads = [step for step in plan if "instance" in step]
        assert reads == ["SEARCH instance USING INDEX ix_instance_state (machine=? AND state>? AND state<?)"]
        return
    for mode in ("force_custom_plan", "force_generic_plan"):

        def planned(conn: sa.Connection, mode: str = mode) -> Any:
            return postgres_plan(conn, asked_of(conn, machine), mode)

        [read] = [node for node in nodes(crowded.read(planned)) if node.get("Relation Name") == "instance"]
        assert read["Index Name"] == "ix_instance_state", read
        assert read["Actual Rows"] <= stragglers.WORKSPACE_CANDIDATES, read
