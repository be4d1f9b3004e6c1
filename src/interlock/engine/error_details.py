"""Errors as they are stored: type, message, where they were raised, and a fingerprint that groups equal ones."""

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
    """The error as it is stored: type, message, and where it was raised, without local variables."""
    frames = traceback.extract_tb(error.__traceback__)[-5:]
    return {
        "type": shortened(type(error).__name__, 200),
        "message": shortened(message_of(error) or type(error).__name__),
        "where": [shortened(f"{f.filename.rpartition('/')[2]}:{f.lineno} in {f.name}", 200) for f in frames],
    }


def message_of(error: BaseException) -> str:
    """The message of the error. Even reading it may raise anything."""
    try:
        # Without the statement and its values, which SQLAlchemy adds.
        return str(error.orig if isinstance(error, sa.exc.DBAPIError) else error)
    except (Exception, SystemExit):
        return "(its message could not be read)"


def fingerprint(machine: str, step: str, error: Mapping[str, Any]) -> str:
    """A text that is equal for errors which differ only in numbers, ids and quoted values."""
    shape = VARIABLE.sub("*", str(error["message"]))
    return hashlib.sha256(f"{machine}\n{step}\n{error['type']}\n{shape}".encode()).hexdigest()[:16]


def as_work_error(error: BaseException, what: str) -> WorkError:
    """An error of application code or data as a WorkError, to which failure rules apply."""
    if isinstance(error, WorkError):
        return error
    why = message_of(error)
    if not isinstance(error, InterlockError):
        why = f"{type(error).__name__}: {why}"
    made = InvalidOutcome(f"{what}: {why}")
    made.__traceback__ = error.__traceback__
    return made
