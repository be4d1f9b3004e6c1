"""`interlock export`: everything as JSON lines, or a table that a spreadsheet opens safely."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.engine import Engine, Result
from interlock.machine import Go, Registry
from tests.support.commands import command, process
from tests.support.letters import PROGRAM, letter
from tests.support.notes import application as notes
from tests.support.notes.tables import notes_line, notes_visitor, notes_word

ROOT = Path(__file__).parents[2]


@pytest.fixture
def post(tmp_path: Path) -> Path:
    """Three letters, one of them further, one in another workspace; keys that a spreadsheet would run."""
    path = tmp_path / "post.db"
    with Engine(f"sqlite:///{path}", [letter]) as engine:
        engine.create("letter", {"to": "ann"}, key='=HYPERLINK("http://evil")')
        [claim] = engine.claim(UUID(int=1), ["letter"], 1)
        engine.finish([Result(claim, Go("signing"))])
        engine.create("letter", {"to": "Zoë\u2028"}, key="+1", labels={"a": "b"})
        engine.create("letter", {"to": "north"}, workspace="north")
    return path


def export(post: Path, *arguments: str) -> tuple[int, str, str]:
    done = command("export", *arguments, "--database", f"sqlite:///{post}", "--app", PROGRAM, cwd=post.parent)
    return done.code, done.out, done.err


def test_json_lines_have_every_instance_with_its_history_the_newest_first(post: Path) -> None:
    code, text, errors = export(post)
    assert (code, errors.strip().endswith("3 instances")) == (0, True)
    rows = [json.loads(line) for line in text.split("\n") if line]
    assert [row["data"]["to"] for row in rows] == ["north", "Zoë\u2028", "ann"]
    assert [step["kind"] for step in rows[2]["history"]] == ["created", "moved"]
    assert (rows[2]["state"], rows[2]["history"][1]["to_state"]) == ("signing", "signing")
    assert rows[0]["workspace"] == "north"


def test_a_table_has_a_line_an_instance_and_no_formula(post: Path) -> None:
    code, text, _ = export(post, "--format", "csv")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["key"] for row in rows] == ["", "'+1", '\'=HYPERLINK("http://evil")']
    assert [row["state"] for row in rows] == ["writing", "writing", "signing"]
    assert list(rows[0]) == [
        "id",
        "machine",
        "state",
        "workspace",
        "key",
        "seq",
        "created_at",
        "entered_at",
        "finished_at",
        "paused",
    ]


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_a_cell_that_a_spreadsheet_would_run_is_made_text(first: str) -> None:
    from interlock.cli.exporting import _harmless

    assert _harmless(f"{first}1") == f"'{first}1"
    assert [_harmless(value) for value in ("", "a=1", 7, None, True)] == ["", "a=1", 7, None, True]


def test_filters_choose_and_histories_can_be_left_out(post: Path) -> None:
    code, text, _ = export(
        post, "--state", "writing", "--workspace", "default", "--machine", "letter", "--without-history"
    )
    [row] = [json.loads(line) for line in text.split("\n") if line]
    assert (code, row["key"], "history" in row) == (0, "+1", False)
    code, text, errors = export(post, "--machine", "letter", "--workspace", "south")
    assert (code, text, "0 instances" in errors) == (0, "", True)


@pytest.mark.parametrize(("filters", "named"), [(["nothing"], "nothing"), (["letter", "--state", "posted"], "posted")])
def test_a_filter_that_names_nothing_is_refused_and_an_existing_file_stays(
    post: Path, filters: list[str], named: str
) -> None:
    (post.parent / "out.jsonl").write_text("precious")
    code, text, errors = export(post, "out.jsonl", "--machine", *filters)
    assert (code, text, named in errors) == (1, "", True)
    assert (post.parent / "out.jsonl").read_text() == "precious"


def test_a_process_writes_it_as_utf_8_and_its_progress_elsewhere(post: Path) -> None:
    where = ("--database", f"sqlite:///{post}", "--app", PROGRAM)
    done = process("export", *where, cwd=post.parent, PYTHONPATH=str(ROOT), PYTHONUTF8="1")
    assert (done.code, "Zoë" in done.out, len(done.out.split("\n"))) == (0, True, 4)
    assert "3 instances" in done.err


def test_it_is_written_to_a_file(post: Path, tmp_path: Path) -> None:
    code, text, errors = export(post, "out.jsonl")
    assert (code, text, "3 instances" in errors) == (0, "", True)
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8").split("\n")
    assert len([json.loads(line) for line in lines if line]) == 3


def test_a_file_that_is_there_is_kept_when_there_is_nothing_to_export_from(post: Path, tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text("yesterday's\n")
    code, _, errors = export(tmp_path / "gone.db", "out.jsonl")
    assert (code, "there is no database" in errors) == (1, True)
    assert (tmp_path / "out.jsonl").read_text() == "yesterday's\n"


def test_a_file_that_cannot_be_written_is_one_line_of_error(post: Path) -> None:
    code, _, errors = export(post, "no/such/folder.jsonl")
    assert code == 1
    assert errors.startswith("error: cannot write to no/such/folder.jsonl: ")
    assert len(errors.splitlines()) == 1


def test_a_format_that_there_is_not_is_exit_code_2(post: Path) -> None:
    code, _, errors = export(post, "--format", "xml")
    assert (code, "xml" in errors) == (2, True)


def test_rows_of_applications_go_along_without_secrets_whether_their_code_is_here_or_not(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with Engine(f"sqlite:///{path}", Registry([notes])) as engine:
        it = engine.create("note", {}).id
        engine.create("note", {})

        def fill(conn: sa.Connection) -> None:
            conn.execute(sa.insert(notes_visitor).values(instance_id=it, name="ann", at=1))
            conn.execute(sa.insert(notes_line).values(id=UUID(int=7), instance_id=it, words="hello", picture=b"\0x"))
            conn.execute(sa.insert(notes_word).values(word="hello", times=3, seal="only in backups"))

        engine.store.write(fill)
    for arguments in ([], ["--app", "tests.support.notes:application"]):
        done = command("export", "--database", f"sqlite:///{path}", *arguments, cwd=tmp_path)
        rows = [json.loads(line) for line in done.out.splitlines()]
        assert done.err.strip().endswith("2 instances, 1 other rows of applications")
        assert "tables" not in rows[0]
        assert rows[1]["tables"] == {
            "notes_visitor": [{"name": "ann", "at": 1}],
            "notes_line": [{"id": str(UUID(int=7)), "words": "hello", "picture": "0078"}],
        }
        word = {"word": "hello", "times": 3, "seal": "[hidden]"}
        assert rows[2:] == [{"application": "notes", "table": "notes_word", "row": word}]
    done = command("export", "--machine", "note", "--database", f"sqlite:///{path}", cwd=tmp_path)
    assert len(done.out.splitlines()) == 2
