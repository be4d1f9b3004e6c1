"""Lines of CSV whose cells no spreadsheet runs as formulas."""

from __future__ import annotations

import json
from collections.abc import Iterable

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""How a cell begins that a spreadsheet would run; the last four are the wide forms of the first four."""
QUOTED = frozenset(',;\t"\r\n')
"""Characters for which a cell is quoted. A spreadsheet in German or French splits lines at `;`, and what follows there
would be the begin of a cell."""


def safe_cell(value: object) -> str:
    """Escape a cell, so that no spreadsheet runs it as a formula."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return f"'{text}" if text.startswith(FORMULAS) else text


def csv_line(values: Iterable[object]) -> str:
    """One line of safe cells, with its end."""
    return ",".join(_quoted(safe_cell(one)) for one in values) + "\r\n"


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if QUOTED.intersection(cell) else cell
