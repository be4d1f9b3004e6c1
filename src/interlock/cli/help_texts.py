"""Help texts in words that need no knowledge of Python: `--limit NUMBER  [default: 50; 1 to 500]`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import typer

# The library keeps a copy of Click, and gives its formatter no other name.
Formatter: Any = typer.Context.formatter_class

VALUES = {
    "str": "TEXT",
    "int": "NUMBER",
    "int range": "NUMBER",
    "float": "NUMBER",
    "float range": "NUMBER",
    "path": "PATH",
    "file": "PATH",
    "Path": "PATH",
    "UUID": "ID",
    "%Y-%m-%d": "YYYY-MM-DD",
}
"""What a value is, by its type."""
TYPE = re.compile(r" ?<(?:list\[)?([^<>\[\]]+)\]?>")
EXTRA = re.compile(r"(^|  )\[([^\[\]]*)\]$")


class PlainHelp(Formatter):  # type: ignore[misc]
    """Writes help texts without the types, braces and inequalities that the library shows."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        args = re.sub(r"\{([^{}]*)\}", lambda name: name[1].upper(), args)
        super().write_usage(prog, re.sub(r"\[([a-z_]+)\]", lambda name: f"[{name[1].upper()}]", args), prefix)

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl([(_name(name), EXTRA.sub(_extra, said)) for name, said in rows], col_max, col_spacing)


class PlainContext(typer.Context):
    """The context of a command whose help is plain."""

    formatter_class = PlainHelp


def explain_plainly(command: Any) -> None:
    """Let a command, and those below it, write plain help."""
    command.context_class = PlainContext
    if command.help and not command.short_help:  # else the list of commands cuts the line
        command.short_help = " ".join(command.help.split("\n\n")[0].split()).partition(". ")[0].rstrip(".") + "."
    for below in getattr(command, "commands", {}).values():
        explain_plainly(below)


def _name(name: str) -> str:
    """An option with what its value is; an argument by its name alone."""
    if not name.startswith("-"):
        bare = TYPE.sub("", name)
        return bare.upper() if bare != name else name
    return TYPE.sub(lambda found: " " + VALUES.get(found[1], found[1]), name)


def _extra(found: re.Match[str]) -> str:
    """What the library adds at the end: variable, default, range, whether it is required."""
    return f"{found[1]}[{'; '.join(_words(part) for part in found[2].split('; '))}]"


def _words(part: str) -> str:
    if whole := re.fullmatch(r"(default: )\((.*)\)", part):
        return whole[1] + whole[2]
    if both := re.fullmatch(r"(\S+)<=x<=(\S+)", part):
        return f"{both[1]} to {both[2]}"
    if one := re.fullmatch(r"x([<>])=(\S+)", part):
        return f"{one[2]} or {'more' if one[1] == '>' else 'less'}"
    return part
