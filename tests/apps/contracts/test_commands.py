"""`interlock contracts`: files are taken in and compared, and how well they are read is measured."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from interlock.apps.contracts import registry
from interlock.apps.contracts.demo import agreements, papers
from interlock.apps.contracts.machine import contract
from interlock.engine import Engine
from interlock.worker import Worker
from tests.support.commands import Done, command, process

AGREED = next(t for t in map(agreements.terms, range(100)) if t.vertical == "commercial")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a contract, its next version, its amendment, one with a blank, and one that is locked."""
    made = {
        "first.pdf": papers.pdf(agreements.written(AGREED)),
        "second.pdf": papers.pdf(agreements.written(agreements.renewed(AGREED))),
        "amendment-1.pdf": papers.pdf(agreements.amendment(AGREED)),
        "blank.pdf": papers.pdf(agreements.written(AGREED, agreements.BLANK)),
        "locked.pdf": papers.pdf(["nobody can read this"], locked=True),
    }
    for name, content in made.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def contracts(folder: Path, *arguments: str) -> Done:
    return command("contracts", *arguments, cwd=folder)


def output_of(folder: Path, *arguments: str, code: int = 0) -> Any:
    done = contracts(folder, *arguments, "--json")
    assert done.code == code, done.err
    return json.loads(done.out)


# -- process


def test_files_are_processed_to_their_end_where_nobody_else_works(folder: Path) -> None:
    done = process("contracts", "process", "first.pdf", "blank.pdf", "--wait", cwd=folder)
    assert (done.code, done.err) == (0, "")
    first, blank = done.out.splitlines()[2:]
    assert first.split()[0] == "first.pdf"
    assert "completed" in first
    assert f"governing_law: {AGREED.law}" in first
    assert "review_required" in blank
    assert "agreement_date: ____________" in blank


def test_a_rejected_one_is_one_line_and_an_exit_code(folder: Path) -> None:
    done = contracts(folder, "process", "first.pdf", "locked.pdf", "--wait")
    assert done.code == 1
    assert done.err == (
        "error: locked.pdf: ENCRYPTED_PDF: the PDF asks for a password; save it without one and send it again\n"
    )
    assert [line.split()[2] for line in done.out.splitlines()[2:]] == ["completed", "rejected"]


def test_without_wait_they_are_only_taken_in_and_the_same_file_is_the_same_workflow(folder: Path) -> None:
    [once] = output_of(folder, "process", "first.pdf")
    assert once["state"] == "pending"
    again, other = output_of(folder, "process", "first.pdf", "blank.pdf", "--as", "cleo")
    assert again["workflowId"] == once["workflowId"] != other["workflowId"]
    assert "no worker is running on this database" in contracts(folder, "process", "first.pdf").out


def test_a_worker_that_is_there_does_the_work(folder: Path) -> None:
    url = f"sqlite:///{folder}/shared.db"
    with Engine(url, registry) as engine, Worker(engine, queues=[contract.queue]) as worker:
        [done] = output_of(folder, "process", "first.pdf", "--wait", "--database", url)
        found = engine.history(UUID(done["workflowId"]))
    assert done["state"] == "completed"
    assert {row.actor for row in found if row.actor.startswith("worker:")} == {f"worker:{worker.id}"}


def test_it_is_compared_with_what_was_asked_for(folder: Path) -> None:
    [first] = output_of(folder, "process", "first.pdf", "--wait")
    [second] = output_of(folder, "process", "second.pdf", "--wait", "--compare-with", first["workflowId"])
    assert (second["comparisonKind"], second["comparison"]["summary"]["counts"]["changed"]) == ("versions", 4)
    done = contracts(folder, "compare", first["workflowId"], "second.pdf")
    assert "first.pdf → second.pdf" in done.out


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("none.pdf",), "none.pdf cannot be read: No such file or directory"),
        (("first.pdf", "--vertical", "poems"), "there is no vertical 'poems'; there are commercial, energy"),
        (("first.pdf", "--compare-with", "that"), "'that' is not a workflow's id, `template` or `offers`"),
        (("photo.pdf",), "'photo.pdf' is an image; send a PDF, DOCX or text file"),
        (("five.pdf",), "'five.pdf' is not a PDF: it is text (5 bytes); export it again and send that"),
        (("people.csv",), "'people.csv' is a table (CSV), not a contract; send a PDF, DOCX or text file"),
    ],
)
def test_what_cannot_be_taken_in_is_one_line_and_nothing_is_begun(
    folder: Path, arguments: tuple[str, ...], error: str
) -> None:
    (folder / "photo.pdf").write_bytes(b"\x89PNG\r\n\x1a\nxxxx")
    (folder / "five.pdf").write_bytes(b"hello")
    (folder / "people.csv").write_bytes(b"a,b,c\n1,2,3\n")
    done = contracts(folder, "process", "blank.pdf", *arguments)
    assert (done.code, done.err) == (1, f"error: {error}\n")
    [only] = output_of(folder, "process", "second.pdf")
    counted = command("instance", "list", "--json", cwd=folder)
    assert [one["id"] for one in json.loads(counted.out)["instances"]] == [only["workflowId"]]


# -- compare


