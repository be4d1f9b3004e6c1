"""The upload page: several files at once, each read, named with its kind, and accepted or refused by name."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Query, Request
from fastapi.responses import JSONResponse, Response

from interlock.apps.contracts.fields.vertical import Vertical, load_verticals
from interlock.apps.contracts.ingest import intake, refusal, stored, viewing
from interlock.apps.contracts.ingest.guess import DEFAULT, Guess, guess
from interlock.apps.contracts.machine import contract
from interlock.apps.contracts.pages.frame import ContractsFrame, frame_of, show
from interlock.apps.contracts.reading.errors import NotReadable, ReadingError
from interlock.apps.contracts.reading.file import media_type
from interlock.apps.contracts.reading.limits import DEFAULT as LIMITS
from interlock.apps.contracts.workflow.step_calls import settings_of
from interlock.dashboard.forms import MOST_FILES, PostedWithFiles
from interlock.dashboard.site import Reader, Visitor
from interlock.engine.application import Unit
from interlock.http.caller import need
from interlock.http.direct import Router
from interlock.http.heavy import TooBusy, TookTooLong
from interlock.http.waiting_slots import counted_for
from interlock.machine import InterlockError

router = Router(include_in_schema=False)
MOST_AT_ONCE = 2 * LIMITS.bytes
"""Bytes of one form. The page's script sends each file separately."""
router.takes("/ui/contracts/upload", MOST_AT_ONCE)
Text = Annotated[str, Query(max_length=200)]


@dataclass(frozen=True, slots=True)
class Sent:
    """One uploaded file, and its result."""

    name: str
    accepted: bool
    said: str
    to: str = ""
    vertical: str = ""
    guessed: bool = False


@router.get("/ui/contracts/upload")
async def upload(v: Reader, workspace: Text = "") -> Response:
    return await _page(v, workspace, ())


@router.post("/ui/contracts/upload")
async def post(request: Request, form: PostedWithFiles) -> Response:
    """Take each file in, or say why not. A script gets the answers as JSON."""
    v = form.v
    frame = frame_of(v, form.get("workspace"))
    need(v.who, "create", frame.workspace, contract.name)
    sent = [await _take(v, frame, one.name, one.content, form.get("vertical")) for one in form.files]
    if "application/json" in request.headers.get("accept", ""):
        return JSONResponse({"files": [asdict(one) for one in sent]})
    message = "" if sent else "No file was sent: choose at least one."
    return await _page(v, frame.workspace, sent, message, status=200 if any(one.accepted for one in sent) else 422)


async def _page(v: Visitor, workspace: str, sent: Any, message: str = "", status: int = 200) -> Response:
    verticals = load_verticals(settings_of(v.service).verticals)

    def read(conn: sa.Connection, c: ContractsFrame) -> Mapping[str, Any]:
        need(v.who, "create", c.workspace, contract.name)
        return {}

    return await show(
        v,
        "upload.html",
        workspace,
        read,
        status=status,
        sent=sent,
        message=message,
        verticals=verticals,
        limits=LIMITS,
        most_files=MOST_FILES,
    )


async def _take(v: Visitor, frame: ContractsFrame, name: str, content: bytes, vertical: str) -> Sent:
    settings = settings_of(v.service)
    verticals = load_verticals(settings.verticals)
    try:
        await v.service.call(_check, content, name)
        found = await _guessed(v, name, content, list(verticals.values()))
        chosen = vertical or (found.vertical if found is not None else DEFAULT)
        file = await v.service.call(intake.inspect, content, name, chosen, settings)
    except InterlockError as error:
        return Sent(name, False, _sentence(error))

    def take(unit: Unit) -> intake.IngestedFile:
        return intake.take_in(unit, file, v.who.actor_in(frame.workspace), workspace=frame.workspace)

    taken = await v.service.write_as(v.who, take, "create")
    label = verticals[chosen].label
    if not taken.new:
        said = f"Known already, as {label}"
    elif vertical:
        said = f"Accepted as {label}"
    elif found is None:
        said = f"Accepted as {label}; its kind could not be guessed in time"
    elif not found.fits:
        said = f"Accepted as {label}, though it looks like no kind that is known; a person will check it"
    else:
        said = f"Accepted; it looks like: {label} ({', '.join(found.signs[:5])})"
    return Sent(name, True, said, f"/ui/contracts/{taken.id}/review", chosen, not vertical)


def _check(content: bytes, name: str) -> None:
    refusal.check(content, name, media_type(content, name))


async def _guessed(v: Visitor, name: str, content: bytes, verticals: list[Vertical]) -> Guess | None:
    """Read the file and guess its kind. None if it cannot be read in time; raises if it can never be read."""
    try:
        document = await viewing.look(
            v.service, v.request, counted_for(v.who), lambda: stored.reader().read(content, name)
        )
    except NotReadable:
        raise
    except (ReadingError, TooBusy, TookTooLong):
        return None
    return await asyncio.to_thread(guess, document, verticals)


def _sentence(error: InterlockError) -> str:
    text = str(error)
    return f"Refused: {text[:300]}"
