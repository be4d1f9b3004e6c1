"""Programs of the applications: `interlock NAME` runs a function that an application brings under a name of its own.

A program is imported when it is called. The list of commands reads its name and its line from the source.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from interlock.machine import Application


def stated(module: str) -> dict[str, str]:
    """Programs that an application's source names, as name → `module:function`; empty where it cannot be read.

    The application is in the module itself, or in `application.py` beside it.
    """
    file = _file(module)
    if file is None:
        return {}
    found: dict[str, str] = {}
    for one in (file, file.with_name("application.py")):
        tree = _tree(one)
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Application":
                found |= _literal(node)
    return found


def _literal(call: ast.Call) -> dict[str, str]:
    for keyword in call.keywords:
        if keyword.arg == "programs":
            try:
                value = ast.literal_eval(keyword.value)
            except ValueError:
                return {}
            return value if isinstance(value, dict) else {}
    return {}


def line(function: str) -> str:
    """The first line of a function's docstring, read without importing it."""
    module, _, name = function.partition(":")
    file = _file(module)
    tree = _tree(file) if file is not None else None
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return (ast.get_docstring(node) or "").partition("\n")[0]
    return ""


def _file(module: str) -> Path | None:
    """The file of a module. Its packages are not imported, which `find_spec` of the whole name would do."""
    top, *rest = module.split(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return None
    for folder in spec.submodule_search_locations or () if spec is not None and rest else ():
        place = Path(folder, *rest)
        for file in (place / "__init__.py", place.with_suffix(".py")):
            if file.is_file():
                return file
    return Path(spec.origin) if spec is not None and spec.origin and not rest else None


def _tree(file: Path) -> ast.Module | None:
    try:
        return ast.parse(file.read_text("utf-8"))
    except (OSError, ValueError, SyntaxError):
        return None


def command(application: Application, name: str) -> Any:
    """The command that runs a program."""
    from interlock.machine import InterlockError, attribute

    function = attribute(application.programs[name], "a function", "function")
    if not callable(function):
        raise InterlockError(
            f"the program {name!r} of the application {application.name!r}: {application.programs[name]!r} is a "
            f"{type(function).__name__}, not a function"
        )
    alone = typer.Typer(rich_markup_mode=None)
    alone.command(name)(function)
    return typer.main.get_group(alone).commands[name]


def check_names(application: Application, own: Collection[str]) -> None:
    """Refuse an application with a program that a command of ours would hide."""
    from interlock.machine import InterlockError

    for name in application.programs:
        if name in own:
            raise InterlockError(
                f"the application {application.name!r} has a program {name!r}, but that is a command of interlock; "
                "rename the program"
            )
