"""Commands of the applications: `interlock NAME …` runs the Typer app that the application NAME has, and `docs`.

An application is imported when one of its commands is called. `interlock --help` imports none that is installed: it
lists their entry points, which have the applications' names, with the first line of each package's docstring.
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Collection, Iterable, Sequence
from importlib.metadata import entry_points
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from interlock.cli import programs
from interlock.cli.help_texts import PlainContext, explain_plainly

if TYPE_CHECKING:
    from interlock.machine import Application

GROUP = "interlock.registry"


class Commands(TyperGroup):
    """Our own commands, then those of the applications. Our own win where names collide."""

    context_class = PlainContext
    _lines: dict[str, str] | None = None
    _own: frozenset[str] = frozenset()

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        self._own = self._own or frozenset(self.commands)
        if name not in self.commands:
            found = _command(name, args, self._own)
            if found is None:  # refused, with similar names
                self.commands.update(self._listed())
            else:
                self.commands[name] = found
        resolved = super().resolve_command(ctx, args)
        explain_plainly(resolved[1])
        return resolved

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = _said(error)
            raise

    def list_commands(self, ctx: Any) -> list[str]:
        return [*self.commands, *self._listed()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        found = self.commands.get(cmd_name) or self._listed().get(cmd_name)
        if found is not None:
            explain_plainly(found)
        return found

    def _listed(self) -> dict[str, TyperGroup]:
        """A placeholder for each application that is not loaded yet, with its line for the list."""
        if self._lines is None:
            self._lines = _lines(frozenset(self.commands))
        lines = self._lines.items()
        return {name: TyperGroup(name=name, help=line) for name, line in lines if name not in self.commands}


# -- refusals

KINDS = {"int": "a whole number", "float": "a number", "uuid": "an id", "bool": "yes or no", "path": "a path"}


def _said(error: typer.BadParameter) -> str:
    """What is wrong with the value, with the value; the framework's own words do not name it."""
    from pydantic import ValidationError

    if not isinstance(error.__cause__, ValidationError):
        return error.message
    [first, *_] = error.__cause__.errors()
    given, limits = first["input"], first.get("ctx", {})
    match first["type"].partition("_"):
        case [kind, _, "parsing" | "type"] if kind in KINDS:
            return f"{given!r} is not {KINDS[kind]}"
        case ["literal" | "enum", _, _]:
            return f"{given!r} is none of {limits.get('expected', 'the choices')}"
        case ["greater", _, "than_equal"]:
            return f"{given} is too small; use {limits['ge']:g} or more"
        case ["less", _, "than_equal"]:
            return f"{given} is too large; use {limits['le']:g} or less"
    if first["type"] == "value_error":
        said = str(limits["error"])
        return f"{given!r} is not a day; write it as 2026-01-31" if "does not match the formats" in said else said
    return f"{given!r}: {first['msg'].replace('Input should', 'it should')}"


# -- the list


def _lines(own: Collection[str]) -> dict[str, str]:
    """Application or program → its line in the list; one that cannot be loaded does not hide others."""
    found: dict[str, str] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda e: e.name):
        if programs.has_group(entry.module):
            found[entry.name] = _summary(entry.module)
        found |= {name: programs.line(function) for name, function in programs.stated(entry.module).items()}
    for spec in _configured(()):
        try:
            for name, application in _loaded(spec).items():
                programs.check_names(application, own)
                found[name] = _summary(spec.partition(":")[0])
                found |= {name: programs.line(function) for name, function in application.programs.items()}
        except Exception as error:
            typer.echo(f"the commands of {spec} are missing here: {error}", err=True)
    return found


def _summary(module: str) -> str:
    """The first line of a package's docstring, read without importing the package."""
    try:
        spec = find_spec(module)
        if spec is not None and spec.submodule_search_locations is None and "." in module:
            spec = find_spec(module.rpartition(".")[0])
        text = Path(spec.origin).read_text("utf-8") if spec is not None and spec.origin else ""
        return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    except Exception:  # a package that is broken is listed without a line
        return ""


# -- one of them


