"""What an application may declare: a mistake is refused at once, with its place and the remedy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from interlock.machine import (
    FINAL,
    Application,
    Duty,
    InterlockError,
    Machine,
    PageLink,
    Personal,
    Registry,
    Scope,
    State,
    Transition,
    attribute,
    load,
)

HOUR = timedelta(hours=1)


def order(name: str = "order") -> Machine:
    return Machine(
        name,
        initial="new",
        states=[State("new"), State("done", FINAL)],
        transitions=[Transition("new", "done", on="finish")],
    )


async def nobody_awaits(engine: Any) -> bool:
    return False


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Application("Shop"), "'Shop' cannot name an application"),
        (lambda: Application("shop", machines=order()), "machines of the application 'shop' must be a list of Machine"),
        (lambda: Application("shop", routers="shop.api:router"), "must be a list of str, not 'shop.api:router'"),
        (lambda: Application("shop", scopes=["sell"]), "must be a list of Scope, not 'sell'"),
        (lambda: Application("shop", duties=[print]), "must be a list of Duty, not <built-in function print>"),
        (lambda: Duty("sweep", timedelta(0), print), "cannot run every 0:00:00; give it a time above zero"),
        (lambda: Duty("sweep", HOUR, nobody_awaits), "is an `async def`, which nobody would await"),
        (lambda: Personal("sale", "customer"), "columns of the personal table 'sale' must be a list of str"),
        (lambda: Personal("sale", ["customer"], erase="hide"), "erase='hide' of the personal table 'sale' cannot be"),
        (lambda: Personal("sale", [], erase="empty"), "or 'empty' with the columns to empty"),
        (lambda: PageLink("Shop", "https://elsewhere.example"), "an address below /ui/"),
        (lambda: PageLink("", "/ui/shop"), "give it a label"),
        (lambda: Scope("sell", "Sell things.", role="boss"), "for the role 'boss' cannot be"),
    ],
)
def test_a_wrong_declaration_is_refused(make: Callable[[], object], said: str) -> None:
    with pytest.raises(InterlockError) as refused:
        make()
    assert said in str(refused.value)


def test_a_duty_may_be_named_as_text() -> None:
    assert Duty("sweep", HOUR, f"{__name__}:sweep").run(7) is True
    with pytest.raises(InterlockError, match="no_such_module"):
        Duty("sweep", HOUR, "no_such_module:sweep").run(7)


def sweep(engine: int) -> int:
    return engine


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    monkeypatch.syspath_prepend(tmp_path)

    def write(name: str, text: str) -> None:
        (tmp_path / f"{name}.py").write_text(text)

    return write


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise RuntimeError('no luck')", "'broken_{n}:registry' cannot be loaded: RuntimeError: no luck"),
        ("def", "'broken_{n}:registry' cannot be loaded: SyntaxError: "),
        ("import no_such_module", "No module named 'no_such_module'; is the package installed?"),
        ("def __getattr__(name):\n    return 1 / 0", "cannot be loaded: ZeroDivisionError: "),
        ("registry = 7", "is a int, not an Application, a Registry or a Machine"),
        ("", "has no attribute 'registry'"),
    ],
)
def test_a_package_that_cannot_be_imported_is_one_clear_line(
    module: Callable[[str, str], None], text: str, said: str, request: pytest.FixtureRequest
) -> None:
    number = abs(hash(text))
    module(f"broken_{number}", text)
    with pytest.raises(InterlockError) as refused:
        load(f"broken_{number}:registry")
    assert said.format(n=number) in str(refused.value)


def test_two_applications_with_the_same_machine_are_refused_and_leave_nothing_behind() -> None:
    registry = Registry([Application("shop", machines=[order()])])
    with pytest.raises(InterlockError, match="two machines are named 'order', one of them in shop"):
        registry.include(Application("store", machines=[order()]))
    assert set(registry.applications) == {"shop"}
    with pytest.raises(InterlockError, match="two applications are named 'shop'"):
        registry.include(Application("shop"))


VIEWS = ["order"]


@pytest.mark.parametrize(
    ("application", "said"),
    [
        (Application("shop", views=f"{__name__}:VIEWS"), "is a list, not a mapping of machines to views"),
        (Application("shop", routers=[f"{__name__}:HOUR"]), "is a timedelta, not a FastAPI router"),
        (Application("shop", routers=["shop"]), "'shop' does not name a FastAPI router; write it as"),
    ],
)
def test_a_part_that_is_something_else_is_named(application: Application, said: str) -> None:
    registry = Registry([application])
    with pytest.raises(InterlockError) as refused:
        _ = registry.views, registry.routers
    assert said in str(refused.value)


def test_an_attribute_without_a_module_is_refused() -> None:
    with pytest.raises(InterlockError, match=r"'shop' does not name an object; write it as package.module:attribute"):
        attribute("shop")


def test_modules_with_handlers_are_imported_when_they_are_needed(module: Callable[[str, str], None]) -> None:
    machine = order()
    sys.modules["shop_machine"] = SimpleNamespace(order=machine)  # type: ignore[assignment]
    module("shop_steps", "from shop_machine import order\norder.work('new')(lambda task: None)\n")
    registry = Registry([Application("shop", machines=[machine], handlers=["shop_steps"])])
    assert machine.handlers == {}
    assert registry.missing_handlers(machine) == []
    broken = Registry([Application("shop", machines=[order()], handlers=["no_such_steps"])])
    with pytest.raises(InterlockError, match="'no_such_steps' cannot be loaded"):
        broken.load_handlers()


def declared_by(monkeypatch: pytest.MonkeyPatch, choose: Callable[[Any], list[Machine]]) -> Registry:
    monkeypatch.setitem(sys.modules, "shop_versions", SimpleNamespace(choose=choose))
    shop = Application("shop", machines=[order()], machines_by_settings="shop_versions:choose")
    return Registry([shop, order("parcel")])


def test_the_settings_choose_the_version_of_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    later = order()
    registry = declared_by(monkeypatch, lambda settings: [later] if settings.later else [order()])
    chosen = registry.configured({"shop": SimpleNamespace(later=True)})
    assert (chosen["order"], chosen["parcel"]) == (later, registry["parcel"])
    assert list(chosen.applications["shop"].machines) == [later]
    assert registry.configured({})["order"] is registry["order"] is not later


def test_machines_of_other_names_cannot_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = declared_by(monkeypatch, lambda settings: [order("letter")])
    with pytest.raises(InterlockError, match="has to return those of the application, order"):
        registry.configured({"shop": None})
