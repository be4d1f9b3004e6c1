"""No file outside `apps/NAME` names an application, so that one can be added or taken away without touching others.

What counts: an import, a module, a setting, a scope, a table, a command or a machine of an application. The words
`jobs`, `claims` and `sessions` also have other meanings here (work for a thread, claims of workers, logins), so those
count where they stand as a name in quotes or as a module, not in a sentence or as a variable.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.machine import attribute, installed
from interlock.store.columns import metadata as ours

SOURCE = Path(__file__).parents[2] / "src" / "interlock"
OURS = {name: one for name, one in installed().applications.items() if (SOURCE / "apps" / name).is_dir()}
ROOMS = {room.name for name in OURS for room in (SOURCE / "apps" / name).iterdir() if (room / "machine.py").exists()}
"""Applications inside an application."""
AMBIGUOUS = {
    "sessions": "a login is a session, too",
    "application": "an application is also what plugs in",
    "session": "a login is a session, too",
    "job": "work for a thread or a process",
    "company": "a field that data often has",
    "listing": "a list of instances",
    "run": "the word for starting something",
    "source": "where something comes from",
}
"""Names that mean something else outside their application."""
ALLOWED = {
    "demo/parts.py": "the sample takes part in every demo",
    "cli/sample.py": "runs the sample",
}
"""Files that may name `interlock.apps.sample`, which is no application: nobody installs it."""


def names() -> set[str]:
    """What an application is called by in code: its name, rooms, scopes, tables and machines."""
    found = set(OURS) | ROOMS
    for application in OURS.values():
        found |= {machine.name for machine in application.machines}
        found |= {scope.name for scope in application.scopes}
        if application.tables is not None:
            found |= set(attribute(application.tables).tables) - set(ours.tables)
    return found - set(AMBIGUOUS)


NAMES = names()
IN_PROSE = re.compile(
    rf"\b(?:contracts?|autoapply|auto-apply|job finder|apps\.(?:{'|'.join(OURS)}))\b|`(?:{'|'.join(OURS)})\.\w+`",
    re.IGNORECASE,
)
"""Their names in sentences, and settings of theirs such as `jobs.max_retries`."""
FILES = sorted(
    path
    for path in SOURCE.rglob("*")
    if path.is_file()
    and path.suffix in {".py", ".html", ".js", ".txt", ".md", ".css"}
    and "apps" not in path.relative_to(SOURCE).parts[:1]
)


def named(path: Path, root: Path = SOURCE) -> Iterator[str]:
    """Where a file names an application."""
    place = path.relative_to(root)
    stem = re.sub(r"^v\d+_", "", path.stem)
    if stem in NAMES or set(place.parts[:-1]) & NAMES:
        yield f"{place} is named after an application"
    text = path.read_text("utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        if found := IN_PROSE.search(line):
            yield f"{place}:{number} says {found[0]!r}"
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if node.value in NAMES or node.value.partition(":")[0] in NAMES:
                    yield f"{place}:{node.lineno} has the name {node.value!r}"
                if node.value.startswith("interlock.apps.") and str(place) not in ALLOWED:
                    yield f"{place}:{node.lineno} names {node.value!r}"
            if isinstance(node, ast.ImportFrom):
                if (node.module or "").startswith("interlock.apps") and str(place) not in ALLOWED:
                    yield f"{place}:{node.lineno} imports {node.module}"
                elif found := {alias.name for alias in node.names} & NAMES:
                    yield f"{place}:{node.lineno} imports {', '.join(sorted(found))}"


@pytest.mark.parametrize("folder", sorted({path.relative_to(SOURCE).parts[0] for path in FILES}))
def test_no_file_outside_an_application_names_it(folder: str) -> None:
    inside = [path for path in FILES if path.relative_to(SOURCE).parts[0] == folder]
    assert [one for path in inside for one in named(path)] == []


def test_the_applications_and_their_rooms_are_found() -> None:
    assert set(OURS) == {"contracts", "jobs", "sessions"}
    assert {"claims", "finder", "autoapply"} == ROOMS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('import x\nx["contracts"]\n', "has the name 'contracts'"),
        ("from interlock.apps.jobs import registry\n", "imports interlock.apps.jobs"),
        ('SPEC = "interlock.apps.sessions:registry"\n', "names 'interlock.apps.sessions:registry'"),
        ('SCOPES = ("read", "claims")\n', "has the name 'claims'"),
        ('"""Reads a contract."""\n', "says 'contract'"),
        ('"""A setting such as `jobs.max_retries`."""\n', "says '`jobs.max_retries`'"),
        ("jobs = [claim for claim in claims]\nsession = 'sessions'\n", ""),
    ],
)
def test_the_check_tells_names_from_words(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(text)
    found = list(named(tmp_path / "example.py", tmp_path))
    assert any(said in one for one in found) if said else found == []
