"""`interlock jobs parse`: the canonical postings of a recorded answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from interlock.apps.jobs.commands import app
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.sources import SYSTEMS
from interlock.machine import InterlockError

from .answers import BOARDS, DETAILS, LISTS, body
from .general_answers import LIST, PAGE, SELECTORS


def run(*args: str) -> str:
    result = CliRunner().invoke(app, ["parse", *args])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "answer"
    path.write_bytes(body(LISTS["workday"]))
    return path


@pytest.mark.parametrize("kind", SYSTEMS)
def test_postings_come_as_json(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "answer"
    path.write_bytes(body(LISTS[kind]))
    output = json.loads(run(kind, str(path), "--url", BOARDS[kind], "--json"))
    assert (output["kind"], output["verdict"], output["reasons"]) == (kind, "complete", [])
    postings = [Posting.model_validate(one) for one in output["postings"]]
    assert len(postings) == output["counts"]["parsed"] > 0
    assert all(one.title and one.url and one.external_id for one in postings)


@pytest.mark.parametrize("kind", DETAILS)
def test_a_recorded_detail_is_one_posting(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "answer"
    path.write_bytes(body(DETAILS[kind]))
    for name in (kind, kind.upper()):
        output = json.loads(run(name, str(path), "--url", BOARDS[kind], "--json"))
        assert (output["verdict"], output["counts"]["parsed"]) == ("complete", 1)
    (posting,) = output["postings"]
    assert posting["title"]
    assert posting["external_id"]
    assert posting["description_text"]


def test_other_names_of_kinds_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "answer"
    path.write_text("<rss version='2.0'><channel><item><title>Cook</title><guid>7</guid></item></channel></rss>")
    assert json.loads(run("rss", str(path), "--json"))["postings"][0]["title"] == "Cook"


def test_relative_dates_count_from_when_it_was_recorded(recorded: Path) -> None:
    output = json.loads(run("workday", str(recorded), "--at", "2026-03-08T09:00:00Z", "--json"))
    assert output["postings"][0]["posted_at"] == "2026-03-03T00:00:00Z"


def test_a_page_is_read_by_selectors_that_are_given_or_found(tmp_path: Path) -> None:
    page, config = tmp_path / "page.html", tmp_path / "source.json"
    page.write_text(PAGE)
    config.write_text(json.dumps(SELECTORS))
    for extra in (["--url", LIST], ["--url", LIST, "--source", str(config)]):
        output = json.loads(run("html", str(page), "--json", *extra))
        assert [one["title"] for one in output["postings"]] == [f"Cook {n}" for n in range(1, 8)]
    with pytest.raises(InterlockError, match="--url"):
        run("html", str(page))
    config.write_text("[]")
    with pytest.raises(InterlockError, match="an object"):
        run("html", str(page), "--source", str(config))


def test_without_json_it_is_a_table(recorded: Path) -> None:
    output = run("workday", str(recorded))
    assert output.startswith("complete: 2 postings, 2 listed\n")
    assert "Deck Hand" in output


def test_an_answer_that_cannot_be_read_ends_with_one(tmp_path: Path) -> None:
    path = tmp_path / "answer"
    path.write_text("<html>Sorry</html>")
    result = CliRunner().invoke(app, ["parse", "lever", str(path), "--json"])
    assert (result.exit_code, json.loads(result.stdout)["reasons"]) == (1, ["HTML instead of JSON"])


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["pigeon"], "is not a kind of source"),
        (["workday", "--url", "https://example.com"], "is not an address of workday"),
        (["workday", "--at", "soon"], "is not a moment"),
    ],
)
def test_what_is_wrong_is_said(recorded: Path, args: list[str], message: str) -> None:
    with pytest.raises(InterlockError, match=message):
        run(args[0], str(recorded), *args[1:])
    with pytest.raises(InterlockError, match="cannot be read"):
        run("workday", str(recorded) + ".gone")
