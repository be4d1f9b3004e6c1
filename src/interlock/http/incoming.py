"""What a request may carry: its address and its body are looked at before anybody parses them.

The engine refuses what it cannot keep, but not every text of a request reaches it: some are looked up, compared, or
only shown. So what no endpoint could use is refused here for all of them: NUL in an address or a form, and JSON that
is nested too deeply, is not UTF-8, or has a NUL or half of a surrogate pair in its texts.
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
"""A NUL, or where half of a surrogate pair may be; most are whole pairs."""
WHOLE = re.compile(rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
"""An escaped backslash, behind which nothing is an escape, and a whole pair."""
PLACED = 16_384
"""Bytes of a body up to which it is told where in it something is wrong: to find that out it is parsed and walked."""
BRACKETS = bytes.maketrans(b"[]", b"{}")
DOWN = b"{" * (DEEPEST + 1)
OTHERS = bytes(set(range(256)) - set(b"{}[]"))


def address(scope: Scope) -> str:
    """What is wrong with the address; empty if nothing."""
    if b"%00" in scope.get("query_string", b"") or "\x00" in scope["path"]:
        return "the address has a NUL (%00), which no name, key or text has; leave it out"
    return ""


def looks_at(scope: Scope) -> str:
    """Which kind of body there is to look at: json, form, or none of them."""
    for name, value in scope["headers"]:
        if name == b"content-type":
            kind = value.partition(b";")[0].strip().lower()
            if kind.endswith(b"json"):
                return "json"
            return "form" if kind == b"application/x-www-form-urlencoded" else ""
    return "json"


def body(kind: str, content: bytes) -> str:
    """What is wrong with the body, with the place; empty if nothing."""
    if kind == "form":
        return "a field of the form has a NUL (%00); leave it out" if b"%00" in content else ""
    if b"\x00" in content:
        return "the body has a NUL: JSON is sent as UTF-8, without any"
    if len(content) > 2 * DEEPEST and too_deep(content):
        return f"the body is nested more than {DEEPEST} levels deep; flatten it, or send what is deep as text"
    if UNFIT.search(content) and (wrong := UNFIT.search(WHOLE.sub(b"  ", content))):
        if len(content) <= PLACED:
            return _place(content)
        what = "a NUL" if wrong[0].endswith(b"0000") else "half of a surrogate pair"
        return f"a text in the body has {what}, which cannot be kept; leave it out"
    return ""


def _place(content: bytes) -> str:
    """What is wrong, with its place in what was sent."""
    try:
        found: Any = json.loads(content)
        values.check(found, "body", DEEPEST)
    except InvalidData as error:
        return str(error)
    except ValueError:
        return ""  # the endpoint's parser says what is wrong with it
    return ""


def too_deep(content: bytes) -> bool:
    """Whether JSON text is nested deeper than is taken, without parsing it: a parser would run out of stack."""
    if content.count(b"{") + content.count(b"[") <= DEEPEST:
        return False
    outside = b"".join(ESCAPED.sub(b"", content).split(b'"')[::2])  # what is not inside of texts
    left = outside.translate(BRACKETS, OTHERS)
    for _ in range(DEEPEST):
        if DOWN in left:
            return True
        if b"{}" not in left:  # what is not closed is no JSON, and refused here if a parser would go down into it
            return left.count(b"{") > DEEPEST
        left = left.replace(b"{}", b"")  # the innermost level
    return bool(left)
