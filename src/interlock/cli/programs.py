"""Programs of the applications: `interlock NAME` runs what an application brings under a name of its own.

It is a function, or a Typer app whose commands are `interlock NAME COMMAND`. A program is imported when it is called.
The list of commands reads its name and its line from the source.
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


def has_group(module: str) -> bool:
    """Whether an application has commands or documentation under its own name, as far as its source tells."""
    file = _file(module)
    found = [
        {keyword.arg for keyword in node.keywords}
        for one in ((file, file.with_name("application.py")) if file is not None else ())
        for node in ast.walk(_tree(one) or ast.Module([], []))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Application"
    ]
    return not found or any(one & {"commands", "docs", None} for one in found)


def _literal(call: ast.Call) -> dict[str, str]:
    for keyword in call.keywords:
        if keyword.arg == "programs":
            try:
                value = ast.literal_eval(keyword.value)
            except ValueError:
                return {}
            return value if isinstance(value, dict) else {}
    return {}


def line(program: str) -> str:
    """The first line of a function's docstring, or of a Typer app's `help`, read without importing it."""
    module, _, name = program.partition(":")
    file = _file(module)
    tree = _tree(file) if file is not None else None
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return (ast.get_docstring(node) or "").partition("\n")[0]
        if isinstance(node, ast.Assign) and [getattr(one, "id", "") for one in node.targets] == [name]:
            return _help(node.value)
    return ""


def _help(made: ast.expr) -> str:
    for keyword in made.keywords if isinstance(made, ast.Call) else ():
        if keyword.arg == "help" and isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str):
            return keyword.value.value.partition("\n")[0]
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
    """The command, or the group of commands, that runs a program."""
    from interlock.machine import InterlockError, attribute

    found = attribute(application.programs[name], "a function", "function")
    if isinstance(found, typer.Typer):
        group = typer.main.get_group(found)
        group.name = name
        return group
    if not callable(found):
        raise InterlockError(
            f"the program {name!r} of the application {application.name!r}: {application.programs[name]!r} is a "
            f"{type(found).__name__}, not a function or a Typer app"
        )
    alone = typer.Typer(rich_markup_mode=None)
    alone.command(name)(found)
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
