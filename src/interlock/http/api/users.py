"""People and workspaces, and the action log."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from interlock.engine import secrets
from interlock.engine.unit import Unit
from interlock.http.caller import Caller, TheService, address_of, require, require_operator
from interlock.http.models import Answer, at
from interlock.http.writing import Write
from interlock.people import OPERATORS, NotAllowed, Person, Principal, Role, accounts, actions, managing, workspaces
from interlock.store import moment

router = APIRouter(prefix="/api", tags=["people"])
Password = Annotated[str, Field(min_length=10, max_length=200, examples=["correct horse battery"])]


class PersonOut(Answer):
    """A person."""

    id: UUID
    name: str
    email: str | None
    roles: dict[str, str] = Field(description="Workspace → role; those that you may see.")
    has_password: bool
    created_at: datetime
    disabled_at: datetime | None

    @classmethod
    def of(cls, p: Person, who: Principal) -> PersonOut:
        everything = who.may("read", OPERATORS)
        roles = {w: r.value for w, r in sorted(p.roles.items()) if everything or w in who.workspaces}
        return cls(
            id=p.id,
            name=p.name,
            email=p.email,
            roles=roles,
            has_password=p.has_password,
            created_at=moment(p.created_at),
            disabled_at=at(p.disabled_at),
        )


class PersonList(Answer):
    """People, by name."""

    people: list[PersonOut]


class NewPerson(BaseModel):
    """A person to add."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "ann", "role": "reviewer", "workspace": "default"}]}
    )

    name: str = Field(min_length=1, max_length=64, examples=["ann"])
    role: Role = Role.VIEWER
    workspace: str = Field(OPERATORS, max_length=200)
    email: str | None = Field(None, max_length=300)
    password: Password | None = Field(None, description="Without one they log in with a link.")


class NewRole(BaseModel):
    """A person's role in a workspace; null removes them from it."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"workspace": "default", "role": "member"}]}
    )

    workspace: str = Field(OPERATORS, max_length=200)
    role: Role | None


class NewPassword(BaseModel):
    """A new password; changing your own needs the current one."""

    model_config = ConfigDict(extra="forbid")

    password: Password
    old: str | None = Field(None, max_length=500)


@router.get("/users", summary="The people of your workspaces", response_model=PersonList)
async def list_users(
    service: TheService, who: Caller, workspace: Annotated[str | None, Query(max_length=200)] = None
) -> Response:
    if workspace is not None:
        require(who, "read", workspace, f"workspace {workspace!r}")
    if who.kind == "agent":
        raise NotAllowed("an agent's token does not see people")
    found = await service.read(lambda conn: accounts.everyone(conn, workspace))
    everything = who.may("read", OPERATORS)
    shown = [p for p in found if everything or who.workspaces & set(p.roles)]
    return await service.answer(lambda: PersonList(people=[PersonOut.of(p, who) for p in shown]))


@router.post("/users", status_code=201, summary="Add a person", response_model=PersonOut)
async def add_user(service: TheService, write: Write, body: NewPerson) -> Response:
    require_operator(write.who, "manage")
    if body.password is not None:
        managing.require_login(write.who, "adding a person with a password")
    hashed = await service.call(service.people.hashed, body.password) if body.password is not None else None

    def add(unit: Unit) -> PersonOut:
        made = accounts.add(
            unit,
            body.name,
            role=body.role,
            by=write.who.actor_in(OPERATORS),
            password=hashed,
            email=body.email,
            workspace=body.workspace,
        )
        return PersonOut.of(made, write.who)

    return await write(add, status=201, name="people", private=body.password is not None)


@router.post("/users/{id}/role", summary="Set a person's role in a workspace", response_model=PersonOut)
async def set_role(write: Write, id: UUID, body: NewRole) -> Response:
    """An owner of a workspace decides about its members, an owner of the first workspace about everybody."""

    def change(unit: Unit) -> PersonOut:
        return PersonOut.of(managing.change_role(unit, write.who, id, body.role, body.workspace), write.who)

    return await write(change, name="people", forget=True)


@router.post("/users/{id}/password", summary="Set a password; other sessions end", response_model=PersonOut)
async def set_password(service: TheService, write: Write, id: UUID, body: NewPassword) -> Response:
    own = write.who.person_id == id
    if not own:
        require_operator(write.who, "manage")
    managing.require_login(write.who, "changing a password")
    if own:
        address = address_of(write.request)
        await service.call(service.people.confirm, id, body.old or "", address=address)
    hashed = await service.call(service.people.hashed, body.password)

    def change(unit: Unit) -> PersonOut:
        by = write.who.actor_in(OPERATORS)
        return PersonOut.of(accounts.set_password(unit, id, hashed, by, keep=write.who.session), write.who)

    return await write(change, name="people", forget=True, private=True)


@router.post("/users/{id}/disable", summary="Disable a person at once", response_model=PersonOut)
async def disable_user(write: Write, id: UUID) -> Response:
    require_operator(write.who, "manage")
    by = write.who.actor_in(OPERATORS)
    return await write(lambda unit: PersonOut.of(accounts.disable(unit, id, by), write.who), name="people", forget=True)


@router.post("/users/{id}/enable", summary="Enable a person", response_model=PersonOut)
async def enable_user(write: Write, id: UUID) -> Response:
    require_operator(write.who, "manage")
    managing.require_login(write.who, "enabling a person")
    by = write.who.actor_in(OPERATORS)
    return await write(lambda unit: PersonOut.of(accounts.enable(unit, id, by), write.who), name="people", forget=True)


class WorkspaceOut(Answer):
    """A workspace, which contains instances."""

    name: str
    title: str
    created_at: datetime


class WorkspaceList(Answer):
    """Workspaces, by name."""

    workspaces: list[WorkspaceOut]


class NewWorkspace(BaseModel):
    """A workspace to add."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "north", "title": "The north"}]})

    name: str = Field(min_length=1, max_length=64, examples=["north"])
    title: str = Field("", max_length=200)


