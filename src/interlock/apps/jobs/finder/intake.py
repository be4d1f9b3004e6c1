"""What enters the finder: items that a person, a program or another item adds, and decisions about postings.

Each function works in the transaction of its caller and returns the item. An open item for the same thing is returned
instead of a second one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

from interlock.apps.jobs.finder.geography.places import places
from interlock.apps.jobs.finder.identity.dedupe import posting_key
from interlock.apps.jobs.finder.identity.keys import company_key
from interlock.apps.jobs.finder.identity.urls import canonical_url, registered_domain, typed_url, url_key, web_url
from interlock.apps.jobs.finder.machine import PENDING, company, listing, source
from interlock.apps.jobs.finder.models import ListingStage, SourceStage
from interlock.apps.jobs.finder.postings.posting import Extraction, Method, Posting, Salary
from interlock.apps.jobs.finder.profiles.profile import Profile
from interlock.apps.jobs.finder.records import companies, postings, profiles, sources
from interlock.apps.jobs.finder.records.companies import CompanyRow
from interlock.apps.jobs.finder.records.postings import PostingRow, SeenPosting
from interlock.apps.jobs.finder.records.sources import SourceRow
from interlock.apps.jobs.finder.sources import ALIASES, CONFIGS, KINDS, adapter_of
from interlock.apps.jobs.finder.sources.adapter import with_missing
from interlock.apps.jobs.finder.sources.cleaning import sanitised, text_of, visible
from interlock.apps.jobs.finder.sources.dates import read_date
from interlock.apps.jobs.finder.sources.detection import detect
from interlock.apps.jobs.settings import JobsSettings
from interlock.engine import Instance, InvalidData, KeyTaken, NotFound, Refused, reviews
from interlock.engine.application import SYSTEM_ACTOR, Unit, create, find, find_by_key, fire, instances
from interlock.machine import AGENT, Actor, InterlockError, Machine
from interlock.store import moment

EXCERPT = 1000
"""Characters of a text that an item carries."""


class NotPossible(Refused):
    """What was asked for is not possible in the present state."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.args = (message,)  # the message says what to do; there is no event to fire


class Added(NamedTuple):
    """An item, and whether it is new."""

    item: Instance
    new: bool


def add_company(unit: Unit, workspace: str, name: str, website: str | None, actor: Actor) -> Added:
    """Find out about a company: its pages, its tier, its job board."""
    address = _address(website, "the website") if website else None
    named = _text(name) or registered_domain(address) or ""
    key = companies.site_key(address) or company_key(named)
    if key is None:
        raise InvalidData(f"{name!r} is not a name of a company; give it a name or a website")
    data = {"url": address or "", "website": address or "", "company_name": named}
    return _item(unit, company, workspace, key, data, actor)


def add_source(
    unit: Unit,
    workspace: str,
    url: str,
    actor: Actor,
    *,
    type_hint: str = "auto",
    company_name: str = "",
    company_id: UUID | None = None,
    auto_enable: bool = True,
    validation_required: bool = False,
    config: Mapping[str, Any] | None = None,
) -> Added:
    """Look at an address as a source of postings."""
    address = _address(url, "the url")
    hint = ALIASES.get(type_hint.lower(), type_hint.lower())
    if hint != "auto" and hint not in KINDS:
        raise InvalidData(f"{type_hint!r} is not a kind of source; use auto, {', '.join(KINDS)}")
    board = detect(address, _private_hosts(unit))
    if config:
        _check_config(hint, address, config)
    data = {
        "url": address,
        "type_hint": hint,
        "company_name": _text(company_name) or "",
        "company_id": str(company_id) if company_id else None,
        "auto_enable": auto_enable,
        "validation_required": validation_required,
        "config": dict(config or {}),
        "by": actor.name,
    }
    key = sources.board_key(board, address) if board else url_key(address)
    return _item(unit, source, workspace, key or address, data, actor)


def add_listing(
    unit: Unit, workspace: str, url: str, actor: Actor, *, job_data: Mapping[str, Any] | None = None
) -> Added:
    """Filter and match one posting, by its address, with what is known of it already."""
    address = _address(url, "the url")
    posting = posting_from(address, job_data, unit)
    key = posting_key(posting)
    assert key is not None, "it has an address"
    known = postings.with_url_key(unit.conn, workspace, key)
    open_item = find_by_key(unit, workspace, listing.name, known.posting_key if known else key)
    if open_item is not None and open_item.finished_at is None:
        return Added(open_item, False)
    if known is None:
        seen = postings.take(unit, workspace, [posting], source_id=None, company_id=None)[0]
        posting_id = seen.id
    else:
        posting_id, key = known.id, known.posting_key
        if job_data:
            postings.replace(unit, posting_id, key, posting)
    stage = ListingStage.FILTER if job_data else ListingStage.SCRAPE
    data = listing_data(posting, posting_id, stage) if job_data else {"url": address, "posting_id": str(posting_id)}
    added = _item(unit, listing, workspace, key, data, actor)
    postings.update(unit, posting_id, item_id=added.item.id)
    return added


