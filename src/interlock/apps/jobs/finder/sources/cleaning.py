"""Text and HTML from outside, made harmless: sanitised, limited in size, without control characters."""

from __future__ import annotations

import html
import re
from functools import lru_cache

import nh3

from interlock.apps.jobs.finder.keys import word_list

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
OPENING = re.compile(r"<(/?)(?!(?:br|hr|img|input|p|li|td|tr|th)\b)[a-zA-Z]")
DEEPEST = 256
"""Levels of nested elements. A real description has a dozen, and 40,000 take the sanitiser three seconds."""
SPACES = re.compile(r"[^\S\n]+")
ITEM_PARAGRAPH = re.compile(r"(<li>) ?<p>|</p> ?(</li>)|<li> ?</li>")
"""A paragraph inside an item stays on the item's line, and an empty item goes."""
TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)[^>\"]*(?:\"[^\"]*\"[^>\"]*)*>")
"""A tag as the sanitiser writes it: lower case, and attributes in double quotes."""
BREAKS = {"br": "\n", "li": "\n- ", "tr": "\n", "dt": "\n", "dd": "\n", "hr": "\n", "caption": "\n"}
PARAGRAPHS = word_list("""
    p ul ol h1 h2 h3 h4 h5 h6 blockquote pre table dl
""")


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
        text = html.unescape(text)
    if not LOOKS_LIKE_HTML.search(text):
        text = html.escape(html.unescape(text).strip(), quote=False).replace("\n", "<br>\n")
    elif _too_deep(text):
        text = re.sub(r"<[^<>]*>?", " ", text)
    return _cleaner().clean(text).strip() or None


def _too_deep(text: str) -> bool:
    if text.count("<") <= DEEPEST:
        return False
    depth = 0
    for found in OPENING.finditer(text):
        depth += -1 if found[1] else 1
        if depth > DEEPEST:
            return True
    return False


def text_of(clean: str | None) -> str | None:
    """The text of sanitised HTML, with paragraphs apart and a dash before each item of a list."""
    if not clean:
        return None
    flat = TAG.sub(_break, ITEM_PARAGRAPH.sub(r"\1\2", " ".join(clean.split())))
    text = html.unescape(flat).replace("\xa0", " ")
    lines = (SPACES.sub(" ", one).strip() for one in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() or None


def _break(found: re.Match[str]) -> str:
    closing, name = found[1], found[2]
    if name in PARAGRAPHS:
        return "\n\n" if name not in ("ul", "ol", "table") or not closing else "\n"
    if name in BREAKS:
        return "" if closing else BREAKS[name]
    if name == "div":
        return "\n"
    return " " if name in ("td", "th") else ""
