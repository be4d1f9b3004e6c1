"""No regular expression of the package takes longer than its share, however hostile the text."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from interlock.engine import secrets
from tests.attack import regexes
from tests.attack.regexes import Found

ROOT = Path(__file__).parents[2]


def test_every_expression_is_linear() -> None:
    """In a process of its own, which is ended when one of them does not end."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    ended = subprocess.run(
        [sys.executable, "-m", "tests.attack.regexes"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    *slow, last = ended.stdout.splitlines()
    assert slow == []
    places = last.removeprefix("looked at ").split()
    assert len(places) > 250
    assert "interlock.engine.secrets.SHAPES" in places
    assert any(re.fullmatch(r"interlock\.apps\.contracts.*:\d+", place) for place in places)


@pytest.mark.parametrize("bad", [r"\b[a-z][a-z0-9+.-]*://", r"\s+$", r"(a|b)*c"])
def test_a_bad_one_would_be_found(bad: str) -> None:
    assert regexes.grows(Found("interlock.here", re.compile(bad), False))


HIDDEN = {
    "postgresql://ann:hunter2-hunter2@db/x": "postgresql://ann:[hidden]@db/x",
    "a-https://u:pa$$w0rd@host": "a-https://u:[hidden]@host",
    "Authorization: Bearer abcdef123456789": "Authorization: Bearer [hidden]",
    "token-eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.sig_-x": "token-[hidden]",
    "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.sig": "[hidden]",
    "password = 'correct-horse'": "password = '[hidden]'",
    "api-key: sk-abcdefghijklmnopqrst": "api-key: [hidden]",
    "il_0123456789abcdefghij0123": "[hidden]",
    "a.b.c://nothing here": "a.b.c://nothing here",
}


@pytest.mark.parametrize("text", HIDDEN)
def test_what_looks_like_a_secret_is_hidden(text: str) -> None:
    assert secrets.hide(text) == HIDDEN[text]


@pytest.mark.parametrize(
    "piece", ["a.", "eyJ-", "://a:", "://a:b/", "_password=", "_il_", "password= ", "Bearer ", "sk-a ", "a:b@", "x"]
)
def test_hiding_takes_as_long_as_the_text_is(piece: str) -> None:
    def took(size: int) -> float:
        text = piece * (size // len(piece))
        times = []
        for _ in range(3):
            begun = time.process_time()
            secrets.hide(text)
            times.append(time.process_time() - begun)
        return max(min(times), 1e-3)

    assert took(100_000) / took(10_000) < 40
