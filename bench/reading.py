"""Contracts read here, against PDFium alone on the same files."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium

from interlock.apps.contracts import reading

VALUES = 20
"""Places whose boxes are asked for in each file, as many as a contract has fields."""


def measure(folder: Path, runs: int) -> dict[str, Any]:
    """Pages per second, side by side in each round, so that a busy moment of the machine falls on all of them."""
    files = [path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix.lower() == ".pdf"]
    if not files:
        raise SystemExit(f"there is no PDF in {folder}; name a folder with --pdfs")
    rates: dict[str, list[float]] = {}
    with reading.Reader() as reader:
        reader.read(files[0])  # its process has started
        ways = {
            "PDFium alone": alone,
            "read": lambda data: len(reading.read(data).pages),
            "read, with the boxes of 20 values": with_boxes,
            "read in a process of its own": lambda data: len(reader.read(data).pages),
        }
        pages = sum(alone(data) for data in files)
        for _ in range(runs):
            for name, way in ways.items():
                began = time.perf_counter()
                assert sum(way(data) for data in files) == pages
                rates.setdefault(name, []).append(pages / (time.perf_counter() - began))
    limit = statistics.median(rates["PDFium alone"])
    return {
        "files": len(files),
        "pages": pages,
        "rates": {
            name: {"median": statistics.median(found), "ratio": statistics.median(found) / limit, "runs": found}
            for name, found in rates.items()
        },
    }


def alone(data: bytes) -> int:
    with pdfium.PdfDocument(data) as file:
        for index in range(len(file)):
            page = file[index]
            text = page.get_textpage()
            text.get_text_bounded()
            text.close()
            page.close()
        return len(file)


def with_boxes(data: bytes) -> int:
    document = reading.read(data)
    step = max(len(document.text) // VALUES, 1)
    spans = [span for at in range(0, len(document.text) - 60, step) for span in document.locate(at, at + 60)]
    reading.boxes_of(document, spans, data)
    return len(document.pages)
