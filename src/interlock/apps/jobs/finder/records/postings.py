"""Postings: one row for each, updated whenever a source shows it again, with what became of it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any, Literal, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from pydantic import ValidationError
from uuid_utils.compat import uuid7

from interlock.apps.jobs.finder.identity.dedupe import posting_key
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.records.stored import mapping
from interlock.apps.jobs.finder.sources.adapter import merged, unknown, with_missing
from interlock.apps.jobs.tables import posting as P
from interlock.apps.jobs.tables import source as S
from interlock.engine import Unreadable
from interlock.engine.application import Unit
from interlock.store import Micros, micros, span

Change = Literal["new", "changed", "updated", "unchanged", "renamed", "reopened"]
"""`changed` is another title, place or text; `updated` only another value beside them, such as the last day."""
STATED = ("workplace", "employment_type", "seniority", "salary", "closes_at")
"""What a source states beside title, place and text, and filter and match look at."""
OPEN, UNCERTAIN, CLOSED = "open", "uncertain", "closed"
ALIKE = 3
"""Postings of one title and place that a list without texts has shown and dropped, before another id is no news."""
LARGEST = 10**15
"""Amounts beyond it are no pay."""
NEW, WAITING, FILTERED, SKIPPED, MATCHED, FAILED = "new", "waiting", "filtered", "skipped", "matched", "failed"
CHANGED = ""
"""The digest of no profile: the posting has changed since it was filtered."""
DAY = span(timedelta(hours=24))
LIST_COLUMNS = [column for column in P.c if column.name not in ("posting", "filter_result", "match_result")]


class SeenPosting(NamedTuple):
    """What became of a posting that a source showed."""

    id: UUID
    key: str
    change: Change
    posting: Posting
    item_id: UUID | None
    """The listing that works on it, or did last."""


@dataclass(frozen=True)
class PostingRow:
    """A posting as it is stored: what the source shows, and what became of it."""

    row: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.row, name)

    @cached_property
    def posting(self) -> Posting:
        try:
            return Posting.model_validate_json(self.row.posting)
        except ValidationError as error:
            raise Unreadable(
                f"posting {self.row.id} cannot be read: {error.errors()[0]['msg']}; a new crawl or scrape replaces it"
            ) from None

    @cached_property
    def filter_result(self) -> Mapping[str, Any] | None:
        return mapping(self.row.filter_result) if self.row.filter_result else None

    @cached_property
    def match_result(self) -> Mapping[str, Any] | None:
        return mapping(self.row.match_result) if self.row.match_result else None


def take(
    unit: Unit,
    workspace: str,
    shown: Sequence[Posting],
    *,
    source_id: UUID | None,
    company_id: UUID | None,
    seen_keys: Collection[str] = (),
) -> list[SeenPosting]:
    """Store postings that a source shows: new ones are added, known ones updated, each once.

    A new id whose text is that of a posting of the same source that this crawl (`seen_keys`) no longer shows is that
    posting under another id. Without texts, the same title and place are that after some such ids: a list whose ids
    change in each answer comes to an end.
    """
    keyed = {key: one for one in shown if (key := posting_key(one)) is not None}
    if not keyed:
        return []
    known = {
        row.posting_key: row
        for row in unit.conn.execute(sa.select(P).where(P.c.workspace == workspace, P.c.posting_key.in_(list(keyed))))
    }
    renamed = _renamed(unit, source_id, {k: p for k, p in keyed.items() if k not in known}, seen_keys)
    others = _active_sources(unit, {row.source_id for row in known.values()} - {None, source_id} if source_id else ())
    found, added = [], []
    for key, posting in keyed.items():
        row = known.get(key) or renamed.get(key)
        if row is None:
            made = uuid7()
            added.append(_new(unit, made, workspace, key, posting, source_id, company_id))
            found.append(SeenPosting(made, key, "new", posting, None))
        elif row.source_id in others and row.state == OPEN:
            found.append(_also(unit, row, key, posting, company_id))
        else:
            owner = row.source_id if row.source_id in others else source_id or row.source_id
            found.append(_again(unit, row, key, posting, source_id, owner, company_id))
    if added:
        unit.conn.execute(sa.insert(P), added)
    return found


def stored_after(conn: sa.Connection, source_id: UUID, moment: Micros) -> dict[str, Change]:
    """Keys of a source's postings that were stored after the moment, and what that was as far as it can be told."""
    rows = conn.execute(
        sa.select(P.c.posting_key, P.c.first_seen).where(P.c.source_id == source_id, P.c.last_seen > moment)
    )
    return {row.posting_key: "new" if row.first_seen > moment else "unchanged" for row in rows}


