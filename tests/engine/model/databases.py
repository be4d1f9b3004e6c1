"""Where the stories run: a fresh database for each. And how many of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from interlock.store import Store, open_store
from tests.engine.model.people import Conformance
from tests.support.servers import Postgres

SOAK = os.environ.get("INTERLOCK_SOAK") == "1"
Databases = Callable[[], AbstractContextManager[Store]]


def profile(examples: int, *, soak: int) -> settings:
    """The same stories at every run, few enough for `make test`; `make soak` makes up new ones, and longer."""
    return settings(
        max_examples=soak if SOAK else examples,
        stateful_step_count=80 if SOAK else 50,
        derandomize=not SOAK,
        database=None,
        deadline=None,
        print_blob=SOAK,
        suppress_health_check=list(HealthCheck),
    )


def run_stories(databases: Databases, chosen: settings) -> None:
    """Lead engine and model through as many stories; AssertionError tells the shortest in which they part."""

    class Stories(Conformance):
        def database(self) -> AbstractContextManager[Store]:
            return databases()

    run_state_machine_as_test(Stories, settings=chosen)


def on_sqlite(template: Path, folder: Path) -> Databases:
    @contextmanager
    def database() -> Iterator[Store]:
        path = folder / f"{uuid4().hex}.db"
        shutil.copy(template, path)
        with open_store(f"sqlite:///{path}", durability="normal") as store:
            yield store
        path.unlink()

    return database


def on_postgres(server: Postgres) -> Databases:
    @contextmanager
    def database() -> Iterator[Store]:
        name = f"model_{uuid4().hex}"
        with psycopg.connect(server.url(), autocommit=True) as conn:
            conn.execute(f"CREATE DATABASE {name} TEMPLATE template_ready")
        with open_store(server.url(name), durability="normal", wakeup="poll") as store:
            yield store
        with psycopg.connect(server.url(), autocommit=True) as conn:
            conn.execute(f"DROP DATABASE {name} WITH (FORCE)")

    return database
