"""The reference of applications names every module of Interlock that the shipped applications use."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import interlock
from interlock.engine import application

SOURCE = Path(interlock.__file__).parent
PAGE = (Path(__file__).parents[2] / "docs/reference/applications.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`(interlock(?:\.[a-z_]+)*)(?:\.[A-Z]\w+)?[`:]", PAGE)) - {"interlock.registry"}
"""Without the group of entry points, which is no module."""


def used() -> set[str]:
    """The modules that applications import, or import names from."""
    found: set[str] = set()
    for file in (SOURCE / "apps").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "interlock":
                folder = SOURCE.joinpath(*str(node.module).split(".")[1:])
                found |= {
                    f"{node.module}.{name.name}" if (folder / f"{name.name}.py").is_file() else str(node.module)
                    for name in node.names
                }
    return {one for one in found if not one.startswith("interlock.apps")}


def test_every_module_that_applications_use_is_named() -> None:
    # `interlock.machine` is what `interlock` exports for machines; the values of a package are named with it.
    assert used() - NAMED - {"interlock.machine"} == set()


def test_no_module_is_named_that_is_not_there() -> None:
    places = {one: SOURCE.joinpath(*one.split(".")[1:]) for one in NAMED}
    assert {one for one, at in places.items() if not at.with_suffix(".py").is_file() and not at.is_dir()} == set()


def test_every_function_for_applications_is_described() -> None:
    assert [name for name in application.__all__ if not re.search(rf"`{name}\b", PAGE)] == []
