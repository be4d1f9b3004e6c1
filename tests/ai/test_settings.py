"""`[ai]`: nothing is called unless it is configured, and what is configured half is refused by name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interlock.config import ConfigError, load, shown
from interlock.http.process import _secrets


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name.upper().startswith("INTERLOCK_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def read(text: str) -> str:
    """What is said of a file that is wrong."""
    Path("interlock.toml").write_text(f"[ai]\n{text}", encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        load()
    return str(error.value)


WHOLE = 'provider = "anthropic"\napi_key = "sesame-sesame"\ncheap = "small"\nstrong = "big"\n'
LOCAL = 'provider = "openai"\nbase_url = "http://127.0.0.1:11434/v1/"\ncheap = "small"\nstrong = "big"\n'


def test_nothing_is_configured_by_itself() -> None:
    assert load().ai.provider == "none"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('provider = "oracle"', "ai.provider (INTERLOCK_AI__PROVIDER, or interlock.toml)"),
        (
            'provider = "anthropic"\ncheap = "a"\nstrong = "b"',
            "ai.api_key (INTERLOCK_AI__API_KEY, or interlock.toml): ",
        ),
        ('provider = "openai"\ncheap = "a"\nstrong = "b"', "must be given with the provider openai"),
        ('provider = "anthropic"\nbase_url = "http://x"\ncheap = "a"\nstrong = "b"', "ai.api_key"),
        ('provider = "openai"\napi_key = ""\ncheap = "a"\nstrong = "b"', "ai.api_key"),
        ('provider = "openai"\napi_key = "k"\nstrong = "b"', "ai.cheap (INTERLOCK_AI__CHEAP, or interlock.toml): must"),
        ('provider = "openai"\napi_key = "k"\ncheap = "a"', "ai.strong (INTERLOCK_AI__STRONG"),
        ('base_url = "localhost"', "ai.base_url"),
        (WHOLE + "timeout = 0", "ai.timeout"),
        (WHOLE + "timeout = 601", "ai.timeout"),
        (WHOLE + "budget_dollars = -1", "ai.budget_dollars"),
        (WHOLE + "budget_tokens = -1", "ai.budget_tokens (INTERLOCK_AI__BUDGET_TOKENS, or interlock.toml): Input"),
        (WHOLE + "[ai.prices.small]\ninput = 1", "ai.prices.small.output"),
        (WHOLE + "[ai.prices.small]\ninput = -1\noutput = 1", "ai.prices.small.input"),
        (LOCAL + "budget_dollars = 5", "must have a price for 'small', or budget_dollars cannot count it"),
        (LOCAL + "[ai.budgets.all]\nday = 5", "must have a price for 'small', or budgets cannot count it"),
        (WHOLE + "[ai.budgets.all]\nday = -1", "ai.budgets.all.day"),
        (WHOLE + "[ai.budgets.all]\nweek = 1", "ai.budgets.all.week"),
        (WHOLE + "model = 1", "ai.model (INTERLOCK_AI__MODEL, or interlock.toml): there is no such setting"),
    ],
)
def test_what_is_configured_half_or_wrongly_is_refused_by_name(text: str, said: str) -> None:
    assert said in read(text)


def test_a_local_server_needs_no_key() -> None:
    Path("interlock.toml").write_text(f"[ai]\n{LOCAL}", encoding="utf-8")
    assert load().ai.base_url == "http://127.0.0.1:11434/v1"


def test_the_tier_names_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("interlock.toml").write_text(f"[ai]\n{WHOLE}", encoding="utf-8")
    monkeypatch.setenv("INTERLOCK_AI__STRONG", "biggest")
    found = load().ai
    assert (found.model("cheap"), found.model("strong")) == ("small", "biggest")


def test_the_key_is_never_shown() -> None:
    Path("interlock.toml").write_text(f"[ai]\n{WHOLE}", encoding="utf-8")
    assert "sesame" not in str(shown(load()))
    assert shown(load())["ai"]["api_key"] == "********"
    assert "sesame-sesame" in _secrets(load()), "it is hidden wherever this process would write it"
    assert "sesame" not in read(WHOLE.replace('api_key = "sesame-sesame"', 'api_key = ["sesame-sesame"]'))
