"""The reference pages name every setting, command, endpoint, table and type of problem, so they cannot go stale."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import typer.main
from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from interlock.apps import contracts, jobs
from interlock.cli import app as command_line
from interlock.config.sections import with_sections
from interlock.http import problems
from interlock.http.app import ROUTERS
from interlock.http.description import OPEN
from interlock.machine import installed
from tests.support.databases import all_tables

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def page(name: str) -> str:
    return (REFERENCE / f"{name}.md").read_text(encoding="utf-8")


def rows(text: str, columns: int) -> list[list[str]]:
    """The rows of all tables on a page that have so many columns, without their headers."""
    found = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == columns and not set("".join(cells)) <= set("- "):
            found.append(cells)
    return found


# -- settings


def settings(model: type[BaseModel], place: tuple[str, ...] = ()) -> Iterator[list[str]]:
    """Each setting as the page has it: key, variable, default, meaning."""
    for name, field in model.model_fields.items():
        here = (*place, name)
        inner, named = table_of(field)
        if inner is not None:
            yield from settings(inner, (*here, "NAME") if named else here)
            continue
        here = (*here, "NAME") if is_mapping(field) else here
        variable = "INTERLOCK_" + "__".join(here).upper()
        yield [f"`{'.'.join(here)}`", f"`{variable}`", default_of(field), str(field.description)]


def table_of(field: FieldInfo) -> tuple[type[BaseModel] | None, bool]:
    """The table that a setting is, and whether there is one for each name."""
    for kind in (field.annotation, *get_args(field.annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind, is_mapping(field)
    return None, False


def is_mapping(field: FieldInfo) -> bool:
    return getattr(field.annotation, "__origin__", None) is dict


def default_of(field: FieldInfo) -> str:
    if field.is_required():
        return "must be given"
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is None or value == {}:
        return ""
    return f"`{json.dumps(str(value) if isinstance(value, Path) else value)}`"


EXPECTED = list(settings(with_sections(installed().applications.values())))


def test_each_setting_is_on_the_page_with_its_variable_default_and_meaning() -> None:
    found = rows(page("configuration"), 4)
    missing = ["| " + " | ".join(row) + " |" for row in EXPECTED if row not in found]
    assert missing == [], "docs/reference/configuration.md needs these rows"


def test_the_page_has_no_setting_that_does_not_exist() -> None:
    known = {row[0] for row in EXPECTED} | {"key"}
    assert [row[0] for row in rows(page("configuration"), 4) if row[0] not in known] == []


# -- commands


def commands(command: Any, words: tuple[str, ...] = ("interlock",)) -> Iterator[tuple[str, Any]]:
    if hasattr(command, "commands"):
        context = typer.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.resolve_command(context, [name])[1], (*words, name))
    if not hasattr(command, "commands") or command.invoke_without_command:
        yield " ".join(words), command


COMMANDS = dict(commands(typer.main.get_command(command_line)))
EVERYWHERE = {"--json", "--as", "--database", "--app", "--config", "--help"}
"""Options that many commands share; the page explains them once."""


def described(command: str) -> str:
    """What the page says of a command; `list\\|show` counts for both."""
    words = command.split()
    for usage, meaning in rows(page("command-line"), 2):
        for part in re.findall(r"`([^`]*)`", usage):
            given = part.replace("\\", "").split()
            if len(given) >= len(words) and all(
                word in said.split("|") for word, said in zip(words, given, strict=False)
            ):
                after = given[len(words)] if len(given) > len(words) else ""
                if command != "interlock worker" or not after or after.startswith("["):
                    return f"{usage} {meaning}"
    return ""


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_a_command_is_on_the_page_with_its_options(command: str) -> None:
    said = described(command)
    assert said, f"docs/reference/command-line.md does not name {command!r}"
    options = {o for p in COMMANDS[command].params if p.param_type_name == "option" for o in p.opts} - EVERYWHERE
    assert [option for option in sorted(options) if option not in said] == []


@pytest.mark.parametrize("option", sorted(EVERYWHERE - {"--help"}))
def test_an_option_that_many_commands_share_is_explained_once(option: str) -> None:
    assert any(f"`{option}" in usage for usage, _ in rows(page("command-line"), 2))


def test_the_page_has_no_command_that_does_not_exist() -> None:
    for usage, _ in rows(page("command-line"), 2):
        for part in re.findall(r"`(interlock [^`]*)`", usage):
            first, *more = part.replace("\\", "").split()[1:]
            names = {command.split()[1] for command in COMMANDS}
            assert first in names, part
            below = {command.split()[2] for command in COMMANDS if command.startswith(f"interlock {first} ")}
            if below and more and not more[0].startswith("["):
                assert set(more[0].split("|")) <= below, part


# -- endpoints


def endpoints() -> list[tuple[str, str]]:
    app = FastAPI()
    for router in (*ROUTERS, *jobs.registry.routers, *contracts.registry.routers):
        app.include_router(router)
    return sorted((m.upper(), path) for path, methods in app.openapi()["paths"].items() for m in methods)


def documented() -> dict[tuple[str, str], str]:
    """Method and path of each endpoint on the page, with what it needs."""
    found = {}
    for name, needs, _ in rows(page("http"), 3):
        if match := re.fullmatch(r"`(GET|POST|PUT|PATCH|DELETE) (\S+)`", name):
            found[match[1], match[2]] = needs
    return found


def test_each_endpoint_is_on_the_page_with_what_it_needs_and_no_other() -> None:
    found, real = documented(), endpoints()
    assert [one for one in real if not found.get(one)] == [], "docs/reference/http.md does not name these"
    assert sorted(set(found) - set(real)) == [], "docs/reference/http.md names what does not exist"


def test_the_page_says_nothing_is_needed_only_where_nobody_is_asked() -> None:
    assert {path for (_, path), needs in documented().items() if needs == "nothing"} == OPEN


# -- problems and tables


def test_every_type_of_problem_is_on_the_page() -> None:
    statuses = [row for row in rows(page("http"), 3) if re.match(r"\d", row[1])]
    named = {kind for row in statuses for kind in re.findall(r"`([a-z-]+)`", row[0])}
    assert named == set(problem_types())


def problem_types() -> Iterator[str]:
    """What the code can answer: the words it gives as a type, and the errors that lend theirs."""
    folder = Path(problems.__file__).parent
    text = "\n".join(file.read_text(encoding="utf-8") for file in sorted(folder.rglob("*.py")))
    yield from re.findall(r"(?:problem|_later)\(\s*\d+, \"([a-z-]+)\"", text)
    yield from re.findall(r"\(\d+, \"([a-z-]+)\"\)", text)
    yield from re.findall(r"kind=\"([a-z-]+)\"", text)
    yield from re.findall(r"\d{3}: \"([a-z-]+)\"", text)
    yield from ("http", "invalid")
    shared = re.search(r"case ([A-Za-z() |]+):\n\s+return problem\(409, _kind", text)
    assert shared
    for name in re.findall(r"[A-Za-z]+", shared[1]):
        yield re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def test_every_table_is_on_the_page() -> None:
    listed = [*rows(page("tables"), 2), *rows(page("tables"), 3)]
    named = {name for row in listed for name in re.findall(r"`([a-z_]+)`", row[0])}
    assert sorted({table.name for table in all_tables()} - named) == []
