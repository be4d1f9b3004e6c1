"""Pages with schema.org JobPosting: every block of JSON-LD is read on its own, and repaired where that is possible.

One broken block never costs the others. The page of a posting has one; a list page may have many.
"""

from __future__ import annotations

import html
import json
import re
from collections import deque
from collections.abc import Collection, Iterator
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.postings.posting import Method, Posting
from interlock.apps.jobs.finder.sources.adapter import Adapter, Listing, Page
from interlock.apps.jobs.finder.sources.answer import Request
from interlock.apps.jobs.finder.sources.jobposting import posting_fields, several
from interlock.apps.jobs.finder.sources.row import Row

MOST_BLOCKS = 500
MOST_NODES = 20_000
GUARDS = ("//", "<![CDATA[", "]]>", "<!--", "-->", ";")
BAD_ESCAPE = re.compile(r"\\(?![\"\\/bfnrtu])")
MISSING_COMMA = re.compile(r"([\"}\]\d]|true|false|null)([^\S\n]*\n\s*)(?=\")")
EXTRA_COMMA = re.compile(r",(\s*[}\]])")


class JsonLd(Adapter):
    kind = "jsonld"
    method = Method.JSONLD
    format = "html"
    whole = False

    def detect(self, url: str) -> Address | None:
        """None: an address does not tell what its page has."""
        return None

    def detect_page(self, html: str, url: str | None = None) -> Address | None:
        if not url or not any(True for _ in job_postings(html)):
            return None
        return Address(self.kind, "", None, {"url": url})

    def first(self, board: Address) -> Request:
        return Request(board.options["url"], headers={"Accept": "text/html"})

    def listing(self, document: str, page: Page) -> Listing | None:
        found = list(job_postings(document))
        if not found:
            return None
        alone = len(found) == 1
        # The page's own address is that of its one posting; many postings need addresses of their own.
        return Listing([{"job": one, "alone": alone, "page": _address(document, page)} for one in found])

    def read(self, row: Row, page: Page) -> Posting | None:
        job = Row(row.get("job"), row.wrong)
        fields = posting_fields(job)
        url = job.url("url", page.base) or (row.url("page") if row.get("alone") else None)
        if url is None:
            # The identifier is often the company's and the same on every posting, so it counts only without an address.
            fields["external_id"] = fields["requisition_id"]
        return self.posting(page, url=url, **fields)


def _address(document: str, page: Page) -> str | None:
    """The page's address: where it came from, else the one that it names as canonical."""
    if page.base:
        return page.base
    tree = LexborHTMLParser(document)
    for selector, name in (('link[rel="canonical"]', "href"), ('meta[property="og:url"]', "content")):
        found = tree.css_first(selector)
        if found is not None and found.attributes.get(name):
            return found.attributes[name]
    return None


def job_postings(document: str) -> Iterator[dict[str, Any]]:
    """Every JobPosting of a page, with keys in the case of schema.org."""
    return objects_of(LexborHTMLParser(document), frozenset({"JobPosting"}))


def objects_of(tree: LexborHTMLParser, types: Collection[str]) -> Iterator[dict[str, Any]]:
    """Every object of one of these types in the JSON-LD of a page, with keys in the case of schema.org."""
    for script in tree.css('script[type*="ld+json" i]')[:MOST_BLOCKS]:
        block = parsed_block(script.text())
        if block is not None:
            yield from _walk(block, types)


def parsed_block(text: str) -> Any:
    """The JSON of a block, repaired step by step; None when nothing helps."""
    plain = _unguarded(text[:2_000_000])
    steps = (
        lambda one: one,
        html.unescape,
        lambda one: BAD_ESCAPE.sub("", one),
        lambda one: EXTRA_COMMA.sub(r"\1", MISSING_COMMA.sub(r"\1,\2", one)),
    )
    for step in steps:
        plain = step(plain)
        try:
            # Control characters inside texts are common, and not strict JSON.
            return json.loads(plain, strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def _unguarded(text: str) -> str:
    """The text without the marks that hide it from old browsers, at its beginning and end."""
    plain = text.strip()
    for _ in range(3):
        for mark in GUARDS:
            plain = plain.removeprefix(mark).removesuffix(mark).strip()
    return plain


def _walk(block: Any, types: Collection[str]) -> Iterator[dict[str, Any]]:
    """Objects of these types, wherever they are nested, except inside each other."""
    waiting, seen = deque([block]), 0
    while waiting and seen < MOST_NODES:
        one = waiting.popleft()
        seen += 1
        if isinstance(one, list):
            waiting.extend(one[:MOST_NODES])
        elif isinstance(one, dict):
            plain = _lowered(one)
            if any(isinstance(kind, str) and kind.rpartition("/")[2] in types for kind in several(Row(plain), "@type")):
                yield plain
            else:
                waiting.extend(value for value in one.values() if isinstance(value, dict | list))


def _lowered(value: Any, depth: int = 6) -> Any:
    """Keys that begin with a small letter; some pages write `DatePosted`."""
    if isinstance(value, dict) and depth:
        return {key[:1].lower() + key[1:]: _lowered(one, depth - 1) for key, one in value.items()}
    if isinstance(value, list) and depth:
        return [_lowered(one, depth - 1) for one in value]
    return value
