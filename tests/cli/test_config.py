"""`interlock config`, and that every command finds the database of the configuration."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from interlock.apps.sample import parcel
from interlock.engine import Engine
from tests.servers import free_port

HEAVY = {"sqlalchemy", "fastapi", "pydantic_settings", "starlette", "uvicorn", "alembic", "psycopg", "redis"}
SECRETS = """
token = "il_sesame_sesame_sesame"
[mail]
host = "m.org"
sender = "i@m.org"
password = "sesame"
[webhooks.shop]
url = "https://shop.org/in"
secret = "sesame-sesame-sesame"
[webhooks.shop.headers]
X-Key = "sesame"
[secrets]
bank = "sesame"
"""


def run(*arguments: str, cwd: Path, code: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")}
    start = ["-c", code] if code else ["-m", "interlock"]
    return subprocess.run(
        [sys.executable, *start, *arguments],
        cwd=cwd,
        env={**kept, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "160", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def fill(path: Path) -> None:
    with Engine(f"sqlite:///{path}", [parcel]) as engine:
        engine.create("parcel", {"content": "tea"}, key="only")


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('LOADED', *{m.partition('.')[0] for m in sys.modules}))\n"
        "from interlock.cli import main\nmain()"
    )
    for arguments, more in ((("--help",), {"pydantic"}), (("up", "--help"), set[str]())):  # Typer itself loads it
        done = run(*arguments, cwd=tmp_path, code=code)
        assert done.returncode == 0, done.stderr
        said, _, loaded = done.stdout.partition("LOADED ")
        assert "Usage" in said
        assert "typer" in loaded.split()
        assert not (HEAVY | more) & set(loaded.split()), arguments


def test_check_is_content_with_an_installation_that_was_not_started_yet(tmp_path: Path) -> None:
    done = run("config", "check", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "settings  fine, 9 machines",
        f"database  sqlite:///{Path('data') / 'interlock.db'} is not there yet; it is made at the first start",
    ]
    assert list(tmp_path.iterdir()) == []


def test_check_tells_the_schema_and_fails_where_it_does_not_fit(tmp_path: Path) -> None:
    (tmp_path / "interlock.toml").write_text('database = "sqlite:///mine.db"\n')
    fill(tmp_path / "mine.db")
    done = run("config", "check", cwd=tmp_path)
    assert (done.returncode, "database  sqlite:///mine.db, schema 0002" in done.stdout) == (0, True)
    (tmp_path / "empty.db").touch()
    done = run("config", "check", cwd=tmp_path, INTERLOCK_DATABASE="sqlite:///empty.db")
    assert (done.returncode, "schema none, needs 0002" in done.stdout) == (1, True)


@pytest.mark.parametrize(
    ("text", "variables", "told"),
    [
        ("colour = 1", {}, "colour (INTERLOCK_COLOUR, or interlock.toml): there is no such setting"),
        ("", {"INTERLOCK_PORT": "1"}, "the variable INTERLOCK_PORT is no setting"),
        ("", {"INTERLOCK_CONFIG": "gone.toml"}, "there is no configuration file gone.toml"),
        ('apps = ["no.such:registry"]', {}, "'no.such:registry' cannot be loaded"),
        ('database = "nonsense"', {}, "not 'nonsense'"),
    ],
)
def test_check_says_in_one_line_what_is_wrong(tmp_path: Path, text: str, variables: dict[str, str], told: str) -> None:
    (tmp_path / "interlock.toml").write_text(text)
    done = run("config", "check", cwd=tmp_path, **variables)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_check_says_that_the_database_cannot_be_reached_without_its_password(tmp_path: Path) -> None:
    url = f"postgresql://u:sesame@127.0.0.1:{free_port()}/x?connect_timeout=2"
    done = run("config", "check", cwd=tmp_path, INTERLOCK_DATABASE=url)
    assert (done.returncode, done.stderr.startswith("error: ")) == (1, True)
    assert "sesame" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_show_prints_toml_that_says_the_same_with_its_secrets_hidden(tmp_path: Path) -> None:
    (tmp_path / "interlock.toml").write_text(SECRETS)
    done = run("config", "show", cwd=tmp_path, INTERLOCK_HTTP__PORT="9000")
    assert done.returncode == 0, done.stderr
    assert "sesame" not in done.stdout
    given = "\n".join(line for line in done.stdout.splitlines() if not line.endswith("# not set"))
    told = tomllib.loads(given)
    assert (told["http"]["port"], told["token"], told["mail"]["password"]) == (9000, "********", "********")
    assert told["webhooks"]["shop"]["url"] == "https://shop.org/in"
    as_json = run("config", "show", "--json", cwd=tmp_path, INTERLOCK_HTTP__PORT="9000")
    assert "sesame" not in as_json.stdout
    assert {name: value for name, value in json.loads(as_json.stdout)["http"].items() if value is not None} == told[
        "http"
    ]


def test_the_file_is_named_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('owner = "ann"\n')
    told = json.loads(run("config", "show", "--json", "--config", "other.toml", cwd=tmp_path).stdout)
    assert told["owner"] == "ann"
    assert run("config", "show", "--config", "gone.toml", cwd=tmp_path).returncode == 1


def test_commands_find_the_database_of_the_configuration(tmp_path: Path) -> None:
    fill(tmp_path / "mine.db")
    fill(tmp_path / "other.db")
    listing = ("instance", "list", "--json", "--app", "interlock.apps.sample:parcel")
    missing = run(*listing, cwd=tmp_path)
    assert (missing.returncode, "there is no database data" in missing.stderr) == (1, True)
    (tmp_path / "interlock.toml").write_text('database = "sqlite:///mine.db"\n')
    found = json.loads(run(*listing, cwd=tmp_path).stdout)["instances"]
    assert [i["key"] for i in found] == ["only"]
    by_variable = json.loads(run(*listing, cwd=tmp_path, INTERLOCK_DATABASE="sqlite:///other.db").stdout)["instances"]
    assert by_variable[0]["id"] != found[0]["id"]
    named = json.loads(run(*listing, "--database", "sqlite:///other.db", cwd=tmp_path).stdout)["instances"]
    assert named == by_variable


def test_an_address_that_is_none_is_told_in_one_line_without_its_password(tmp_path: Path) -> None:
    for address in ("nonsense", "postgresql://u:sesame@h:port/x"):
        done = run("instance", "list", "--database", address, cwd=tmp_path)
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
        assert "is not a database address" in done.stderr
        assert "sesame" not in done.stderr