def _renamed(
    unit: Unit, source_id: UUID | None, new: Mapping[str, Posting], seen_keys: Collection[str]
) -> dict[str, Any]:
    # A text proves it. Without one, two openings may have the same title and place.
    hashes = {one.content_hash: key for key, one in new.items()}
    if not hashes or source_id is None:
        return {}
    rows = unit.conn.execute(
        sa.select(P).where(P.c.source_id == source_id, P.c.content_hash.in_(list(hashes))).order_by(P.c.id)
    ).all()
    found: dict[str, Any] = {}
    dropped: Counter[str] = Counter()
    for row in rows:
        if row.posting_key in seen_keys:
            continue
        key = hashes[row.content_hash]
        dropped[key] += 1
        if row.state != CLOSED if new[key].description_text else dropped[key] >= ALIKE:
            found[key] = row
    return found


def _new(
    unit: Unit,
    made: UUID,
    workspace: str,
    key: str,
    posting: Posting,
    source_id: UUID | None,
    company_id: UUID | None,
) -> dict[str, Any]:
    row = dict.fromkeys(P.c.keys())
    return {
        **row,
        "id": made,
        "workspace": workspace,
        "source_id": source_id,
        "company_id": company_id,
        **_shown(key, posting),
        "content_hash": posting.content_hash,
        "stated": _stated(posting),
        "state": OPEN,
        "first_seen": unit.now,
        "last_seen": unit.now,
        "seen_count": 1,
        "missed": 0,
        "outcome": NEW,
        "reason": "",
    }


def _again(
    unit: Unit,
    row: Any,
    key: str,
    posting: Posting,
    source_id: UUID | None,
    owner: UUID | None,
    company_id: UUID | None,
) -> SeenPosting:
    change: Change = "unchanged"
    if row.posting_key != key:
        change = "renamed"
    elif row.content_hash != posting.content_hash:
        change = "changed"
    elif row.state == CLOSED:
        change = "reopened"
    if row.state == CLOSED and change == "reopened" and not row.missed and not _try_again(unit, row):
        # Its page is gone, and the list still has it: the page is asked for once a day.
        unit.conn.execute(sa.update(P).where(P.c.id == row.id).values(last_seen=unit.now))
        return SeenPosting(row.id, key, "unchanged", posting, row.item_id)
    mark = _stated(posting)
    values: dict[str, Any] = {
        "last_seen": unit.now,
        "seen_count": row.seen_count + 1,
        "missed": 0,
        "missed_at": None,
        "state": OPEN,
        "closed_reason": None,
        "source_id": owner,
        "company_id": row.company_id or company_id,
    }
    if owner == source_id:
        values["stated"] = mark
    if change != "unchanged":
        values |= {**_shown(key, _with_text(posting, row)), "content_hash": posting.content_hash}
    elif row.source_id == source_id and row.stated not in (None, mark):
        restated = _restated(row, key, posting, lambda stored, name: getattr(stored, name) != getattr(posting, name))
        change = "updated" if restated else change
        values |= restated
    unit.conn.execute(sa.update(P).where(P.c.id == row.id).values(values))
    return SeenPosting(row.id, key, change, posting, row.item_id)


