"""Feeds: RSS, Atom and JSON Feed. Which field has the title or the company is configured, as feeds differ.

`feedparser` is given a stream: a text it would take for an address and fetch.
"""

from __future__ import annotations

import io
import re
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from interlock.apps.jobs.finder.geography.places import places
from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.identity.keys import company_key
from interlock.apps.jobs.finder.identity.urls import web_url
from interlock.apps.jobs.finder.postings.posting import Method, Posting
from interlock.apps.jobs.finder.sources.adapter import Adapter, Listing, Page, given
from interlock.apps.jobs.finder.sources.answer import Answer, Request
from interlock.apps.jobs.finder.sources.documents import Unreadable, load, load_json
from interlock.apps.jobs.finder.sources.row import Row
from interlock.apps.jobs.finder.sources.vocabulary import employment_type, language, workplace

MOST_BYTES_OF_A_FEED = 5_000_000
PATHS = (".xml", "/feed", "/rss", "/jobs.rss", ".rss", ".atom", "/feed.json", "/atom.xml")
LINKED = re.compile(r"<link\b[^>]{0,500}>", re.IGNORECASE)
FEED_TYPE = re.compile(r"type=[\"']?application/(?:rss\+xml|atom\+xml|feed\+json)", re.IGNORECASE)
HREF = re.compile(r"href=[\"']([^\"']{1,1000})[\"']", re.IGNORECASE)
AT_COMPANY = re.compile(r"(.+?)\s(?:at|@|bei|chez)\s(.+)", re.IGNORECASE)
COMPANY_FIRST = re.compile(r"([^:]{2,80}):\s+(.+)")


