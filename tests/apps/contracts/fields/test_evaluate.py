"""An evaluation counts what is right by stated rules, and no score has seen its own answer."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from interlock.apps.contracts.fields.calibration import Calibration, Row, Table, fold_of
from interlock.apps.contracts.fields.errors import BadLabels
from interlock.apps.contracts.fields.evaluate import evaluate, labels_of, name_letters
from interlock.apps.contracts.fields.fitting import Priors, fit
from interlock.apps.contracts.fields.matching import known_answer, matches
from interlock.apps.contracts.fields.recorded import recorded
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


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
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
        known_documents=(digest,),
        rows=tuple(
            Row(field="governing_law", signals=dict(label.signals), n=100, right=100, fold=fold_of(digest))
            for found, label in labels_of(documents)
            if found == digest and label.field == "governing_law"
        ),
    )
    report = evaluate(pdfs, labels, table=poisoned, reader=reader)
    first, second = (next(f.confidence for f in d.fields if f.field == "governing_law") for d in report.documents)
    assert first == pytest.approx(Calibration(EMPTY).base("governing_law"), abs=0.15)
    assert second > 0.98 > first
    assert [document.seen for document in report.documents] == [True, False]
    assert "1 of them in the calibration" in report.note


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


def test_progress_is_reported(tmp_path: Path) -> None:
    seen: list[tuple[int, int, str]] = []
    pdfs, labels = folder(tmp_path, ("a.pdf", CONTRACT, {}))
    evaluate(pdfs, labels, lambda *expected: seen.append(expected), table=EMPTY, reader=reader)
    assert seen == [(0, 1, "a.pdf"), (1, 1, "")]


def test_the_report_is_json(tmp_path: Path) -> None:
    report = evaluate(*folder(tmp_path, ("a.pdf", CONTRACT, {})), table=EMPTY, reader=reader)
    data = json.loads(json.dumps(report.json()))
    assert data["documents"][0]["fields"]["governing_law"]["right"] is True
    assert {row["threshold"] for row in data["thresholds"]} >= {80, 90}


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "Filename,x\na.pdf,1\n"])
def test_labels_in_another_form_are_refused_by_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(BadLabels, match=r"labels\.csv"):
        evaluate(tmp_path, tmp_path / "labels.csv", table=EMPTY, reader=reader)


def test_a_fit_keeps_the_counts_of_each_part_and_what_documents_look_like(tmp_path: Path) -> None:
    pdfs, labels = folder(tmp_path, ("a.pdf", CONTRACT, {}), ("b.pdf", CONTRACT + "b", {"Audit Rights": "No"}))
    documents = evaluate(pdfs, labels, table=EMPTY, reader=reader).documents
    table = fit(COMMERCIAL, documents, Priors(documents=100), version="1")
    rows = [row for row in table.rows if row.field == "audit_rights"]
    assert sorted((row.n, row.right) for row in rows) in ([(1, 0), (1, 1)], [(2, 1)])
    assert {row.fold for row in rows} == {fold_of(document.digest) for document in documents}
    assert (table.documents, table.priors, table.written, table.known) == (2, 100, 0, 102)
    assert [score.right for score in table.scores] == [True, True]
    assert table.profile.documents == 2


def many(tmp_path: Path, right: int, wrong: int) -> tuple[Path, Path]:
    """Contracts that are read alike, of which some have another law by their labels."""
    rows = [(f"r{n}.pdf", f"{CONTRACT}{n}", {}) for n in range(right)]
    rows += [(f"w{n}.pdf", f"{CONTRACT}x{n}", {"Governing Law": "Texas"}) for n in range(wrong)]
    return folder(tmp_path, *rows)


def test_a_cross_validation_judges_each_part_by_the_others(tmp_path: Path) -> None:
    report = evaluate(*many(tmp_path, 45, 15), folds=5, reader=reader)
    assert report.folds == 5
    assert "the other 4 of 5 parts" in report.note
    [law] = [row for row in report.fields if row.field == "governing_law"]
    assert (law.answered, law.right) == (60, 45)
    assert law.stated == pytest.approx(0.75, abs=0.04), "it says what the others showed"
    assert law.calibration_error < 0.06, "all are alike, so they are one bin"
    assert law.accuracy_low < 0.75 < law.accuracy_high
    assert all(document.final_confidence < 75 for document in report.documents)


def test_a_part_is_not_judged_by_itself(tmp_path: Path) -> None:
    documents = evaluate(*many(tmp_path, 45, 15), folds=5, reader=reader).documents
    parts: dict[int, list[tuple[bool, float]]] = {}
    for judged in documents:
        law = next(one for one in judged.fields if one.field == "governing_law")
        parts.setdefault(fold_of(judged.digest, 5), []).append((law.right, law.confidence))
    shares = sorted((sum(right for right, _ in part) / len(part), part[0][1]) for part in parts.values())
    assert shares[0][0] < shares[-1][0]
    assert shares[0][1] > shares[-1][1], "the part with most wrong answers is judged by the better ones"


def test_a_value_that_no_other_part_has_is_not_stated_in_a_cross_validation(tmp_path: Path) -> None:
    without = CONTRACT.replace("audit", "look at")
    assert without != CONTRACT
    rows = [(f"r{n}.pdf", f"{without}{n}", {"Audit Rights": "No"}) for n in range(70)]
    report = evaluate(*folder(tmp_path, *rows, ("a.pdf", CONTRACT, {})), folds=5, reader=reader)
    [audit] = [row for row in report.fields if row.field == "audit_rights"]
    assert (audit.known, audit.answered, audit.withheld) == (1, 0, 1)


def test_what_each_reader_brings_is_counted(tmp_path: Path) -> None:
    report = evaluate(*folder(tmp_path, ("a.pdf", CONTRACT, {})), table=EMPTY, reader=reader)
    readers = {(row.field, row.reader): row for row in report.readers}
    assert (readers["parties", "party_alias"].said, readers["parties", "party_alias"].right) == (1, 1)
    assert readers["parties", "party_alias"].alone == 0, "others have it as well"


def test_a_models_answers_from_a_file_are_a_reader_among_the_others(tmp_path: Path) -> None:
    pdfs, labels = folder(tmp_path, ("a.pdf", CONTRACT, {}))
    answers = tmp_path / "answers.json"
    law = {"field": "governing_law", "value": "Texas", "quote": "laws of the State of New York", "page": 1}
    answers.write_text(json.dumps({"a.pdf": {"answers": [law]}}))
    report = evaluate(pdfs, labels, table=EMPTY, reader=reader, second=recorded(answers))
    model = next(row for row in report.readers if (row.field, row.reader) == ("governing_law", "model"))
    assert (model.said, model.right) == (1, 0)
    assert report.documents[0].needs_review, "it differs from the rules"
    answers.write_text("[]")
    with pytest.raises(BadLabels, match=r"answers\.json"):
        recorded(answers)


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
        ("parties", ["alder", "birch"], '(Alder ("A"); Birch ("B"); A and B (each a "Party"))', True),
        ("parties", ["alder", "birch"], 'Alder ("A"); Birch ("B"); each Party that serves ("Provider")', True),
        ("parties", ["alder", "birch"], 'Alder Inc. ("A"); Birch ("B"); ALDER INC. ("A")', True),
        ("parties", ["alder"], 'Alder ("A"); Birch ("B"); A and B (collectively the "Parties")', False),
        ("parties", ["alder", "birch"], 'Alder ("A"); Birch ("B"); Cedar ("C")', False),
        ("parties", ["cedarpng", "alder"], 'CEDAR (PNG) LIMITED ("Cedar PNG"); Alder ("A")', True),
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