def listing_data(posting: Posting, posting_id: UUID, stage: ListingStage) -> dict[str, Any]:
    """The data of a listing whose posting is known."""
    return {
        "url": posting.url or "",
        "company_name": posting.company_name_raw or "",
        "posting_id": str(posting_id),
        "source_id": posting.source_id,
        "stage": stage,
        "job_data": job_data(posting) if stage is not ListingStage.SCRAPE else {},
        "scrape_method": posting.extraction.method.value if stage is not ListingStage.SCRAPE else None,
    }


def start_listing(unit: Unit, workspace: str, seen: SeenPosting, actor: Actor) -> Added:
    """Filter and match a posting that is stored."""
    stage = ListingStage.FILTER if seen.posting.description_text else ListingStage.SCRAPE
    added = _item(unit, listing, workspace, seen.key, listing_data(seen.posting, seen.id, stage), actor)
    postings.update(unit, seen.id, item_id=added.item.id, outcome=postings.NEW, reason="")
    return added


def job_data(posting: Posting) -> dict[str, Any]:
    """The specification's fields of a posting, with the beginning of its text."""
    text = posting.description_text or ""
    return {
        "title": posting.title,
        "company": posting.company_name_raw,
        "company_website": posting.company_website,
        "location": "; ".join(one.raw for one in posting.locations) or None,
        "description": text[:EXCERPT] + ("…" if len(text) > EXCERPT else "") or None,
        "url": posting.url,
        "posted_date": posting.posted_at.date().isoformat() if posting.posted_at else None,
        "salary": posting.salary.quote,
    }


def posting_from(url: str, said: Mapping[str, Any] | None, unit: Unit) -> Posting:
    """The canonical posting of an address and of what somebody says about it."""
    said = said or {}
    board = detect(url, _private_hosts(unit))
    described = str(said.get("description") or "")[:1_000_000] or None
    html = sanitised(described)
    where = _text(said.get("location"))
    pay = (_text(said.get("salary")) or "")[:300] or None
    known = board if board and board.external_id else None
    return with_missing(
        Posting(
            ats=known.ats if known else "html",
            board=known.board if known else None,
            external_id=known.external_id if known else None,
            url=url,
            canonical_url=canonical_url(url),
            url_key=url_key(url),
            company_name_raw=_text(said.get("company") or said.get("company_name")),
            company_website=web_url(said.get("company_website")),
            title=_text(said.get("title")),
            locations=places([where]) if where else (),
            salary=Salary(source="board", quote=pay) if pay else Salary(),
            posted_at=read_date(said.get("posted_date"))[0] if said.get("posted_date") else None,
            description_html=html,
            description_text=text_of(html),
            extraction=Extraction(method=Method.TEXT, adapter_version="1"),
            first_seen=moment(unit.now),
            last_seen=moment(unit.now),
        )
    )


def unfilter(unit: Unit, workspace: str, posting_id: UUID, actor: Actor, reason: str = "") -> Added:
    """Take a posting although it was filtered or skipped: a new lineage, with the person's override."""
    row = posting_in(unit, workspace, posting_id)
    under_way = find(unit.conn, row.item_id, machine=listing.name) if row.item_id else None
    if under_way is not None and under_way.finished_at is None and under_way.data.get("override"):
        return Added(under_way, False)
    if row.outcome not in (postings.FILTERED, postings.SKIPPED):
        raise NotPossible(
            f"posting {posting_id} is {row.outcome}; only one that was filtered or skipped can be taken after all"
        )
    posting = row.posting
    override = f"{actor.name}: {reason}" if reason else actor.name
    data = listing_data(posting, posting_id, ListingStage.FILTER) | {"override": override}
    added = _item(unit, listing, workspace, row.posting_key, data, actor)
    postings.update(unit, posting_id, item_id=added.item.id, outcome=postings.NEW, reason="taken after all")
    return added


def decide(unit: Unit, workspace: str, posting_id: UUID, decision: str | None, actor: Actor) -> PostingRow:
    """Save or dismiss a posting, or take that back (None). What it scored at that moment is kept."""
    row = posting_in(unit, workspace, posting_id)
    frozen = None if decision is None else row.row.match_result
    postings.update(unit, posting_id, decision=decision, decided_by=actor.name, decided_at=unit.now, decided_on=frozen)
    return posting_in(unit, workspace, posting_id)


def crawl(unit: Unit, workspace: str, source_id: UUID, actor: Actor) -> Added:
    """Crawl a source now. A crawl that is under way is returned instead of a second one."""
    row = source_in(unit, workspace, source_id)
    if row.status == sources.PENDING_VALIDATION:
        raise NotPossible(f"source {source_id} waits for somebody to validate it; enable it first")
    if row.status == sources.DISABLED:
        raise NotPossible(f"source {source_id} is disabled: {row.status_reason}; enable it first")
    return start_crawl(unit, row, actor)


