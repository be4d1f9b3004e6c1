"""Careers pages by CSS selectors: one for the cards of the list, and one for each field inside a card.

A selector may end in `@attribute`: `time@datetime`, `a.apply@href`. One that begins with `@` reads the card itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from interlock.apps.jobs.finder.geography.places import places
from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.identity.urls import web_url
from interlock.apps.jobs.finder.postings.posting import Evidence, Method, Posting, Salary
from interlock.apps.jobs.finder.sources.adapter import Adapter, Listing, Page, given
from interlock.apps.jobs.finder.sources.answer import Request
from interlock.apps.jobs.finder.sources.dates import read_date, read_label
from interlock.apps.jobs.finder.sources.paging import Pagination, same_site, with_params
from interlock.apps.jobs.finder.sources.row import Row
from interlock.apps.jobs.finder.sources.vocabulary import employment_type, workplace

MOST_CARDS = 2000
SILENT = "script, style, template, noscript"
"""Elements whose words are no words of a card."""
FIELDS = (
    "title",
    "company",
    "location",
    "description",
    "link",
    "posted_date",
    "salary",
    "department",
    "employment_type",
)


class Selectors(BaseModel):
    """The selectors of one layout. A field without a selector stays unknown."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    job_list: str | None = None
    title: str | None = None
    company: str | None = None
    location: str | None = None
    description: str | None = None
    link: str | None = None
    posted_date: str | None = None
    salary: str | None = None
    department: str | None = None
    employment_type: str | None = None

    @field_validator("*")
    @classmethod
    def _readable(cls, value: str | None) -> str | None:
        css = split_selector(value or "")[0]
        if css:
            try:
                LexborHTMLParser("<p></p>").css(css)
            except (SelectolaxError, ValueError) as error:
                raise ValueError(f"{css!r} is no CSS selector: {error}") from None
        return value or None


class HtmlConfig(BaseModel):
    """How to read a careers page."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    url: str = ""
    method: Literal["requests", "browser"] = "requests"
    selectors: Selectors
    alternative_selectors: tuple[Selectors, ...] = Field((), max_length=10)
    pagination: Pagination = Pagination()
    company_name: str | None = None
    """The employer, where the page is one company's."""

    @field_validator("method", mode="before")
    @classmethod
    def _selenium_is_a_browser(cls, value: Any) -> Any:
        return "browser" if value == "selenium" else value


def split_selector(selector: str) -> tuple[str, str | None]:
    """The CSS and the attribute of `css@attribute`. An `@` inside brackets or quotes belongs to the CSS."""
    css, at, attribute = selector.rpartition("@")
    if at and attribute and all(c.isalnum() or c in "-_:" for c in attribute):
        return css.strip(), attribute.lower()
    return selector.strip(), None


class Html(Adapter):
    kind = "html"
    method = Method.SELECTORS
    format = "html"
    whole = False

    def __init__(self, config: HtmlConfig) -> None:
        self.config = config

    def detect(self, url: str) -> Address | None:
        """None: any page may be one, so only discovery tells."""
        return None

    def detect_page(self, html: str, url: str | None = None) -> Address | None:
        found = web_url(self.config.url) or web_url(url)
        return Address(self.kind, "", None, {"url": found}) if found and self._cards(LexborHTMLParser(html)) else None

    @property
    def rendered(self) -> bool:
        return self.config.method == "browser"

    def first(self, board: Address) -> Request:
        url = board.options.get("url", self.config.url)
        return Request(
            with_params(url, self.config.pagination.first_params()), headers={"Accept": "text/html"}, note={"page": 0}
        )

    def listing(self, document: str, page: Page) -> Listing | None:
        tree = LexborHTMLParser(document)
        cards = self._cards(tree)
        if not cards and not page.note.get("page"):
            return None
        for card in cards:
            for node in card.css(SILENT):
                node.decompose()
        rows = [self._row(card) for card in cards]
        before = page.note.get("before", 0)
        request = self._next(tree, page, len(rows), before)
        capped = None
        number = page.note.get("page", 0) + 1
        if request and number >= self.config.pagination.max_pages:
            request, capped = None, f"{number} pages were read, and there are more"
        return Listing(rows, follow=(request,) if request else (), capped=capped)

    def _cards(self, tree: LexborHTMLParser) -> list[LexborNode]:
        for one in (self.config.selectors, *self.config.alternative_selectors):
            css = split_selector(one.job_list)[0] if one.job_list else None
            found = tree.css(css)[:MOST_CARDS] if css else []
            if found:
                return found
        return []

    def _row(self, card: LexborNode) -> dict[str, Any]:
        """The texts of a card: for each field the first selector that finds something."""
        return {name: next(self._values(card, name), None) for name in FIELDS}

    def _values(self, card: LexborNode, name: str) -> Iterator[str]:
        for one in (self.config.selectors, *self.config.alternative_selectors):
            selector = getattr(one, name)
            if selector:
                value = _value(card, selector, name)
                if value and value.strip():
                    yield value

    def _next(self, tree: LexborHTMLParser, page: Page, rows: int, before: int) -> Request | None:
        paging = self.config.pagination
        number = page.note.get("page", 0) + 1
        note = {"page": number, "before": before + rows}
        if paging.kind == "next_button" and paging.next_button:
            css, attribute = split_selector(paging.next_button)
            button = tree.css_first(css)
            url = web_url(button.attributes.get(attribute or "href"), page.base) if button is not None else None
            return (
                Request(url, headers={"Accept": "text/html"}, note=note) if url and same_site(url, page.base) else None
            )
        changed = paging.next_params(number, rows, before, None, None)
        if changed is None or page.base is None:
            return None
        return Request(with_params(page.base, changed), headers={"Accept": "text/html"}, note=note)

    def read(self, row: Row, page: Page) -> Posting | None:
        where, kind, pay = row.text("location"), row.text("employment_type"), row.text("salary")
        dated = row.get("posted_date")
        posted, precision = read_date(dated)
        if posted is None:
            posted, precision = read_label(dated, page.at)
        url, title = row.url("link", page.base), row.text("title")
        if url is None or title is None:
            # A card without a link or a title is a banner or a heading of the list.
            return None
        return self.posting(
            page,
            url=url,
            title=title,
            company_name_raw=row.text("company") or self.config.company_name,
            department=row.text("department"),
            locations=places([where]),
            workplace=workplace(where),
            employment_type=employment_type(kind),
            salary=Salary(source="text", quote=pay) if pay else None,
            posted_at=posted,
            posted_precision=precision,
            description=row.html("description"),
            evidence={
                "locations": self._seen("location", where),
                "workplace": self._seen("location", where),
                "employment_type": self._seen("employment_type", kind),
                "posted_at": self._seen("posted_date", dated),
            },
        )

    def _seen(self, name: str, value: Any) -> Evidence | None:
        selector = getattr(self.config.selectors, name)
        return given(selector or name, value, "selectors")


def _value(card: LexborNode, selector: str, name: str) -> str | None:
    css, attribute = split_selector(selector)
    node = card.css_first(css) if css else card
    if node is None and css and card.css_matches(css):
        # The selector of the card itself, as for a list of bare links.
        node = card
    if node is None:
        return None
    if attribute:
        return node.attributes.get(attribute)
    if name == "link":
        inner = node if node.attributes.get("href") else node.css_first("a[href]")
        return inner.attributes.get("href") if inner is not None else None
    return node.html if name == "description" else node.text(separator=" ")
