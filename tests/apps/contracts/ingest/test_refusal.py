"""What is no contract is refused by its name and with the reason; what may be one is not."""

from __future__ import annotations

import io
import zipfile

import pytest

from interlock.apps.contracts.fields.vertical import load_verticals
from interlock.apps.contracts.ingest import refusal
from interlock.apps.contracts.ingest.guess import guess
from interlock.apps.contracts.reading import Document, Page
from interlock.apps.contracts.reading.errors import ReadingError
from interlock.apps.contracts.reading.file import media_type
from tests.support.contracts import OPENING, POWER
from tests.support.files import pdf

TABLE = b"name,street,city\n" + b"Ann Miller,Main Street 5,Boston\n" * 20
CONTRACT = "\n".join(OPENING).encode()


def archive(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name in names:
            made.writestr(name, "<x/>")
    return out.getvalue()


def check(content: bytes, name: str) -> None:
    refusal.check(content, name, media_type(content, name))


@pytest.mark.parametrize(
    ("content", "name", "reason"),
    [
        (b"hello", "x.pdf", "'x.pdf' is not a PDF: it is text (5 bytes)"),
        (b"hello world", "x.docx", "'x.docx' is not a Word file"),
        (TABLE, "people.csv", "'people.csv' is a table (CSV), not a contract"),
        (TABLE, "people.txt", "'people.txt' is a table, not a contract"),
        (TABLE.replace(b",", b";"), "people", "'people' is a table"),
        (b"hello there", "note.txt", "'note.txt' has only 2 words"),
        (b"12 34 56", "numbers.txt", "'numbers.txt' has no words"),
        (archive("xl/workbook.xml"), "sums.xlsx", "'sums.xlsx' is a spreadsheet"),
        (archive("xl/workbook.xml"), "sums", "'sums' is a spreadsheet"),
        (archive("ppt/presentation.xml"), "talk", "'talk' is a presentation"),
        (archive("a.txt"), "things", "'things' is an archive"),
        (b'{"a": 1}', "data.json", "'data.json' is data (JSON)"),
    ],
)
def test_it_is_refused_by_name(content: bytes, name: str, reason: str) -> None:
    with pytest.raises(ReadingError) as refused:
        check(content, name)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (CONTRACT, "supply.txt"),
        (CONTRACT, "supply"),
        ("\n".join(POWER).encode(), "strom.txt"),
        (pdf([OPENING]), "supply.pdf"),
        (pdf([OPENING]), "wrong-ending.csv"),
        (archive("word/document.xml"), "supply.docx"),
        (archive("word/document.xml"), "really-word.pdf"),
        (b"One, two, three words and more of them here, in this long sentence.\n" * 9, "prose.txt"),
    ],
    ids=[
        "text",
        "no ending",
        "short German",
        "PDF",
        "PDF with another ending",
        "Word",
        "Word with another ending",
        "prose with commas",
    ],
)
def test_what_may_be_a_contract_is_accepted(content: bytes, name: str) -> None:
    check(content, name)


@pytest.mark.parametrize(("lines", "kind"), [(OPENING, "commercial"), (POWER, "energy")])
def test_the_kind_is_guessed_by_its_words(lines: tuple[str, ...], kind: str) -> None:
    document = Document("text/plain", (Page(1, "\n".join(lines)),))
    found = guess(document, load_verticals(None).values())
    assert (found.vertical, found.fits) == (kind, True)


def test_a_text_of_no_kind_says_so() -> None:
    found = guess(Document("text/plain", (Page(1, "The quick brown fox jumps"),)), load_verticals(None).values())
    assert (found.vertical, found.fits) == ("commercial", False)
