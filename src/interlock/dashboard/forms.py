"""Forms: authenticated by the session that posts them, and executed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated
from uuid import uuid4

from fastapi import Depends, Request
from fastapi.responses import Response
from pydantic import BaseModel
from starlette.datastructures import UploadFile

from interlock.dashboard.site import LogIn, Visitor, forget_frames, redirect
from interlock.engine.unit import Unit
from interlock.http.caller import COOKIE, authenticates, credentials, service_of
from interlock.http.problems import BadRequest
from interlock.http.writing import Writer
from interlock.people import NotAllowed, NotAuthenticated
from interlock.store import Micros, micros

BIGGEST = 200_000
MOST_FILES, BIGGEST_TEXT = 20, 1_000_000
"""Files of a form that takes files, and the bytes of each of its other fields."""


class Done(BaseModel):
    """The result of a form. Stored under its idempotency key, so that sending it again gives the same answer."""

    said: str = ""
    to: str = ""


@dataclass(frozen=True, slots=True)
class PostedFile:
    """A file of a form."""

    name: str
    media_type: str
    content: bytes


class Form:
    """A posted form: its fields, its reader, and its execution."""

    def __init__(
        self,
        v: Visitor,
        fields: Mapping[str, str],
        many: Mapping[str, list[str]],
        files: Sequence[PostedFile] = (),
    ) -> None:
        self.v, self.fields, self.many, self.files = v, fields, many, files

    def __getitem__(self, name: str) -> str:
        try:
            return self.fields[name]
        except KeyError:
            raise BadRequest(f"the form has no field {name!r}; load the page again") from None

    def get(self, name: str, otherwise: str = "") -> str:
        return self.fields.get(name, otherwise)

    @property
    def seq(self) -> int | None:
        """The `seq` that the reader saw. The instance may have moved on since."""
        given = self.get("seq")
        return int(given) if given.isdecimal() and len(given) < 18 else None

    @property
    def back(self) -> str:
        """The page that contained the form; never another site."""
        given = self.get("back")
        return given if given.startswith("/ui") and "//" not in given and "\\" not in given else "/ui"

    async def do(self, job: Callable[[Unit], Done], name: str = "write", *, forget: bool = False) -> Response:
        """Run the job once, in one transaction, and redirect to the page with a message."""
        key = self.get("key")
        writer = Writer(self.v.request, self.v.who, f"form-{key}" if key else f"form-{uuid4()}")
        assert writer.key is not None
        body, _ = await writer.once(job, writer.key, name=name, forget=forget, private=True)
        done = Done.model_validate_json(body)
        forget_frames()
        return redirect(done.to or self.back, done.said)


def utc_moment(text: str) -> Micros | None:
    """The value of a date-time field, in UTC; None if it is empty."""
    if not text:
        return None
    try:
        return micros(datetime.fromisoformat(text).replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise BadRequest(f"{text[:40]!r} is not a time; write it as 2026-01-31T18:30") from None


@authenticates
async def posted(request: Request) -> Form:
    """Parse a form. Raises unless it comes from a logged-in reader of our own page."""
    return await _parsed(request, files=0, longest=BIGGEST)


@authenticates
async def posted_with_files(request: Request) -> Form:
    """Parse a form with files. The router says how much its path accepts: `Router.takes`."""
    return await _parsed(request, files=MOST_FILES, longest=BIGGEST_TEXT)


async def _parsed(request: Request, *, files: int, longest: int) -> Form:
    from interlock.dashboard.site import visitor

    try:
        kind, secret = credentials(request)
    except NotAuthenticated:
        raise LogIn("/ui") from None
    service = service_of(request)
    if kind != "session" or not request.cookies.get(COOKIE):
        raise NotAllowed("forms need a login; use the API with a token")
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise NotAllowed("forms from other sites are refused")
    await request.body()  # cached, so that a repeated request can be compared
    data = await request.form(max_files=files, max_fields=500, max_part_size=longest)
    try:
        texts = [(name, value) for name, value in data.multi_items() if isinstance(value, str)]
        if not service.people.check_csrf(secret, str(data.get("csrf", ""))):
            raise NotAllowed("this form belongs to another session: reload the page and send it again")
        if any("\x00" in name or "\x00" in value for name, value in texts):
            raise BadRequest("a form field contains NUL; leave it out")
        sent = [one for _, one in data.multi_items() if isinstance(one, UploadFile)]
        kept = [PostedFile(one.filename or "", one.content_type or "", await one.read()) for one in sent]
    finally:
        await data.close()
    request.state.form_checked = True
    many: dict[str, list[str]] = {}
    for name, value in texts:
        many.setdefault(name, []).append(value)
    # A browser sends an empty file without a name for a field that was left empty.
    return Form(await visitor(request), dict(texts), many, [one for one in kept if one.name or one.content])


Posted = Annotated[Form, Depends(posted)]
"""The parameter of an endpoint that takes a form."""
PostedWithFiles = Annotated[Form, Depends(posted_with_files)]
"""The parameter of an endpoint that takes a form with files, sent as `multipart/form-data`."""
