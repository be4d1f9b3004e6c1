"""Limits of what is read from a file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for one file; a contract of usual size is far below them."""

    bytes: int = 50_000_000
    pages: int = 2_000
    characters_a_page: int = 200_000
    characters: int = 20_000_000
    unpacked: int = 200_000_000
    """Bytes that a Word file may unpack to."""
    seconds: float = 120.0
    """For all pages with text; a page that OCR reads has its own time."""
    look_seconds: float = 8.0
    """For drawing the pages with evidence, to see whether a person can see it."""
    ocr_pages: int = 100
    ocr_seconds_a_page: float = 30.0
    pixels: int = 16_000_000
    """Of one page image; a larger page is rendered at a smaller scale."""
    text_page: int = 4_000
    """Characters that make a page of a file which has none of its own."""


DEFAULT = Limits()
