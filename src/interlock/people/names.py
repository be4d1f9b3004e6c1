"""Valid names for people, workspaces and tokens."""

from __future__ import annotations

import re

from interlock.people.errors import WrongName

PATTERN = r"[A-Za-z0-9._@\-]{1,64}"
"""Also the pattern of form fields: browsers require the escaped hyphen."""
_NAME = re.compile(PATTERN)


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def checked(text: str, what: str) -> str:
    """Return the name if it is valid. Names appear in URLs, actors and logs, so few characters are allowed."""
    if not is_name(text):
        raise WrongName(f"{text[:80]!r} is not a valid {what} name; use 1 to 64 letters, digits and . _ @ -")
    return text