class FeedConfig(BaseModel):
    """How to read a feed. Names of fields may be dotted paths."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    url: str = ""
    parse_format: Literal["standard"] = "standard"
    title_field: str = "title"
    description_field: str = "description"
    link_field: str = "link"
    company_field: str = "company"
    location_field: str = "location"
    date_field: str = "published"
    company_extraction: Literal["field", "from_title"] = "field"
    """`from_title` reads "Company: Role" and "Role at Company"."""
    company_name: str | None = None
    """The employer whose feed it is. A title that only adds this name is the role alone."""


class Feed(Adapter):
    kind = "feed"
    method = Method.FEED
    format = "xml"
    whole = False

    def __init__(self, config: FeedConfig | None = None) -> None:
        self.config = config or FeedConfig()

    def detect(self, url: str) -> Address | None:
        """An address that ends as feeds do. Only its answer proves it: retired feeds answer with HTML."""
        path = urlsplit(url).path.lower().rstrip("/") if web_url(url) else ""
        return Address(self.kind, "", None, {"url": url}) if path.endswith(PATHS) else None

    def detect_page(self, html: str, url: str | None = None) -> Address | None:
        for tag in LINKED.finditer(html[:1_000_000]):
            href = HREF.search(tag[0]) if FEED_TYPE.search(tag[0]) else None
            found = web_url(href[1], url) if href else None
            if found:
                return Address(self.kind, "", None, {"url": found})
        return None

    def first(self, board: Address) -> Request:
        accept = "application/rss+xml, application/atom+xml, application/feed+json, application/xml;q=0.9"
        return Request(board.options["url"], headers={"Accept": accept})

    def load(self, answer: Answer) -> Any:
        body = answer.body.lstrip(b"\xef\xbb\xbf \t\r\n")
        if body[:1] in (b"{", b"["):
            return load_json(answer.body)
        if len(body) > MOST_BYTES_OF_A_FEED:
            raise Unreadable(f"the feed has {len(body)} bytes; at most {MOST_BYTES_OF_A_FEED} are read")
        text = load("html", answer)
        start = body[:3000].lower()
        if (
            not body.startswith((b"<?xml", b"<rss", b"<feed", b"<rdf"))
            or b"<html" in start
            or b"<!doctype html" in start
        ):
            raise Unreadable("HTML instead of a feed" if b"<" in body[:1] else "the answer is no feed")
        if "<!ENTITY" in text:
            raise Unreadable("XML with entities of its own, which are not resolved")
        return body

    def listing(self, document: Any, page: Page) -> Listing | None:
        if isinstance(document, bytes):
            return _entries(document)
        if not isinstance(document, dict) or not isinstance(document.get("items"), list):
            return None
        follow = web_url(document.get("next_url"), page.base)
        same = follow and page.base and urlsplit(follow).netloc == urlsplit(page.base).netloc
        rows = [_item(one) if isinstance(one, dict) else one for one in document["items"]]
        return Listing(rows, follow=(Request(follow),) if follow and same else ())

    def read(self, row: Row, page: Page) -> Posting | None:
        config = self.config
        title, company = row.text(config.title_field), row.text(config.company_field)
        source = "field"
        if company is None and config.company_extraction == "from_title":
            title, company = split_title(title)
            source = "title"
        elif company is None and config.company_name:
            role, named = split_title(title)
            title = role if company_key(named) == company_key(config.company_name) else title
        where, kind = row.text(config.location_field) or row.text("region"), row.text("type") or row.text("job_type")
        posted, precision = row.date(config.date_field)
        if posted is None:
            posted, precision = row.date("updated")
        url = row.url(config.link_field, page.base)
        locations = places([where])
        return self.posting(
            page,
            # A feed's guid is unique within the feed alone, so the address is the identity where there is one.
            external_id=None if url else row.ident("id"),
            url=url,
            company_name_raw=company,
            title=title,
            department=row.text("category"),
            locations=locations,
            workplace=workplace(where),
            employment_type=employment_type(kind),
            posted_at=posted,
            posted_precision=precision,
            updated_at=row.date("updated")[0],
            description=row.html(config.description_field) or row.html("summary"),
            language=language(row.text("language")),
            evidence={
                "workplace": given(config.location_field, where, "feed"),
                "locations": given(config.location_field, where, "feed"),
                "employment_type": given("type", kind, "feed"),
                "company_name_raw": given(
                    config.title_field if source == "title" else config.company_field, company, "feed"
                ),
                "posted_at": given(config.date_field, row.get(config.date_field), "feed"),
            },
        )


def split_title(title: str | None) -> tuple[str | None, str | None]:
    """Role and company of "Company: Role" or "Role at Company"; the whole as the role when it is neither."""
    first = COMPANY_FIRST.fullmatch(title or "")
    if first:
        return first[2].strip(), first[1].strip()
    last = AT_COMPANY.fullmatch(title or "")
    return (last[1].strip(), last[2].strip()) if last else (title, None)


def _entries(body: bytes) -> Listing | None:
    import feedparser

    parsed = feedparser.parse(io.BytesIO(body), sanitize_html=False, resolve_relative_uris=False)
    if not parsed.version and not parsed.entries:
        return None
    spoken = parsed.feed.get("language") if isinstance(parsed.feed, dict) else None
    rows = [_entry(entry, spoken) for entry in parsed.entries]
    broken = bool(parsed.bozo) and not isinstance(parsed.get("bozo_exception"), feedparser.CharacterEncodingOverride)
    return Listing(rows, doubt="the feed is not well formed, so entries may be missing" if broken else None)


def _entry(entry: Any, spoken: Any) -> dict[str, Any]:
    """An entry as a row: feedparser's names, and the longest text as the description."""
    row = {key: value for key, value in entry.items() if isinstance(value, str)}
    texts = [one.get("value") for one in entry.get("content", ()) if isinstance(one.get("value"), str)]
    row["description"] = max([*texts, row.get("description", ""), row.get("summary", "")], key=len)
    row["language"] = spoken
    # feedparser has categories in a list, and under their own name only when asked for it.
    terms = [one.get("term") for one in entry.get("tags", ()) if isinstance(one.get("term"), str)]
    if terms:
        row["category"] = terms[0]
    company = row.get("company") or row.get("company_name") or row.get("job_company")
    if company:
        row["company"] = company
    return row


def _item(item: dict[str, Any]) -> dict[str, Any]:
    """An item of a JSON feed under the names of the others."""
    authors = item.get("authors")
    return {
        **item,
        "link": item.get("url") or item.get("external_url"),
        "description": item.get("content_html") or item.get("content_text") or item.get("summary"),
        "published": item.get("date_published"),
        "updated": item.get("date_modified"),
        "author": authors[0].get("name")
        if isinstance(authors, list) and authors and isinstance(authors[0], dict)
        else None,
    }
