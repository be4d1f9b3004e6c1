"""A resume as lines of text in the order in which a person reads them."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from interlock.apps.jobs.finder.sources.cleaning import visible
from interlock.machine import InterlockError

MOST_BYTES = 10_000_000
MOST_PAGES = 30
MOST_CHARACTERS = 200_000
MOST_LINES = 5000
BULLET = "• "
_BULLETS = re.compile(r"^(?:[•▪◦●■□○‣\u2043∙·➢➤✓✔»>*\uf0b7\uf0a7\uf076\u2013\u2014-]|o(?= [A-Z]))\s*(?=\S)")


class ResumeError(InterlockError):
    """A resume that cannot be read; the message says what to do."""


class Line(NamedTuple):
    """One line. `cells` are its parts where wide gaps or tabs divide it."""

    cells: tuple[str, ...]
    page: int
    size: float = 0.0
    """The height of its letters; 0 where it is unknown."""
    heading: bool = False
    """Whether the file marks it as a heading."""
    column: bool = False
    """Whether a column of the first page begins with it."""

    @property
    def text(self) -> str:
        return " ".join(self.cells)

    @property
    def is_bullet(self) -> bool:
        return self.cells[0].startswith(BULLET)


def cleaned(text: str) -> str:
    """One line of text: compatible characters, single spaces, one kind of bullet."""
    plain = " ".join(visible(unicodedata.normalize("NFKC", text.replace("\u00ad", ""))).split())
    found = _BULLETS.match(plain)
    if found and (plain[0] not in "-\u2013\u2014" or plain[1:2] == " "):
        plain = BULLET + plain[found.end() :]
    return plain


def line_of(cells: list[str], page: int, size: float = 0.0, heading: bool = False) -> Line | None:
    """A line of these cells; None where they are empty."""
    kept = [one for cell in cells if (one := cleaned(cell))]
    if kept and kept[0] == BULLET.strip() and len(kept) > 1:
        kept[:2] = [f"{BULLET}{kept[1].removeprefix(BULLET)}"]
    kept = [one for one in kept if any(map(str.isalnum, one))]
    return Line(tuple(kept), page, size, heading) if kept else None
