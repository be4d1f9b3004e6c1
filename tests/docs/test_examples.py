"""Every Python example in the README and in docs/ runs as written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.scripts import Scripts, scripts

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def examples(page: Path) -> str:
    """The page's examples, in order, as one program: a later one may use what an earlier one made."""
    return "\n\n".join(BLOCK.findall(page.read_text()))


@pytest.fixture(scope="module")
def runner() -> Iterator[Scripts]:
    with scripts() as made:
        yield made


@pytest.mark.parametrize(
    "page", [p for p in PAGES if BLOCK.search(p.read_text())], ids=lambda p: str(p.relative_to(ROOT))
)
def test_the_examples_of_a_page_run_as_written(runner: Scripts, page: Path, tmp_path: Path) -> None:
    ended = runner.run(examples(page), tmp_path)
    assert ended.code == 0, ended.err


def test_the_readme_example_says_what_the_readme_says(runner: Scripts, tmp_path: Path) -> None:
    ended = runner.run(examples(ROOT / "README.md"), tmp_path)
    first, second = ended.out.splitlines()
    assert "waits for a person to approve it since" in first
    assert "ended in 'paid'" in second


def test_the_tutorials_program_can_be_started_again(runner: Scripts, tmp_path: Path) -> None:
    program = examples(ROOT / "docs/tutorial/first-machine.md")
    first, again = runner.run(program, tmp_path), runner.run(program, tmp_path)
    assert "Its step runs again at" in first.out.splitlines()[-1]
    assert (again.code, again.err) == (0, "")
    assert again.out.splitlines()[-1].startswith("parcel is in")


def test_an_example_that_fails_is_seen(runner: Scripts, tmp_path: Path) -> None:
    ended = runner.run("import warnings\nwarnings.warn('old')", tmp_path)
    assert (ended.code, ended.err.splitlines()[-1]) == (1, "UserWarning: old")