@router.get("/workspaces", summary="The workspaces that you may see")
async def list_workspaces(service: TheService, who: Caller) -> WorkspaceList:
    found = await service.read(workspaces.every)
    everything = who.kind == "person" and who.may("read", OPERATORS)
    shown = [w for w in found if everything or w.name in who.workspaces]
    return WorkspaceList(
        workspaces=[WorkspaceOut(name=w.name, title=w.title, created_at=moment(w.created_at)) for w in shown]
    )


@router.post("/workspaces", status_code=201, summary="Add a workspace", response_model=WorkspaceOut)
async def add_workspace(write: Write, body: NewWorkspace) -> Response:
    require_operator(write.who, "manage")

    def add(unit: Unit) -> WorkspaceOut:
        made = workspaces.add(unit, body.name, body.title, write.who.actor_in(OPERATORS))
        return WorkspaceOut(name=made.name, title=made.title, created_at=moment(made.created_at))

    return await write(add, status=201, name="people")


class ActionOut(Answer):
    """An entry of the action log."""

    id: UUID
    at: datetime
    actor: str
    what: str
    target: str
    workspace: str | None
    details: dict[str, Any]


class ActionList(Answer):
    """Actions, newest first."""

    actions: list[ActionOut]
    next: UUID | None


@router.get("/actions", summary="The action log of people and tokens", response_model=ActionList)
async def list_actions(
    service: TheService,
    who: Caller,
    actor: Annotated[str | None, Query(max_length=200)] = None,
    what: Annotated[str | None, Query(max_length=100)] = None,
    workspace: Annotated[str | None, Query(max_length=200)] = None,
    after: UUID | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Response:
    """An owner of a workspace sees its actions, an owner of the first workspace all of them."""
    if not who.may("manage", OPERATORS):
        if workspace is None:
            raise NotAllowed("name a workspace that you own; only owners of the first workspace see all actions")
        require(who, "manage", workspace, f"workspace {workspace!r}")
    found = await service.read(
        lambda conn: actions.page(conn, actor=actor, what=what, workspace=workspace, after=after, limit=limit)
    )

    def listed() -> ActionList:
        shown = [
            ActionOut(
                id=a.id,
                at=moment(a.at),
                actor=a.actor,
                what=a.what,
                target=a.target,
                workspace=a.workspace,
                details=secrets.shown(a.details),
            )
            for a in found.actions
        ]
        return ActionList(actions=shown, next=found.next)

    return await service.answer(listed)
