"""Markup that would cost a parser more than it is worth: nested without end, copied by unclosed formatting, or all
attributes.

Parsers walk up the open elements at each tag, so time grows with depth times tags: 100,000 nested elements, half a
megabyte, took 17 seconds. And HTML opens formatting that a paragraph left unclosed again in each next one, so 200 open
`<b>` and 5,000 paragraphs, 35 kB, became 480 MB. Attributes of one element are compared with each other: 375,000 of
them, 3 MB, did not end in a minute.
"""

from __future__ import annotations

import re

from interlock.apps.jobs.finder.identity.keys import word_list

TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)[^<>]*>")
WHOLE_TAG = re.compile(r"""<[a-zA-Z](?:[^>"']++|"[^"]*+"|'[^']*+')*+""")
MOST_TAGS = 500_000
MOST_ATTRIBUTES = 20_000
FEW = 1000
"""With fewer tags neither can be large."""
UNNESTED = word_list("""
    area base br col embed hr img input link meta param source track wbr
    p li td th tr dt dd option thead tbody tfoot html head body
""")
"""Elements that are empty, or that the next of their kind closes."""
FORMATTING = word_list("a b big code em font i nobr s small strike strong tt u")


def beyond_reason(text: str, most_steps: int = 50_000_000, most_copies: int = 1_000_000) -> bool:
    """Whether parsing would take more steps, or make more copies, than these."""
    tags = text.count("<")
    if tags > MOST_TAGS or (len(text) > 2 * MOST_ATTRIBUTES and _all_attributes(text)):
        return True
    if tags <= FEW:
        return False
    depth = formatting = deepest = copied = 0
    for found in TAG.finditer(text):
        name = found[2].lower()
        if name in UNNESTED or found[0].endswith("/>"):
            continue
        step = -1 if found[1] else 1
        depth = max(0, depth + step)
        deepest = max(deepest, depth)
        if name in FORMATTING:
            formatting = max(0, formatting + step)
            copied = max(copied, formatting)
    return deepest * tags > most_steps or copied * tags > most_copies


def _all_attributes(text: str) -> bool:
    tags = (found[0] for found in WHOLE_TAG.finditer(text))
    return any(len(tag) > 2 * MOST_ATTRIBUTES and len(tag.split()) > MOST_ATTRIBUTES for tag in tags)