def test_two_files_are_compared_without_a_database(folder: Path) -> None:
    done = contracts(folder, "compare", "first.pdf", "second.pdf", "--html", "out.html")
    assert done.code == 0, done.err
    assert "Clauses: 4 changed, " in done.out
    fees = next(line for line in done.out.splitlines() if "3 Fees" in line)
    assert fees.split()[-3:] == [f"{AGREED.fee:,}", "→", f"{AGREED.fee + 5000:,}"]
    assert any(line.startswith("notice_period") and "→" in line for line in done.out.splitlines())
    page = (folder / "out.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert not (folder / "data").exists()


def test_an_amendment_is_compared_with_its_base_on_whichever_side_it_stands(folder: Path) -> None:
    for sides in (("first.pdf", "amendment-1.pdf"), ("amendment-1.pdf", "first.pdf")):
        found = output_of(folder, "compare", *sides)
        assert found["kind"] == "amendment"
        assert [(one["section"], one["action"]) for one in found["sections"]] == [("3", "replaced")]
    assert "replaced" in contracts(folder, "compare", "first.pdf", "amendment-1.pdf").out


def test_neither_file_nor_workflow_is_an_error(folder: Path) -> None:
    done = contracts(folder, "compare", "first.pdf", "seconds.pdf")
    assert (done.code, done.err) == (1, "error: seconds.pdf is neither an existing file nor a workflow's id\n")
    done = contracts(folder, "compare", "first.pdf", "01a1dfcb-1861-7310-9a8d-23fbf3cea2cb")
    assert done.code == 1
    assert "there is no database" in done.err
    assert "ENCRYPTED" not in done.err
    done = contracts(folder, "compare", "first.pdf", "locked.pdf")
    assert (done.code, done.err.count("\n")) == (1, 1)


# -- evaluate


@pytest.fixture
def labelled(folder: Path) -> Path:
    """Known answers for the two versions: one of the laws is not what the paper says."""
    with (folder / "labels.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["Filename", "Parties-Answer", "Agreement Date-Answer", "Governing Law-Answer"])
        day = f"{AGREED.dated.month}/{AGREED.dated.day}/{AGREED.dated:%y}"
        rows.writerow(["first.pdf", "; ".join(AGREED.parties), day, AGREED.law])
        rows.writerow(["gone.pdf", "", "", ""])
        rows.writerow(["second.pdf", "; ".join(AGREED.parties), day, "Kansas"])
    return folder


def test_an_evaluation_prints_every_field_and_every_threshold(labelled: Path) -> None:
    done = contracts(labelled, "evaluate", "--pdfs", ".", "--labels", "labels.csv")
    assert done.code == 0, done.err
    lines = {line.split()[0]: line.split() for line in done.out.splitlines() if line}
    assert lines["governing_law"][:8] == ["governing_law", "*", "2", "2", "1", "0", "1.000", "0.500"]
    assert lines["agreement_date"][6:8] == ["1.000", "1.000"]
    header = next(line for line in done.out.splitlines() if line.startswith("field"))
    assert [word for word in ("held back", "coverage", "accuracy", "stated", "by chance") if word not in header] == []
    assert lines["80"][:2] == ["80", "%"]
    assert "calibration commercial-" in done.out
    assert "2 documents, none of them in the calibration" in done.out
    assert "left out: gone.pdf" in done.err


def test_an_evaluation_cross_validates_and_shows_what_each_reader_brings(labelled: Path) -> None:
    done = contracts(labelled, "evaluate", "--pdfs", ".", "--labels", "labels.csv", "--folds", "2", "--readers")
    assert done.code == 0, done.err
    assert "the other 1 of 2 parts" in done.out
    assert any(line.split()[:2] == ["parties", "party_alias"] for line in done.out.splitlines())


def test_an_evaluation_as_json_of_only_so_many(labelled: Path) -> None:
    report = output_of(labelled, "evaluate", "--pdfs", ".", "--labels", "labels.csv", "--limit", "1")
    assert [one["name"] for one in report["documents"]] == ["first.pdf"]
    law = next(row for row in report["fields"] if row["field"] == "governing_law")
    assert (law["coverage"], law["accuracy"], report["grounded"]) == (1.0, 1.0, 1.0)
    assert {"precision", "coverage", "threshold"} <= set(report["thresholds"][0])


def test_invalid_labels_and_a_missing_folder_are_reported(folder: Path) -> None:
    (folder / "labels.csv").write_text("a,b\n1,2\n")
    done = contracts(folder, "evaluate", "--pdfs", ".", "--labels", "labels.csv")
    assert (done.code, "has no column Filename" in done.err) == (1, True)
    done = contracts(folder, "evaluate", "--pdfs", "nowhere", "--labels", "labels.csv")
    assert (done.code, done.err) == (1, "error: there is no folder nowhere; --pdfs names the one with the PDFs\n")


# -- verticals


def test_the_kinds_of_contract_are_listed(folder: Path) -> None:
    done = contracts(folder, "verticals")
    rows = {line.split()[0]: line for line in done.out.splitlines()[2:]}
    assert set(rows) == {"commercial", "energy"}
    assert "parties, agreement_date, governing_law" in rows["commercial"]
    assert [one["name"] for one in output_of(folder, "verticals")] == ["commercial", "energy"]


def test_a_file_that_describes_a_kind_is_checked(folder: Path) -> None:
    (folder / "lease.yaml").write_text(
        "name: lease\nlabel: Lease\nfields:\n"
        "  - {name: rent, label: Rent, type: money, extractors: [label], labels: [Rent], required: true}\n"
    )
    done = contracts(folder, "verticals", "--check", "lease.yaml")
    assert (done.code, done.out.splitlines()[-1]) == (0, "lease.yaml is valid")
    (folder / "lease.yaml").write_text(
        "name: lease\nlabel: Lease\nfields:\n  - {name: rent, label: Rent, type: cash}\n"
    )
    done = contracts(folder, "verticals", "--check", "lease.yaml")
    assert done.code == 1
    assert "lease.yaml: fields[rent].type: " in done.err
