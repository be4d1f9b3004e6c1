"""Puts measured tables into a page, between marks that a reader does not see."""

from __future__ import annotations

import textwrap
from pathlib import Path


def write(page: Path, name: str, text: str) -> None:
    """Replace what stands between `<!-- bench: NAME -->` and `<!-- end -->`."""
    first, last = _first(name), "<!-- end -->"
    whole = page.read_text()
    before, found, rest = whole.partition(first)
    old, ended, after = rest.partition(last)
    if not found or not ended or "<!-- bench:" in old:
        raise SystemExit(f"{page} has no place for {name!r}; make one with the two lines {first} and {last}")
    page.write_text(f"{before}{section(name, text)}{after}")


def section(name: str, text: str) -> str:
    """The text as it stands in a page, with its marks."""
    return f"{_first(name)}\n\n{_filled(text.strip())}\n\n<!-- end -->"


def _first(name: str) -> str:
    return f"<!-- bench: {name} -->"


def _filled(text: str) -> str:
    """Paragraphs in lines as long as ours; tables and images stay as they are."""
    return "\n".join(
        line if line.startswith(("|", "!")) else textwrap.fill(line, 120, break_on_hyphens=False)
        for line in text.splitlines()
    )
