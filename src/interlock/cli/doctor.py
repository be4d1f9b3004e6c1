"""`interlock doctor`: check the database and the work, and say what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from interlock.console.options import DEFAULT_DATABASE, App, Database, audit_settings, registry_of, store_of, with_demo
from interlock.console.printing import Json, as_json, table

if TYPE_CHECKING:
    from interlock.config import Settings
    from interlock.machine import HostCheck
    from interlock.store.health import Health

MARKS = {"OK": "ok", "WARNING": "WARNING", "PROBLEM": "PROBLEM"}


def doctor(
    fast: Annotated[bool, typer.Option("--fast", help="Skip the checks that read the whole file (SQLite).")] = False,
    sizes: Annotated[bool, typer.Option("--sizes", help="Show every table and index, not only the biggest.")] = False,
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Check the database and the work; write nothing. Exit code 0: all is well, 1: warnings, 2: problems."""
    found = _look(database, apps, fast=fast)
    host = _host(database, apps)
    if in_json:
        as_json(
            {
                "level": found.level.name.lower(),
                "findings": [
                    {"level": f.level.name.lower(), "name": f.name, "says": f.says, "do": f.do} for f in found.findings
                ],
                "host": [{"name": one.name, "says": one.says, "do": one.do} for one in host],
                "sizes": [
                    {"name": s.name, "kind": s.kind, "bytes": s.size, "rows": s.rows, "dead": s.dead}
                    for s in found.sizes
                ],
            }
        )
    else:
        _print(found, host, everything=sizes)
    raise typer.Exit(int(found.level))


def _look(database: str, apps: list[str] | None, *, fast: bool) -> Health:
    from interlock.engine import Engine
    from interlock.store import StoreError, migrate
    from interlock.store.health import Finding, Health, Level, look
    from interlock.watch import work_health

    try:
        with store_of(database, apps) as store:
            registry = registry_of(apps)
            health = look(store, registry.applications.values(), fast=fast)
            findings = list(health.findings)
            if migrate.status(store, registry.applications.values()).usable:
                engine = Engine(store, with_demo(store, registry), migrate_schema=False, register=False)
                findings += work_health.check(engine, audit_settings(database, apps=apps))
            return Health(tuple(findings), health.sizes)
    except StoreError as error:
        do = "check that it runs, and the configuration: interlock config check"
        return Health((Finding(Level.PROBLEM, "database", str(error), do),), ())


def _host(database: str, apps: list[str] | None) -> list[HostCheck]:
    """What the applications need of this host. Something optional may be missing, so it is no warning."""
    from interlock.machine import HostCheck, InterlockError, attribute

    settings = audit_settings(database, apps=apps)
    found = [_model(settings)]
    registry = registry_of(apps)
    for one in registry.applications.values():
        without = [machine.name for machine in one.machines if registry.missing_handlers(machine)]
        if without:
            says = f"the steps of {', '.join(without)} have no code here; other processes have to run them"
            do = f"install the package that has it; if it ships with Interlock: pip install 'interlock[{one.name}]'"
            found.append(HostCheck(f"{one.name}: code", says, do))
        elif one.checks is not None:
            try:
                given = attribute(one.checks, "a function", "function")(settings.section(one.name))
                found += [check for check in given if isinstance(check, HostCheck)]
            except InterlockError as error:
                found.append(HostCheck(one.name, str(error), "install the application with its extras"))
            except Exception as error:  # a mistake in one application hides nothing of the others
                says = f"its checks failed: {type(error).__name__}: {error}"
                found.append(HostCheck(one.name, says, "tell whoever maintains the application"))
    return found


def _model(settings: Settings) -> HostCheck:
    """Whether the tasks that can use a model have one, with its key. A wrong key shows only when it is used."""
    from interlock.machine import HostCheck

    ai = settings.ai
    if ai.provider == "none":
        return HostCheck("all: model", "none; every step uses its rules", "set provider and api_key under [ai]")
    return HostCheck("all: model", f"{ai.provider}, {'with a key' if ai.api_key is not None else 'without a key'}")


def _print(found: Health, host: list[HostCheck], *, everything: bool) -> None:
    from interlock.store.health import size_text

    worst_first = sorted(found.findings, key=lambda finding: -finding.level)
    table(("", "check", "result"), [(MARKS[f.level.name], f.name, f.says) for f in worst_first], wrap=True)
    if host:
        typer.echo("\nWhat the applications need of this host:")
        table(("", "part", "result"), [("missing" if one.do else "ok", one.name, one.says) for one in host], wrap=True)
    todo = [(one.name, one.do) for one in worst_first if one.do] + [(one.name, one.do) for one in host if one.do]
    if todo:
        typer.echo("\nWhat to do:")
        for name, do in todo:
            typer.echo(f"  {name}: {do}")
    shown = found.sizes if everything else found.sizes[:8]
    if shown:
        typer.echo()
        rows = [(s.name, s.kind, size_text(s.size), _number(s.rows), _number(s.dead)) for s in shown]
        table(("name", "is", "size", "rows", "dead"), rows)


def _number(value: int | None) -> str:
    return f"{value:,}" if value is not None else ""
