"""Word files: everything that is read, in the order in which it is read."""

from __future__ import annotations

import io
import zipfile

import docx
import pytest
from docx.enum.text import WD_BREAK
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from interlock.apps.contracts.reading import Limits, errors, read
from tests.support.files import saved, word


def test_paragraphs_and_tables_are_read_in_their_order_between_header_and_footer() -> None:
    file = docx.Document()
    file.sections[0].header.paragraphs[0].text = "Confidential"
    file.sections[0].footer.paragraphs[0].text = "Page"
    file.add_paragraph("Before the table")
    table = file.add_table(2, 2)
    for at, text in enumerate(["Tariff", "Price", "Basic", "29,90 \u20ac"]):
        table.cell(at // 2, at % 2).text = text
    file.add_paragraph("After the table")
    document = read(saved(file), "contract.docx")
    assert document.text.splitlines() == [
        "Confidential",
        "Before the table",
        "Tariff\tPrice",
        "Basic\t29,90 \u20ac",
        "After the table",
        "Page",
    ]
    assert document.media_type.endswith("wordprocessingml.document")


def test_page_breaks_are_pages() -> None:
    file = docx.Document()
    paragraph = file.add_paragraph("First")
    paragraph.add_run().add_break(WD_BREAK.PAGE)
    file.add_paragraph("Second")
    assert [page.text for page in read(saved(file)).pages] == ["First", "Second"]


def test_tracked_insertions_and_content_controls_are_read_and_deletions_are_not() -> None:
    file = docx.Document()
    inner = (
        '<w:r><w:t xml:space="preserve">Term: </w:t></w:r>'
        '<w:ins w:id="1" w:author="a"><w:r><w:t>two</w:t></w:r></w:ins>'
        '<w:del w:id="2" w:author="a"><w:r><w:delText>three</w:delText><w:br/></w:r></w:del>'
        "<w:sdt><w:sdtContent><w:r><w:tab/><w:t>years</w:t></w:r></w:sdtContent></w:sdt>"
    )
    file.element.body.insert(0, parse_xml(f"<w:p {nsdecls('w')}>{inner}</w:p>"))
    assert read(saved(file)).text == "Term: two\tyears"


def test_a_table_in_a_table_is_read_once() -> None:
    file = docx.Document()
    cell = file.add_table(1, 1).cell(0, 0)
    cell.text = "outer"
    cell.add_table(1, 1).cell(0, 0).text = "inner"
    text = read(saved(file)).text
    assert text.count("inner") == 1
    assert text.count("outer") == 1


def test_numbers_that_word_only_shows_are_part_of_the_text() -> None:
    file = docx.Document()
    levels = "".join(
        f'<w:lvl w:ilvl="{depth}"><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for depth, form, text in [(0, "decimal", "%1."), (1, "decimal", "%1.%2"), (2, "lowerLetter", "(%3)")]
    )
    root = file.part.numbering_part.element
    root.insert(0, parse_xml(f'<w:abstractNum {nsdecls("w")} w:abstractNumId="77">{levels}</w:abstractNum>'))
    root.append(parse_xml(f'<w:num {nsdecls("w")} w:numId="77"><w:abstractNumId w:val="77"/></w:num>'))
    for depth, text in [
        (0, "Term"),
        (1, "Start"),
        (1, "End"),
        (2, "by notice"),
        (2, "by law"),
        (0, "Price"),
        (1, "Tax"),
    ]:
        paragraph = file.add_paragraph(text)
        number = f'<w:numPr {nsdecls("w")}><w:ilvl w:val="{depth}"/><w:numId w:val="77"/></w:numPr>'
        paragraph._p.get_or_add_pPr().append(parse_xml(number))
    assert read(saved(file)).text.splitlines() == [
        "1. Term",
        "1.1 Start",
        "1.2 End",
        "(a) by notice",
        "(b) by law",
        "2. Price",
        "2.1 Tax",
    ]


def archive(**parts: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in parts.items():
            made.writestr(name.replace("__", "/").replace("_xml", ".xml"), data)
    return out.getvalue()


def test_a_zip_bomb_is_refused_before_it_is_unpacked() -> None:
    data = archive(word__document_xml=bytes(30_000_000))
    assert len(data) < 100_000
    with pytest.raises(errors.TooLarge):
        read(data, limits=Limits(unpacked=20_000_000))


def test_entities_that_multiply_are_not_followed() -> None:
    entities = "".join(f'<!ENTITY e{at + 1} "{f"&e{at};" * 10}">' for at in range(9))
    body = "<w:body><w:p><w:r><w:t>&e9;</w:t></w:r></w:p></w:body>"
    head = f'<?xml version="1.0"?><!DOCTYPE w [<!ENTITY e0 "ha">{entities}]>'
    bomb = f"{head}<w:document {nsdecls('w')}>{body}</w:document>"
    good = io.BytesIO(word("hello"))
    out = io.BytesIO()
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(out, "w") as made:
        for name in source.namelist():
            made.writestr(name, bomb if name == "word/document.xml" else source.read(name))
    with pytest.raises(errors.NotReadable):
        read(out.getvalue())


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (word("hello")[:200], errors.CorruptDocument),
        (archive(word__document_xml=b"<broken"), errors.CorruptDocument),
        (archive(xl__workbook_xml=b"<workbook/>"), errors.UnsupportedType),
        (word(), errors.EmptyDocument),
        (word(" ", ""), errors.EmptyDocument),
    ],
)
def test_an_archive_that_is_no_readable_word_file_says_so(data: bytes, error: type[errors.ReadingError]) -> None:
    with pytest.raises(error):
        read(data, "x.docx")
