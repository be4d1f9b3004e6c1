"""Only the store knows which database it runs on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import interlock

ROOT = Path(interlock.__file__).parent
KINDS = {"sqlite", "postgresql"}


def above_the_store() -> Iterator[Path]:
    for file in sorted(ROOT.rglob("*.py")):
        if file.relative_to(ROOT).parts[0] != "store":
            yield file


def questions(file: Path) -> Iterator[str]:
    """Where a file asks for the database's kind: reads `.dialect`, or compares something with its name."""
    for node in ast.walk(ast.parse(file.read_text())):
        asks = isinstance(node, ast.Attribute) and node.attr == "dialect"
        if isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            asks = any(isinstance(side, ast.Constant) and side.value in KINDS for side in sides)
        if asks:
            yield f"{file.relative_to(ROOT)}:{node.lineno}"  # type: ignore[attr-defined]


def test_no_file_above_the_store_asks_which_database_it_is() -> None:
    assert [place for file in above_the_store() for place in questions(file)] == []
