"""An evaluation counts what is right by stated rules, and no score has seen its own answer."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from interlock.apps.contracts.fields.calibration import Calibration, Row, Table
from interlock.apps.contracts.fields.errors import BadLabels
from interlock.apps.contracts.fields.evaluate import evaluate, labels_of, name_letters
from interlock.apps.contracts.fields.fitting import Priors, fit
from interlock.apps.contracts.fields.matching import known_answer, matches
from interlock.apps.contracts.reading.document import Document
from tests.apps.contracts.fields.texts import COMMERCIAL, CONTRACT, document

EMPTY = Table(vertical="commercial", version="empty", documents=0)
RIGHT = {
    "Parties": 'Alder Pumps, Inc. ("Alder"); Birch Marine LLC ("Distributor")',
    "Agreement Date": "5/6/03",
    "Governing Law": "New York",
    "Audit Rights": "Yes",
    "Insurance": "No",
}


def reader(data: bytes, name: str) -> Document:
    return document(data.decode())


def folder(tmp_path: Path, *rows: tuple[str, str, dict[str, str]]) -> tuple[Path, Path]:
    """A folder with files and their labels: (name in the labels, text, answers that differ from `RIGHT`)."""
    labels = tmp_path / "labels.csv"
    columns = ["Filename", *(f"{name}-Answer" for name in RIGHT)]
    with labels.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        for name, text, answers in rows:
            (tmp_path / name.replace("_and_", "&")).write_text(text)
            labelled = {**RIGHT, **answers}
            writer.writerow({"Filename": name.replace("_and_", ""), **{f"{k}-Answer": v for k, v in labelled.items()}})
    return tmp_path, labels


def test_what_is_right_wrong_and_not_there_is_counted(tmp_path: Path) -> None:
    no_law = CONTRACT.replace("laws of the State of\nNew York", "rules of reason")
    report = evaluate(
        *folder(
            tmp_path,
            ("a.pdf", CONTRACT, {}),
            ("b.PDF", CONTRACT + "b", {"Governing Law": "Texas"}),
            ("c.pdf", CONTRACT + "c", {"Governing Law": ""}),
            ("d.pdf", no_law, {}),
        ),
        table=EMPTY,
        reader=reader,
    )
    [law] = [row for row in report.fields if row.field == "governing_law"]
    assert report.together["all"] > 0
    assert (law.known, law.answered, law.right, law.spurious) == (3, 3, 1, 1)
    assert law.coverage == pytest.approx(2 / 3)
    assert law.accuracy == pytest.approx(1 / 3)
    assert law.accuracy_known == pytest.approx(1 / 2)
    assert report.grounded == 1
    assert [document.right for document in report.documents] == [True, False, False, False]


def test_clauses_count_where_they_are_answered(tmp_path: Path) -> None:
    report = evaluate(*folder(tmp_path, ("a.pdf", CONTRACT, {})), table=EMPTY, reader=reader)
    rows = {row["field"]: row for row in report.rows()}
    assert (rows["audit_rights"]["right"], rows["audit_rights"]["answered"]) == (1, 1)
    assert (rows["insurance"]["known"], rows["insurance"]["answered"]) == (0, 0)
    assert "anti_assignment" not in rows  # the labels have no such column


def test_names_of_files_may_differ_in_signs(tmp_path: Path) -> None:
    report = evaluate(*folder(tmp_path, ("a_and_b.pdf", CONTRACT, {})), table=EMPTY, reader=reader)
    assert [document.name for document in report.documents] == ["a&b.pdf"]
    assert name_letters("O'Neil & Sons.PDF") == name_letters("ONeil _ Sons.pdf")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    pdfs, labels = folder(tmp_path, ("a.pdf", CONTRACT, {}))
    (pdfs / "a.pdf").unlink()
    report = evaluate(pdfs, labels, table=EMPTY, reader=reader)
    assert report.documents == ()
    assert report.skipped[0].startswith("a.pdf: no such file")


def test_no_document_is_judged_by_a_table_that_has_seen_it(tmp_path: Path) -> None:
    pdfs, labels = folder(tmp_path, ("a.pdf", CONTRACT, {}), ("b.pdf", CONTRACT + "b", {}))
    documents = evaluate(pdfs, labels, table=EMPTY, reader=reader).documents
    digest = documents[0].digest
    poisoned = Table(
        vertical="commercial",
        version="p",
        documents=99,
        rows=tuple(
            Row(field="governing_law", signals=dict(label.signals), n=100, right=100, document=digest)
            for found, label in labels_of(documents)
            if found == digest and label.field == "governing_law"
        ),
    )
    report = evaluate(pdfs, labels, table=poisoned, reader=reader)
    first, second = (next(f.confidence for f in d.fields if f.field == "governing_law") for d in report.documents)
    assert first == 0.5
    assert second > 0.9
    assert [document.seen for document in report.documents] == [True, False]
    assert "1 of them in the calibration table" in report.note


def test_a_threshold_approves_what_reaches_it_and_needs_nobody(tmp_path: Path) -> None:
    pdfs, labels = folder(tmp_path, ("a.pdf", CONTRACT, {}), ("b.pdf", CONTRACT + "b", {"Governing Law": "Texas"}))
    signals = {"agreement": "agree"}
    rows = tuple(
        Row(field=name, signals=signals, n=400, right=400) for name in ("parties", "agreement_date", "governing_law")
    )
    report = evaluate(
        pdfs, labels, table=Table(vertical="commercial", version="s", documents=99, rows=rows), reader=reader
    )
    at = {row.threshold: row for row in report.thresholds}
    assert (at[80].approved, at[80].right, at[80].precision, at[80].coverage) == (2, 1, 0.5, 1.0)


def test_progress_is_told(tmp_path: Path) -> None:
    seen: list[tuple[int, int, str]] = []
    pdfs, labels = folder(tmp_path, ("a.pdf", CONTRACT, {}))
    evaluate(pdfs, labels, lambda *expected: seen.append(expected), table=EMPTY, reader=reader)
    assert seen == [(0, 1, "a.pdf"), (1, 1, "")]


def test_the_report_is_json(tmp_path: Path) -> None:
    import json

    report = evaluate(*folder(tmp_path, ("a.pdf", CONTRACT, {})), table=EMPTY, reader=reader)
    data = json.loads(json.dumps(report.json()))
    assert data["documents"][0]["fields"]["governing_law"]["right"] is True
    assert {row["threshold"] for row in data["thresholds"]} >= {80, 90}


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "Filename,x\na.pdf,1\n"])
def test_labels_in_another_form_are_refused_by_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(BadLabels, match=r"labels\.csv"):
        evaluate(tmp_path, tmp_path / "labels.csv", table=EMPTY, reader=reader)


def test_a_fit_weighs_measured_contracts_to_the_shares_of_all(tmp_path: Path) -> None:
    pdfs, labels = folder(tmp_path, ("a.pdf", CONTRACT, {}), ("b.pdf", CONTRACT + "b", {"Audit Rights": "No"}))
    documents = evaluate(pdfs, labels, table=EMPTY, reader=reader).documents
    priors = Priors(note="n", documents=100, rows=(), shares={"audit_rights": 0.1})
    table = fit(COMMERCIAL, documents, priors, version="1")
    rows = [row for row in table.rows if row.field == "audit_rights" and row.source == "measured"]
    assert sorted((row.n, row.right) for row in rows) == [(0.2, 0.2), (1.8, 0.0)]
    assert (table.documents, table.priors, table.written, table.known) == (2, 100, 0, 102)
    assert Calibration(table).base("audit_rights") < 0.5


@pytest.mark.parametrize(
    ("kind", "value", "answer", "right"),
    [
        ("date", "2003-05-06", "5/6/03", True),
        ("date", "2003-05-06", "5/7/03", False),
        ("date", "2015-XX-XX", "[]/[]/2015", True),
        ("date", "2015-01-01", "[]/[]/2015", False),
        ("date", "2000-07-31", "07/31/2000; 07/[]/2000", True),
        ("law", "Ontario", "Ontario, Canada", True),
        ("law", "Ontario", "Quebec", False),
        ("law", "Delaware", "Delaware; New York", False),
        ("parties", ["alderpumps", "birchmarine"], RIGHT["Parties"], True),
        ("parties", ["alderpumps"], RIGHT["Parties"], False),
        ("parties", ["alderpumps", "birchmarine", "cedar"], RIGHT["Parties"], False),
        ("parties", ["alderpumps", "birchmarina"], RIGHT["Parties"], False),
        ("parties", ["alderpumps", "distributor"], RIGHT["Parties"], True),
        ("parties", ["alder", "birch"], 'Alder ("A"); Birch ("B"); A and B (collectively the "Parties")', True),
        ("duration", "P12M", "successive 1 year", True),
        ("duration", "P1M", "1 year", False),
        ("text", "distribution agreement", "DISTRIBUTION AGREEMENT", True),
        ("text", "supply agreement", "DISTRIBUTION AGREEMENT", False),
        ("clause", "yes", "Yes", True),
        ("clause", "yes", "No", False),
        ("law", None, "Texas", False),
    ],
)
def test_what_counts_as_right(kind: str, value: Any, answer: str, right: bool) -> None:
    assert matches(kind, value, known_answer(kind, answer)) is right
