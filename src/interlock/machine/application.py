"""An application: everything that one package brings, in one value. Ours and a user's own plug in the same way.

What is heavy, or belongs to a layer above, is named as `package.module:attribute` and imported when it is used: a
worker loads no pages, `interlock --help` loads no commands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from typing import Any, Literal

from interlock.machine.definition import Machine
from interlock.machine.errors import InterlockError

ROLES = ("viewer", "reviewer", "member", "owner")
NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")


@dataclass(frozen=True, slots=True)
class Duty:
    """A periodic job of an application. Any worker process may run it; never two at the same time."""

    name: str
    every: timedelta
    do: Callable[[Any], bool]
    """Called with the engine; returns True to be called again at once."""


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
                f"the scope {self.name!r} for the role {self.role!r} cannot be: use small letters, digits and _ for "
                f"its name, and one of {', '.join(ROLES)}"
            )


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


@dataclass(frozen=True)
class Application:
    """A package's machines, with everything around them."""

    name: str
    """Its section in the configuration, its group of commands, its branch of migrations."""
    machines: Sequence[Machine] = ()
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
    commands: str | None = None
    """A Typer app: the commands `interlock NAME …`. What they share is in `interlock.console`."""
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


def attribute(spec: str, what: str = "an object", like: str = "attribute") -> Any:
    """The object that `package.module:attribute` names."""
    module_name, _, name = spec.partition(":")
    if not module_name or not name:
        raise InterlockError(f"{spec!r} does not name {what}; write it as package.module:{like}")
    try:
        return getattr(import_module(module_name), name)
    except ModuleNotFoundError as error:
        raise InterlockError(f"{spec!r} cannot be loaded: {error}; is the package installed?") from error
    except AttributeError as error:
        raise InterlockError(f"{spec!r} cannot be loaded: {error}") from error
