"""Selectors of an unknown careers page, found by rules: the repeated element whose links look like postings.

What is found is a proposal. Its first rows are shown to a person before anything is crawled by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import parse_qsl, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from interlock.apps.jobs.finder.identity.urls import canonical_url, web_url
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.sources.answer import Answer
from interlock.apps.jobs.finder.sources.cleaning import line
from interlock.apps.jobs.finder.sources.nesting import beyond_reason
from interlock.apps.jobs.finder.sources.paging import Pagination
from interlock.apps.jobs.finder.sources.selectors import Html, HtmlConfig, Selectors

PREVIEW = 5
MOST_LINKS = 3000
HIGHEST = 6
"""Levels above a link that are tried as the card."""
JOB_WORD = re.compile(
    r"jobs?|careers?|positions?|openings?|vacanc(?:y|ies)|opportunit(?:y|ies)|roles?|stellen?(?:angebote?)?|karriere|"
    r"emplois?|offres?|empleos?|o|p|j|postings?|requisitions?"
)
ID_PARAMETER = re.compile(r"gh_jid|ashby_jid|job_?id|jid|req(?:_?id)?|position|vacancy|posting", re.IGNORECASE)
NOT_A_TITLE = re.compile(
    r"(?:apply|apply now|bewerben|read more|learn more|more|details|view|view (?:job|role|details|all|all jobs)|"
    r"see all|next|previous|back|home|about|about us|contact|login|log in|sign in|search|careers|jobs|privacy|imprint|"
    r"impressum|blog|team|benefits|culture|all jobs|open positions|mehr|weiter|\d+)\W*",
    re.IGNORECASE,
)
STEADY_CLASS = re.compile(r"-?[A-Za-z_][A-Za-z_-]{1,40}")
"""A class that a person named. One with digits was made by a build and changes with it."""
FIELD_CLASSES = {
    "location": r"locat|place|city|office|standort|\bort\b|ville",
    "department": r"depart|team|categor|division|abteilung",
    "posted_date": r"date|posted|publish|datum",
    "employment_type": r"employ|type|schedule|contract|commitment",
    "salary": r"salar|compens|gehalt|\bpay\b",
    "company": r"company|employer|firma",
}


@dataclass(frozen=True, slots=True)
class Proposal:
    """Selectors for a page, with their first rows."""

    config: HtmlConfig
    score: float
    """0 to 1: how many of the rows look like postings, and how many rows there are."""
    rows: int
    preview: tuple[Posting, ...]


def discover(html: str, url: str, at: datetime) -> Proposal | None:
    """The best proposal for a page; None when nothing on it repeats and looks like postings."""
    if beyond_reason(html):
        return None
    tree = LexborHTMLParser(html)
    best: Proposal | None = None
    most = 0
    for card_selector in _card_selectors(tree, url):
        cards = tree.css(card_selector)
        if not 2 <= len(cards) <= 2000:
            continue
        config = HtmlConfig(url=url, selectors=_fields(card_selector, cards, url), pagination=_pagination(tree))
        found = Html(config).parse(Answer(html.encode("utf-8", "replace"), url=url), None, at)
        good = [one for one in found.postings if one.url and looks_like_posting(one.url, url)]
        if len(good) < 2:
            continue
        score = round(len(good) / len(cards) * min(1.0, 0.5 + len(good) / 20), 3)
        # Of two that find the same rows, the one that finds more in them is the card.
        fields = len(config.selectors.model_dump(exclude_none=True))
        if best is None or (score, fields) > (best.score, most):
            best, most = Proposal(config, score, len(good), tuple(good[:PREVIEW])), fields
    return best


def looks_like_posting(target: str, page: str) -> bool:
    """Whether an address may be a posting's: it says so in its path or parameters, and is not the page itself."""
    if canonical_url(target) in (None, canonical_url(page)):
        return False
    parts = urlsplit(target)
    if any(ID_PARAMETER.fullmatch(name) and value for name, value in parse_qsl(parts.query)[:50]):
        return True
    pieces = [piece for piece in parts.path.lower().split("/") if piece]
    for at, piece in enumerate(pieces[:-1]):
        if (
            JOB_WORD.fullmatch(piece)
            and (len(pieces[-1]) > 2 or pieces[-1].isdecimal())
            and not JOB_WORD.fullmatch(pieces[-1])
        ):
            return at < len(pieces) - 1
    return False


