"""The endpoints of the board: /api/auto-apply/board and /api/auto-apply/calendar."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import Query
from fastapi.responses import Response

from interlock.apps.jobs.autoapply.board import calendar, cards, dates, entries, rates
from interlock.apps.jobs.autoapply.board.access import router, workspace_of_application
from interlock.apps.jobs.autoapply.board.bodies import (
    BoardOut,
    CardOut,
    ContactBody,
    ContactOut,
    DateBody,
    DateOut,
    DatesOut,
    FeedBody,
    FeedKnownOut,
    FeedOut,
    MoveBody,
    MoveOut,
    NoteBody,
    NoteOut,
    PutOffBody,
    RateOut,
    RatesOut,
    WholeCardOut,
)
from interlock.apps.jobs.autoapply.board.stages import Stage
from interlock.apps.jobs.finder.api.access import Workspace, readable_workspace, writable_workspace
from interlock.engine import NotFound
from interlock.engine.application import Unit
from interlock.http.calendar_file import MEDIA_TYPE
from interlock.http.caller import PUBLIC, Caller, TheService
from interlock.http.problems import BadRequest
from interlock.http.writing import Write
from interlock.store import Micros, micros, moment, span

ICS: dict[int | str, dict[str, Any]] = {200: {"content": {"text/calendar": {"schema": {"type": "string"}}}}}
BOARD = "/board/{id}"
PRIVATE = {
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex",
    "Content-Disposition": 'inline; filename="applications.ics"',
}


@router.get("/board", summary="The board after applying", response_model=BoardOut)
async def board(
    service: TheService,
    who: Caller,
    stage: Annotated[list[Stage] | None, Query(max_length=5)] = None,
    q: Annotated[str, Query(max_length=200, description="Words of title and company that all have to occur.")] = "",
    after: Annotated[str | None, Query(max_length=200, description="`next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=cards.BIGGEST_PAGE)] = 100,
    workspace: Workspace = None,
) -> BoardOut:
    """The last moved first."""
    place = readable_workspace(who, workspace)
    before = _cursor(after)

    def read(conn: sa.Connection) -> BoardOut:
        found = cards.page(conn, place, stages=stage or (), q=q, before=before, limit=limit)
        more = len(found) == limit
        return BoardOut(
            stages=cards.counts(conn, place),
            cards=[CardOut.of(one) for one in found],
            next=_next(found[-1]) if more and found else None,
        )

    return await service.read(read)


@router.get("/board/rates", summary="Reply rates", response_model=RatesOut)
async def reply_rates(
    service: TheService,
    who: Caller,
    by: Annotated[rates.By, Query(description="What applications are grouped by.")] = "source",
    workspace: Workspace = None,
) -> RatesOut:
    """How often employers reply. Groups with fewer than ten counted applications are marked as small."""
    place, now = readable_workspace(who, workspace), service.engine.clock.now()
    found = await service.read(lambda conn: rates.reply_rates(conn, place, by, now))
    return RatesOut(by=by, rates=[RateOut.of(one) for one in found])


@router.get("/board/due", summary="Follow-ups and appointments that are due", response_model=DatesOut)
async def due(
    service: TheService,
    who: Caller,
    days: Annotated[int, Query(ge=0, le=366, description="How far to look ahead.")] = 0,
    workspace: Workspace = None,
) -> DatesOut:
    place = readable_workspace(who, workspace)
    until = service.engine.clock.now() + span(timedelta(days=days))
    found = await service.read(lambda conn: dates.due(conn, place, until))
    return DatesOut(dates=[DateOut.of(one) for one in found])


@router.get(BOARD, summary="An application on the board", response_model=WholeCardOut)
async def card(service: TheService, who: Caller, id: UUID) -> WholeCardOut:
    def read(conn: sa.Connection) -> WholeCardOut:
        return _whole(conn, workspace_of_application(conn, id, who), id)

    return await service.read(read)


@router.post(f"{BOARD}/move", summary="Move an application", response_model=WholeCardOut)
async def move(write: Write, id: UUID, body: MoveBody) -> Response:
    """The move is logged. Closing a card finishes its open dates; a reply finishes its automatic follow-up."""

    def do(unit: Unit, place: str, actor: str) -> None:
        cards.move_card(
            unit, place, id, body.stage, actor, ending=body.ending, reason=body.reason, expected=body.expected
        )

    return await _changed(write, id, do, "move_card")


@router.post(f"{BOARD}/notes", summary="Add a note", response_model=WholeCardOut)
async def add_note(write: Write, id: UUID, body: NoteBody) -> Response:
    def do(unit: Unit, place: str, actor: str) -> None:
        entries.add_note(unit, cards.application_on_board(unit.conn, place, id), body.text.strip(), actor)

    return await _changed(write, id, do, "add_note")


@router.delete(f"{BOARD}/notes/{{note}}", summary="Remove a note", response_model=WholeCardOut)
async def remove_note(write: Write, id: UUID, note: UUID) -> Response:
    return await _changed(write, id, lambda unit, place, _: entries.remove_note(unit, place, id, note), "remove_note")


@router.post(f"{BOARD}/contacts", summary="Add a contact", response_model=WholeCardOut)
async def add_contact(write: Write, id: UUID, body: ContactBody) -> Response:
    def do(unit: Unit, place: str, actor: str) -> None:
        row = cards.application_on_board(unit.conn, place, id)
        entries.add_contact(unit, row, body.name, actor, role=body.role, email=body.email, phone=body.phone)

    return await _changed(write, id, do, "add_contact")


@router.delete(f"{BOARD}/contacts/{{contact}}", summary="Remove a contact", response_model=WholeCardOut)
async def remove_contact(write: Write, id: UUID, contact: UUID) -> Response:
    def do(unit: Unit, place: str, actor: str) -> None:
        entries.remove_contact(unit, place, id, contact)

    return await _changed(write, id, do, "remove_contact")


@router.post(f"{BOARD}/dates", summary="Add a follow-up or an appointment", response_model=WholeCardOut)
async def add_date(write: Write, id: UUID, body: DateBody) -> Response:
    until = micros(body.until) if body.until is not None else None

    def do(unit: Unit, place: str, actor: str) -> None:
        row = cards.application_on_board(unit.conn, place, id)
        dates.add(unit, row, body.kind, body.what, micros(body.at), actor, until=until, place=body.place)

    return await _changed(write, id, do, "add_date")


@router.post(f"{BOARD}/dates/{{date}}/done", summary="Mark a date as done", response_model=WholeCardOut)
async def finish_date(write: Write, id: UUID, date: UUID) -> Response:
    return await _changed(
        write, id, lambda unit, place, actor: _ignore(dates.finish(unit, place, id, date, actor)), "finish_date"
    )


@router.post(f"{BOARD}/dates/{{date}}/put-off", summary="Move a date to another time", response_model=WholeCardOut)
async def put_off_date(write: Write, id: UUID, date: UUID, body: PutOffBody) -> Response:
    at = micros(body.at)
    return await _changed(
        write, id, lambda unit, place, _: _ignore(dates.put_off(unit, place, id, date, at)), "put_off_date"
    )


@router.delete(f"{BOARD}/dates/{{date}}", summary="Remove a date", response_model=WholeCardOut)
async def remove_date(write: Write, id: UUID, date: UUID) -> Response:
    return await _changed(write, id, lambda unit, place, _: dates.remove(unit, place, id, date), "remove_date")


@router.get(f"{BOARD}/dates/{{date}}.ics", summary="A date as a calendar file", response_class=Response, responses=ICS)
async def date_file(service: TheService, who: Caller, id: UUID, date: UUID) -> Response:
    def read(conn: sa.Connection) -> str:
        place = workspace_of_application(conn, id, who)
        row = cards.application_on_board(conn, place, id)
        found = dates.find(conn, place, id, date)
        return calendar.calendar_of([calendar.event_of(found, row.title, row.company, row.url)])

    return Response(await service.read(read), media_type=MEDIA_TYPE, headers=PRIVATE)


# -- the calendar


@router.get("/calendar", summary="Whether the calendar has an address", response_model=FeedKnownOut)
async def known_feed(service: TheService, who: Caller, workspace: Workspace = None) -> FeedKnownOut:
    """The address itself is not shown again; a new one can be made."""
    place = readable_workspace(who, workspace)
    since = await service.read(lambda conn: calendar.feed_since(conn, place))
    return FeedKnownOut(made_at=None if since is None else moment(since))


@router.post("/calendar", status_code=201, summary="Make a secret address for the calendar", response_model=FeedOut)
async def make_feed(write: Write, body: FeedBody | None = None) -> Response:
    """An older address is no longer valid. Whoever has the address can read follow-ups and appointments."""
    place = writable_workspace(write.who, body.workspace if body else None)

    def make(unit: Unit) -> FeedOut:
        secret = calendar.make_feed(unit, place, str(write.who.actor_in(place)))
        return FeedOut(path=f"{router.prefix}/calendar/{secret}.ics", made_at=moment(unit.now))

    hidden = f"{router.prefix}/calendar/***.ics"
    return await write(
        make,
        status=201,
        name="make_feed",
        private=True,
        kept=lambda made: FeedOut(path=hidden, made_at=made.made_at),
    )


@router.delete("/calendar", summary="Remove the calendar's address", response_model=FeedKnownOut)
async def remove_feed(write: Write, workspace: Workspace = None) -> Response:
    place = writable_workspace(write.who, workspace)

    def remove(unit: Unit) -> FeedKnownOut:
        if not calendar.remove_feed(unit, place):
            raise NotFound("the calendar has no address")
        return FeedKnownOut(made_at=None)

    return await write(remove, name="remove_feed")


@router.get(
    "/calendar/{secret}.ics",
    summary="The calendar, at its secret address",
    response_class=Response,
    responses=ICS,
    openapi_extra=PUBLIC,
)
async def feed(service: TheService, secret: str) -> Response:
    """For calendar programs, which cannot log in. 404 for any other address."""
    now = service.engine.clock.now()

    def read(conn: sa.Connection) -> str:
        place = calendar.workspace_of_feed(conn, secret)
        if place is None:
            raise NotFound("there is no such calendar")
        return calendar.calendar_of(calendar.events(conn, place, now))

    return Response(await service.read(read), media_type=MEDIA_TYPE, headers=PRIVATE)


# -- what they share


async def _changed(write: Write, id: UUID, do: Callable[[Unit, str, str], None], name: str) -> Response:
    """Change something of a card, and answer with the card."""

    def job(unit: Unit) -> WholeCardOut:
        place = workspace_of_application(unit.conn, id, write.who, write=True)
        do(unit, place, str(write.who.actor_in(place)))
        return _whole(unit.conn, place, id)

    return await write(job, name=name)


def _ignore(_: object) -> None:
    return None


def _whole(conn: sa.Connection, place: str, id: UUID) -> WholeCardOut:
    found = cards.card_of(conn, place, id)
    return WholeCardOut(
        **CardOut.of(found).model_dump(),
        history=[MoveOut.of(one) for one in cards.moves(conn, id)],
        notes_kept=[NoteOut.of(one) for one in entries.notes(conn, id)],
        contacts=[ContactOut.of(one) for one in entries.contacts(conn, id)],
        dates=[DateOut.of(one) for one in dates.of(conn, id)],
    )


def _next(card: cards.Card) -> str:
    return base64.urlsafe_b64encode(f"{card.moved_at}|{card.application.id}".encode()).decode()


def _cursor(text: str | None) -> tuple[Micros, UUID] | None:
    if text is None:
        return None
    try:
        at, _, ident = base64.urlsafe_b64decode(text).decode().partition("|")
        return int(at), UUID(ident)
    except (ValueError, binascii.Error):
        raise BadRequest(f"after={text[:50]!r} is not a cursor; use `next` of the page before") from None
