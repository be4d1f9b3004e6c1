"""Files from strangers: each way to open one has its bounds on time and memory, and hidden words are not read."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from interlock.apps.contracts.reading import Box, Document, Limits, Page, Reader, Span, errors, read
from tests.support.files import pdf, saved

PAPER = pdf([["Governing Law. The laws of Ohio apply."]])
DOCUMENT = Document("application/pdf", (Page(1, "Governing Law. The laws of Ohio apply.", 612, 792),))
PLACE = Span(1, 0, 13)
WAYS: dict[str, Callable[[Reader, bytes], Any]] = {
    "read": lambda reader, data: reader.read(data),
    "render": lambda reader, data: reader.render(data, 1),
    "boxes_of": lambda reader, data: reader.boxes_of(DOCUMENT, [PLACE], data),
    "visible": lambda reader, data: reader.visible(DOCUMENT, [PLACE], data),
    "span_at": lambda reader, data: reader.span_at(DOCUMENT, 1, Box(70, 80, 300, 110), data),
}


def test_these_are_all_the_ways_to_open_a_file() -> None:
    own = {name for name in vars(Reader) if not name.startswith("_")} - {"close"}
    assert own == set(WAYS)


@pytest.mark.parametrize("way", WAYS)
def test_each_is_ended_when_it_takes_too_long(way: str) -> None:
    with Reader(Limits(seconds=0.1, ocr_seconds_a_page=0.1)) as hasty:
        hasty._start()
        os.kill(hasty._child.pid, signal.SIGSTOP)  # a file that keeps it busy forever
        with pytest.raises(errors.ParseTimeout):
            WAYS[way](hasty, PAPER)
        assert hasty._child is None, "it was ended"


def test_each_ends_alone_when_it_needs_too_much_memory() -> None:
    with Reader(memory_mb=64) as small:
        for way, open_it in WAYS.items():
            with pytest.raises((errors.ReaderDied, errors.TooLarge)):
                open_it(small, PAPER + bytes(90_000_000))
            assert small.render(PAPER, 1), f"the next file is opened after {way}"


HIDDEN = {
    "hidden": "<w:vanish/>",
    "tiny": '<w:sz w:val="2"/>',
    "white": '<w:color w:val="ffffff"/>',
}
SHOWN = {
    "not hidden": '<w:vanish w:val="0"/>',
    "small": '<w:sz w:val="14"/>',
    "white on black": '<w:color w:val="FFFFFF"/><w:shd w:val="clear" w:fill="000000"/>',
    "black": '<w:color w:val="000000"/>',
}


def written(looks: str) -> str:
    file = docx.Document()
    words = f"<w:r><w:t>Law: Ohio</w:t></w:r><w:r><w:rPr>{looks}</w:rPr><w:t> or Texas</w:t></w:r>"
    file.element.body.insert(0, parse_xml(f"<w:p {nsdecls('w')}>{words}</w:p>"))
    return read(saved(file)).text


@pytest.mark.parametrize("looks", HIDDEN)
def test_words_that_word_does_not_show_are_not_read(looks: str) -> None:
    assert written(HIDDEN[looks]) == "Law: Ohio"


@pytest.mark.parametrize("looks", SHOWN)
def test_words_that_are_seen_are(looks: str) -> None:
    assert written(SHOWN[looks]) == "Law: Ohio or Texas"


def test_white_words_on_the_dark_cells_of_a_table_are_read() -> None:
    file = docx.Document()
    cell = file.add_table(1, 1).cell(0, 0)
    cell._element.get_or_add_tcPr().append(parse_xml(f'<w:shd {nsdecls("w")} w:val="clear" w:fill="000000"/>'))
    white = '<w:r><w:rPr><w:color w:val="FFFFFF"/></w:rPr><w:t>Price</w:t></w:r>'
    cell._element.insert(1, parse_xml(f"<w:p {nsdecls('w')}>{white}</w:p>"))
    assert "Price" in read(saved(file)).text
