"""A process gives each application its section of the configuration."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from interlock.config import load
from interlock.http.process import Process
from interlock.machine import installed


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
