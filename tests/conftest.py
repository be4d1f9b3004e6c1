"""What every test may ask for: a database of its own, on SQLite or on a real PostgreSQL."""

from __future__ import annotations

import atexit
import gc
import importlib
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from interlock.engine import Engine
from interlock.machine import installed
from interlock.store import Clock, Store, migrate, open_store
from interlock.watch import logs
from tests.support import routes, statements
from tests.support.databases import Databases
from tests.support.machines import INVOICE, PARCEL, job
from tests.support.servers import Postgres, Redis

# The same examples each time, and no limit on a busy machine's time; the long run looks elsewhere.
settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.register_profile("long", deadline=None)
settings.load_profile("long" if os.environ.get("INTERLOCK_SOAK") else "same")
pytest.register_assert_rewrite("tests.acceptance.world")
routes.share()
statements.share()
# Services of the tests note where they run; whoever runs the tests is not to find them, nor the tests theirs.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="il-state-")
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)
gc.disable()  # until all is collected: a fifth of that time


TESTS = Path(__file__).parent
NOT_QUICK = {"postgres", "postgres_url", "databases", "redis", "chromium", "browser", "page"}
"""Fixtures that start a server or a browser."""
NOT_QUICK_FOLDERS = (
    "acceptance",
    "ai",
    "apps/contracts",
    "apps/jobs",
    "apps/sessions",
    "attack",
    "cli",
    "dashboard",
    "docs",
    "examples",
)
"""Where nearly every test starts a process, reads files, or renders pages."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A quick run does not even import what it leaves out."""
    here = collection_path.is_relative_to(TESTS) and collection_path.relative_to(TESTS).as_posix()
    return True if config.getoption("--quick") and here in NOT_QUICK_FOLDERS else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="SQLite only; no browser, no kills, nothing marked slow")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """The processes of a parallel run share the rewriting of asserts: half the time of a first collection.

    Each imports its part of the tests first. For the rest it finds on the disk what the others have rewritten.
    """
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    everything = session.config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if count > 1 and everything and not (session.config.getoption("--quick") or sys.dont_write_bytecode):
        files = sorted(TESTS.rglob("test_*.py"))
        for path in files[int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw")) :: count]:
            importlib.import_module(".".join(path.relative_to(TESTS.parent).with_suffix("").parts))


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    if item.nodeid.startswith("tests/acceptance/"):
        item.add_marker("longer")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = items if os.environ.get("INTERLOCK_SOAK") else [item for item in items if not _is_long(item)]
    if config.getoption("--quick"):
        wanted = [item for item in wanted if _is_quick(item)]
    kept = set(wanted)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = wanted


def _is_long(item: pytest.Item) -> bool:
    """Marked `soak`, for PostgreSQL alone (`soak("postgresql")`) or whatever it runs on."""
    parameters = getattr(item, "callspec", None)
    return any(
        not marker.args or (parameters is not None and any(one in parameters.id for one in marker.args))
        for marker in item.iter_markers("soak")
    )


def _is_quick(item: pytest.Item) -> bool:
    parameters = getattr(item, "callspec", None)
    return not (
        NOT_QUICK.intersection(getattr(item, "fixturenames", ()))
        or (parameters is not None and "postgresql" in parameters.id)
        or item.get_closest_marker("slow")
    )


def pytest_collection_finish() -> None:
    """What was imported stays until the end: Python need not look through it for garbage again and again.

    A test makes many objects and lives for a moment, so Python looks less often: it took 0.2 of 8 seconds.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    """A process that a test makes here configures the logs of all: they must not go to that test's closed output."""
    root = logging.getLogger()
    level = root.level
    yield
    for handler in [one for one in root.handlers if isinstance(one, logs.Handler)]:
        root.removeHandler(handler)
        root.setLevel(level)


@pytest.fixture(autouse=True)
def _folder_as_before() -> Iterator[None]:
    """A test that leaves this process in another folder fails itself, and not one that comes later."""
    before = os.getcwd()
    yield
    if os.getcwd() != before:
        left = os.getcwd()
        os.chdir(before)
        pytest.fail(f"the test left the process in {left}; use contextlib.chdir or monkeypatch.chdir")


@pytest.fixture(scope="session")
def server_folder() -> Iterator[Path]:
    """Short, and open to whoever PostgreSQL has to run as: its socket lies in there."""
    folder = Path(tempfile.mkdtemp(prefix="il-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres(server_folder: Path) -> Iterator[Postgres]:
    """One server for all tests of a process, without fsync: durability is not what they look at."""
    with Postgres(server_folder / "pg", options="-c fsync=off -c max_connections=200") as server:
        yield server


@pytest.fixture(scope="session")
def databases(postgres: Postgres) -> Iterator[Databases]:
    made = Databases(postgres)
    yield made
    made.close()


@pytest.fixture(scope="session")
def redis(server_folder: Path) -> Iterator[Redis]:
    with Redis(server_folder / "redis") as server:
        yield server


@pytest.fixture(scope="session")
def sqlite_template(server_folder: Path) -> Path:
    path = server_folder / "template.db"
    with open_store(f"sqlite:///{path}") as store:
        migrate.upgrade(store, installed().applications.values())
    return path


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a fresh database with our tables, once on each of the two."""
    if request.param == "sqlite":
        yield request.getfixturevalue("sqlite_url")
    else:
        yield request.getfixturevalue("postgres_url")


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    path = tmp_path / "interlock.db"
    shutil.copy(sqlite_template, path)
    return f"sqlite:///{path}"


@pytest.fixture
def postgres_url(postgres: Postgres, databases: Databases) -> Iterator[str]:
    name = databases.take()
    yield postgres.url(name)
    databases.give_back(name)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """An open store; SQLite without waiting for the disk, for the same reason."""
    with open_store(url, durability="normal", wakeup="poll") as opened:
        yield opened


@pytest.fixture
def engines(url: str) -> Iterator[Callable[..., Engine]]:
    """Opens engines on one database, each with a store of its own, as processes have."""
    opened: list[Engine] = []

    def make(clock: Clock | None = None) -> Engine:
        store = open_store(url, durability="normal", wakeup="poll")
        opened.append(Engine(store, [PARCEL, INVOICE, job()], clock=clock))
        return opened[-1]

    yield make
    for engine in opened:
        engine.close()
