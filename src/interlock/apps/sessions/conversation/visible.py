"""Text from agents, files and tools as people may see it, on pages and in terminals.

Such text is hostile: it may move a terminal's cursor, reverse the reading direction, or hide words. Escape sequences
are removed, other invisible characters are spelled out, known secrets are hidden, and sizes are bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from interlock.engine import secrets

MOST, MOST_LINES = 4_000, 60
"""Characters and lines of one text that a conversation shows."""
BEYOND = 4_096
"""Characters after the end that are read, because a secret may begin before it."""
MARKS = 4
"""Combining marks in a row that are shown; more would cover the lines around them."""
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)?"  # titles, links, strings
    r"|\x1b[ -/]*[0-~]"
)
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f"
    "\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
_MARK = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_STACKED = re.compile(f"({_MARK}{{{MARKS}}}){_MARK}+")
_JOINERS = {"\u200c", "\u200d"}


@dataclass(frozen=True, slots=True)
class Shown:
    """A text, or its beginning."""

    text: str
    size: int
    """Characters of the whole text."""
    cut: bool = False

    def __bool__(self) -> bool:
        return bool(self.text)


def visible(text: str) -> str:
    """The text without escape sequences, with invisible characters spelled out and known secrets hidden."""
    return secrets.hide(_spelled_out(text))


def _spelled_out(text: str) -> str:
    plain = _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    spelled = UNSEEN.sub(lambda found: _spelled(plain, found.start()), plain)
    return _STACKED.sub(r"\1", spelled)


def _spelled(text: str, at: int) -> str:
    one = text[at]
    # Emoji and some scripts are joined by them.
    if one in _JOINERS and 0 < at < len(text) - 1 and not (text[at - 1].isascii() or text[at + 1].isascii()):
        return one
    if one < " ":
        return chr(0x2400 + ord(one))
    return f"⟨U+{ord(one):04X}⟩"


def shown(text: str, most: int = MOST, lines: int = MOST_LINES) -> Shown:
    """The beginning of a text, ready to be shown. A secret at its end is hidden as a whole."""
    spelled = _spelled_out(text[: most + BEYOND])
    end = min(most, len(spelled))
    for found in re.finditer("\n", spelled[:end]):
        lines -= 1
        if lines == 0:
            end = found.start()
            break
    cut = end < len(spelled) or len(text) > most + BEYOND
    return Shown(secrets.hidden_part(spelled, 0, end), len(text), cut)


def one_line(text: str, most: int = 160) -> str:
    """The beginning of a text on one line."""
    flat = " ".join(visible(text[: most * 4 + BEYOND]).split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"
