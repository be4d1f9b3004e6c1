"""Settings: the reader's account and, for owners, people, tokens and the configuration."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import Response

from interlock.config import shown
from interlock.dashboard.forms import Done, posted
from interlock.dashboard.site import Reader, Visitor, render
from interlock.engine.unit import Unit
from interlock.http.caller import COOKIE, address_of, require_operator
from interlock.http.problems import BadRequest
from interlock.people import (
    OPERATORS,
    NotAllowed,
    Role,
    accounts,
    link_address,
    managing,
    names,
    scope_meanings,
    sessions,
    tokens,
    workspaces,
)
from interlock.store import span

router = APIRouter(include_in_schema=False)


@router.get("/ui/settings")
async def show_settings(v: Reader) -> Response:
    """The reader's account and, for owners, people, tokens and the configuration."""

    def read(conn: Any) -> dict[str, Any]:
        everyone = [p for p in accounts.everyone(conn) if v.operator or v.workspaces & set(p.roles)]
        visible = [
            t
            for t in tokens.every(conn)
            if t.revoked_at is None
            and (v.may("manage", t.workspace) or (t.person_id is not None and t.person_id == v.who.person_id))
        ]
        mine = sessions.of(conn, v.who.person_id, v.now) if v.who.person_id else []
        return {
            "people": everyone if v.may_anywhere("read") else [],
            "tokens": visible,
            "sessions": mine,
            "workspaces": [w for w in workspaces.every(conn) if v.operator or w.name in v.workspaces],
        }

    configured = shown(v.service.settings) if v.may("manage", OPERATORS) else None
    return await render(
        v,
        "settings.html",
        roles=list(Role),
        person_name=names.PATTERN,
        scopes=scope_meanings(v.service.engine.registry.scopes),
        configured=configured,
        **await v.service.read(read),
    )


@router.post("/ui/tokens/new")
async def new_token(request: Request) -> Response:
    """The secret is shown once, in the response itself: a redirect would put it into the browser's history."""
    form = await posted(request)
    v, workspace = form.v, form.get("workspace") or "default"
    kind: Literal["person", "agent"] = "person" if form.get("kind") == "person" else "agent"
    scopes = form.many.get("scope", []) if kind == "agent" else []
    narrowed = form.get("machine").strip()
    days = form.get("days")
    if days and not (days.isdecimal() and 1 <= int(days) <= 3650):
        raise BadRequest(f"{days[:20]!r} is not a number of days from 1 to 3650")
    until = v.now + span(timedelta(days=int(days))) if days else None

    def make(unit: Unit) -> tuple[Any, str]:
        return managing.issue_token(
            unit,
            v.who,
            workspace,
            form["name"],
            kind=kind,
            scopes=[f"{s}:{narrowed}" if narrowed else s for s in scopes],
            until=until,
        )

    made, secret = await v.service.write_as(v.who, make, "people")
    return await render(v, "token.html", token=made, secret=secret)


@router.post("/ui/tokens/{id}/revoke")
async def revoke_token(request: Request, id: UUID) -> Response:
    form = await posted(request)
    v = form.v

    def job(unit: Unit) -> Done:
        found = managing.revoke_token(unit, v.who, id)
        return Done(said=f"Token {found.name} revoked", to="/ui/settings#tokens")

    return await form.do(job, "people", forget=True)


@router.post("/ui/people/new")
async def new_person(request: Request) -> Response:
    form = await posted(request)
    v = form.v
    require_operator(v.who, "manage")
    password = form.get("password")
    hashed = await v.service.call(v.service.people.hashed, password) if password else None

    def add(unit: Unit) -> accounts.Person:
        return accounts.add(
            unit,
            form["name"],
            role=_role(form.get("role")),
            by=v.who.actor_in(OPERATORS),
            password=hashed,
            email=form.get("email") or None,
            workspace=form.get("workspace") or OPERATORS,
        )

    if hashed is None:
        # Shown in the response itself, as a token's secret is; the same form again is refused, as the name is taken.
        made = await v.service.write_as(v.who, add, "people")
        return await _show_link(v, made)
    return await form.do(lambda unit: Done(said=f"{add(unit).name} added", to="/ui/settings#people"), "people")


async def _show_link(v: Visitor, person: accounts.Person) -> Response:
    secret = await v.service.call(v.service.people.login_link, person.id, by=v.who.actor_in(OPERATORS))
    return await render(v, "link.html", person=person, url=link_address(v.service.address, secret))


def _role(text: str) -> Role:
    if text not in set(Role):
        raise BadRequest(f"{text[:30]!r} is not a role; there are {', '.join(Role)}")
    return Role(text)


@router.post("/ui/people/{id}/{what}")
async def change_person(request: Request, id: UUID, what: str) -> Response:
    form = await posted(request)
    v = form.v
    if what == "link":
        require_operator(v.who, "manage")
        return await _show_link(v, await v.service.call(v.service.people.get, id))

    def job(unit: Unit) -> Done:
        match what:
            case "role":
                workspace = form.get("workspace") or OPERATORS
                role = _role(form.get("role")) if form.get("role") else None
                person = managing.change_role(unit, v.who, id, role, workspace)
                now = f"{role.value} in" if role is not None else "no longer in"
                return Done(said=f"{person.name} is {now} {workspace}", to="/ui/settings#people")
            case "disable" | "enable":
                require_operator(v.who, "manage")
                change = accounts.disable if what == "disable" else accounts.enable
                person = change(unit, id, v.who.actor_in(OPERATORS))
                return Done(said=f"{person.name} is {what}d", to="/ui/settings#people")
        raise BadRequest(f"there is no action {what[:30]!r} for people")

    return await form.do(job, "people", forget=True)


@router.post("/ui/me/password")
async def own_password(request: Request) -> Response:
    form = await posted(request)
    v = form.v
    if v.who.person_id is None:
        raise NotAllowed("an agent has no password")
    await v.service.call(v.service.people.confirm, v.who.person_id, form.get("old"), address=address_of(request))
    hashed = await v.service.call(v.service.people.hashed, form["password"])
    person = v.who.person_id

    def job(unit: Unit) -> Done:
        accounts.set_password(unit, person, hashed, v.who.actor_in(OPERATORS), keep=v.who.session)
        return Done(said="Password changed; your other sessions have ended", to="/ui/settings")

    return await form.do(job, "people", forget=True)


@router.post("/ui/me/sessions/end")
async def end_sessions(request: Request) -> Response:
    form = await posted(request)
    v = form.v
    if v.who.person_id is None or not request.cookies.get(COOKIE):
        raise NotAllowed("there is no session to end")
    by, person = v.who.actor_in(OPERATORS), v.who.person_id

    def job(unit: Unit) -> Done:
        ended = sessions.end_all(unit, person, by, keep=v.who.session)
        return Done(said=f"{ended} other session{'' if ended == 1 else 's'} ended", to="/ui/settings")

    return await form.do(job, "people", forget=True)


@router.post("/ui/workspaces/new")
async def new_workspace(request: Request) -> Response:
    form = await posted(request)
    require_operator(form.v.who, "manage")

    def job(unit: Unit) -> Done:
        made = workspaces.add(unit, form["name"], form.get("title"), form.v.who.actor_in(OPERATORS))
        return Done(said=f"Workspace {made.name} added", to="/ui/settings#workspaces")

    return await form.do(job, "people")
