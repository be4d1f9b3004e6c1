"""What every kind of source does: recognise its boards, name the requests, and read the answers.

`parse` never raises on what a server may send. A field of the wrong kind becomes unknown, a row of the wrong shape is
counted, and an answer that is not a list is `failed`. Postings of an answer that is not `complete` are as good as
any others; only their number proves nothing.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, ClassVar, Literal

from pydantic import ValidationError

from interlock.apps.jobs.finder.geography.places import WORK_MODEL
from interlock.apps.jobs.finder.identity.addresses import Address, address_of
from interlock.apps.jobs.finder.identity.keys import fold
from interlock.apps.jobs.finder.identity.urls import canonical_url, url_key
from interlock.apps.jobs.finder.postings.posting import (
    Evidence,
    EvidenceSource,
    Extraction,
    Location,
    Method,
    Posting,
    Salary,
    Sections,
    Workplace,
)
from interlock.apps.jobs.finder.sources.answer import MOST_ROWS, Answer, Counts, Parsed, Request, Verdict, failed
from interlock.apps.jobs.finder.sources.cleaning import line, text_of
from interlock.apps.jobs.finder.sources.documents import Unreadable, load
from interlock.apps.jobs.finder.sources.row import Row
from interlock.apps.jobs.finder.sources.vocabulary import workplace

READABLE = (
    "external_id",
    "requisition_id",
    "url",
    "apply_url",
    "company_name_raw",
    "title",
    "department",
    "team",
    "locations",
    "workplace",
    "employment_type",
    "seniority",
    "salary",
    "posted_at",
    "updated_at",
    "closes_at",
    "description_text",
    "language",
)
"""Fields that are listed in `fields_missing` when they are unknown."""
NOTHING = (Salary(), Sections())
TITLE_MODEL = re.compile(
    r"(?:[(\[/|,]|\s[-–—])\s*((?:fully |100% )?remote|hybrid|on-?site|in-office)\s*(?:[)\]/|,]|[-–—]\s|$)",  # noqa: RUF001
    re.IGNORECASE,
)
"""A way to work that stands apart in a title, as in "Engineer (Remote)". "Hybrid Cloud Engineer" names none."""
EVIDENCE: Mapping[Method, EvidenceSource] = {
    Method.API: "board",
    Method.JSONLD: "jsonld",
    Method.FEED: "feed",
    Method.SELECTORS: "selectors",
}
STATUS_REASONS = {
    401: "the server wants a login",
    403: "the server refuses",
    404: "the board is gone, or never was",
    410: "the board is gone",
    429: "the server asks for a pause",
}


@dataclass(frozen=True, slots=True)
class Page:
    """What the reader of an answer knows beside it."""

    answer: Answer
    board: Address | None
    at: datetime
    """When the answer was fetched; relative dates are counted from it."""
    wrong: Counter[str] = field(default_factory=Counter)
    raw_ref: str = ""
    """The SHA-256 of the answer, taken once for all of its postings."""

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise ValueError(f"{self.at} has no time zone")

    @property
    def base(self) -> str | None:
        """The address that relative links are under."""
        if self.answer.url:
            return self.answer.url
        return self.answer.request.url if self.answer.request else None

    @property
    def note(self) -> Mapping[str, Any]:
        return self.answer.request.note if self.answer.request else {}


@dataclass(frozen=True, slots=True)
class Listing:
    """The rows of an answer."""

    rows: Sequence[Any]
    total: int | None = None
    company: str | None = None
    follow: tuple[Request, ...] = ()
    capped: str | None = None
    """Why the source gives no more, although there is more."""
    doubt: str | None = None
    """Why the answer may not be the whole list."""


class Hidden(Exception):
    """The employer does not list this row."""


class Adapter(ABC):
    """One kind of source."""

    kind: ClassVar[str]
    version: ClassVar[str] = "1"
    method: ClassVar[Method] = Method.API
    format: ClassVar[Literal["json", "xml", "html"]] = "json"
    whole: ClassVar[bool] = True
    """Whether a complete list has every open posting. A feed has the newest, so what it leaves out may be open."""
    gone: ClassVar[bool] = True
    """Whether 404 for one posting proves that it is closed."""

    @property
    def rendered(self) -> bool:
        """Whether its pages are written by scripts, so that a browser has to show them."""
        return False

    def detect(self, url: str) -> Address | None:
        """The board that an address belongs to, when it is one of this kind."""
        found = address_of(url)
        return found if found and found.ats == self.kind else None

    def detect_page(self, html: str, url: str | None = None) -> Address | None:
        """The board that a careers page shows or embeds, when it is one of this kind."""
        from interlock.apps.jobs.finder.sources.detection import boards_in

        return next((one for one in boards_in(html, url) if one.ats == self.kind), None)

    @abstractmethod
    def first(self, board: Address) -> Request:
        """The request for the list, or for its first page."""

    def detail(self, board: Address, posting: Posting) -> Request | None:
        """The request for what the list leaves out; None when the list has it all."""
        return None

    def load(self, answer: Answer) -> Any:
        """The document of an answer. Raises Unreadable."""
        return load(self.format, answer)

    @abstractmethod
    def listing(self, document: Any, page: Page) -> Listing | None:
        """The rows of the list; None if the document is not a list of this kind."""

    @abstractmethod
    def read(self, row: Row, page: Page) -> Posting | None:
        """The posting of one row; None when the row has neither an id nor an address. Raises Hidden."""

    def parse(self, answer: Answer, board: Address | None, at: datetime) -> Parsed:
        """The postings of one answer to `first`, or to a request that followed."""
        reason = refusal(answer)
        if reason:
            return failed(reason)
        page = Page(answer, board, at, raw_ref=sha256(answer.body).hexdigest())
        try:
            listing = self.listing(self.load(answer), page)
        except Unreadable as error:
            return failed(str(error))
        if listing is None:
            return failed(f"the answer is not a list of {self.kind}")
        return self._collect(listing, page)

    def instead(self, board: Address, answer: Answer) -> Request | None:
        """Another request for the same, where a request was refused; None where the system has no other."""
        return None

    def parse_detail(self, answer: Answer, board: Address | None, posting: Posting, at: datetime) -> Parsed:
        """The posting with what the answer to `detail` adds to it."""
        reason = refusal(answer)
        if reason:
            return failed(reason)
        page = Page(answer, board, at, raw_ref=sha256(answer.body).hexdigest())
        try:
            found = self.read_detail(self.load(answer), posting, page)
        except Unreadable as error:
            return failed(str(error))
        except Hidden:
            return failed("the employer does not list the posting")
        except ValidationError:
            found = None
        if found is None:
            return failed(f"the answer is no posting of {self.kind}")
        whole = merged(found, posting, both_places=not found.locations).model_copy(update=_kept(posting))
        counts = Counts(listed=1, parsed=1)
        return Parsed(Verdict.COMPLETE, (whole,), counts, wrong_fields=dict(page.wrong))

    def read_detail(self, document: Any, posting: Posting, page: Page) -> Posting | None:
        """The posting of a detail answer."""
        return None

    def _collect(self, listing: Listing, page: Page) -> Parsed:
        found: dict[tuple[str, str] | str, Posting] = {}
        duplicates = hidden = unreadable = 0
        for value in listing.rows[:MOST_ROWS]:
            try:
                one = self.read(Row(value, page.wrong), page) if isinstance(value, Mapping) else None
            except Hidden:
                hidden += 1
                continue
            except ValidationError:
                one = None
            if one is None:
                unreadable += 1
                continue
            if one.company_name_raw is None and listing.company:
                one = with_missing(one.model_copy(update={"company_name_raw": listing.company}))
            key = identity(one)
            if key in found:
                duplicates += 1
                found[key] = merged(found[key], one)
            else:
                found[key] = one
        listed = len(listing.rows)
        counts = Counts(listed, len(found), duplicates, hidden, unreadable, listing.total)
        verdict, reasons = self._judge(listing, counts, page)
        return Parsed(
            verdict, tuple(found.values()), counts, reasons, listing.follow, dict(page.wrong), listing.company
        )

    def _judge(self, listing: Listing, counts: Counts, page: Page) -> tuple[Verdict, tuple[str, ...]]:
        if counts.listed > MOST_ROWS:
            return Verdict.CAPPED, (f"{counts.listed} rows; the first {MOST_ROWS} were read",)
        if listing.capped:
            return Verdict.CAPPED, (listing.capped,)
        reasons = []
        if counts.listed and counts.unreadable == counts.listed:
            return Verdict.FAILED, (f"none of {counts.listed} rows can be read",)
        if counts.unreadable:
            reasons.append(f"{counts.unreadable} of {counts.listed} rows cannot be read")
        if listing.doubt:
            reasons.append(listing.doubt)
        if listing.follow:
            reasons.append("there are more pages")
        elif counts.total is not None and counts.listed + page.note.get("before", 0) < counts.total:
            reasons.append(f"{counts.listed} rows of {counts.total}")
        return (Verdict.PARTIAL, tuple(reasons)) if reasons else (Verdict.COMPLETE, ())

    def posting(
        self,
        page: Page,
        *,
        board: str | None = None,
        description: str | None = None,
        url: str | None = None,
        evidence: Mapping[str, Evidence | None] | None = None,
        **fields: Any,
    ) -> Posting | None:
        """The canonical posting from what a row gave; None without an id and an address.

        Evidence of a field that stays unknown is dropped.
        """
        name = board if board is not None else (page.board.board or None if page.board else None)
        if fields.get("external_id") is None and url is None:
            return None
        known = {key: value for key, value in fields.items() if value is not None}
        proof = dict(evidence or {})
        if unknown(known.get("workplace")):
            known["workplace"], said = model_of(known.get("locations", ()))
            proof["workplace"] = given("locations", said, EVIDENCE.get(self.method, "board"))
            if said is None and (found := TITLE_MODEL.search(known.get("title", ""))):
                known["workplace"] = workplace(found[1])
                proof["workplace"] = given("title", known["title"], "title")
        draft = Posting(
            ats=self.kind,
            board=name,
            url=url,
            canonical_url=canonical_url(url),
            url_key=url_key(url, (self.kind, name) if name else None),
            description_html=description,
            description_text=text_of(description),
            evidence={key: one for key, one in proof.items() if one and not unknown(known.get(key))},
            extraction=Extraction(method=self.method, adapter_version=self.version),
            raw_ref=page.raw_ref or None,
            first_seen=page.at,
            last_seen=page.at,
            **known,
        )
        return with_missing(draft)


def model_of(locations: Sequence[Location]) -> tuple[Workplace, str | None]:
    """The way to work that a place names, as "Remote - US" does, and the place."""
    named = {workplace(found[0]): one.raw for one in locations if (found := WORK_MODEL.search(one.raw))}
    for model in (Workplace.HYBRID, Workplace.REMOTE, Workplace.ONSITE):
        if model in named:
            return model, named[model]
    return Workplace.UNKNOWN, None


def refusal(answer: Answer) -> str | None:
    """Why an answer is none; None when it can be read."""
    if 300 <= answer.status < 400:
        return f"the server sends elsewhere: {answer.header('Location') or 'nowhere'}"[:300]
    if not 200 <= answer.status < 300:
        return STATUS_REASONS.get(answer.status, f"the server answered {answer.status}")
    return None


def identity(posting: Posting) -> tuple[str, str] | str:
    """What tells postings of one answer apart."""
    if posting.external_id is not None:
        return (posting.board or "", posting.external_id)
    return posting.url_key or posting.url or ""


def unknown(value: object) -> bool:
    return value is None or value in ("unknown", ()) or value in NOTHING


def with_missing(posting: Posting) -> Posting:
    """The posting with the list of its unknown fields."""
    missing = tuple(name for name in READABLE if unknown(getattr(posting, name)))
    return posting.model_copy(update={"extraction": posting.extraction.model_copy(update={"fields_missing": missing})})


def merged(first: Posting, second: Posting, both_places: bool = True) -> Posting:
    """One posting from two readings of it: what the first leaves unknown comes from the second."""
    update: dict[str, Any] = {}
    for name in Posting.model_fields:
        if name not in ("evidence", "extraction", "locations", "posted_precision") and unknown(getattr(first, name)):
            update[name] = getattr(second, name)
    if first.posted_at is None:
        update["posted_precision"] = second.posted_precision
    if both_places:
        update["locations"] = union(first.locations, second.locations)
    update["evidence"] = {**second.evidence, **first.evidence}
    return with_missing(first.model_copy(update=update))


def _kept(posting: Posting) -> dict[str, Any]:
    """What is ours in a posting and not the source's."""
    return {name: getattr(posting, name) for name in ("id", "source_id", "company_id", "first_seen", "seen_count")}


def union(first: Sequence[Location], second: Sequence[Location]) -> tuple[Location, ...]:
    """Places of both, each once. A city without its region is one that is there with it."""
    found: dict[str, Location] = {}
    for one in (*first, *second):
        found.setdefault(one.key or one.raw, one)
    whole = {(fold(one.city), one.country) for one in found.values() if one.city and one.region}
    return tuple(one for one in found.values() if one.region or (fold(one.city), one.country) not in whole)


def given(path: str, value: object, source: EvidenceSource = "board") -> Evidence | None:
    """Evidence of a field that the source gave; None when it gave nothing."""
    quote = None if value is None else line(str(value)[:3000])
    return Evidence(source=source, field=path, quote=quote) if quote else None
