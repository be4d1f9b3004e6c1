"""One page of a company as rules see it: description, organisations, blocks of text under headings, links.

The page is hostile until it is cleaned: it is cut, markup beyond reason is reduced to its words, scripts and menus go
with their content, and characters that cannot be seen are removed.
"""

from __future__ import annotations

import html as html_lib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import nh3
from selectolax.lexbor import LexborHTMLParser

from interlock.apps.jobs.finder.identity.keys import word_list
from interlock.apps.jobs.finder.identity.urls import web_url
from interlock.apps.jobs.finder.reading.plain import plain
from interlock.apps.jobs.finder.sources.cleaning import line, visible
from interlock.apps.jobs.finder.sources.jsonld import objects_of
from interlock.apps.jobs.finder.sources.nesting import beyond_reason

MOST_CHARACTERS = 2_000_000
MOST_TEXT = 100_000
"""Characters of text that are read of one page."""
MOST_TAGS = 60_000
MOST_BLOCK = 4000
MOST_BLOCKS = 3000
MOST_LINKS = 3000
ORGANISATIONS = word_list("""
    Organization Corporation LocalBusiness OnlineBusiness OnlineStore NGO ProfessionalService
    EducationalOrganization FinancialService MedicalOrganization NewsMediaOrganization
""")
BLOCKS = word_list("""
    p div section article main header aside figure figcaption details summary address blockquote pre
    ul ol li dl dt dd table tbody thead tr td th h1 h2 h3 h4 h5 h6 br hr
""")
DROPPED = word_list("""
    script style iframe object embed template noscript svg math textarea select option button form title nav footer
""")
"""Elements that go with their content; a menu or footer says nothing about a company in sentences."""
_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)[^<>]*>")
_NOISE = re.compile(
    r"\b(?:cookies?|javascript|all rights reserved|alle rechte vorbehalten|datenschutz)\b", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"(?<=[.!?]) (?=[^\W\d_a-z])")


class Block(NamedTuple):
    """A heading or a stretch of text."""

    level: int
    """1 to 6 for a heading, 0 for text."""
    tag: str
    text: str


class Link(NamedTuple):
    """Where a page leads to, or what it embeds."""

    url: str
    text: str
    feed: bool = False


@dataclass(frozen=True, slots=True)
class CompanyPage:
    """A page, cleaned."""

    url: str
    description: str | None = None
    site_name: str | None = None
    """What the page calls its website."""
    title: str | None = None
    organisations: tuple[Mapping[str, Any], ...] = ()
    blocks: tuple[Block, ...] = ()
    links: tuple[Link, ...] = field(default=(), repr=False)
    parsed: bool = True
    """False where only the words were read, because the markup is beyond reason."""

    def text(self) -> str:
        """Every block on a line of its own."""
        return "\n".join(one.text for one in self.blocks)

    def sentences(self) -> Iterator[str]:
        """The sentences of the description and of all blocks."""
        if self.description:
            yield from sentences(self.description)
        for block in self.blocks:
            yield from sentences(block.text)


def sentences(text: str) -> list[str]:
    """A text at the ends of its sentences."""
    return _SENTENCE_END.split(text)


def read_page(url: str, html: str) -> CompanyPage:
    """The page of an address. It never raises on what a server may send."""
    markup = visible(html[:MOST_CHARACTERS])
    if markup.count("<") > MOST_TAGS or beyond_reason(markup, most_steps=5_000_000, most_copies=100_000):
        lines = (line(one, MOST_BLOCK) for one in plain(markup)[:MOST_TEXT].split("\n", MOST_BLOCKS)[:MOST_BLOCKS])
        return CompanyPage(url, blocks=tuple(Block(0, "p", one) for one in lines if one), parsed=False)
    tree = LexborHTMLParser(markup)
    title = tree.css_first("title")
    return CompanyPage(
        url,
        _description(tree),
        _meta(tree, 'meta[property="og:site_name" i]', 'meta[name="application-name" i]'),
        line(title.text()[:1000]) if title is not None else None,
        tuple(objects_of(tree, ORGANISATIONS)),
        tuple(_blocks(markup)),
        tuple(_links(tree, url)),
    )


def _description(tree: LexborHTMLParser) -> str | None:
    """What the page says of itself to search engines; the longest, as one is often a slogan."""
    found = []
    for selector in ('meta[name="description" i]', 'meta[property="og:description" i]'):
        node = tree.css_first(selector)
        said = line(node.attributes.get("content"), 2000) if node is not None else None
        if said:
            found.append(said)
    return max(found, key=len) if found else None


def _meta(tree: LexborHTMLParser, *selectors: str) -> str | None:
    nodes = (tree.css_first(one) for one in selectors)
    said = (line(node.attributes.get("content")) for node in nodes if node is not None)
    return next((one for one in said if one), None)


@lru_cache(maxsize=1)
def _cleaner() -> nh3.Cleaner:
    return nh3.Cleaner(tags=set(BLOCKS), clean_content_tags=set(DROPPED), attributes={}, strip_comments=True)


def _blocks(markup: str) -> Iterator[Block]:
    clean = _cleaner().clean(markup)
    read, many, at, tag, words = 0, 0, 0, "div", ""
    for found in _TAG.finditer(clean):
        words += clean[at : found.start()]
        at = found.end()
        block = _block(tag, words)
        if block is not None:
            yield block
            read, many = read + len(block.text), many + 1
            if read > MOST_TEXT or many == MOST_BLOCKS:
                return
        words = ""
        # What follows the end of an element belongs to one around it.
        tag = "div" if found[1] else found[2]
    block = _block(tag, words + clean[at:])
    if block is not None:
        yield block


def _block(tag: str, words: str) -> Block | None:
    text = " ".join(visible(html_lib.unescape(words[: 4 * MOST_BLOCK])).split())[:MOST_BLOCK]
    if not any(map(str.isalnum, text)) or (len(text) < 300 and _NOISE.search(text)):
        return None
    level = int(tag[1]) if len(tag) == 2 and tag[0] == "h" and tag[1].isdecimal() else 0
    return Block(level, tag, text)


def _links(tree: LexborHTMLParser, url: str) -> Iterator[Link]:
    for node in tree.css("a[href],iframe[src],script[src],link[href]")[:MOST_LINKS]:
        given = node.attributes
        where = web_url(given.get("href") or given.get("src"), url)
        if where is None:
            continue
        if node.tag == "link":
            kind = (given.get("type") or "").lower()
            if kind in ("application/rss+xml", "application/atom+xml", "application/feed+json"):
                yield Link(where, line(given.get("title"), 200) or "", feed=True)
            continue
        yield Link(where, (line(node.text()[:1000], 200) or "") if node.tag == "a" else "")
