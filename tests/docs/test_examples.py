"""Every Python example in the README and in docs/ runs as written."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")


def examples(page: Path) -> str:
    """The page's examples, in order, as one program: a later one may use what an earlier one made."""
    return "\n\n".join(BLOCK.findall(page.read_text()))


@pytest.mark.parametrize(
    "page", [p for p in PAGES if BLOCK.search(p.read_text())], ids=lambda p: str(p.relative_to(ROOT))
)
def test_the_examples_of_a_page_run_as_written(page: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", examples(page)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_readme_example_says_what_the_readme_says(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", examples(ROOT / "README.md")], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    first, second = done.stdout.splitlines()
    assert "waits for a person to approve it since" in first
    assert "ended in 'paid'" in second


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert broken == []
