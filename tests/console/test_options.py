"""What commands open by their options."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.apps.sample import parcel
from interlock.console.options import opened
from interlock.engine import Engine


def test_a_named_configuration_also_names_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("here", "there"):
        Engine(f"sqlite:///{tmp_path}/{name}.db", [parcel]).close()
    Path("here.toml").write_text('database = "sqlite:///here.db"\n')
    there = Path("there.toml")
    there.write_text('database = "sqlite:///there.db"\n')
    monkeypatch.setenv("INTERLOCK_CONFIG", "here.toml")
    for database, config, file in (("", None, "here"), ("", there, "there"), ("sqlite:///here.db", there, "here")):
        with opened(database, None, config) as engine:
            assert engine.store.url == f"sqlite:///{tmp_path}/{file}.db"
