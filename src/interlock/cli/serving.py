"""`interlock up`, `interlock server`, `interlock worker`: the product, whole or in parts."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.console.options import DEFAULT_DATABASE, App, Config, Database, configure_demo, with_demo

if TYPE_CHECKING:
    from interlock.config import Settings
    from interlock.engine import Engine
    from interlock.http.process import Process
    from interlock.machine import Registry
    from interlock.store import Store
    from interlock.worker.loop import Loop

Port = Annotated[
    int | None,
    typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.", show_default="8420"),
]
Host = Annotated[str | None, typer.Option("--host", help="The address to listen on.", show_default="127.0.0.1")]
Data = Annotated[Path | None, typer.Option("--data", help="The folder for the embedded database.", show_default="data")]
Queues = Annotated[list[str] | None, typer.Option("--queue", help="Only this queue; may be given several times.")]
Concurrency = Annotated[
    int | None, typer.Option("--concurrency", min=1, max=512, help="Handlers that run at once.", show_default="16")
]


def _settings(config: Path | None, **given: Any) -> Settings:
    """The settings, overridden by the command line."""
    from interlock.config import load

    apps = given.pop("apps", [])  # in addition to those of the configuration
    known = load(config, apps=apps)
    overrides: dict[str, Any] = {}
    for name, value in given.items():
        table, _, field = name.partition("__")
        if value in (None, "", []):
            continue
        if field:
            overrides.setdefault(table, getattr(known, table).model_dump())[field] = value
        else:
            overrides[name] = value
    return load(config, overrides, apps=apps) if overrides else known


def _registry(settings: Settings) -> Registry:
    from interlock.machine import installed

    return installed(settings.apps).configured(settings.sections)


def up(
    port: Port = None,
    host: Host = None,
    data: Data = None,
    no_demo: Annotated[bool, typer.Option("--no-demo", help="Start empty, without the demo.")] = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """Run everything in one process: API, pages and workers."""
    settings = _settings(config, http__port=port, http__host=host, data=data, database=database, apps=apps or [])
    from interlock.dashboard.app import dashboard
    from interlock.demo import mark
    from interlock.demo.loop import Demo
    from interlock.http.process import Process

    serving = threading.Event()

    registry = _registry(settings)

    def machines(store: Store) -> Registry:
        if not no_demo:
            mark.claim_untouched(store, registry)
        return with_demo(store, registry)

    def beside(engine: Engine) -> list[Loop]:
        return [Demo(engine, after=serving)] if not no_demo and engine.read(mark.is_demo) else []

    process = Process(
        settings,
        machines,
        applications=registry.applications.values(),
        serve=True,
        work=True,
        beside=beside,
        pages=dashboard(),
        demo=mark.is_demo,
    )
    configure_demo(process.engine)
    owner = process.own()
    # Only to a terminal: others may read a log file, and it is kept for longer than the link.
    link = process.login_url(owner) if sys.stdout.isatty() else None

    def ready() -> None:
        _greet(process, link)
        serving.set()

    with _noted(process, config):
        process.run(ready)


def _noted(process: Process, config: Path | None) -> AbstractContextManager[None]:
    """The note that commands find this service by, for as long as it runs."""
    import sqlalchemy as sa

    from interlock.console.running import RunningService, noted
    from interlock.store.database import file_of

    url = sa.make_url(process.settings.database_url)
    file = file_of(url)
    database = f"sqlite:///{file.absolute()}" if file is not None else str(url) if url.password is None else None
    named = config or os.environ.get("INTERLOCK_CONFIG")
    return noted(
        RunningService(
            pid=os.getpid(),
            url=process.url,
            database=database,
            config=str(Path(named).absolute()) if named else None,
            data=str(process.settings.data.absolute()),
            apps=list(process.settings.apps),
            folder=os.getcwd(),
            shown=url.render_as_string(hide_password=True),
        )
    )


def _greet(process: Process, link: str | None) -> None:
    import sqlalchemy as sa

    from interlock import __version__

    store = sa.make_url(process.settings.database_url).render_as_string(hide_password=True)
    here = [m.name for m in process.engine.registry.fully_handled()]
    others = [m.name for m in process.engine.registry if m.name not in here]
    typer.echo(f"Interlock {__version__} on {process.url}")
    if link is not None:
        typer.echo(f"  log in    {link}\n            (once, within the hour; another one: interlock login-link)")
    else:
        typer.echo("  log in    get a link in a terminal: interlock login-link")
    typer.echo(f"  data      {store}")
    typer.echo(f"  machines  {', '.join(here) or 'none'}")
    if others:
        typer.echo(f"            no code for their work here: {', '.join(others)}")
    if any(loop.name == "demo" for loop in process.duties.loops):
        typer.echo("  demo      sample data that keeps moving; start empty with: interlock up --no-demo --data DIR")
    typer.echo("  Ctrl-C stops it.")
    sys.stdout.flush()  # in a file it would otherwise appear at the end


def server(
    port: Port = None,
    host: Host = None,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """Run only the API and the pages; `interlock worker` does the work, here or on other machines."""
    settings = _settings(config, http__port=port, http__host=host, database=database, apps=apps or [])
    from interlock.dashboard.app import dashboard
    from interlock.demo import mark
    from interlock.http.process import Process

    registry = _registry(settings)
    process = Process(
        settings,
        lambda store: with_demo(store, registry),
        applications=registry.applications.values(),
        serve=True,
        work=False,
        pages=dashboard(),
        demo=mark.is_demo,
    )
    configure_demo(process.engine)
    process.own()
    with _noted(process, config):
        process.run(lambda: _say(f"serving on {process.url}"))


def worker(
    queues: Queues = None,
    concurrency: Concurrency = None,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """Run a worker; start as many as you like, on as many machines."""
    settings = _settings(
        config, worker__queues=queues, worker__concurrency=concurrency, database=database, apps=apps or []
    )
    from interlock.http.process import Process
    from interlock.machine import InterlockError

    registry = _registry(settings)
    process = Process(
        settings,
        lambda store: with_demo(store, registry),
        applications=registry.applications.values(),
        serve=False,
        work=True,
    )
    configure_demo(process.engine)
    made = process.worker
    if made is None:
        raise InterlockError("no machine here has code for its work; add yours with --app package.module:registry")
    process.run(lambda: _say(f"working on {', '.join(q for q in made.queues if '@' not in q)}"))


def _say(line: str) -> None:
    typer.echo(line)
    sys.stdout.flush()
