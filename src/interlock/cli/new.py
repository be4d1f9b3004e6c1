"""`interlock new`: a working skeleton of an application, as a package of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

PLACEHOLDER = "yourapp"
"""The name of the application in the templates."""
RENAMED = {"gitignore": ".gitignore"}


def new(
    name: Annotated[str, typer.Argument(help="The name of the application and of its Python package.")],
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Where to write it.", show_default="a folder of that name")
    ] = None,
) -> None:
    """Write a working skeleton of an application: machine, steps, models, endpoints, pages and tests."""
    from importlib.resources import files

    from interlock.machine import InterlockError

    _check(name)
    target = folder or Path(name)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InterlockError(f"{target} exists and is not empty; name another folder with --folder")
    written = sorted(_write(files("interlock.cli") / "skeleton", target, name))
    for path in written:
        typer.echo(f"wrote {path}")
    typer.echo(f"next: cd {target} && pip install --editable '.[dev]' && pytest && interlock up --no-demo")


def _check(name: str) -> None:
    """Refuse a name that conflicts with something installed."""
    import keyword
    import sys
    from importlib.metadata import packages_distributions

    from typer.main import get_group

    from interlock.cli import app
    from interlock.config import Settings
    from interlock.machine import NAME, InterlockError, installed

    if not NAME.fullmatch(name) or keyword.iskeyword(name) or keyword.issoftkeyword(name):
        raise InterlockError(
            f"{name!r} cannot name a Python package; use up to 31 small letters, digits and _, a letter first, "
            "and no word of the language"
        )
    registry = installed()
    if name in registry.applications:
        raise InterlockError(f"an application named {name!r} is installed; choose another name, or uninstall it first")
    if name in registry:
        raise InterlockError(f"a machine named {name!r} is installed; choose another name for the application")
    if name in Settings.model_fields or name in get_group(app).commands:
        raise InterlockError(f"{name!r} is a setting or a command of Interlock; choose another name")
    if name in sys.stdlib_module_names:
        raise InterlockError(f"{name!r} is a module of Python's standard library; choose another name")
    owners = packages_distributions().get(name)
    if owners or name in {"tests", PLACEHOLDER}:
        brings = f"the installed distribution {owners[0]}" if owners else "this skeleton"
        raise InterlockError(f"{name!r} is a package of {brings}; choose another name")


def _write(source: Traversable, target: Path, name: str) -> Iterator[Path]:
    """Write every template below `source`, with the application's name filled in."""
    target.mkdir(parents=True, exist_ok=True)
    for one in source.iterdir():
        if one.is_dir():
            yield from _write(one, target / one.name.replace(PLACEHOLDER, name), name)
        elif one.name.endswith(".txt"):
            plain = one.name.removesuffix(".txt")
            path = target / RENAMED.get(plain, plain)
            path.write_text(one.read_text(encoding="utf-8").replace(PLACEHOLDER, name), encoding="utf-8")
            yield path
