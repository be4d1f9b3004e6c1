"""Cleans a library's text so that it can be stored, quoted and searched; every change can be traced back."""

from __future__ import annotations

import re

# Controls other than tab and line feed, what is no character at all, and private use outside the symbol fonts'
# block (whose bullets are harmless).
_MEANINGLESS = re.compile("[\x00-\x08\x0e-\x1f\x7f\ufffd\uffff\ud800-\udfff\ue000-\uefff\uf100-\uf8ff]")
_UNSTORABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f\uffff\ud800-\udfff]")
_BREAKS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
BROKEN_WORD = "\ufffe"
"""PDFium's mark for a hyphen at the end of a line; it leaves out the line break that follows."""
_CHANGED = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029\ufffe]|" + _UNSTORABLE.pattern)


def clean(text: str) -> tuple[str, int]:
    """The text with plain line breaks and only storable characters, and the number of meaningless characters."""
    text = text.replace("\r\n", "\n")
    if _CHANGED.search(text):
        text = _CHANGED.sub(_instead, text)
    return text, len(_MEANINGLESS.findall(text))


def origins(text: str) -> list[int]:
    """For each character of `clean(text)`, the index in `text` that it came from."""
    found: list[int] = []
    at = 0
    for change in _CHANGED.finditer(text):
        found.extend(range(at, change.start()))
        found.extend([change.start()] * len(_instead(change)))
        at = change.end()
    found.extend(range(at, len(text)))
    return found


def _instead(change: re.Match[str]) -> str:
    what = change.group()
    if what == BROKEN_WORD:
        return "-\n"
    return "\n" if _BREAKS.fullmatch(what) else "\ufffd"
