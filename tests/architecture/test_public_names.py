"""The reference of applications names every module and name of Interlock that the shipped applications use."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import interlock
from interlock.engine import application

SOURCE = Path(interlock.__file__).parent
PAGE = (Path(__file__).parents[2] / "docs/reference/applications.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`(interlock(?:\.[a-z_]+)*)(?:\.[A-Z]\w+)?[`:]", PAGE)) - {"interlock.registry"}
"""Without the group of entry points, which is no module."""


WHOLE = {
    *("interlock", "interlock.machine", "interlock.engine", "interlock.worker", "interlock.demo"),
    *("interlock.console.options", "interlock.console.printing", "interlock.console.working"),
    "interlock.dashboard.formatting",
}
"""Modules that are public as they are."""
OURS = set(re.findall(r"`(interlock[a-z_.]+)`", PAGE.split("### What only our own applications use")[1]))
"""Modules that only our own applications use."""


@cache
def used() -> dict[str, set[str]]:
    """The modules that applications import, and the names that they use of each."""
    found: dict[str, set[str]] = {}
    for file in (SOURCE / "apps").rglob("*.py"):
        for module, name in uses(ast.parse(file.read_text(encoding="utf-8"))):
            found.setdefault(module, set()).update({name} - {""})
    return {module: names for module, names in found.items() if not module.startswith("interlock.apps")}


def uses(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Each module of Interlock that a file imports, with each name that it uses of it."""
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "interlock":
            folder = SOURCE.joinpath(*str(node.module).split(".")[1:])
            for one in node.names:
                if (folder / f"{one.name}.py").is_file():
                    modules[one.asname or one.name] = f"{node.module}.{one.name}"
                    yield f"{node.module}.{one.name}", ""
                else:
                    yield str(node.module), one.name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            yield modules[node.value.id], node.attr


def test_every_module_that_applications_use_is_named() -> None:
    # `interlock.machine` is what `interlock` exports for machines; the values of a package are named with it.
    assert used().keys() - NAMED - {"interlock.machine"} == set()


def test_every_name_that_they_use_of_a_public_module_is_named() -> None:
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", PAGE))))
    lost = {module: names - words for module, names in used().items() if module not in WHOLE | OURS}
    assert {module: names for module, names in lost.items() if names} == {}


def test_no_module_is_named_that_is_not_there() -> None:
    places = {one: SOURCE.joinpath(*one.split(".")[1:]) for one in NAMED}
    assert {one for one, at in places.items() if not at.with_suffix(".py").is_file() and not at.is_dir()} == set()


def test_every_function_for_applications_is_described() -> None:
    assert [name for name in application.__all__ if not re.search(rf"`{name}\b", PAGE)] == []
