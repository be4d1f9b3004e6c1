"""Looking into a file for somebody who waits: images, places, boxes. Heavy reading, and the file is a stranger's."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import sqlalchemy as sa
from starlette.requests import Request

from interlock.apps.contracts.ingest import stored
from interlock.apps.contracts.reading.errors import ReaderStopped, ReadingError
from interlock.engine import Instance
from interlock.http.heavy import Stop, TooBusy, TookTooLong
from interlock.http.service import Service

T = TypeVar("T")


async def look(service: Service, request: Request, caller: str, job: Callable[[], T]) -> T:
    """What the job returns; `stored.reader()` gives it a process of its own, killed when the caller has gone."""

    def run(stop: Stop) -> T:
        with stored.borrowed(stop):
            return job()

    try:
        return await service.heavy.run(request, caller, run)
    except ReaderStopped as error:
        raise TookTooLong(str(error)) from None


async def alternatives(
    service: Service, request: Request, caller: str, find: Callable[[sa.Connection], Instance]
) -> None:
    """Have it looked up where the alternatives of a contract stand, if that is not known; the page goes without."""
    from interlock.apps.contracts.pages.sheet import unseen

    job = await service.read(lambda conn: unseen(conn, find(conn)))
    if job is not None:
        with suppress(TooBusy, TookTooLong, ReadingError):
            await look(service, request, caller, job)


async def image(service: Service, request: Request, caller: str, pdf: bytes, page: int, scale: float) -> bytes:
    """A page as a PNG; TookTooLong where it cannot be drawn in the time for it."""
    try:
        return await look(service, request, caller, lambda: stored.reader().render(pdf, page, scale))
    except TookTooLong:
        message = (
            f"page {page} took longer than {service.heavy.seconds:g} s to draw and was given up; its text can be read"
        )
        raise TookTooLong(message) from None
