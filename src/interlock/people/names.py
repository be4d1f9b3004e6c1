"""What people, workspaces and tokens may be called."""

from __future__ import annotations

import re

from interlock.people.errors import WrongName

_NAME = re.compile(r"[A-Za-z0-9._@-]{1,64}")


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def checked(text: str, what: str) -> str:
    """The name, if it is one: it stands in addresses, in actors and in logs, so it has no other characters."""
    if not is_name(text):
        raise WrongName(f"{text[:80]!r} is no name for a {what}; use 1 to 64 letters, digits and . _ @ -")
    return text
