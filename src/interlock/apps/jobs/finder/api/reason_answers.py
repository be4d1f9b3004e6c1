"""Answers of the finder's endpoints that give reasons: why, what a profile would change, refusals."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field, RootModel

from interlock.apps.jobs.finder.api.answers import CrawlOut, PostingOut
from interlock.apps.jobs.finder.records.what_if import Changed, Preview, Result
from interlock.apps.jobs.finder.records.why import Answer, Check, Known, Why
from interlock.engine.application import RefusedSpawn
from interlock.store import moment


class CheckOut(BaseModel):
    """One check of the filter."""

    check: str
    result: str = Field(description="hit, performed or skipped.")
    reason: str
    points: int | None = Field(description="Strikes; null for a rule that rejects by itself.")
    quote: str | None

    @classmethod
    def of(cls, one: Check) -> CheckOut:
        return cls(check=one.name, result=one.result, reason=one.reason, points=one.points, quote=one.quote)


class AnswerOut(BaseModel):
    """What became of one posting."""

    posting: PostingOut
    sentence: str
    checks: list[CheckOut]
    item_state: str | None
    item_error: str | None
    shown_as: UUID | None = Field(description="The posting under which the opening is listed, if it is another one.")

    @classmethod
    def of(cls, one: Answer) -> AnswerOut:
        return cls(
            posting=PostingOut(**PostingOut.fields(one.row)),
            sentence=one.sentence,
            checks=[CheckOut.of(check) for check in one.checks],
            item_state=one.item_state,
            item_error=one.item_error,
            shown_as=one.shown_as,
        )


class KnownSourceOut(BaseModel):
    """A source that should show the posting."""

    id: UUID
    name: str
    state: str
    sentence: str
    crawl: CrawlOut | None = Field(description="The last one.")

    @classmethod
    def of(cls, one: Known) -> KnownSourceOut:
        return cls(
            id=one.source.id,
            name=one.source.name,
            state=one.source.status,
            sentence=one.sentence,
            crawl=CrawlOut.of(one.crawl) if one.crawl else None,
        )


class WhyOut(BaseModel):
    """Why something is not among the matches."""

    asked: str
    url: str | None = Field(description="The address in its one form; null for words.")
    answers: list[AnswerOut]
    sources: list[KnownSourceOut]
    notes: list[str] = Field(description="For what is not stored: what is known about it, and what to do.")

    @classmethod
    def of(cls, found: Why) -> WhyOut:
        return cls(
            asked=found.asked,
            url=found.url,
            answers=[AnswerOut.of(one) for one in found.answers],
            sources=[KnownSourceOut.of(one) for one in found.sources],
            notes=list(found.notes),
        )


class ResultOut(BaseModel):
    """What a profile makes of a posting."""

    outcome: str
    score: int | None
    reason: str

    @classmethod
    def of(cls, one: Result | None) -> ResultOut | None:
        return None if one is None else cls(outcome=one.outcome, score=one.score, reason=one.reason)


class ChangedOut(BaseModel):
    """A posting that the changed profile treats differently."""

    id: UUID
    title: str | None
    company: str | None
    url: str | None
    before: ResultOut | None
    after: ResultOut | None

    @classmethod
    def of(cls, one: Changed) -> ChangedOut:
        return cls(
            id=one.id,
            title=one.title,
            company=one.company_name,
            url=one.url,
            before=ResultOut.of(one.before),
            after=ResultOut.of(one.after),
        )


class PreviewOut(BaseModel):
    """What a changed profile would do with the stored postings."""

    postings: int = Field(description="Open postings that are stored.")
    looked_at: int = Field(description="The newest of them; the work is bounded.")
    complete: bool
    before: dict[str, int]
    after: dict[str, int]
    appear: int
    disappear: int
    appearing: list[ChangedOut]
    disappearing: list[ChangedOut]

    @classmethod
    def of(cls, found: Preview) -> PreviewOut:
        return cls(
            postings=found.postings,
            looked_at=found.looked_at,
            complete=found.complete,
            before=found.before,
            after=found.after,
            appear=found.appear,
            disappear=found.disappear,
            appearing=[ChangedOut.of(one) for one in found.appearing],
            disappearing=[ChangedOut.of(one) for one in found.disappearing],
        )


class ProfileOut(RootModel[dict[str, Any]]):
    """A profile, as its file has it."""


class RefusalOut(BaseModel):
    """An item that was not started, and why."""

    item_id: UUID = Field(description="The item that wanted it.")
    item_machine: str
    machine: str = Field(description="What kind it would have been.")
    key: str | None
    reason: str
    at: datetime
    tracking_id: str

    @classmethod
    def of(cls, one: RefusedSpawn) -> RefusalOut:
        return cls(
            item_id=one.instance_id,
            item_machine=one.parent_machine,
            machine=one.machine,
            key=one.key,
            reason=one.reason,
            at=moment(one.at),
            tracking_id=one.tracking_id,
        )


class RefusalsOut(BaseModel):
    """A page of refusals, the newest first."""

    refusals: list[RefusalOut]
    next: str | None = Field(description="The cursor of the next page.")
