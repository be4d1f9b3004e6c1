"""Machines by name, and where a program gets them from."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from interlock.machine import (
    FINAL,
    USER,
    WAITING,
    Arm,
    Go,
    InterlockError,
    Machine,
    MachineError,
    Registry,
    State,
    Transition,
    UnknownMachine,
    installed,
    load,
)


def declare(name: str, **changes: Any) -> Machine:
    declaration: dict[str, Any] = {
        "initial": "new",
        "states": [State("new"), State("done", FINAL)],
        "transitions": [Transition("new", "done", on="finish")],
    }
    return Machine(name, **{**declaration, **changes})


def work(task: Any) -> Go:
    return Go("done")


def test_machines_by_name() -> None:
    order, parcel = declare("order"), declare("parcel")
    registry = Registry([order, parcel])
    assert list(registry) == [order, parcel]
    assert len(registry) == 2
    assert "order" in registry
    assert "letter" not in registry
    assert registry["parcel"] is parcel


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownMachine, match="there is no machine 'letter'; there are: order, parcel"):
        Registry([declare("parcel"), declare("order")])["letter"]
    with pytest.raises(UnknownMachine, match="there is no machine 'letter'; there are: none"):
        Registry()["letter"]


def test_two_machines_of_one_name_are_refused() -> None:
    order = declare("order")
    registry = Registry([order, order])
    assert len(registry) == 1
    with pytest.raises(MachineError, match="doubled: two machines are named 'order'"):
        registry.add(declare("order"))


def test_work_that_nobody_does_is_refused() -> None:
    order = declare("order")
    with pytest.raises(MachineError, match="stuck: state 'new' is work, but has neither a handler nor a pick-up"):
        Registry([order]).check_handlers()
    order.work("new")(work)
    Registry([order]).check_handlers()


def test_a_pick_up_needs_no_handler_but_the_state_that_it_leads_to_does() -> None:
    order = declare(
        "order",
        states=[State("new"), State("busy"), State("done", FINAL)],
        transitions=[Transition("new", "busy", on="start", pick_up=True), Transition("busy", "done", on="finish")],
        arms=[Arm("new", on="run")],
    )
    with pytest.raises(MachineError, match="'busy'") as caught:
        Registry([order]).check_handlers()
    assert len(caught.value.problems) == 1
    order.work("busy")(work)
    Registry([order]).check_handlers()


def test_an_armed_state_needs_a_handler() -> None:
    order = declare(
        "order",
        states=[State("new", WAITING, waits_for="it"), State("done", FINAL)],
        transitions=[Transition("new", "done", on="finish", by=USER)],
        arms=[Arm("new", on="approve")],
    )
    with pytest.raises(MachineError, match="stuck: event 'approve' arms state 'new', which has no handler"):
        Registry([order]).check_handlers()
    order.work("new")(work)
    Registry([order]).check_handlers()


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop_under_test.py").write_text(
        "from interlock.machine import FINAL, Machine, Registry, State, Transition\n"
        "order = Machine('order', initial='new', states=[State('new'), State('done', FINAL)],\n"
        "                transitions=[Transition('new', 'done', on='finish')])\n"
        "registry = Registry([order])\n"
        "price = 7\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "shop_under_test", raising=False)


@pytest.mark.usefixtures("shop")
def test_load_takes_a_registry_or_one_machine() -> None:
    assert [machine.name for machine in load("shop_under_test:registry")] == ["order"]
    assert [machine.name for machine in load("shop_under_test:order")] == ["order"]


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("shop_under_test", "'shop_under_test' does not name a registry; write it as package.module:registry"),
        (":registry", "':registry' does not name a registry; write it as package.module:registry"),
        ("shop_under_test:", "'shop_under_test:' does not name a registry"),
        ("no_such_shop:registry", "'no_such_shop:registry' cannot be loaded: No module named 'no_such_shop'; is the"),
        ("shop_under_test:till", "'shop_under_test:till' cannot be loaded: module 'shop_under_test' has no attribute"),
        ("shop_under_test:price", "'shop_under_test:price' is a int, not an Application, a Registry or a Machine"),
    ],
)
def test_load_says_what_is_wrong(spec: str, message: str) -> None:
    with pytest.raises(InterlockError, match=re.escape(message)):
        load(spec)


def test_installed_finds_the_nine_machines_of_the_applications() -> None:
    assert sorted(machine.name for machine in installed()) >= [
        "application",
        "company",
        "contract",
        "job",
        "listing",
        "loan",
        "run",
        "session",
        "source",
    ]
