"""API tokens: the secret is shown once, and a token can be revoked."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from interlock.engine.unit import Unit
from interlock.http.api.instances import aware
from interlock.http.caller import Caller, TheService, workspace_of
from interlock.http.models import Answer, at
from interlock.http.writing import Write
from interlock.people import TokenRow, managing, tokens
from interlock.store import moment

router = APIRouter(prefix="/api/tokens", tags=["tokens"])


class NewToken(BaseModel):
    """A token to create: an agent's with scopes, or one that acts as you."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "crawler", "kind": "agent", "scopes": ["read", "fire:parcel"]}]},
    )

    name: str = Field(min_length=1, max_length=64, examples=["crawler"])
    kind: Literal["agent", "person"] = "agent"
    workspace: str | None = Field(None, max_length=200)
    scopes: list[str] = Field(default_factory=list, max_length=50, examples=[["read", "fire:parcel"]])
    until: datetime | None = Field(None, description="The expiry, with a time zone.")
    person: str | None = Field(None, max_length=200, description="The person it acts as, if not you; only for owners.")


class TokenOut(Answer):
    """A token without its secret."""

    id: UUID
    workspace: str
    name: str
    kind: str
    person_id: UUID | None
    scopes: list[str]
    hint: str = Field(description="Its last characters.")
    created_at: datetime
    created_by: str
    used_at: datetime | None = Field(description="Its last use, to within a minute.")
    until: datetime | None
    revoked_at: datetime | None
    revoked_by: str | None
    secret: str | None = Field(None, description="Only in the answer to its creation.")

    @classmethod
    def of(cls, t: TokenRow, secret: str | None = None) -> TokenOut:
        return cls(
            id=t.id,
            workspace=t.workspace,
            name=t.name,
            kind=t.kind,
            person_id=t.person_id,
            scopes=list(t.scopes),
            hint=t.hint,
            created_at=moment(t.created_at),
            created_by=t.created_by,
            used_at=at(t.used_at),
            until=at(t.until),
            revoked_at=at(t.revoked_at),
            revoked_by=t.revoked_by,
            secret=secret,
        )


class TokenList(Answer):
    """Tokens, newest first."""

    tokens: list[TokenOut]


@router.get("", summary="List tokens; owners see those of their workspaces, others their own")
async def list_tokens(
    service: TheService, who: Caller, workspace: Annotated[str | None, Query(max_length=200)] = None
) -> TokenList:
    found = await service.read(lambda conn: tokens.every(conn, workspace))
    shown = [
        t
        for t in found
        if who.may("manage", t.workspace) or (who.person_id is not None and t.person_id == who.person_id)
    ]
    return TokenList(tokens=[TokenOut.of(t) for t in shown])


@router.post("", status_code=201, summary="Create a token; the secret is shown only once", response_model=TokenOut)
async def create_token(service: TheService, write: Write, body: NewToken) -> Response:
    workspace, until = workspace_of(write.who, body.workspace), aware(body.until, "until")

    def create(unit: Unit) -> TokenOut:
        made, secret = managing.issue_token(
            unit, write.who, workspace, body.name, kind=body.kind, person=body.person, scopes=body.scopes, until=until
        )
        return TokenOut.of(made, secret)

    return await write(create, status=201, name="people", kept=lambda made: made.model_copy(update={"secret": None}))


@router.post("/{id}/revoke", summary="Revoke a token", response_model=TokenOut)
async def revoke_token(write: Write, id: UUID) -> Response:
    def revoke(unit: Unit) -> TokenOut:
        return TokenOut.of(managing.revoke_token(unit, write.who, id))

    return await write(revoke, name="people", forget=True)
