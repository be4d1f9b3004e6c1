"""Writes: one transaction, executed exactly once per `Idempotency-Key`, however often the request is repeated."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from typing import Annotated, TypeVar

import sqlalchemy as sa
from fastapi import Depends, Request
from fastapi.responses import Response
from pydantic import BaseModel

from interlock.engine.unit import Unit
from interlock.http.caller import authenticates, caller, credentials, service_of
from interlock.http.problems import BadRequest
from interlock.http.service import Service
from interlock.people import NotAllowed, Principal, Role
from interlock.store.service_tables import idempotency

M = TypeVar("M", bound=BaseModel)
REPLAYED = "Idempotency-Replayed"
KEY = re.compile(r"[\x21-\x7e]{1,200}")


class Writer:
    """A write request: its caller and its idempotency key."""

    def __init__(self, request: Request, who: Principal, key: str | None) -> None:
        self.request, self.who, self.key = request, who, key
        self.service: Service = service_of(request)

    async def __call__(
        self,
        job: Callable[[Unit], M],
        *,
        status: int | Callable[[M], int] = 200,
        name: str = "write",
        forget: bool = False,
        kept: Callable[[M], BaseModel] = lambda made: made,
        private: bool = False,
    ) -> Response:
        """Run the job and answer with its result. A repeated request with the same key gets the stored answer.

        `status` may depend on the result. `kept` is the answer to store, if the real one contains something shown only
        once. A `private` request contains something that must not be guessable from what is stored.
        """
        if self.key is None:
            made = await self.service.write_as(self.who, job, name)
            if forget:
                self.service.callers.forget()
            return answered(_status(status, made), made.model_dump_json(by_alias=True).encode())
        code, body, replayed = await self._stored(job, self.key, status, name, forget, kept, private)
        return answered(code, body.encode(), {REPLAYED: "true"} if replayed else None)

    async def once(
        self,
        job: Callable[[Unit], M],
        key: str,
        *,
        name: str = "write",
        forget: bool = False,
        private: bool = False,
    ) -> tuple[str, bool]:
        """The answer as JSON, and whether it was repeated from the store."""
        _, body, replayed = await self._stored(job, key, 200, name, forget, lambda made: made, private)
        return body, replayed

    async def _stored(
        self,
        job: Callable[[Unit], M],
        key: str,
        status: int | Callable[[M], int],
        name: str,
        forget: bool,
        kept: Callable[[M], BaseModel],
        private: bool,
    ) -> tuple[int, str, bool]:
        digest = await self._digest(private)

        def run(unit: Unit) -> tuple[int, str, bool]:
            row = unit.conn.execute(
                sa.select(idempotency).where(idempotency.c.who == self.who.who, idempotency.c.key == key)
            ).first()
            if row is not None:
                request, _, rights = row.request.partition(" ")
                if request != digest:
                    raise BadRequest(
                        f"the Idempotency-Key {key!r} was used for another request; use a new one", kind="key-reused"
                    )
                _still_as_able(self.who, rights)
                return row.status, row.body, True
            made = job(unit)
            code = _status(status, made)
            unit.insert(
                idempotency,
                who=self.who.who,
                key=key,
                request=f"{digest} {_rights(self.who)}".strip(),
                status=code,
                body=kept(made).model_dump_json(by_alias=True),
                at=unit.now,
            )
            return code, made.model_dump_json(by_alias=True), False

        found = await self.service.write_as(self.who, run, name)
        if forget:
            self.service.callers.forget()
        return found

    async def _digest(self, private: bool) -> str:
        url = self.request.url
        content = f"{self.request.method} {url.path}?{url.query}\n".encode() + await self.request.body()
        if private:  # with a plain hash of the body, anybody with the database could guess passwords offline
            return hmac.new(credentials(self.request)[1].encode(), content, "sha256").hexdigest()
        return hashlib.sha256(content).hexdigest()


def _status(status: int | Callable[[M], int], made: M) -> int:
    return status if isinstance(status, int) else status(made)


def _rights(who: Principal) -> str:
    """The caller's roles at the time of the answer; an agent's scopes never change."""
    return " ".join(f"{workspace}={role.value}" for workspace, role in sorted(who.roles.items()))


def _still_as_able(who: Principal, rights: str) -> None:
    """Raise NotAllowed if the caller has lost a role since: a stored answer is only for those who could still ask."""
    for one in rights.split():
        workspace, _, had = one.rpartition("=")
        role = who.role_in(workspace)
        if role is None or not role.includes(Role(had)):
            raise NotAllowed("this was executed when you had more permissions; you may no longer see its answer")


def answered(status: int, body: bytes, headers: dict[str, str] | None = None) -> Response:
    return Response(body, status, headers, media_type="application/json")


@authenticates
async def writer(request: Request) -> Writer:
    key = request.headers.get("idempotency-key")
    if key is not None and not KEY.fullmatch(key):
        raise BadRequest(f"the Idempotency-Key {key[:80]!r} must have 1 to 200 visible ASCII characters")
    return Writer(request, await caller(request), key)


Write = Annotated[Writer, Depends(writer)]