def _active_sources(unit: Unit, ids: Collection[UUID]) -> Collection[UUID]:
    if not ids:
        return ()
    return set(unit.conn.execute(sa.select(S.c.id).where(S.c.id.in_(ids), S.c.status == "active")).scalars())


def _also(unit: Unit, row: Any, key: str, posting: Posting, company_id: UUID | None) -> SeenPosting:
    """Another source shows a posting that its own still has. It adds what that leaves open, and changes nothing else.

    Else two sources that word a posting in two ways would change it at every crawl.
    """
    try:
        has_text = bool(PostingRow(row).posting.description_text)
    except Unreadable:
        has_text = False
    if not has_text and posting.description_text:
        return _again(unit, row, key, posting, None, row.source_id, company_id)
    added = _restated(row, key, posting, lambda stored, name: unknown(getattr(stored, name)) or name in stored.derived)
    values = {"last_seen": unit.now, "seen_count": row.seen_count + 1, "company_id": row.company_id or company_id}
    unit.conn.execute(sa.update(P).where(P.c.id == row.id).values({**values, **added}))
    return SeenPosting(row.id, key, "updated" if added else "unchanged", posting, row.item_id)


def _stated(posting: Posting) -> str:
    """A digest of what a source states beside title, place and text. A last day counts by its date."""
    pay, last = posting.salary, posting.closes_at
    parts = [posting.workplace, posting.employment_type, posting.seniority, pay.min, pay.max, pay.currency, pay.period]
    said = json.dumps([*map(str, parts), last.date().isoformat() if last else None])
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _restated(row: Any, key: str, posting: Posting, takes: Callable[[Posting, str], bool]) -> dict[str, Any]:
    """The columns of a posting with what a source states now, where it `takes` that. It is scored again."""
    try:
        stored = PostingRow(row).posting
    except Unreadable:
        return {}
    names = [name for name in STATED if not unknown(getattr(posting, name)) and takes(stored, name)]
    if not names:
        return {}
    changes: dict[str, Any] = {name: getattr(posting, name) for name in names}
    proof = {name: one for name, one in posting.evidence.items() if name in names}
    kept = {name: one for name, one in stored.evidence.items() if name not in names}
    changes |= {
        "evidence": {**kept, **proof},
        "derived": tuple(name for name in stored.derived if name not in names),
    }
    return {**_shown(key, with_missing(stored.model_copy(update=changes))), "profile_digest": CHANGED}


def _try_again(unit: Unit, row: Any) -> bool:
    return row.missed_at is None or unit.now - row.missed_at >= DAY


def _with_text(posting: Posting, row: Any) -> Posting:
    """What a list shows, with the text that a scrape found before; the next scrape replaces it."""
    if posting.description_text:
        return posting
    try:
        known = PostingRow(row).posting
    except Unreadable:
        return posting
    return merged(posting, known, both_places=False) if known.description_text else posting


def _shown(key: str, posting: Posting) -> dict[str, Any]:
    """The columns that come from the posting alone."""
    least, most = posting.annual_min, posting.annual_max
    return {
        "posting_key": key,
        "url": posting.url,
        "url_key": posting.url_key,
        "title": posting.title,
        "company_name": posting.company_name_raw,
        "company_key": posting.company_key,
        "group_key": posting.group_key,
        "location": "; ".join(one.raw for one in posting.locations)[:500],
        "workplace": posting.workplace.value,
        "annual_min": _amount(least),
        "annual_max": _amount(most),
        "currency": posting.salary.currency,
        "posting": posting.model_dump_json(),
        "raw_ref": posting.raw_ref,
        "posted_at": micros(posting.posted_at) if posting.posted_at else None,
    }


def _amount(value: float | None) -> int | None:
    return round(value) if value is not None and abs(value) < LARGEST else None


def replace(unit: Unit, posting_id: UUID, key: str, posting: Posting) -> None:
    """Store what a better look at the posting gave. What the source's list shows still tells whether it changed."""
    unit.conn.execute(sa.update(P).where(P.c.id == posting_id).values(_shown(key, posting)))


