"""Help texts: every command explains itself and its options, in words that need no knowledge of Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from interlock.cli import app as command_line


def commands(command: Any, words: tuple[str, ...] = ("interlock",)) -> Iterator[tuple[str, Any]]:
    yield " ".join(words), command
    if hasattr(command, "commands"):
        context = command.context_class(command)
        for name in command.list_commands(context):
            yield from commands(command.resolve_command(context, [name])[1], (*words, name))


COMMANDS = dict(commands(typer.main.get_command(command_line)))


def help_of(name: str) -> str:
    command = COMMANDS[name]
    text: str = command.get_help(command.context_class(command, info_name=name, terminal_width=80))
    return text


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_explains_itself_in_plain_words(name: str) -> None:
    text = help_of(name)
    assert not re.search(r"<\w|list\[|x[<>]=|<=x|\{\w", text), text
    assert max(len(line) for line in text.splitlines()) <= 80
    assert not re.search(r"[a-z,:;]\.\.\.$", text, re.MULTILINE), "a line of the list is cut"
    described = [line for line in text.splitlines() if line.startswith("  ")]
    assert described


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_and_argument_says_what_it_is(name: str) -> None:
    command = COMMANDS[name]
    silent = [one.name for one in command.params if not getattr(one, "help", "") and not getattr(one, "hidden", False)]
    assert silent == []


def test_an_option_shows_its_value_its_default_and_its_range() -> None:
    text = help_of("interlock up")
    assert re.search(r"--port NUMBER +The port; 0 takes a free one\. +\[default: 8420; 0 to +65535\]", text)
    assert "--data PATH" in text
    assert "INSTANCE [NAME]" in help_of("interlock instance artifacts")
    assert "--in-state-for NUMBER" in help_of("interlock instance list")
    assert "--role viewer|reviewer|member|owner" in help_of("interlock user add")
    assert "--from YYYY-MM-DD" in help_of("interlock audit actions")


def test_an_application_without_commands_of_its_own_is_not_listed() -> None:
    text = help_of("interlock")
    assert re.search(r"^  session +Agent sessions", text, re.MULTILINE)
    assert not re.search(r"^  sessions ", text, re.MULTILINE)
    assert re.search(r"^  contracts +", text, re.MULTILINE)
