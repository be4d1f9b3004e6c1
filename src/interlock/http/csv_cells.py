"""Lines of CSV whose cells no spreadsheet runs as formulas."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet would run."""


def safe_cell(value: object) -> str:
    """Escape a cell, so that no spreadsheet runs it as a formula."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return f"'{text}" if text.startswith(FORMULAS) else text


def csv_line(values: Iterable[object]) -> str:
    """One line of safe cells, with its end."""
    line = io.StringIO()
    csv.writer(line).writerow([safe_cell(one) for one in values])
    return line.getvalue()