def _command(name: str, arguments: Sequence[str], own: Collection[str]) -> Any:
    """The commands of an application, or one of its programs; None where no application has that name."""
    entries = list(entry_points(group=GROUP))
    stated = [entry.value for entry in entries if name in programs.stated(entry.module)]
    program = _with_program(name, stated)  # imports only the application that has it
    if program is None:
        application = _application(name, arguments)
        if application is not None:
            programs.check_names(application, own)
            return _group(application)
        program = _with_program(name, [*_configured(arguments), *(entry.value for entry in entries)])
    if program is None:
        return None
    programs.check_names(program, own)
    return programs.command(program, name)


def _with_program(name: str, specs: Iterable[str]) -> Application | None:
    """The application that has a program of that name."""
    for spec in specs:
        try:
            for application in _loaded(spec).values():
                if name in application.programs:
                    return application
        except Exception as error:
            typer.echo(f"the programs of {spec} are missing here: {error}", err=True)
    return None


def _application(name: str, arguments: Sequence[str]) -> Application | None:
    """The application of that name: installed, configured, or given with `--app` after the command.

    An entry point that is not named after its application is found, too, under both names.
    """
    entries = list(entry_points(group=GROUP))
    for entry in entries:
        if entry.name == name and (here := _loaded(entry.value)):
            return here.get(name) or next(iter(here.values()))
    for spec in _configured(arguments):
        if found := _loaded(spec).get(name):
            return found
    for entry in entries:
        try:
            if found := _loaded(entry.value).get(name):
                return found
        except Exception as error:
            typer.echo(f"the commands of {entry.value} are missing here: {error}", err=True)
    return None


def _loaded(spec: str) -> dict[str, Application]:
    from interlock.machine import load

    return load(spec).applications


def _configured(arguments: Sequence[str]) -> list[str]:
    """The applications of `--app` and of the configuration. The command itself reports a wrong configuration."""
    import tomllib

    named = next(iter(_given("--config", arguments)), os.environ.get("INTERLOCK_CONFIG")) or "interlock.toml"
    found: Any = []
    try:
        variable = next((value for name, value in os.environ.items() if name.upper() == "INTERLOCK_APPS"), None)
        found = json.loads(variable) if variable else tomllib.loads(Path(named).read_text("utf-8")).get("apps", [])
    except (OSError, ValueError):
        pass
    apps = [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
    return [*apps, *_given("--app", arguments)]


def _given(option: str, arguments: Sequence[str]) -> list[str]:
    """The values of an option, read before the command is known."""
    after = [value for name, value in pairwise(arguments) if name == option]
    return after + [one.partition("=")[2] for one in arguments if one.startswith(f"{option}=")]


def _group(application: Application) -> TyperGroup:
    from interlock.machine import InterlockError, attribute

    names = " and ".join(f"`interlock {name}`" for name in application.programs)
    none = f" Its commands are {names}." if names else "" if application.docs is not None else " It has no commands."
    found = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help=f"The application {application.name}.{none}")
    if application.commands is not None:
        found = attribute(application.commands, "a Typer app", "app")
    if not isinstance(found, typer.Typer):
        raise InterlockError(
            f"commands of the application {application.name}: {application.commands!r} is a "
            f"{type(found).__name__}, not a Typer app"
        )
    group = typer.main.get_group(found)
    group.name = application.name
    if application.docs is not None:
        group.commands.setdefault("docs", _docs(application.name, application.docs))
    return group


def _docs(name: str, package: str) -> Any:
    """The command that every application with documentation has."""
    alone = typer.Typer(rich_markup_mode=None)

    @alone.command("docs")
    def docs(
        page: Annotated[str, typer.Argument(help="A page's name.", show_default="a list of all pages")] = "",
    ) -> None:
        """Print a page of its documentation, or list the pages."""
        from importlib.resources import files

        from interlock.console.printing import table
        from interlock.machine import InterlockError

        try:
            found = {one.name.removesuffix(".md"): one for one in files(package).iterdir() if one.name.endswith(".md")}
        except (ModuleNotFoundError, FileNotFoundError, NotADirectoryError, TypeError) as error:
            raise InterlockError(f"the documentation of {name} cannot be read: {error}") from error
        if page:
            if page not in found:
                raise InterlockError(f"there is no page {page!r}; there are: {', '.join(sorted(found)) or 'none'}")
            typer.echo(found[page].read_text("utf-8"), nl=False)
            return
        titles = {one: text.read_text("utf-8").partition("\n")[0].lstrip("# ") for one, text in found.items()}
        table(("page", "title"), sorted(titles.items()))

    return typer.main.get_group(alone).commands["docs"]
