"""Applications as endpoints and forms take them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from interlock.apps.jobs.world.exchange import Call, Submission
from interlock.apps.jobs.world.opening import Board, Opening

EMAIL = re.compile(r"[^@\s]{1,100}@[^@\s.]{1,100}(?:\.[^@\s.]{1,60}){1,5}")


def checked(fields: Mapping[str, Any], required: Iterable[str]) -> list[str]:
    """Names of required fields that are missing or wrong. A field whose name ends in "email" must have an address."""
    wrong = []
    for name in required:
        value = fields.get(name)
        good = isinstance(value, str) and bool(value.strip()) and len(value) <= 255
        if not good or (name.lower().endswith("email") and not EMAIL.fullmatch(str(value).strip())):
            wrong.append(name)
    return wrong


def applied(call: Call, board: Board, opening: Opening, by: str, fields: Mapping[str, Any]) -> Submission:
    return Submission(board, opening, by, fields, call.files)
