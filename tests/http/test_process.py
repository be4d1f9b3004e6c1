"""A process gives each application its section of the configuration."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from interlock.config import load
from interlock.console.options import opened
from interlock.engine import Engine
from interlock.http.process import Process
from interlock.machine import Application, InterlockError, Registry, Scope, installed
from interlock.people import People
from interlock.store import open_store
from interlock.testing import Trial
from tests.support.notes.application import application
from tests.support.notes.settings import NotesSettings


def test_a_process_gives_an_application_its_section_and_hides_its_secrets(
    sqlite_url: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "interlock.toml"
    file.write_text('[notes]\ngreeting = "good day"\npassword = "open-the-cupboard"\n', encoding="utf-8")
    settings = load(file, {"database": sqlite_url, "data": tmp_path / "data"}, apps=["tests.support.notes:application"])
    process = Process(settings, lambda _: installed(settings.apps), serve=False, work=False)
    with process.engine as engine:
        assert engine.core.settings["notes"].greeting == "good day"
        assert engine.core.settings["contracts"] == settings.section("contracts")
        logging.getLogger("interlock.test").error("the word is %s", "open-the-cupboard")
    said = capfd.readouterr().err
    assert "the word is [hidden]" in said
    assert "open-the-cupboard" not in said


def test_an_engine_in_a_program_or_a_trial_has_the_defaults(sqlite_url: str) -> None:
    with Engine(sqlite_url, Registry([application])) as engine:
        assert engine.setting("notes") == NotesSettings()
        assert engine.setting("nothing") is None
    with Trial(Registry([application]), settings={"notes": NotesSettings(greeting="welcome")}) as trial:
        assert trial.engine.setting("notes").greeting == "welcome"


def test_a_command_has_the_settings_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "interlock.toml").write_text('[notes]\ngreeting = "good day"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    Engine("sqlite:///here.db", []).close()
    with opened("sqlite:///here.db", ["tests.support.notes:application"]) as engine:
        assert engine.setting("notes").greeting == "good day"


def test_a_migration_that_fails_leaves_the_database_as_it_was(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/new.db"
    settings = load(overrides={"database": url, "data": tmp_path / "data"}, apps=["tests.support.notes:application"])
    broken = replace(application, migrations="tests.support.notes")
    with pytest.raises(InterlockError, match="has no revision of the application 'notes'"):
        Process(settings, lambda _: Registry([broken]), applications=[broken], serve=False, work=False)
    with open_store(url) as store:
        assert store.read(lambda conn: sa.inspect(conn).get_table_names()) == []


def test_a_scope_that_is_taken_is_refused_at_the_start(sqlite_url: str) -> None:
    with (
        Engine(sqlite_url, Registry([Application("shop", scopes=[Scope("read", "Read.")])])) as engine,
        pytest.raises(InterlockError, match="the scope 'read', which is taken"),
    ):
        People(engine)
