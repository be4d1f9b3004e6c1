"""The page on performance has a place for every table that `bench` writes, and the tables of the recorded figures."""

from __future__ import annotations

import json

import pytest
from bench import documentation
from bench.__main__ import PARTS, ROOT

PAGE = ROOT / "docs/explanation/performance.md"
FIGURES = json.loads((ROOT / "bench/figures.json").read_text())
WRITTEN = {name: part.markdown for name, part in PARTS.items() if part.markdown}


@pytest.mark.parametrize("name", WRITTEN)
def test_every_table_has_its_place(name: str) -> None:
    assert f"<!-- bench: {name} -->\n\n" in PAGE.read_text()


@pytest.mark.parametrize("name", sorted(WRITTEN.keys() & FIGURES))
def test_the_tables_are_those_of_the_figures(name: str) -> None:
    markdown = WRITTEN[name]
    assert markdown is not None
    assert documentation.section(name, markdown(FIGURES[name])) in PAGE.read_text()
