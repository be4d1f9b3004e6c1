"""The command line as an operator uses it: real processes, real databases."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from interlock import apps
from interlock.apps.sample import parcel
from interlock.demo import mark
from interlock.engine import Engine
from interlock.machine import installed
from interlock.store import migrate
from tests.support.commands import command, process

NEWEST = migrate.revisions()[-1]
MACHINES = ("company", "source", "listing", "job", "run", "application", "session", "loan", "contract")


def interlock(*arguments: str, cwd: Path, apart: bool = False) -> subprocess.CompletedProcess[str]:
    """Here, or as a process of its own, which takes a second more."""
    done = (process if apart else command)(*arguments, cwd=cwd)
    return subprocess.CompletedProcess(arguments, done.code, done.out, done.err)


@pytest.fixture
def parcels(tmp_path: Path) -> str:
    """A database with two parcels in it."""
    url = f"sqlite:///{tmp_path}/parcels.db"
    with Engine(url, [parcel]) as engine:
        engine.create_many("parcel", [{"content": "tea"}, {"content": "an anvil"}])
    return url


APPLICATIONS = ("contracts", "jobs", "sessions")


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    code = "import sys, interlock.cli; print(*sorted(m for m in sys.modules if '.' not in m))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "typer" in loaded
    assert not loaded & {"sqlalchemy", "pydantic", "alembic", "psycopg", "redis"}


def test_machine_list_knows_all_nine(tmp_path: Path) -> None:
    done = interlock("machine", "list", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {line.partition(" ")[0] for line in done.stdout.splitlines()} >= set(MACHINES)


@pytest.mark.parametrize("name", MACHINES)
def test_machine_show_prints_json_with_one_row_a_transition(name: str, tmp_path: Path) -> None:
    shown = json.loads(interlock("machine", "show", name, "--format", "json", cwd=tmp_path).stdout)
    assert (shown["name"], shown["version"]) == (name, 1)
    assert list(shown) == ["name", "version", "initial", "created_through", "states", "transitions"]
    assert all(set(state) == {"name", "kind"} for state in shown["states"])
    assert all(set(row) == {"from", "to", "event", "by"} for row in shown["transitions"])
    names = {state["name"] for state in shown["states"]}
    pairs = [(row["from"], row["to"]) for row in shown["transitions"]]
    assert shown["initial"] in names
    assert {end for pair in pairs for end in pair} == names
    rows = [(*pair, row["event"]) for pair, row in zip(pairs, shown["transitions"], strict=True)]
    assert len(rows) == len(set(rows))


def test_machine_show_as_table_and_mermaid(tmp_path: Path) -> None:
    table = interlock("machine", "show", "contract", cwd=tmp_path).stdout
    assert "review_required  waiting  a reviewer" in table
    assert "failed           comparing        retry      system, user         failed_at(comparing)" in table
    mermaid = interlock("machine", "show", "contract", "--format", "mermaid", cwd=tmp_path).stdout
    assert mermaid.startswith("stateDiagram-v2\n    [*] --> pending\n")
    assert "    review_required --> timed_out: time_out\n" in mermaid


def test_machines_of_ones_own_come_in_through_app(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(
        "from interlock import FINAL, Machine, Registry, State, Transition\n"
        "registry = Registry([Machine('sale', initial='open', states=[State('open'), State('done', FINAL)],\n"
        "                            transitions=[Transition('open', 'done', on='close')])])\n"
    )
    done = interlock("machine", "show", "sale", "--app", "shop:registry", "--format", "json", cwd=tmp_path)
    assert json.loads(done.stdout)["transitions"] == [
        {"from": "open", "to": "done", "event": "close", "by": ["worker"]}
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("machine", "show", "nothing"), "there is no machine 'nothing'; there are: application, company"),
        (("machine", "list", "--app", "no.such:registry"), "is the package installed?"),
        (("machine", "list", "--app", "registry"), "write it as package.module:registry"),
        (("db", "status"), "there is no database data/interlock.db; run: interlock db migrate"),
        (
            ("db", "migrate", "--database", "mysql://x/y"),
            "'mysql' databases are not supported; use sqlite or postgresql",
        ),
        (("db", "migrate", "--database", "sqlite://"), "would be lost; name a file"),
        (
            ("audit", "verify", "--database", "sqlite:///new.db"),
            "there is no database new.db; start one with: interlock up",
        ),
        (("instance", "list", "--database", "nope"), "'nope' is not a database address"),
        (("machine", "show", "job", "--database", "nope"), "'nope' is not a database address"),
        (("instance", "list", "--database", "sqlite:///."), "is a folder; name a file in it: sqlite:///"),
        (("up", "--config", "."), ". cannot be read: Is a directory"),
        (("new", "shop", "--folder", f"{__file__}/shop"), "test_commands.py/shop cannot be used: Not a directory"),
        (("session", "list", "--state", "nope"), "'nope' is not a state of sessions; there are: pending"),
    ],
)
def test_a_mistake_is_one_clear_line_and_exit_code_1(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = interlock(*arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    foreign = tmp_path / "notes.txt"
    foreign.write_text("bread, tea")
    foreign.chmod(0o644)
    done = interlock("instance", "list", "--database", f"sqlite:///{foreign}", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, f"error: {foreign} is not an SQLite database; name another file\n")
    assert (foreign.read_text(), foreign.stat().st_mode & 0o777) == ("bread, tea", 0o644)


def test_a_wrong_option_is_exit_code_2(tmp_path: Path) -> None:
    assert interlock("machine", "show", "job", "--format", "svg", cwd=tmp_path).returncode == 2


def test_db_migrate_and_status(tmp_path: Path) -> None:
    assert f"migrated: empty → {NEWEST}" in interlock("db", "migrate", cwd=tmp_path).stdout
    assert "nothing to do" in interlock("db", "migrate", cwd=tmp_path).stdout
    done = interlock("db", "status", cwd=tmp_path)
    assert done.returncode == 0
    shown = [line.split() for line in done.stdout.splitlines()[2:]]
    applications = [[name, newest, newest] for name, newest in ((name, newest_of(name)) for name in APPLICATIONS)]
    assert shown == [["core", NEWEST, NEWEST], *applications]


def newest_of(application: str) -> str:
    """The newest revision of an application, by the names of its files."""
    folder = Path(apps.__path__[0], application, "migrations")
    return max(path.name for path in folder.glob("v0*.py"))[1:5]


def test_db_status_shows_what_each_application_lacks(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with Engine(f"sqlite:///{tmp_path}/data/interlock.db", []):
        pass
    done = interlock("db", "status", "--app", "tests.support.notes:application", cwd=tmp_path)
    assert done.returncode == 1
    assert "notes      empty     0002  apply 0001, 0002: run: interlock db migrate" in done.stdout
    done = interlock("db", "migrate", "--app", "tests.support.notes:application", cwd=tmp_path)
    assert "migrated notes: empty → 0002" in done.stdout.splitlines()
    done = interlock("db", "status", cwd=tmp_path)
    assert (done.returncode, done.stdout.split()[-4:]) == (0, ["notes", "0002", "not", "loaded"])


def test_a_newer_database_is_refused(tmp_path: Path) -> None:
    interlock("db", "migrate", cwd=tmp_path)
    with sqlite3.connect(tmp_path / "data" / "interlock.db") as conn:
        conn.execute("UPDATE alembic_version SET version_num = '9999'")
    conn.close()
    done = interlock("db", "migrate", cwd=tmp_path)
    assert done.returncode == 1
    assert "schema 9999, which is newer than this code" in done.stderr
    assert interlock("db", "status", cwd=tmp_path).returncode == 1


def test_lists_show_what_instances_are_called(parcels: str, tmp_path: Path) -> None:
    lines = interlock("instance", "list", "--database", parcels, cwd=tmp_path).stdout.splitlines()
    assert "name" in lines[0].split()
    assert {line.split("  ")[-1].strip() for line in lines[2:4]} == {"tea", "an anvil"}
    refused = interlock("instance", "list", "--state", "nope", "--database", parcels, cwd=tmp_path)
    assert (refused.returncode, "no machine has a state 'nope'" in refused.stderr) == (1, True)


def test_machines_of_the_demo_are_found_in_its_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/demo.db"
    with Engine(url, []) as engine:
        mark.claim_untouched(engine.store, installed())
    assert "parcel" in interlock("machine", "list", "--database", url, cwd=tmp_path).stdout
    assert "customs" in interlock("machine", "show", "parcel", "--database", url, cwd=tmp_path).stdout
    assert "parcel" not in interlock("machine", "list", cwd=tmp_path).stdout


def test_machine_show_tells_the_version_that_the_database_knows(parcels: str, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "parcels.db") as conn:
        conn.execute("UPDATE definition SET digest = 'an older life cycle'")
    conn.close()
    (tmp_path / "post.py").write_text("from interlock.apps.sample import parcel\n")
    shown = interlock(
        "machine", "show", "parcel", "--app", "post:parcel", "--format", "json", "--database", parcels, cwd=tmp_path
    )
    assert json.loads(shown.stdout)["version"] == 2


def test_audit_verify_finds_what_was_changed(parcels: str, tmp_path: Path) -> None:
    done = interlock("audit", "verify", "--database", parcels, cwd=tmp_path)
    whole, note = done.stdout.splitlines()
    assert (done.returncode, whole) == (0, "verified: 2 instances, 2 history rows; all hash chains and replays agree")
    assert note.startswith("note: there is no checkpoint")
    with sqlite3.connect(tmp_path / "parcels.db") as conn:
        conn.execute("DROP TRIGGER history_no_update")
        changed = conn.execute("UPDATE history SET actor = 'nobody' WHERE pos = 1 RETURNING instance_id").fetchone()[0]
        other = conn.execute("SELECT instance_id FROM history WHERE pos = 2").fetchone()[0]
    conn.close()
    done = interlock("audit", "verify", "--database", parcels, cwd=tmp_path)
    assert done.returncode == 1
    assert "seq 1 does not follow from the row before it" in done.stdout
    assert interlock("audit", "verify", "--instance", changed, "--database", parcels, cwd=tmp_path).returncode == 1
    assert interlock("audit", "verify", "--instance", other, "--database", parcels, cwd=tmp_path).returncode == 0


def test_the_sample_runs_to_its_end_and_says_what_it_did(tmp_path: Path) -> None:
    done = interlock("sample", "--count", "16", "--data", str(tmp_path), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "16 parcels in" in done.stdout
    assert "every chain verifies: yes" in done.stdout
    assert "shipped" in done.stdout
    url = f"sqlite:///{tmp_path}/sample.db"
    assert interlock("audit", "verify", "--database", url, cwd=tmp_path).stdout.startswith("verified: 16 instances")
