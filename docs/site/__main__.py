"""Lays out what the site is built from: `python -m docs.site FOLDER`, then `zensical build` there.

The pages lie as in the repository, so that their links work unchanged. The README is the first page. The reference of
the library is made of docstrings: a page for each public package, with the names in its `__all__`.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CODE = ROOT / "src"
PROJECT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
LIBRARY = Path("docs/reference/library")
PACKAGES = {
    "interlock.machine": "Machines, states and outcomes",
    "interlock.engine": "The engine",
    "interlock.worker": "Workers and tasks",
    "interlock.testing": "Testing",
    "interlock.ai": "Tasks for a model",
    "interlock.engine.application": "Functions for applications",
    "interlock.demo": "Parts of the demo",
    "interlock.apps.jobs.agents": "The client for agents",
}
"""The packages that users of the library call, in the order of the navigation."""
TOP = ("interlock.machine", "interlock.engine", "interlock.worker")
"""The packages whose names `interlock` exports."""
LISTED = re.compile(r"^( *)- (?:\*\*)?([^*:,\n]+)(?:\*\*)?[:,]", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+\.md)\)")
CELLS = re.compile(r"^\|.*\|$", re.MULTILINE)
TERM = re.compile(r"^(\w+) {2,}(\S.*)$", re.MULTILINE)
CODE_SPAN = re.compile(r"`[^`\n]+`")

Navigation = list[dict[str, Any]]


def lay_out(target: Path) -> None:
    """Write the pages, their pictures and the configuration with the navigation."""
    shutil.rmtree(target, ignore_errors=True)
    pages = target / "pages"
    for page in (Path("README.md"), *map(Path, PROJECT), *found("docs"), *found("examples")):
        write(pages / page, for_site((ROOT / page).read_text(encoding="utf-8")))
    shutil.copytree(ROOT / "docs/images", pages / "docs/images")
    shutil.copy(ROOT / "LICENSE", pages / "LICENSE")
    for package, title in PACKAGES.items():
        write(pages / library_page(package), reference(package, title))
    settings = (ROOT / "docs/site/zensical.toml").read_text(encoding="utf-8")
    project, theme, rest = settings.partition("\n[project.theme]")
    # JSON of lists and texts is TOML; of objects it differs in one character.
    write(target / "zensical.toml", f"{project}nav = {as_toml(navigation())}\n{theme}{rest}")


def found(folder: str) -> list[Path]:
    """The Markdown files of a folder, by their path in the repository."""
    return sorted(page.relative_to(ROOT) for page in (ROOT / folder).rglob("*.md"))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def for_site(text: str) -> str:
    """A page as the site's Markdown has it: there, a vertical line in code does not end a cell, and needs no `\\`."""

    def row(cells: re.Match[str]) -> str:
        return CODE_SPAN.sub(lambda code: code[0].replace("\\|", "|"), cells[0])

    return CELLS.sub(row, text)


# -- the reference of the library


def library_page(package: str) -> Path:
    return LIBRARY / f"{package}.md"


def reference(package: str, title: str) -> str:
    """A page with the docstring of a package and each of its public names. Constants have no docstrings."""
    public = names(package)
    where = "interlock" if package in TOP else package
    parts = [f"# {title}", docstring(package), f"Import these names from `{where}`."]
    if constants := [name for name in public if name.isupper()]:
        parts.append(f"Constants: {', '.join(f'`{name}`' for name in constants)}.")
    for kind, members in {
        "Classes": [name for name in public if name[0].isupper() and not name.isupper()],
        "Functions": [name for name in public if name[0].islower()],
    }.items():
        if members:
            parts += [f"## {kind}", *(f"::: {package}.{name}" for name in members)]
    return "\n\n".join(parts) + "\n"


def source(package: str) -> ast.Module:
    path = CODE.joinpath(*package.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def names(package: str) -> list[str]:
    """What a package exports, read without importing it."""
    for node in source(package).body:
        if isinstance(node, ast.Assign) and any(getattr(one, "id", "") == "__all__" for one in node.targets):
            return list(ast.literal_eval(node.value))
    raise SystemExit(f"{package} has no __all__, so its reference would be empty")


def docstring(package: str) -> str:
    """The docstring of a package; a table of terms in it as a list."""
    return TERM.sub(r"- `\1`: \2", ast.get_docstring(source(package)) or "")


# -- the navigation


def navigation() -> Navigation:
    """The navigation, in the order of the list in docs/README.md."""
    made: Navigation = [{"Interlock": "README.md"}]
    text = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    for depth, name, body in sections(text):
        entries: list[Any] = [{title(page): page} for page in listed(body)]
        if depth:
            made[-1][next(iter(made[-1]))].append({name.capitalize(): entries})
        else:
            made.append({name: entries})
        if name == "Reference":
            entries.append({"Library": [{title: str(library_page(one))} for one, title in PACKAGES.items()]})
    decisions = [{title(str(page)): str(page)} for page in found("docs/decisions") if page.name != "README.md"]
    made[-1][next(iter(made[-1]))].append({"Decisions": ["docs/decisions/README.md", *decisions]})
    project = [{title(page): page} for page in PROJECT]
    made.append({"Project": [{"All documentation": "docs/README.md"}, *project, *examples()]})
    return made


def sections(text: str) -> Iterator[tuple[bool, str, str]]:
    """The entries of the list: whether one is inside another, its name, and the text until the next one."""
    starts = list(LISTED.finditer(text))
    for start, after in zip(starts, [*starts[1:], None], strict=True):
        end = after.start() if after else text.find("\n\n", start.start())
        yield bool(start[1]), start[2].strip(), text[start.start() : end]


def listed(body: str) -> list[str]:
    """The pages that a part of the list links to, by their path in the repository."""
    return [f"docs/{link}" for link in LINK.findall(body) if not link.startswith("decisions/")]


def examples() -> Navigation:
    return [{title(str(page)): str(page)} for page in found("examples") if page.name == "README.md"]


def title(page: str) -> str:
    """The first heading of a page."""
    first = (ROOT / page).read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix("# ").replace("`", "")


def as_toml(value: Any) -> str:
    """Lists, objects and texts as one line of TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {as_toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    lay_out(Path(sys.argv[1]))
