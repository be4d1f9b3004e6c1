"""Text and HTML from outside, made harmless: sanitised, limited in size, without control characters."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from functools import lru_cache

import nh3

from interlock.apps.jobs.finder.identity.keys import word_list
from interlock.apps.jobs.finder.reading.plain import single_spaced
from interlock.apps.jobs.finder.sources.nesting import beyond_reason

LINE = 300
"""Characters of a title, a name or a place."""
BODY = 200_000
"""Characters of a description; a long real one has 30,000."""

TAGS = word_list("""
    a abbr b blockquote br caption code dd del div dl dt em h1 h2 h3 h4 h5 h6 hr i ins kbd li mark
    ol p pre q s small span strong sub sup table tbody td tfoot th thead tr u ul
""")
DROPPED = word_list("""
    script style iframe object embed template noscript svg math textarea select button form title
""")
"""Elements that go with their content."""

LOOKS_LIKE_HTML = re.compile(r"<(?:/?[a-zA-Z][a-zA-Z0-9]*[\s/>]|!--)")
ESCAPED_HTML = re.compile(r"&(?:amp;)?lt;/?[a-zA-Z]")
UNSEEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffe\uffff]"
)
"""Control characters, lone surrogates, and marks that reverse or hide text."""
MARKUP_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#39;", "'"), ("&amp;", "&"))
WRITTEN_ENTITIES = (("&nbsp;", " "), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&"))
"""The entities that the sanitiser writes; `html.unescape` takes ten times as long."""
TAG = re.compile(r"</?[a-z][a-z0-9]*(?: (?:[^>\"]|\"[^\"]*\")*)?>")
"""A tag as the sanitiser writes it: lower case, and attributes in double quotes."""


class _Breaks(dict[str, str]):
    """What stands for a tag; nothing for one that is not here."""

    def __missing__(self, tag: str) -> str:
        return self.get("".join(tag.split()), "")


BLOCKS = _Breaks(
    dict.fromkeys(
        ("<br>", "<tr>", "<dt>", "<dd>", "<hr>", "<caption>", "<div>", "</div>", "</ul>", "</ol>", "</table>"), "\n"
    )
    | dict.fromkeys(("<p>", "<ul>", "<ol>", "<table>", "<blockquote>", "<pre>", "<dl>"), "\n\n")
    | dict.fromkeys(("</p>", "</blockquote>", "</pre>", "</dl>"), "\n\n")
    | {f"<{slash}h{level}>": "\n\n" for level in range(1, 7) for slash in ("", "/")}
    | {"<td>": " ", "<th>": " ", "<li>": "\n- ", "<li><p>": "\n- "}
)
"""Tags that break a line. A paragraph inside an item stays on the item's line, and an empty item goes."""
MANY_EMPTY = re.compile(r"\n{3,}")
TAGS_APART = re.compile(r"(<li>\s*<p>|</p>\s*</li>|<li>\s*</li>|</?[a-z][a-z0-9]*(?: (?:[^>\"]|\"[^\"]*\")*)?>)")


@lru_cache(maxsize=1)
def _cleaner() -> nh3.Cleaner:
    return nh3.Cleaner(
        tags=set(TAGS),
        clean_content_tags=set(DROPPED),
        attributes={"a": {"href"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


def visible(text: str) -> str:
    """The text without characters that cannot be seen."""
    return UNSEEN.sub("", text)


def line(value: object, most: int = LINE) -> str | None:
    """One line of plain text: tags and entities resolved, cut at `most`; None when nothing is left."""
    if not isinstance(value, str):
        return None
    text = value[: most * 10]
    if "<" in text or "&" in text:
        text = _resolved(text)
    text = " ".join(visible(text).split())
    if len(text) > most:
        text = text[: most - 1].rstrip() + "…"
    return text or None


def _resolved(text: str) -> str:
    if "&" in text:
        text = html.unescape(text)
    if LOOKS_LIKE_HTML.search(text):
        text = html.unescape(TAG.sub(" ", sanitised(text) or ""))
    return text


def sanitised(value: object, most: int = BODY) -> str | None:
    """HTML that is safe to show. Plain text becomes HTML with its line breaks, escaped HTML is unescaped first."""
    if not isinstance(value, str):
        return None
    text = visible(value[:most])
    for _ in range(2):
        # Some systems escape the whole markup once, some boards once more.
        if LOOKS_LIKE_HTML.search(text) or not ESCAPED_HTML.search(text):
            break
        # The five that escape markup; the parser knows the others. html.unescape takes ten times as long.
        for escaped, plain in MARKUP_ENTITIES:
            text = text.replace(escaped, plain)
    if not LOOKS_LIKE_HTML.search(text):
        text = html.escape(html.unescape(text).strip(), quote=False).replace("\n", "<br>\n")
    elif beyond_reason(text, most_steps=5_000_000, most_copies=100_000):
        text = re.sub(r"<[^<>]*>?", " ", text)
    clean = _cleaner().clean(text).strip()
    if len(clean) > 3 * most:
        # A short tag may become a long one, and a page of nothing else twenty times as large.
        clean = html.escape(re.sub(r"<[^<>]*>", " ", clean), quote=False)
    return clean or None


def joined(parts: Iterable[str | None]) -> str | None:
    """Parts that are each sanitised, as one; they are balanced, so the whole is sanitised as well."""
    return "\n".join(part for part in parts if part) or None


def text_of(clean: str | None) -> str | None:
    """The text of sanitised HTML, with paragraphs apart and a dash before each item of a list."""
    if not clean:
        return None
    pieces = TAGS_APART.split(clean.replace("\n", " ").replace("\r", " "))
    pieces[1::2] = map(BLOCKS.__getitem__, pieces[1::2])
    text = "".join(pieces)
    for escaped, plain in WRITTEN_ENTITIES if "&" in text else ():
        text = text.replace(escaped, plain)
    lines = "\n".join(map(single_spaced, text.split("\n")))
    return MANY_EMPTY.sub("\n\n", lines).strip() or None
