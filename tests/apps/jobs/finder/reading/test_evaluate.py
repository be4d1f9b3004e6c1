"""How well postings are read is measured by the score that other readers were measured by."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from interlock.apps.jobs.commands import app
from interlock.apps.jobs.finder.reading import FIELDS, as_json, read
from interlock.apps.jobs.finder.reading.evaluate import WEIGHTS, evaluate, posting_score, score
from interlock.machine import InterlockError
from tests.apps.jobs.finder.reading.written import ENGINEER


@pytest.mark.parametrize(
    ("name", "known", "answer", "points"),
    [
        ("seniority", "senior", "senior", 1),
        ("seniority", "senior", "staff", 0),
        ("isContract", False, False, 1),
        ("isContract", False, True, 0),
        ("salaryMin", 100_000, 115_000, 1),
        ("salaryMin", 100_000, 116_000, 0.5),
        ("salaryMin", 100_000, 145_000, 0.5),
        ("salaryMin", 100_000, 146_000, 0),
        ("salaryMin", None, None, 1),
        ("salaryMin", None, 1, 0),
        ("salaryMin", 100_000, None, 0),
        ("timezone", -5, -5.5, 1),
        ("timezone", -5, -6, 0.5),
        ("timezone", -5, -7, 0),
        ("timezone", 0, 0, 1),
        ("timezone", 0, 1, 0),
        ("technologies", ["Python", "go"], ["python"], 2 / 3),
        ("technologies", [], [], 1),
        ("technologies", [], ["go"], 0),
        ("roleTypes", ["backend"], [], 0),
    ],
)
def test_the_score_of_a_value(name: str, known: object, answer: object, points: float) -> None:
    assert score(name, known, answer) == pytest.approx(points)


def test_a_posting_is_the_weighted_mean_of_its_values() -> None:
    right = as_json(read(ENGINEER))
    assert posting_score(right, right) == 1
    assert sum(WEIGHTS.values()) == 26
    assert posting_score(right, {**right, "seniority": "junior"}) == pytest.approx(23 / 26)
    assert posting_score(right, {**right, "city": "Oslo"}) == 1


def files(folder: Path) -> tuple[Path, Path]:
    posting = {
        "id": "1",
        "title": ENGINEER.title,
        "company_name": ENGINEER.company,
        "location": ENGINEER.locations[0],
        "description": ENGINEER.text,
        "salary_range": None,
        "posted_date": None,
    }
    answer = {"id": "1", "extraction": as_json(read(ENGINEER, guess=True))}
    postings, answers = folder / "postings.jsonl", folder / "answers.jsonl"
    postings.write_text(json.dumps(posting) + "\n" + json.dumps({**posting, "id": "unanswered"}) + "\n")
    answers.write_text(json.dumps(answer) + "\n")
    return postings, answers


def test_the_command_prints_scores(tmp_path: Path) -> None:
    postings, answers = files(tmp_path)
    ended = CliRunner().invoke(app, ["evaluate", "--postings", str(postings), "--answers", str(answers), "--json"])
    assert ended.exit_code == 0, ended.output
    printed = json.loads(ended.stdout)
    assert set(printed) == {"overall", "fields", "ms_per_posting"}
    assert printed["overall"] == 1
    assert printed["fields"] == dict.fromkeys(FIELDS, 1)
    assert printed["ms_per_posting"] > 0
    shown = CliRunner().invoke(app, ["evaluate", "--postings", str(postings), "--answers", str(answers)])
    assert "overall 1.000 over 1 postings" in shown.stdout


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    postings, answers = files(tmp_path)
    with pytest.raises(InterlockError, match="cannot be read"):
        evaluate(postings, tmp_path / "none.jsonl")
    answers.write_text('{"id": "2"}\n')
    with pytest.raises(InterlockError, match="has an answer"):
        evaluate(postings, answers)
    answers.write_text("{\n")
    with pytest.raises(InterlockError, match="line 1 of"):
        evaluate(postings, answers)
