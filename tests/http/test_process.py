"""A process gives each application its section of the configuration."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from interlock.config import load
from interlock.console.options import opened
from interlock.engine import Engine
from interlock.http.process import Process
from interlock.machine import Registry, installed
from interlock.testing import Trial
from tests.notes.application import application
from tests.notes.settings import NotesSettings


def test_a_process_gives_an_application_its_section_and_hides_its_secrets(
    sqlite_url: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "interlock.toml"
    file.write_text('[notes]\ngreeting = "good day"\npassword = "open-the-cupboard"\n', encoding="utf-8")
    settings = load(file, {"database": sqlite_url, "data": tmp_path / "data"}, apps=["tests.notes:application"])
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
    with opened("sqlite:///here.db", ["tests.notes:application"]) as engine:
        assert engine.setting("notes").greeting == "good day"
