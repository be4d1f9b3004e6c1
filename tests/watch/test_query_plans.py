"""Query plans: with 50,000 instances around it, the look for the oldest ready step reads by its index alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.engine import Engine
from interlock.store import Store, micros, open_store
from interlock.testing import START, VirtualClock
from interlock.watch import measures
from tests.support.databases import shared_database
from tests.support.query_plans import MACHINES, CaughtStatement, fill, nodes, postgres_plan, sqlite_plan

NOW = micros(START)
ALLOWED = {
    "SCAN instance USING INDEX ix_instance_ready",  # the first queue: in order, and one row is enough
    "SEARCH instance USING INDEX ix_instance_ready (queue>?)",
    "SEARCH instance USING INDEX ix_instance_ready (queue=? AND priority=? AND due_at<?)",
}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    url = shared_database(request, tmp_path_factory.mktemp("plans"))
    with open_store(url, durability="normal", wakeup="poll") as opened:
        opened.write(fill)
        Engine(opened, MACHINES, clock=VirtualClock())
        yield opened


def asked_of(conn: sa.Connection) -> CaughtStatement:
    caught: list[CaughtStatement] = []

    def note(_conn: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        caught.append(CaughtStatement(statement, parameters))

    sa.event.listen(conn, "before_cursor_execute", note)
    assert len(measures.oldest_ready(conn, NOW)) == 8, "two queues with four priorities each"
    sa.event.remove(conn, "before_cursor_execute", note)
    [asked] = caught
    return asked


def test_the_oldest_ready_step_is_found_by_its_index(store: Store) -> None:
    if store.dialect == "sqlite":
        plan = store.read(lambda conn: sqlite_plan(conn, asked_of(conn)))
        reads = {step for step in plan if "instance" in step}
        assert reads == ALLOWED
        return
    for mode in ("force_custom_plan", "force_generic_plan"):
        top = store.read(lambda conn, mode=mode: postgres_plan(conn, asked_of(conn), mode))
        reads_ = [node for node in nodes(top) if node.get("Relation Name") == "instance"]
        assert reads_
        for node in reads_:
            assert node["Node Type"] in {"Index Scan", "Index Only Scan"}, node
            assert node["Index Name"] == "ix_instance_ready", node
            assert node["Actual Rows"] <= 1, node
            assert node.get("Rows Removed by Filter", 0) == 0, node
