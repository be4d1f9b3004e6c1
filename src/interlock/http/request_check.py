"""Checks of a request's URL and body before anything parses them.

The engine refuses values that it cannot store, but some texts of a request never reach it: they are looked up, compared
or only shown. So this module refuses for all endpoints what none could use: NUL in a URL or a form, and JSON that is
nested too deeply, is not UTF-8, or contains NUL or half of a surrogate pair.
"""

from __future__ import annotations

import json
import re
from typing import Any

from starlette.types import Scope

from interlock.engine import InvalidData, values

ENVELOPE = 4
"""Levels around the data in a request."""
DEEPEST = values.DEEPEST + ENVELOPE
ESCAPED = re.compile(rb"\\.", re.DOTALL)
UNFIT = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])|\xed[\xa0-\xbf]")
"""A NUL, or a possible half of a surrogate pair; most are whole pairs."""
WHOLE = re.compile(rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
"""An escaped backslash, after which nothing is an escape, and a whole pair."""
PLACED = 16_384
"""Errors in bodies up to this size are located, for which the body is parsed and walked."""
BRACKETS = bytes.maketrans(b"[]", b"{}")
DOWN = b"{" * (DEEPEST + 1)
OTHERS = bytes(set(range(256)) - set(b"{}[]"))


def address(scope: Scope) -> str:
    """Check the URL. Returns the error, or an empty string."""
    if b"%00" in scope.get("query_string", b"") or "\x00" in scope["path"]:
        return "the URL contains NUL (%00); leave it out"
    return ""


def looks_at(scope: Scope) -> str:
    """The kind of body to check: json, form, or none."""
    for name, value in scope["headers"]:
        if name == b"content-type":
            kind = value.partition(b";")[0].strip().lower()
            if kind.endswith(b"json"):
                return "json"
            return "form" if kind == b"application/x-www-form-urlencoded" else ""
    return "json"


def body(kind: str, content: bytes) -> str:
    """Check the body. Returns the error with its location, or an empty string."""
    if kind == "form":
        return "a form field contains NUL (%00); leave it out" if b"%00" in content else ""
    if b"\x00" in content:
        return "the body contains NUL; send JSON as UTF-8 without it"
    if len(content) > 2 * DEEPEST and too_deep(content):
        return f"the body is nested more than {DEEPEST} levels deep; flatten it, or send what is deep as text"
    if UNFIT.search(content) and (wrong := UNFIT.search(WHOLE.sub(b"  ", content))):
        if len(content) <= PLACED:
            return _place(content)
        what = "a NUL" if wrong[0].endswith(b"0000") else "half of a surrogate pair"
        return f"a text in the body has {what}, which cannot be kept; leave it out"
    return ""


def _place(content: bytes) -> str:
    """The error with its location in the request."""
    try:
        found: Any = json.loads(content)
        values.check(found, "body", DEEPEST)
    except InvalidData as error:
        return str(error)
    except ValueError:
        return ""  # the endpoint's parser reports the error
    return ""


def too_deep(content: bytes) -> bool:
    """Whether JSON is nested too deeply, without parsing it: a parser would run out of stack."""
    if content.count(b"{") + content.count(b"[") <= DEEPEST:
        return False
    outside = b"".join(ESCAPED.sub(b"", content).split(b'"')[::2])  # everything outside of strings
    left = outside.translate(BRACKETS, OTHERS)
    for _ in range(DEEPEST):
        if DOWN in left:
            return True
        if b"{}" not in left:  # unbalanced, so not JSON; refused here if a parser would recurse into it
            return left.count(b"{") > DEEPEST
        left = left.replace(b"{}", b"")  # the innermost level
    return bool(left)
