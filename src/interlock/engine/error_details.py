"""Errors as they are kept: type, message, where they were raised, and a fingerprint that groups equal ones."""

from __future__ import annotations

import hashlib
import re
import traceback
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from interlock.engine.text import shortened
from interlock.machine import (
    InterlockError,
    InvalidOutcome,
    WorkError,
)

VARIABLE = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8}-[0-9a-f-]{27}|\d+|'[^']*'|\"[^\"]*\"", re.IGNORECASE)


def describe(error: BaseException) -> dict[str, Any]:
    """The error as it is kept: type, message, and where it was raised (never local variables)."""
    frames = traceback.extract_tb(error.__traceback__)[-5:]
    return {
        "type": shortened(type(error).__name__, 200),
        "message": shortened(message_of(error) or type(error).__name__),
        "where": [shortened(f"{f.filename.rpartition('/')[2]}:{f.lineno} in {f.name}", 200) for f in frames],
    }


def message_of(error: BaseException) -> str:
    """What the error says; even reading that may fail, in any way."""
    try:
        # A statement with its values would say the same at greater length.
        return str(error.orig if isinstance(error, sa.exc.DBAPIError) else error)
    except (Exception, SystemExit):
        return "(its message could not be read)"


def fingerprint(machine: str, step: str, error: Mapping[str, Any]) -> str:
    """Equal for errors that are the same but for numbers, ids and quoted values."""
    shape = VARIABLE.sub("*", str(error["message"]))
    return hashlib.sha256(f"{machine}\n{step}\n{error['type']}\n{shape}".encode()).hexdigest()[:16]


def as_work_error(error: BaseException, what: str) -> WorkError:
    """An error of the application's own code or data, as one that the rules of failures know."""
    if isinstance(error, WorkError):
        return error
    why = message_of(error)
    if not isinstance(error, InterlockError):
        why = f"{type(error).__name__}: {why}"
    found = InvalidOutcome(f"{what}: {why}")
    found.__traceback__ = error.__traceback__
    return found
