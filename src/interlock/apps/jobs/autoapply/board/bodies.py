"""What callers send to the board's endpoints, and what they are answered."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from interlock.apps.jobs.autoapply.board.cards import Card, Move
from interlock.apps.jobs.autoapply.board.dates import BoardDate, DateKind
from interlock.apps.jobs.autoapply.board.entries import Contact, Note
from interlock.apps.jobs.autoapply.board.rates import Rate
from interlock.apps.jobs.autoapply.board.stages import Ending, Stage
from interlock.store import Micros, moment

Line = Annotated[str, Field(max_length=300)]
Name = Annotated[str, Field(min_length=1, max_length=300, pattern=r"\S", examples=["Ines Hart"])]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class MoveBody(Body):
    """Where an application is now."""

    stage: Stage = Field(examples=["interview"])
    ending: Ending | None = Field(None, description="How it ended; only with the stage `closed`.")
    reason: Annotated[str, Field(max_length=2000)] = ""
    expected: Stage | None = Field(None, description="The stage it is moved from; 409 if it is in another by now.")


class NoteBody(Body):
    text: Annotated[str, Field(min_length=1, max_length=20_000, pattern=r"\S", examples=["they answer in a week"])]


class ContactBody(Body):
    """Somebody at the employer."""

    name: Name
    role: Line | None = None
    email: Line | None = None
    phone: Annotated[str, Field(max_length=100)] | None = None


class DateBody(Body):
    """A follow-up or an appointment."""

    kind: DateKind = DateKind.FOLLOW_UP
    what: Name
    at: AwareDatetime
    until: AwareDatetime | None = None
    place: Line | None = None


class PutOffBody(Body):
    at: AwareDatetime = Field(examples=["2026-03-01T09:00:00Z"])


class FeedBody(Body):
    workspace: Annotated[str | None, Field(max_length=200, examples=["default"])] = None


def time(at: Micros | None) -> datetime | None:
    return None if at is None else moment(at)


class CardOut(BaseModel):
    """An application on the board."""

    id: UUID
    title: str
    company: str
    url: str | None
    origin: str
    source: str | None
    tier: str | None
    score: int | None
    stage: Stage
    ending: Ending | None
    variant: str | None = Field(description="The resume's headline, and who wrote the letter.")
    submitted_at: datetime
    moved_at: datetime
    moved_by: str
    replied_at: datetime | None
    notes: int
    next_date: datetime | None = Field(description="The next open follow-up or appointment.")

    @classmethod
    def of(cls, card: Card) -> CardOut:
        row = card.application
        return cls(
            id=row.id,
            title=row.title,
            company=row.company,
            url=row.url,
            origin=row.origin,
            source=row.source,
            tier=row.tier,
            score=row.score,
            stage=card.stage,
            ending=card.ending,
            variant=card.variant,
            submitted_at=moment(card.opened_at),
            moved_at=moment(card.moved_at),
            moved_by=card.moved_by,
            replied_at=time(card.replied_at),
            notes=card.notes,
            next_date=time(card.next_date),
        )


class BoardOut(BaseModel):
    """A page of the board, the last moved first."""

    stages: dict[Stage, int] = Field(description="How many applications each stage has.")
    cards: list[CardOut]
    next: str | None = Field(description="The cursor of the next page.")


class MoveOut(BaseModel):
    at: datetime
    by: str
    from_stage: Stage | None
    to_stage: Stage
    ending: Ending | None
    reason: str

    @classmethod
    def of(cls, one: Move) -> MoveOut:
        return cls(
            at=moment(one.at),
            by=one.moved_by,
            from_stage=one.from_stage,
            to_stage=one.to_stage,
            ending=one.ending,
            reason=one.reason,
        )


class NoteOut(BaseModel):
    id: UUID
    text: str
    by: str
    at: datetime

    @classmethod
    def of(cls, one: Note) -> NoteOut:
        return cls(id=one.id, text=one.text, by=one.made_by, at=moment(one.at))


class ContactOut(BaseModel):
    id: UUID
    name: str
    role: str | None
    email: str | None
    phone: str | None
    by: str
    at: datetime

    @classmethod
    def of(cls, one: Contact) -> ContactOut:
        return cls(
            id=one.id,
            name=one.name,
            role=one.role,
            email=one.email,
            phone=one.phone,
            by=one.made_by,
            at=moment(one.at),
        )


class DateOut(BaseModel):
    id: UUID
    application_id: UUID
    kind: DateKind
    what: str
    at: datetime
    until: datetime | None
    place: str | None
    by: str
    done_at: datetime | None
    done_by: str | None

    @classmethod
    def of(cls, one: BoardDate) -> DateOut:
        return cls(
            id=one.id,
            application_id=one.application_id,
            kind=one.kind,
            what=one.what,
            at=moment(one.at),
            until=time(one.until),
            place=one.place,
            by=one.made_by,
            done_at=time(one.done_at),
            done_by=one.done_by,
        )


class DatesOut(BaseModel):
    """Open dates, the earliest first."""

    dates: list[DateOut]


class WholeCardOut(CardOut):
    """An application on the board with everything that hangs on it."""

    history: list[MoveOut] = Field(description="Every move, the oldest first.")
    notes_kept: list[NoteOut] = Field(description="The newest first.")
    contacts: list[ContactOut]
    dates: list[DateOut]


class RateOut(BaseModel):
    """The replies to a group of applications."""

    key: str = Field(description='What they have in common; "" is all of them.')
    sent: int
    fresh: int = Field(description="Sent within 14 days and not answered; no part of the rate.")
    counted: int
    replies: int
    interviews: int
    offers: int
    rate: float | None
    low: float | None = Field(description="The rate may be from here to `high` by chance alone (95 %).")
    high: float | None
    small: bool = Field(description="Fewer than 10 are counted.")

    @classmethod
    def of(cls, one: Rate) -> RateOut:
        return cls(**{name: getattr(one, name) for name in cls.model_fields})


class RatesOut(BaseModel):
    by: str
    rates: list[RateOut]


class FeedOut(BaseModel):
    """The calendar's address. It is shown once; whoever has it can read the calendar."""

    path: str
    made_at: datetime


class FeedKnownOut(BaseModel):
    made_at: datetime | None = Field(description="When the address was made; null if there is none.")
