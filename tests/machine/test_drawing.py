"""A machine drawn as a table, as Mermaid and as JSON."""

from __future__ import annotations

import json

from interlock.machine import (
    FAILED,
    FINAL,
    SYSTEM,
    USER,
    WAITING,
    WORKER,
    Arm,
    Facts,
    Failures,
    Machine,
    State,
    Transition,
    as_json,
    as_mermaid,
    as_table,
)


def fresh(facts: Facts) -> bool:
    return True


order = Machine(
    "order",
    initial="new",
    states=[
        State("new"),
        State("asked", WAITING, waits_for="an answer"),
        State("broken", FAILED),
        State("done", FINAL),
    ],
    transitions=[
        Transition("new", "asked", on="ask"),
        Transition("new", "broken", on="fail", by=(WORKER, SYSTEM)),
        Transition(("asked", "broken"), "done", on="close", by=USER, guard=fresh),
        Transition("broken", "new", on="retry", by=SYSTEM),
    ],
    arms=[Arm("asked", on="approve", guard=fresh), Arm("new", on="run", by=(USER, SYSTEM))],
    failures=Failures(state="broken"),
)


def test_json_has_one_row_for_each_pair() -> None:
    drawn = as_json(order, version=3)
    assert drawn == {
        "name": "order",
        "version": 3,
        "initial": "new",
        "created_through": None,
        "states": [
            {"name": "new", "kind": "work"},
            {"name": "asked", "kind": "waiting"},
            {"name": "broken", "kind": "failed"},
            {"name": "done", "kind": "final"},
        ],
        "transitions": [
            {"from": "new", "to": "asked", "event": "ask", "by": ["worker"]},
            {"from": "new", "to": "broken", "event": "fail", "by": ["system", "worker"]},
            {"from": "asked", "to": "done", "event": "close", "by": ["user"]},
            {"from": "broken", "to": "done", "event": "close", "by": ["user"]},
            {"from": "broken", "to": "new", "event": "retry", "by": ["system"]},
        ],
    }
    assert json.loads(json.dumps(drawn)) == drawn


def test_json_is_version_one_by_default() -> None:
    assert as_json(order)["version"] == 1


def test_mermaid() -> None:
    assert as_mermaid(order) == (
        "stateDiagram-v2\n"
        "    [*] --> new\n"
        "    new --> asked: ask\n"
        "    new --> broken: fail\n"
        "    asked --> done: close\n"
        "    broken --> done: close\n"
        "    broken --> new: retry\n"
        "    done --> [*]\n"
        "    class asked waiting\n"
        "    class broken failed\n"
        "    class done final\n"
        "    classDef waiting stroke-dasharray: 4 3\n"
        "    classDef failed stroke: #b3261e\n"
        "    classDef final stroke-width: 3px\n"
    )


def test_table() -> None:
    assert as_table(order, version=2) == (
        "order, version 2: starts in new\n"
        "\n"
        "state   kind     waits for\n"
        "------  -------  ---------\n"
        "new     work\n"
        "asked   waiting  an answer\n"
        "broken  failed\n"
        "done    final\n"
        "\n"
        "from    to               event    by              if\n"
        "------  ---------------  -------  --------------  -----\n"
        "new     asked            ask      worker\n"
        "new     broken           fail     system, worker\n"
        "asked   done             close    user            fresh\n"
        "broken  done             close    user            fresh\n"
        "broken  new              retry    system\n"
        "asked   (runs its work)  approve  user            fresh\n"
        "new     (runs its work)  run      system, user\n"
    )
