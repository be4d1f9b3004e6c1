"""A folder with a configuration file, and an environment without settings."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.config import ConfigError, Settings, load

Write = Callable[[str], Path]
Refused = Callable[[], str]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of whoever runs the tests counts."""
    for name in os.environ:
        if name.upper().startswith("INTERLOCK_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write interlock.toml, where it is looked for."""

    def make(text: str) -> Path:
        path = tmp_path / "interlock.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return make


@pytest.fixture
def refused() -> Refused:
    """What is said of a configuration that is wrong."""

    def ask() -> str:
        with pytest.raises(ConfigError) as error:
            load()
        return str(error.value)

    return ask


@pytest.fixture
def plain() -> Settings:
    return Settings()
