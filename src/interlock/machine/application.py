"""An application: everything that one package brings, in one value. Ours and a user's own plug in the same way.

Parts that are heavy, or belong to a layer above, are named as `package.module:attribute` and imported when they are
used: a worker loads no pages, `interlock --help` loads no commands.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import import_module
from typing import Any, Literal

from interlock.machine.definition import Machine
from interlock.machine.errors import InterlockError
from interlock.machine.transitions import ROLES

NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")
PROGRAM = re.compile(r"[a-z][a-z0-9-]{1,30}")


@dataclass(frozen=True, slots=True)
class Duty:
    """A periodic job of an application. Any worker process may run it; never two at the same time."""

    name: str
    every: timedelta
    do: Callable[[Any], bool] | str
    """Called with the engine; returns True to be called again at once. A text names it: `package.module:function`."""

    def __post_init__(self) -> None:
        if self.every <= timedelta(0):
            raise InterlockError(f"the duty {self.name!r} cannot run every {self.every}; give it a time above zero")
        if inspect.iscoroutinefunction(self.do):
            raise InterlockError(f"the duty {self.name!r} is an `async def`, which nobody would await; use a plain def")

    def run(self, engine: Any) -> bool:
        """Do it once; True asks to be called again at once."""
        do = attribute(self.do, "a function", "function") if isinstance(self.do, str) else self.do
        return bool(do(engine))


@dataclass(frozen=True, slots=True)
class Scope:
    """A scope for tokens, checked by the application's endpoints: `require(who, SCOPE, workspace, what)`."""

    name: str
    meaning: str
    """Shown where a token is made: what its holder may do."""
    role: str = "member"
    """People with this role, or a higher one, have it without a token: viewer, reviewer, member or owner."""

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name) or self.role not in ROLES:
            raise InterlockError(
                f"the scope {self.name!r} for the role {self.role!r} cannot be used: name it with small letters, "
                f"digits and _, and give it one of the roles {', '.join(ROLES)}"
            )


@dataclass(frozen=True, slots=True)
class PageLink:
    """An entry in the navigation of the dashboard: a page of the application."""

    label: str
    path: str
    """Its address, below `/ui/`."""
    role: str = "viewer"
    """People see it who have this role, or a higher one, in one of their workspaces; the page itself checks again."""

    def __post_init__(self) -> None:
        if not self.label.strip() or not self.path.startswith("/ui/") or self.role not in ROLES:
            raise InterlockError(
                f"the page {self.label!r} at {self.path!r} for the role {self.role!r} cannot be: give it a label, an "
                f"address below /ui/, and one of {', '.join(ROLES)}"
            )


@dataclass(frozen=True, slots=True)
class HostCheck:
    """Whether this host has what an application needs, for `interlock doctor`."""

    name: str
    says: str
    """What was found, or what is missing and what does not work without it."""
    do: str = ""
    """How to get it; empty if nothing is missing."""


@dataclass(frozen=True, slots=True)
class Personal:
    """A table of the application with data of instances; it has a column `instance_id`.

    Retention archives and removes an instance's rows with it. Rows of tables that are not named stay.
    """

    table: str
    columns: Sequence[str]
    """Columns with text that erasure searches for a value."""
    erase: Literal["delete", "empty"] = "delete"
    """What erasure does: it deletes an instance's rows, or leaves empty texts in these columns."""

    def __post_init__(self) -> None:
        _listed(f"columns of the personal table {self.table!r}", self.columns, str)
        if self.erase not in ("delete", "empty") or (self.erase == "empty" and not self.columns):
            raise InterlockError(
                f"erase={self.erase!r} of the personal table {self.table!r} cannot be: use 'delete', or 'empty' with "
                "the columns to empty"
            )


