"""`interlock jobs init`: a resume and answers become a file with comments, and nothing is overwritten."""

from __future__ import annotations

import os
import pty
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from interlock.apps.jobs.commands import app
from interlock.apps.jobs.commands.questions import QUESTIONS, ask_all
from interlock.apps.jobs.finder.profiles.profile_file import check_profile, parse_profile, read_profile, sample
from interlock.apps.jobs.finder.profiles.profile_writer import written
from interlock.machine import InterlockError

from . import made


def run(*args: str) -> str:
    result = CliRunner().invoke(app, ["init", *args])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_resume_becomes_a_profile_without_questions(tmp_path: Path) -> None:
    resume, file = tmp_path / "me.pdf", tmp_path / "profile.yaml"
    resume.write_bytes(made.dates_right())
    said = run(str(file), "--resume", str(resume), "--no-input")
    assert "not found: workplace, employment_types, salary, work_authorisation" in said
    profile = read_profile(file)
    assert profile.identity
    assert profile.identity.name == made.NAME
    assert len(profile.employment) == 2
    text = file.read_text()
    assert "# read from me.pdf, page 1" in text
    assert "# salary: {min: 140000" in text, "an example where nothing is known"
    assert file.stat().st_mode & 0o077 == 0
    with pytest.raises(InterlockError, match="is there already"):
        run(str(file), "--resume", str(resume), "--no-input")
    run(str(file), "--resume", str(resume), "--force")
    assert file.read_text() == text, "where there is no terminal, nothing is asked"


def test_without_a_terminal_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InterlockError, match="no terminal to ask on; give --resume FILE to write"):
        run(str(tmp_path / "profile.yaml"))
    with pytest.raises(InterlockError, match="--no-input needs --resume"):
        run(str(tmp_path / "profile.yaml"), "--no-input")
    with pytest.raises(InterlockError, match="--sample stands alone"):
        run(str(tmp_path / "profile.yaml"), "--no-input", "--sample")
    assert list(tmp_path.iterdir()) == []


def test_on_a_terminal_it_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from interlock.apps.jobs.commands.init import init

    ours, theirs = pty.openpty()
    answers = ["Ann Poe"] + [""] * (len(QUESTIONS) - 1)
    os.write(ours, ("\n".join(answers) + "\n").encode())
    with os.fdopen(theirs, closefd=True) as stdin, monkeypatch.context() as patch:
        patch.setattr("sys.stdin", stdin)
        init(tmp_path / "profile.yaml")
    os.close(ours)
    assert read_profile(tmp_path / "profile.yaml") == check_profile({"identity": {"name": "Ann Poe"}})


def asked(profile: dict[str, Any], answers: dict[str, list[str]]) -> tuple[dict[str, Any], dict[str, str]]:
    """The profile after these answers; other questions keep their defaults. Also each question's first default."""
    defaults: dict[str, str] = {}
    keys = {question.text: question.key for question in QUESTIONS}

    def prompt(text: str, default: str) -> str:
        defaults.setdefault(keys[text], default)
        left = answers.get(keys[text])
        return left.pop(0) if left else default

    return ask_all(profile, prompt), defaults


def test_answers_replace_what_the_draft_says() -> None:
    draft = {
        "identity": {"name": "Ann Poe", "phone": "1"},
        "home": {"city": "Portland", "region": "OR", "country": "US"},
        "years": 6.0,
        "skills": [{"name": "Python", "years": 6.0, "last_used": "2026-11"}, {"name": "Go"}],
        "titles": ["Cook"],
    }
    found, defaults = asked(
        draft,
        {
            "identity.phone": ["-"],
            "home": ["Remote", "Berlin, Germany"],
            "workplace": ["afloat", "remote, hybrid"],
            "management": ["perhaps", "no"],
            "years": ["many", "7,5"],
            "skills": ["python, Rust"],
            "salary": ["a lot", "140k usd", ""],
            "work_authorisation": ["DE, Austria"],
            "stop_list.companies": ["Gloom"],
        },
    )
    assert (defaults["home"], defaults["years"], defaults["skills"]) == ("Portland, OR, US", "6", "Python, Go")
    assert found == {
        "identity": {"name": "Ann Poe"},
        "home": {"city": "Berlin", "country": "DE"},
        "years": 7.5,
        "skills": [{"name": "Python", "years": 6.0, "last_used": "2026-11"}, {"name": "Rust"}],
        "titles": ["Cook"],
        "workplace": ["remote", "hybrid"],
        "management": False,
        "salary": {"min": 140000, "currency": "USD", "period": "year"},
        "work_authorisation": [
            {"country": "DE", "authorised": True, "sponsorship": False},
            {"country": "Austria", "authorised": True, "sponsorship": False},
        ],
        "stop_list": {"companies": ["Gloom"]},
    }
    assert check_profile(found).work_authorisation[1].country == "AT"
    again, _ = asked(found, {})
    assert again == found


def test_what_is_written_is_read_again() -> None:
    profile = parse_profile(sample())
    text = written(profile.model_dump(mode="json", exclude_defaults=True), {"home": "a\nfile: with\nlines"})
    assert parse_profile(text) == profile
    assert "# read from a file: with lines" in text
    assert parse_profile(written({"titles": ["no", "NO", "2021-03", "x: y", "# z", "é\u2028"]})).titles == (
        "no",
        "NO",
        "2021-03",
        "x: y",
        "# z",
        "é",
    )
