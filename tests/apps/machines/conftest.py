"""A trial for many tests: each begins instances of its own in it, with a queue of their own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.store import open_store
from interlock.testing import broken_laws
from tests.apps.machines.recipes import MACHINES
from tests.apps.machines.scripted_trial import ScriptedTrial
from tests.support.databases import Databases
from tests.support.servers import Postgres


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of one fresh database for the tests of a module, once on each store."""
    if request.param == "sqlite":
        template: Path = request.getfixturevalue("sqlite_template")
        path = tmp_path_factory.mktemp("shared") / "interlock.db"
        shutil.copy(template, path)
        yield f"sqlite:///{path}"
        return
    server: Postgres = request.getfixturevalue("postgres")
    databases: Databases = request.getfixturevalue("databases")
    name = databases.take()
    yield server.url(name)
    databases.give_back(name)


@pytest.fixture(scope="module")
def trial(shared_url: str) -> Iterator[ScriptedTrial]:
    """All nine machines. Whatever the tests did to them, no law is broken at the end."""
    with open_store(shared_url, durability="normal", wakeup="poll") as store, ScriptedTrial(MACHINES, store) as trial:
        yield trial
        assert broken_laws(trial.engine) == []