def learn(unit: Unit, row: PostingRow, posting: Posting) -> None:
    """Store what was read out of a posting, unless its source has shown another text meanwhile."""
    same = sa.and_(P.c.id == row.id, P.c.content_hash == row.content_hash)
    unit.conn.execute(sa.update(P).where(same).values(_shown(row.posting_key, posting)))


def unseen(
    unit: Unit, source_id: UUID, seen_keys: Collection[str], *, apart: Micros, may_close: bool
) -> dict[str, int]:
    """What a crawl did not show: uncertain after one complete crawl, closed after two that are so far apart."""
    counts = {"unseen": 0, "closed": 0}
    rows = unit.conn.execute(
        sa.select(P.c.id, P.c.posting_key, P.c.missed, P.c.missed_at).where(
            P.c.source_id == source_id, P.c.state != CLOSED
        )
    ).all()
    for row in rows:
        if row.posting_key in seen_keys:
            continue
        counts["unseen"] += 1
        if not may_close:
            continue
        values: dict[str, Any] = {"missed": row.missed + 1, "state": UNCERTAIN}
        if row.missed_at is None:
            values["missed_at"] = unit.now
        elif unit.now - row.missed_at >= apart:
            values |= {"state": CLOSED, "closed_reason": "two complete crawls did not show it"}
            counts["closed"] += 1
        unit.conn.execute(sa.update(P).where(P.c.id == row.id).values(values))
    return counts


def update(unit: Unit, posting_id: UUID, **values: Any) -> None:
    """Set columns of a posting; results are given as values and stored as JSON."""
    for name in ("filter_result", "match_result"):
        if values.get(name) is not None:
            values[name] = json.dumps(values[name], ensure_ascii=False)
    unit.conn.execute(sa.update(P).where(P.c.id == posting_id).values(values))


def find(conn: sa.Connection, workspace: str, posting_id: UUID) -> PostingRow | None:
    return _one(conn, P.c.id == posting_id, P.c.workspace == workspace)


def with_key(conn: sa.Connection, workspace: str, key: str) -> PostingRow | None:
    return _one(conn, P.c.workspace == workspace, P.c.posting_key == key)


def with_url_key(conn: sa.Connection, workspace: str, key: str) -> PostingRow | None:
    """The posting with that address, as its key or as one of its addresses."""
    return with_key(conn, workspace, key) or _one(conn, P.c.workspace == workspace, P.c.url_key == key)


def of_opening(row: Any) -> sa.ColumnElement[bool]:
    """Which postings are of a posting's opening: the one that stands for it, and those that repeat it.

    All are of one workspace. Asked for as well, it would make SQLite read the whole workspace in place of two indexes.
    """
    stands = row.opening_id or row.id
    return sa.or_(P.c.id == stands, P.c.opening_id == stands)


def alike(conn: sa.Connection, workspace: str, group_key: str | None, limit: int = 50) -> list[PostingRow]:
    """Postings of the same role at the same company."""
    if group_key is None:
        return []
    query = sa.select(P).where(P.c.workspace == workspace, P.c.group_key == group_key).order_by(P.c.id).limit(limit)
    return [PostingRow(row) for row in conn.execute(query)]


def matches_of(conn: sa.Connection, workspace: str, company_key: str | None, limit: int = 300) -> list[PostingRow]:
    """The company's open postings that are matches, the newest first."""
    if company_key is None:
        return []
    mine = (P.c.workspace == workspace, P.c.company_key == company_key, P.c.outcome == MATCHED, P.c.state != CLOSED)
    query = sa.select(P).where(*mine).order_by(P.c.id.desc()).limit(limit)
    return [PostingRow(row) for row in conn.execute(query)]


def _one(conn: sa.Connection, *conditions: sa.ColumnElement[bool]) -> PostingRow | None:
    row = conn.execute(sa.select(P).where(*conditions).order_by(P.c.id).limit(1)).first()
    return PostingRow(row) if row is not None else None