def _links(tree: LexborHTMLParser, url: str) -> Iterator[tuple[LexborNode, str]]:
    for link in tree.css("a[href]")[:MOST_LINKS]:
        target = web_url(link.attributes.get("href"), url)
        if target and looks_like_posting(target, url):
            yield link, canonical_url(target) or target


def _card_selectors(tree: LexborHTMLParser, url: str) -> list[str]:
    """Selectors of elements that hold one posting's links each, those that repeat most first."""
    holds: dict[int, set[str]] = {}
    above: dict[int, LexborNode] = {}
    for link, target in _links(tree, url):
        node: LexborNode | None = link
        for _ in range(HIGHEST):
            if node is None or node.tag in ("body", "html", "main"):
                break
            above[node.mem_id] = node
            holds.setdefault(node.mem_id, set()).add(target)
            node = node.parent
    counted: dict[str, int] = {}
    for key, targets in holds.items():
        selector = _selector(above[key]) if len(targets) == 1 else None
        if selector:
            counted[selector] = counted.get(selector, 0) + 1
    ranked = sorted((many, selector) for selector, many in counted.items() if many > 1)
    return [selector for _, selector in reversed(ranked)][:20]


def _selector(node: LexborNode) -> str | None:
    """A selector by tag and steady classes; by the parent's where the node has none."""
    own = _by_class(node)
    if own != node.tag:
        return own
    parent = node.parent
    if parent is None or parent.tag in ("body", "html"):
        return None
    over = _by_class(parent)
    if over == parent.tag and parent.tag not in ("tr", "li", "ul", "ol", "tbody"):
        return None
    return f"{over} > {node.tag}"


def _by_class(node: LexborNode) -> str:
    classes = (node.attributes.get("class") or "").split()
    steady = [one for one in classes if STEADY_CLASS.fullmatch(one)][:2]
    return "".join([node.tag or "", *(f".{one}" for one in steady)])


def _fields(card_selector: str, cards: list[LexborNode], url: str) -> Selectors:
    sample = cards[:20]
    found: dict[str, str] = {"job_list": card_selector, "link": _link(sample)}
    found["title"] = _title(sample)
    for name, pattern in FIELD_CLASSES.items():
        selector = _by_words(sample, pattern)
        if selector and selector not in found.values():
            found[name] = selector
    if any(card.css_first("time[datetime]") is not None for card in sample):
        found["posted_date"] = "time@datetime"
    return Selectors(**found)


def _link(cards: list[LexborNode]) -> str:
    return "@href" if all(card.tag == "a" for card in cards) else "a[href]"


def _title(cards: list[LexborNode]) -> str:
    """The heading of a card, else the first link whose words are a title, else the card's own text."""
    for name in ("h1", "h2", "h3", "h4", "h5", "h6", '[class*="title"]', "strong"):
        if sum(_titled(card.css_first(name)) for card in cards) > len(cards) / 2:
            return name
    if all(card.tag == "a" for card in cards):
        first = '[class*="name"], span, div, p'
        return first if sum(_titled(card.css_first(first)) for card in cards) > len(cards) / 2 else "@title"
    return "a[href]"


def _titled(node: LexborNode | None) -> bool:
    text = line(node.text(separator=" ")) if node is not None else None
    return bool(text) and 3 <= len(text or "") <= 150 and not NOT_A_TITLE.fullmatch(text or "")


def _by_words(cards: list[LexborNode], pattern: str) -> str | None:
    """The class inside most cards whose name says what it has."""
    counted: dict[str, int] = {}
    for card in cards:
        names = {
            f".{one}"
            for node in card.css("[class]")[:60]
            for one in (node.attributes.get("class") or "").split()
            if STEADY_CLASS.fullmatch(one)
            and re.search(pattern, one, re.IGNORECASE)
            and len(node.text(strip=True)) <= 120
        }
        for name in names:
            counted[name] = counted.get(name, 0) + 1
    best = max(counted, key=lambda name: (counted[name], -len(name), name), default=None)
    return best if best and counted[best] > len(cards) / 2 else None


def _pagination(tree: LexborHTMLParser) -> Pagination:
    for selector in ('a[rel="next"]', "a.next", "li.next a", 'a[aria-label*="next" i]', "a.pagination-next"):
        if tree.css_first(selector) is not None:
            return Pagination(next_button=selector)
    return Pagination()
