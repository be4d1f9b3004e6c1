"""The tutorial of an own application shows the files of examples/expenses, all of them and as they are.

`python -m tests.docs.test_own_application` writes the files into the page again after they were changed.
"""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from pathlib import Path

from interlock.machine import Application

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorial" / "own-application.md"
EXAMPLE = ROOT / "examples" / "expenses"
BLOCK = re.compile(
    r'^(?P<fence>````?)(?P<kind>\w+) title="(?P<path>[^"]+)"\n.*?^(?P=fence)\n', re.DOTALL | re.MULTILINE
)
NOT_SHOWN = {"README.md"}


def filled(page: str) -> str:
    """The page with each block as its file is."""

    def block(found: re.Match[str]) -> str:
        fence, kind, path = found["fence"], found["kind"], found["path"]
        return f'{fence}{kind} title="{path}"\n{(EXAMPLE / path).read_text(encoding="utf-8")}{fence}\n'

    return BLOCK.sub(block, page)


def files() -> set[str]:
    found = (path for path in EXAMPLE.rglob("*") if path.is_file())
    kept = (path.relative_to(EXAMPLE) for path in found if path.stat().st_size)
    return {
        path.as_posix()
        for path in kept
        if not any(part.startswith(".") or part == "__pycache__" for part in path.parts)
    } - NOT_SHOWN


def test_the_page_shows_each_file_as_it_is() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == filled(page)


def test_the_page_shows_every_file_once() -> None:
    shown = [found["path"] for found in BLOCK.finditer(PAGE.read_text(encoding="utf-8"))]
    assert sorted(shown) == sorted(files())


def test_the_example_uses_every_door() -> None:
    tree = ast.parse((EXAMPLE / "src" / "expenses" / "application.py").read_text(encoding="utf-8"))
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Application"
    ]
    used = {keyword.arg for call in calls for keyword in call.keywords}
    # A setting that chooses between two versions is for an application that has two.
    assert {field.name for field in fields(Application)} - {"name", "machines_by_settings"} == used


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
