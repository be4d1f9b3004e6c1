"""Reads files for a waiting request: images, text places, boxes. Slow, and on untrusted files."""

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
    """Run the job. `stored.reader()` is a separate process inside, killed when the caller disconnects."""

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
    """Find the places of a contract's alternatives, if they are unknown. On failure the page is shown without them."""
    from interlock.apps.contracts.pages.sheet import unseen

    job = await service.read(lambda conn: unseen(conn, find(conn)))
    if job is not None:
        with suppress(TooBusy, TookTooLong, ReadingError):
            await look(service, request, caller, job)


async def image(service: Service, request: Request, caller: str, pdf: bytes, page: int, scale: float) -> bytes:
    """A page as a PNG. Raises TookTooLong if drawing takes too long."""
    try:
        return await look(service, request, caller, lambda: stored.reader().render(pdf, page, scale))
    except TookTooLong:
        message = (
            f"page {page} took longer than {service.heavy.seconds:g} s to draw and was stopped; read its text instead"
        )
        raise TookTooLong(message) from None