@dataclass(frozen=True)
class Application:
    """A package's machines, with everything around them."""

    name: str
    """Its section in the configuration, its group of commands, its branch of migrations."""
    machines: Sequence[Machine] = ()
    handlers: Sequence[str] = ()
    """Modules that declare handlers and followers of its machines, imported when an engine is made: `package.steps`."""
    machines_by_settings: str | None = None
    """A function of the settings that returns the machines to use instead of `machines`, as `package.module:function`,
    where a setting chooses the version of one. The names of the machines have to be the same."""
    settings: type[Any] | None = None
    """A Pydantic model, derived from `interlock.config.Table`: the section `[name]` of the configuration.
    `task.setting(name)` returns it."""
    duties: Sequence[Duty] = ()
    scopes: Sequence[Scope] = ()
    tables: str | None = None
    """Its tables, as `package.module:metadata`: `interlock.store.columns` makes them."""
    migrations: str | None = None
    """The package with the Alembic revisions that make its tables, as files v0001_what.py: `package.migrations`."""
    personal: Sequence[Personal] = ()
    views: str | None = None
    """Machine name → `View`: how the dashboard shows its instances."""
    routers: Sequence[str] = ()
    """FastAPI routers with its endpoints and pages: each names one, or a list of them."""
    pages: Sequence[PageLink] = ()
    """Its pages that the navigation of the dashboard shows."""
    starts: Sequence[PageLink] = ()
    """What a person can do first; the overview shows it while there are no instances."""
    checks: str | None = None
    """A function of the application's settings that returns a list of `HostCheck`, for `interlock doctor`."""
    commands: str | None = None
    """A Typer app: the commands `interlock NAME …`. What they share is in `interlock.console`."""
    programs: Mapping[str, str] = field(default_factory=dict)
    """Commands of their own, `interlock NAME`: name → a function for Typer, as `package.module:function`, or a Typer
    app, whose commands are then `interlock NAME …`."""
    demo: str | None = None
    """A function that returns its parts of the demo, as `interlock.demo.Part`."""
    alerts: str | None = None
    """Alert rules that everybody has who has the application: a list of `interlock.watch.rules.Rule`."""
    metrics: str | None = None
    """A function of a connection and the time that returns numbers by name, as `interlock_NAME_…` at `/metrics`."""
    docs: str | None = None
    """The package, or folder in one, with its documentation as Markdown files; `interlock NAME docs` prints them."""

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise InterlockError(
                f"{self.name!r} cannot name an application; use up to 31 small letters, digits and _, a letter first"
            )
        kinds = {
            "machines": Machine,
            "handlers": str,
            "duties": Duty,
            "scopes": Scope,
            "personal": Personal,
            "routers": str,
            "pages": PageLink,
            "starts": PageLink,
        }
        for name, kind in kinds.items():
            _listed(f"{name} of the application {self.name!r}", getattr(self, name), kind)
        for name, function in self.programs.items():
            if not PROGRAM.fullmatch(name) or ":" not in function:
                raise InterlockError(
                    f"the program {name!r} of the application {self.name!r} cannot be {function!r}: name it with small "
                    "letters, digits and -, and its function as package.module:function"
                )

    def has(self, machine: str) -> bool:
        """Whether a machine of this name is its own."""
        return any(one.name == machine for one in self.machines)


def _listed(what: str, given: Iterable[Any], kind: type[Any]) -> None:
    """Refuse what is not a list of this kind; a text would pass as a list of letters."""
    wrong = given if isinstance(given, str) or not isinstance(given, Sequence) else None
    if wrong is None:
        wrong = next((one for one in given if not isinstance(one, kind)), None)
    if wrong is not None:
        raise InterlockError(f"{what} must be a list of {kind.__name__}, not {wrong!r:.80}")


def attribute(spec: str, what: str = "an object", like: str = "attribute") -> Any:
    """The object that `package.module:attribute` names."""
    module_name, _, name = spec.partition(":")
    if not module_name or not name:
        raise InterlockError(f"{spec!r} does not name {what}; write it as package.module:{like}")
    module = loaded(module_name, spec)
    try:
        return getattr(module, name)
    except InterlockError:
        raise
    except Exception as error:  # a module may import what it names only now
        kind = "" if isinstance(error, AttributeError) else f"{type(error).__name__}: "
        raise InterlockError(f"{spec!r} cannot be loaded: {kind}{error}") from error


def loaded(module: str, spec: str = "") -> Any:
    """The module. Whatever its import raises is an InterlockError that names it."""
    try:
        return import_module(module)
    except InterlockError:
        raise
    except ModuleNotFoundError as error:
        raise InterlockError(f"{spec or module!r} cannot be loaded: {error}; is the package installed?") from error
    except Exception as error:
        raise InterlockError(f"{spec or module!r} cannot be loaded: {type(error).__name__}: {error}") from error
