"""A process of its own for files from strangers."""

from __future__ import annotations

import multiprocessing.context
import os
import signal
from collections.abc import Iterator

import pytest

from interlock.apps.contracts.reading import Limits, Reader, boxes_of, errors, ground, read, render, span_at
from tests.support.files import pdf

DATA = pdf([["Alpha and Beta agree"], ["on page two"]])


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with Reader(memory_mb=512) as made:
        yield made


def test_it_gives_the_same_as_reading_here(reader: Reader) -> None:
    document = read(DATA)
    assert reader.read(DATA, "x.pdf") == document
    spans = ground(document, "page two").spans
    assert reader.boxes_of(document, spans, DATA) == boxes_of(document, spans, DATA)
    [[box]] = boxes_of(document, spans, DATA)
    assert reader.span_at(document, 2, box, DATA) == span_at(document, 2, box, DATA) == spans[0]
    assert reader.render(DATA, 1, 1.0) == render(DATA, 1, 1.0)


def test_errors_arrive_as_what_they_are(reader: Reader) -> None:
    with pytest.raises(errors.EncryptedPdf, match="password"):
        reader.read(pdf([["x"]], password="secret"))
    with pytest.raises(IndexError, match="no page 9"):
        reader.render(DATA, 9)
    assert reader.read(DATA).pages


def test_progress_is_heard_from_there(reader: Reader) -> None:
    heard: list[tuple[int, int]] = []
    reader.read(DATA, progress=lambda page, of: heard.append((page, of)))
    assert heard == [(1, 2), (2, 2)]


def test_an_error_of_who_hears_the_progress_leaves_no_stale_answer(reader: Reader) -> None:
    def fail(page: int, of: int) -> None:
        raise RuntimeError("the screen is gone")

    with pytest.raises(RuntimeError):
        reader.read(DATA, progress=fail)
    assert reader.render(DATA, 1).startswith(b"\x89PNG")


def test_after_its_process_died_the_next_file_has_another(reader: Reader) -> None:
    assert reader.read(DATA).pages
    child = reader._child
    first = child.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    child.join(10)
    assert reader.read(DATA).pages
    assert reader._child.pid != first


def test_a_machine_without_a_process_left_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(process: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    with Reader(memory_mb=512) as made:
        with monkeypatch.context() as full:
            full.setattr(multiprocessing.context.SpawnProcess, "start", refuse)
            for _ in range(2):
                with pytest.raises(errors.ReaderDied, match=r"could not start .*unavailable"):
                    made.read(DATA)
        assert made.read(DATA).pages


def test_a_file_that_ends_its_process_is_an_error_that_may_be_tried_again() -> None:
    with Reader(memory_mb=64) as small:
        with pytest.raises(errors.ReaderDied) as caught:
            small.render(pdf([["x"]]) + bytes(90_000_000), 1)
        assert caught.value.retryable
        assert small.read(DATA).pages


def test_a_file_that_takes_too_long_is_ended() -> None:
    with Reader(Limits(seconds=0.0, ocr_seconds_a_page=0.0)) as hasty, pytest.raises(errors.ParseTimeout):
        hasty.read(pdf([["word " * 15] * 30] * 200))
