"""`interlock config`, and that every command finds the database of the configuration."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from interlock.apps.sample import parcel
from interlock.engine import Engine
from interlock.store import migrate
from tests.support.commands import command, process
from tests.support.servers import free_port

NEWEST = migrate.revisions()[-1]
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
        done = process(*arguments, cwd=tmp_path, code=code)
        assert done.code == 0, done.err
        said, _, loaded = done.out.partition("LOADED ")
        assert "Usage" in said
        assert "typer" in loaded.split()
        assert not (HEAVY | more) & set(loaded.split()), arguments


def test_check_is_content_with_an_installation_that_was_not_started_yet(tmp_path: Path) -> None:
    done = process("config", "check", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "settings  fine, 9 machines",
        f"database  sqlite:///{Path('data') / 'interlock.db'} is not there yet; it is made at the first start",
    ]
    assert list(tmp_path.iterdir()) == []


def test_check_tells_the_schema_and_fails_where_it_does_not_fit(tmp_path: Path) -> None:
    (tmp_path / "interlock.toml").write_text('database = "sqlite:///mine.db"\n')
    fill(tmp_path / "mine.db")
    done = command("config", "check", cwd=tmp_path)
    assert (done.code, f"database  sqlite:///mine.db, schema {NEWEST}" in done.out) == (0, True)
    (tmp_path / "empty.db").touch()
    done = command("config", "check", cwd=tmp_path, INTERLOCK_DATABASE="sqlite:///empty.db")
    assert (done.code, f"schema none, needs {NEWEST}" in done.out) == (1, True)


@pytest.mark.parametrize(
    ("text", "variables", "message"),
    [
        ("colour = 1", {}, "colour (INTERLOCK_COLOUR, or interlock.toml): there is no such setting"),
        ("", {"INTERLOCK_PORT": "1"}, "the variable INTERLOCK_PORT is not a setting"),
        ("", {"INTERLOCK_CONFIG": "gone.toml"}, "there is no configuration file gone.toml"),
        ('apps = ["no.such:registry"]', {}, "'no.such:registry' cannot be loaded"),
        ('database = "nonsense"', {}, "not 'nonsense'"),
    ],
)
def test_check_says_in_one_line_what_is_wrong(
    tmp_path: Path, text: str, variables: dict[str, str], message: str
) -> None:
    (tmp_path / "interlock.toml").write_text(text)
    done = command("config", "check", cwd=tmp_path, **variables)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: ")
    assert message in done.err
    assert len(done.err.splitlines()) == 1


def test_check_says_that_the_database_cannot_be_reached_without_its_password(tmp_path: Path) -> None:
    url = f"postgresql://u:sesame@127.0.0.1:{free_port()}/x?connect_timeout=2"
    done = command("config", "check", cwd=tmp_path, INTERLOCK_DATABASE=url)
    assert (done.code, done.err.startswith("error: ")) == (1, True)
    assert "sesame" not in done.out + done.err
    assert "Traceback" not in done.err


def test_show_prints_toml_that_says_the_same_with_its_secrets_hidden(tmp_path: Path) -> None:
    (tmp_path / "interlock.toml").write_text(SECRETS)
    done = process("config", "show", cwd=tmp_path, INTERLOCK_HTTP__PORT="9000")
    assert done.code == 0, done.err
    assert "sesame" not in done.out
    given = "\n".join(line for line in done.out.splitlines() if not line.endswith("# not set"))
    parsed = tomllib.loads(given)
    assert (parsed["http"]["port"], parsed["token"], parsed["mail"]["password"]) == (9000, "********", "********")
    assert parsed["webhooks"]["shop"]["url"] == "https://shop.org/********"
    as_json = command("config", "show", "--json", cwd=tmp_path, INTERLOCK_HTTP__PORT="9000")
    assert "sesame" not in as_json.out
    assert {name: value for name, value in json.loads(as_json.out)["http"].items() if value is not None} == parsed[
        "http"
    ]


def test_the_file_is_named_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('owner = "ann"\n')
    output = json.loads(command("config", "show", "--json", "--config", "other.toml", cwd=tmp_path).out)
    assert output["owner"] == "ann"
    assert command("config", "show", "--config", "gone.toml", cwd=tmp_path).code == 1


def test_commands_find_the_database_of_the_configuration(tmp_path: Path) -> None:
    fill(tmp_path / "mine.db")
    fill(tmp_path / "other.db")
    listing = ("instance", "list", "--json", "--app", "interlock.apps.sample:parcel")
    missing = command(*listing, cwd=tmp_path)
    assert (missing.code, "there is no database data" in missing.err) == (1, True)
    (tmp_path / "interlock.toml").write_text('database = "sqlite:///mine.db"\n')
    found = json.loads(command(*listing, cwd=tmp_path).out)["instances"]
    assert [i["key"] for i in found] == ["only"]
    by_variable = json.loads(command(*listing, cwd=tmp_path, INTERLOCK_DATABASE="sqlite:///other.db").out)["instances"]
    assert by_variable[0]["id"] != found[0]["id"]
    named = json.loads(command(*listing, "--database", "sqlite:///other.db", cwd=tmp_path).out)["instances"]
    assert named == by_variable


def test_an_invalid_address_is_one_line_of_error_without_its_password(tmp_path: Path) -> None:
    for address, *words in (
        ("nonsense", "instance", "list"),
        ("nonsense", "db", "status"),
        ("postgresql://u:sesame@h:port/x", "db", "migrate"),
    ):
        done = command(*words, "--database", address, cwd=tmp_path)
        assert (done.code, len(done.err.splitlines())) == (1, 1)
        assert "is not a database address" in done.err
        assert "sesame" not in done.err