def start_crawl(unit: Unit, row: SourceRow, actor: Actor) -> Added:
    data = {
        "url": row.url,
        "company_name": row.company_name,
        "company_id": str(row.company_id) if row.company_id else None,
        "source_id": str(row.id),
        "source_type": row.source_type,
        "stage": SourceStage.CRAWL,
    }
    owner = companies.find(unit.conn, row.workspace, row.company_id) if row.company_id else None
    priority = owner.priority if owner else companies.UNKNOWN_PRIORITY
    # A crawl is a root of its own; its depth is that of the source, so that companies that lead to sources that lead
    # to companies come to an end.
    return _item(unit, source, row.workspace, f"crawl:{row.id}", data, actor, priority=priority, depth=row.spawn_depth)


def enable_source(unit: Unit, workspace: str, source_id: UUID, actor: Actor, reason: str = "") -> SourceRow:
    """Crawl a source from now on. A review that asks whether to is answered with it."""
    row = source_in(unit, workspace, source_id)
    _answer_reviews(unit, row, "enable", actor, reason)
    if source_in(unit, workspace, source_id).status != sources.ACTIVE:
        sources.enable(unit, source_id, f"{actor.name}: {reason}" if reason else "")
    return source_in(unit, workspace, source_id)


def disable_source(unit: Unit, workspace: str, source_id: UUID, actor: Actor, reason: str = "") -> SourceRow:
    """Stop crawling a source. A review that asks whether to crawl it is answered with it."""
    row = source_in(unit, workspace, source_id)
    _answer_reviews(unit, row, "reject", actor, reason)
    sources.disable(unit, source_id, f"{actor.name}: {reason}" if reason else f"{actor.name} disabled it")
    return source_in(unit, workspace, source_id)


def _answer_reviews(unit: Unit, row: SourceRow, decision: str, actor: Actor, reason: str) -> None:
    if row.item_id is None or actor.kind == AGENT:
        return  # a person decides what people are asked
    for one in reviews.waiting(unit.conn, reviews.ReviewFilter(instance_id=row.item_id, machine=source.name)):
        if decision in one.decisions:
            reviews.decide(unit, one.id, decision, actor, reason=reason)


def set_profile(unit: Unit, workspace: str, profile: Profile, actor: Actor, *, file_digest: str | None = None) -> bool:
    """Store the profile, and start the listings that waited for one. False if it is the same as before."""
    had = profiles.digest_of(unit.conn, workspace) is not None
    changed = profiles.put(unit, workspace, profile, actor.name, file_digest=file_digest)
    if not had:
        start_waiting(unit, workspace)
    return changed


def start_waiting(unit: Unit, workspace: str, limit: int = 500) -> int:
    """Start listings that waited for a profile; how many."""
    waiting = instances(unit.conn, listing.name, workspace=workspace, states=[PENDING], limit=limit)
    started = 0
    for one in waiting:
        if one.due_at is None and one.wake is None and one.paused_at is None:
            fire(unit, one.id, "profile_given", SYSTEM_ACTOR, reason="there is a profile")
            started += 1
    return started


def posting_in(unit: Unit, workspace: str, posting_id: UUID) -> PostingRow:
    found = postings.find(unit.conn, workspace, posting_id)
    if found is None:
        raise NotFound(f"there is no posting {posting_id}")
    return found


def source_in(unit: Unit, workspace: str, source_id: UUID) -> SourceRow:
    found = sources.find(unit.conn, workspace, source_id)
    if found is None:
        raise NotFound(f"there is no source {source_id}")
    return found


def company_in(unit: Unit, workspace: str, company_id: UUID) -> CompanyRow:
    found = companies.find(unit.conn, workspace, company_id)
    if found is None:
        raise NotFound(f"there is no company {company_id}")
    return found


def _item(
    unit: Unit,
    machine: Machine,
    workspace: str,
    key: str,
    data: Mapping[str, Any],
    actor: Actor,
    *,
    priority: int = companies.UNKNOWN_PRIORITY,
    depth: int = 0,
) -> Added:
    known = find_by_key(unit, workspace, machine.name, key)
    if known is not None and known.finished_at is None:
        return Added(known, False)
    try:
        made = create(unit, machine, data, actor, key=key, workspace=workspace, priority=priority, depth=depth)
    except KeyTaken as taken:
        there = find(unit.conn, taken.existing, machine=machine.name)
        if there is None:
            raise
        return Added(there, False)
    return Added(made, True)


def _check_config(kind: str, url: str, config: Mapping[str, Any]) -> None:
    if kind not in CONFIGS:
        raise InvalidData(f"config: a source of type_hint {kind!r} takes none; it is for {', '.join(CONFIGS)}")
    try:
        adapter_of(kind, {"base_url" if kind == "api" else "url": url, **config})
    except InterlockError as error:
        raise InvalidData(f"config: {error}") from None


def _address(url: str, what: str) -> str:
    found = typed_url(url)
    if found is None:
        raise InvalidData(f"{what} {url!r} is not a web address; write it as https://example.com/jobs")
    return found


def _private_hosts(unit: Unit) -> list[str]:
    return settings_in(unit.setting("jobs")).private_hosts


def settings_in(found: Any) -> JobsSettings:
    """The application's settings, or their defaults where an engine was made without them."""
    return found if isinstance(found, JobsSettings) else JobsSettings()


def _text(value: object) -> str | None:
    text = " ".join(visible(str(value)).split())[:500] if value else ""
    return text or None
