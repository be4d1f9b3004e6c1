"""What `make docs` builds the site of: the same pages, all of them, with links that still work."""

from __future__ import annotations

import importlib
import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docs.site.__main__ import PACKAGES, ROOT, for_site, lay_out, library_page

from tests.docs.test_links import broken, pages


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    lay_out(target)
    return target


def in_navigation(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            yield from in_navigation(value) if isinstance(value, list) else [value]


def test_the_navigation_has_every_page_once(site: Path) -> None:
    listed = list(in_navigation(tomllib.loads((site / "zensical.toml").read_text())["project"]["nav"]))
    there = {str(page.relative_to(site / "pages")) for page in (site / "pages").rglob("*.md")}
    of_code = {str(page.relative_to(ROOT)) for page in (ROOT / "examples").rglob("docs/*.md")}
    assert sorted(listed) == sorted(there - of_code)
    assert {str(page.relative_to(ROOT)) for page in pages()} <= there


def test_links_lead_to_pages_of_the_site(site: Path) -> None:
    root = (site / "pages").resolve()
    assert [lost for page in root.rglob("*.md") for lost in broken(page, root)] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_the_reference_has_every_public_name_of_a_package(site: Path, package: str) -> None:
    page = (site / "pages" / library_page(package)).read_text()
    named = set(re.findall(rf"^::: {re.escape(package)}\.(\w+)$", page, re.MULTILINE))
    constants = set(re.findall(r"`(\w+)`", next(iter(re.findall(r"^Constants: .*$", page, re.MULTILINE)), "")))
    assert named | constants == set(importlib.import_module(package).__all__)
    assert named


@pytest.mark.parametrize("package", PACKAGES)
def test_every_class_and_function_of_the_reference_says_what_it_is(package: str) -> None:
    module = importlib.import_module(package)
    named = {name: getattr(module, name) for name in module.__all__}
    described = [name for name, one in named.items() if inspect.isclass(one) or inspect.isroutine(one)]
    assert [name for name in described if not (named[name].__doc__ or "").strip()] == []


def test_code_in_a_cell_shows_a_plain_vertical_line() -> None:
    assert for_site("| `a\\|b` | c |\n") == "| `a|b` | c |\n"
    assert for_site("`a\\|b`\n") == "`a\\|b`\n"
