"""A crawl of one board, without the network: it names the requests, takes the answers, and gives a verdict.

    crawl = Crawl(adapter, board)
    while (request := crawl.next()) is not None:
        crawl.take(request, fetch(request), at=now)
    result = crawl.result()

It ends whatever the source does: pages are limited, a page that brings nothing new ends its list, and a request is
never made twice.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from datetime import datetime

import orjson

from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.sources.adapter import Adapter, identity, merged
from interlock.apps.jobs.finder.sources.answer import Answer, Counts, Parsed, Request, Verdict

MOST_PAGES = 1000
MOST_POSTINGS = 20_000


@dataclass(slots=True)
class Crawl:
    """The state of one crawl."""

    adapter: Adapter
    board: Address
    most_pages: int = MOST_PAGES
    most_postings: int = MOST_POSTINGS
    _waiting: deque[Request] = field(default_factory=deque)
    _asked: set[bytes] = field(default_factory=set)
    _found: dict[tuple[str, str] | str, Posting] = field(default_factory=dict)
    _pages: int = 0
    _read: int = 0
    _sums: Counter[str] = field(default_factory=Counter)
    _total: int | None = None
    _parts: dict[str, list[int]] = field(default_factory=dict)
    """Part of the board → how many rows it should have, and how many were listed."""
    _capped: list[str] = field(default_factory=list)
    _doubts: list[str] = field(default_factory=list)
    _refused: list[str] = field(default_factory=list)
    """Why a list was refused in whose place another one is asked for."""
    _wrong: Counter[str] = field(default_factory=Counter)
    _company: str | None = None

    def __post_init__(self) -> None:
        self._add(self.adapter.first(self.board))

    def _add(self, request: Request) -> bool:
        """Whether the request is new. Two with the same method, address and body have the same answer."""
        key = orjson.dumps([request.method, request.url, request.body], option=orjson.OPT_SORT_KEYS)
        if key in self._asked:
            return False
        self._asked.add(key)
        self._waiting.append(request)
        return True

    def next(self) -> Request | None:
        """The next request to make; None at the end."""
        if self._waiting and self._pages >= self.most_pages:
            self._capped.append(f"{self._pages} pages were read, and there are more")
            self._waiting.clear()
        if self._waiting and len(self._found) >= self.most_postings:
            self._capped.append(f"{len(self._found)} postings were read, and there are more")
            self._waiting.clear()
        return self._waiting.popleft() if self._waiting else None

    def take(self, request: Request, answer: Answer, at: datetime) -> None:
        """Read the answer to a request that `next` gave."""
        self._pages += 1
        answer = replace(answer, request=request)
        parsed = self.adapter.parse(answer, self.board, at)
        if parsed.verdict is Verdict.FAILED:
            other = self.adapter.instead(self.board, answer) if not self._read else None
            (self._refused if other is not None and self._add(other) else self._doubts).extend(parsed.reasons)
            return
        self._read += 1
        if self._total is None:
            self._total = parsed.counts.total
        new = self._merge(parsed)
        self._count(request, parsed)
        if parsed.verdict is Verdict.CAPPED:
            self._capped += parsed.reasons
        elif parsed.counts.unreadable:
            self._doubts.append(f"{parsed.counts.unreadable} of {parsed.counts.listed} rows cannot be read")
        elif not parsed.postings and not parsed.follow:
            self._doubts += parsed.reasons
        if parsed.follow and not new and parsed.postings and request.note.get("before"):
            # Beyond its limit a source repeats its first page.
            self._capped.append("a page repeats postings of earlier ones, so the source gives no more")
            return
        for one in parsed.follow:
            if not self._add(one):
                self._doubts.append("a further page is one that was asked for before")

    def miss(self, reason: str) -> None:
        """Note that a page could not be fetched: what was read stays, and the crawl is not complete."""
        self._pages += 1
        self._doubts.append(reason)

    def _count(self, request: Request, parsed: Parsed) -> None:
        part = request.note.get("part", "")
        if any(one.note.get("part", "") != part for one in parsed.follow):
            # The list is read in parts instead, and theirs are the numbers that count.
            self._parts.pop(part, None)
            return
        sums = self._parts.setdefault(part, [parsed.counts.total or 0, 0])
        sums[1] += parsed.counts.listed

    def _merge(self, parsed: Parsed) -> int:
        new = 0
        for one in parsed.postings:
            key = identity(one)
            if key in self._found:
                self._sums["duplicates"] += 1
                self._found[key] = merged(self._found[key], one)
            else:
                self._found[key] = one
                new += 1
        for name in ("listed", "duplicates", "hidden", "unreadable"):
            self._sums[name] += getattr(parsed.counts, name)
        self._wrong.update(parsed.wrong_fields)
        self._company = self._company or parsed.company
        return new

    def result(self) -> Parsed:
        """All postings with one verdict. A crawl that stopped in the middle is partial."""
        sums = self._sums
        counts = Counts(
            sums["listed"], len(self._found), sums["duplicates"], sums["hidden"], sums["unreadable"], self._total
        )
        verdict, reasons = self._verdict()
        found = tuple(self._found.values())
        return Parsed(verdict, found, counts, reasons, tuple(self._waiting), dict(self._wrong), self._company)

    def _verdict(self) -> tuple[Verdict, tuple[str, ...]]:
        if not self._read:
            return Verdict.FAILED, tuple(dict.fromkeys([*self._refused, *self._doubts])) or ("nothing was read",)
        doubts = list(self._doubts)
        if self._waiting:
            doubts.append(f"{len(self._waiting)} pages were not read")
        if not self._capped:
            doubts += [f"{there} rows of {total}" for total, there in self._parts.values() if there < total]
        if self._capped:
            return Verdict.CAPPED, tuple(dict.fromkeys([*self._capped, *doubts]))
        return (Verdict.PARTIAL, tuple(dict.fromkeys(doubts))) if doubts else (Verdict.COMPLETE, ())
