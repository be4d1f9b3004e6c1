"""Every relative link and every anchor in the Markdown files of the repository leads somewhere; nothing is fetched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1`* *$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"(`+)[^`].*?\1", re.DOTALL)
LINK = re.compile(r"(?<!\\)\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]: +<?(\S+?)>?(?: .*)?$", re.MULTILINE)
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def pages() -> list[Path]:
    """Every page that people read: what lies at the top, the documentation and the examples."""
    folders = (ROOT / "docs", ROOT / "examples")
    return [*sorted(ROOT.glob("*.md")), *(page for folder in folders for page in sorted(folder.rglob("*.md")))]


def links(text: str) -> list[str]:
    """The addresses that a page links to, without those in its code."""
    prose = CODE.sub("", FENCE.sub("", text))
    return LINK.findall(prose) + DEFINITION.findall(prose)


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, named as GitHub and the site name them."""
    found: set[str] = set()
    for title in HEADING.findall(FENCE.sub("", text)):
        shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "").lower()
        slug = re.sub(r"[^\w\- ]", "", shown).strip().replace(" ", "-")
        same = sum(one == slug or re.fullmatch(rf"{re.escape(slug)}-\d+", one) is not None for one in found)
        found.add(f"{slug}-{same}" if same else slug)
    return found


def broken(page: Path, root: Path) -> Iterator[str]:
    """The page's links that lead nowhere."""
    for link in links(page.read_text(encoding="utf-8")):
        if ELSEWHERE.match(link):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.is_relative_to(root) or not target.exists():
            yield f"{link}: no such file"
        elif anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
            yield f"{link}: no such heading"


def test_every_link_leads_to_a_file_and_a_heading_of_it() -> None:
    found = {str(page.relative_to(ROOT)): lost for page in pages() if (lost := list(broken(page, ROOT)))}
    assert found == {}


def test_every_page_of_the_documentation_is_in_its_list() -> None:
    """A page that no list names is found by nobody."""
    listed = set()
    for index in (ROOT / "docs/README.md", ROOT / "docs/decisions/README.md"):
        text = index.read_text(encoding="utf-8")
        listed |= {(index.parent / link.partition("#")[0]).resolve() for link in links(text)}
    pages_of_docs = {page for page in pages() if page.is_relative_to(ROOT / "docs") and page.name != "README.md"}
    assert {str(page.relative_to(ROOT)) for page in pages_of_docs - listed} == set()


def test_a_link_that_leads_nowhere_is_seen(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# The `run` command\n\n## Twice\n\n## Twice\n")
    page = tmp_path / "page.md"
    good = "[a](there.md#the-run-command) [b](there.md#twice-1) [c](https://example.com) ![d](there.md) [e](#here)"
    code = "`[f](gone.md)`\n\n```md\n[g](gone.md)\n# Lost\n```\n"
    page.write_text(f"# Here\n\n{good}\n\n{code}\n")
    assert list(broken(page, tmp_path)) == []
    page.write_text("[a](gone.md) [b](there.md#lost) [c](../outside.md) [d](#lost)\n\n[e]: gone.png\n")
    assert [lost.partition(":")[0] for lost in broken(page, tmp_path)] == [
        "gone.md",
        "there.md#lost",
        "../outside.md",
        "#lost",
        "gone.png",
    ]
