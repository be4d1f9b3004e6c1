"""`interlock jobs score`: filter and match of a file of postings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from interlock.apps.jobs.commands import app
from interlock.apps.jobs.finder.postings.read_posting import posting_of
from interlock.apps.jobs.finder.profiles.profile_file import sample
from interlock.machine import InterlockError

from .seekers import ROW, row


def run(*args: str) -> str:
    result = CliRunner().invoke(app, ["score", *args])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    path = tmp_path / "profile.yaml"
    path.write_text(sample())
    return path


def written(tmp_path: Path, *rows: Any) -> Path:
    path = tmp_path / "postings.jsonl"
    path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in rows))
    return path


def test_each_posting_has_its_results_in_order(profile: Path, tmp_path: Path) -> None:
    canonical = posting_of(ROW).posting.model_dump(mode="json")
    postings = written(
        tmp_path,
        row(id="1"),
        row(id="2", company_name="Gloomy Widgets"),
        row(id="3", title="Engineer", asks="- Kafka", salary_range=None, location=""),
        {**canonical, "company_size": "large"},
    )
    args = ["--profile", str(profile), "--postings", str(postings), "--at", "2026-05-20"]
    scored = json.loads(run(*args, "--json"))
    assert [one["id"] for one in scored] == ["1", "2", "3", "7"]
    assert [one["state"] for one in scored] == ["SUCCESS", "FILTERED", "SKIPPED", "SUCCESS"]
    for one in scored:
        matched = one["match_result"]
        assert one["score"] == matched["match_score"] == matched["static_score"]
        assert one["score"] == sum(part["points"] for part in matched["parts"] + matched["adjustments"])
        assert one["list_score"] >= one["score"]
        assert one["confidence"] == matched["confidence"]
    assert scored[1]["filter_result"]["rejection_summary"] == "Excluded company: gloomy widgets"
    assert scored[3]["match_result"]["adjustments"][1]["points"] == 10
    assert json.loads(run(*args, "--json")) == scored


def test_the_configuration_names_the_profile(profile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "interlock.toml").write_text('[jobs]\nprofile = "mine.yaml"\n')
    profile.rename(tmp_path / "mine.yaml")
    monkeypatch.chdir(tmp_path)
    assert "1 postings" in run("--postings", str(written(tmp_path, row(id="1"))))


def test_without_json_it_is_a_table(profile: Path, tmp_path: Path) -> None:
    postings = written(
        tmp_path,
        row(),
        row(company_name="Gloomy Widgets", title="Cook\x1b[31m"),
        row(title="Junior Backend Engineer", asks="- Rust"),
    )
    output = run("--profile", str(profile), "--postings", str(postings))
    assert "Senior Backend Engineer" in output
    assert "Excluded company: gloomy widgets" in output
    assert "strikes: Seniority mismatch (too junior); Missing primary skill: Rust" in output
    assert "\x1b" not in output
    assert output.endswith("3 postings: 1 at or above the threshold, 0 below it, 2 filtered out\n")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["{"], "line 1 .* is not JSON"),
        (["[]"], "is not a JSON object"),
        ([{"ats": "x", "extraction": {"method": "pigeon"}, "external_id": "5"}], r"posting 5: extraction\.method"),
    ],
)
def test_what_is_wrong_is_said(profile: Path, tmp_path: Path, lines: list[Any], message: str) -> None:
    with pytest.raises(InterlockError, match=message):
        run("--profile", str(profile), "--postings", str(written(tmp_path, *lines)))
    with pytest.raises(InterlockError, match="init --sample"):
        run("--profile", str(profile) + ".gone", "--postings", str(profile))


def test_odd_values_are_read_as_far_as_they_go(profile: Path, tmp_path: Path) -> None:
    odd = [{}, {"title": 5, "location": {"a": 1}, "description": ["python"], "url": 7, "posted_date": 2026}]
    postings = written(tmp_path, *odd)
    scored = json.loads(run("--profile", str(profile), "--postings", str(postings), "--json"))
    assert [one["state"] for one in scored] == ["SKIPPED", "SKIPPED"]
    assert scored[0]["filter_result"]["unread"]
