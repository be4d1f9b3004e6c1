"""Editing the rules: stop list and thresholds, with what would appear and disappear before anything is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response

from interlock.apps.jobs.finder.intake import set_profile
from interlock.apps.jobs.finder.pages.frame import JobsFrame, acting, show
from interlock.apps.jobs.finder.profiles.profile import Profile
from interlock.apps.jobs.finder.profiles.profile_file import ProfileError, check_profile
from interlock.apps.jobs.finder.records import profiles
from interlock.apps.jobs.finder.records.what_if import what_if
from interlock.dashboard.forms import Done, Form, Posted
from interlock.dashboard.site import Reader
from interlock.engine import NotFound, Refused
from interlock.engine.application import Unit
from interlock.http.problems import BadRequest

router = APIRouter(include_in_schema=False)
Text = Annotated[str, Query(max_length=200)]
List = Annotated[str, Query(max_length=20)]
LISTS = {
    "companies": ("Companies", "one a line; matched as whole words of the name"),
    "domains": ("Domains", "one a line, such as example.com; subdomains too"),
    "keywords": ("Keywords", "one a line; matched in the title and in the address"),
}
"""Stop list → label and help."""
NUMBERS = {
    "filter.threshold": ("Strikes", "a posting with as many strikes is filtered", 1, 100),
    "match.threshold": ("Score", "a posting with at least this score is a match", 0, 100),
    "match.threshold_with_office": ("Score with an office", "the same, with an office in your city", 0, 100),
}
"""Number → label, help, least and most."""


@router.get("/ui/jobs/rules")
async def rules(v: Reader, workspace: Text = "", add: Text = "", to: List = "") -> Response:
    """The form, with an entry filled in where a link names one."""

    def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
        if jobs.stored is None:
            return {"given": None, "problems": [], "preview": None, "digest": ""}
        given = fields(jobs.stored.profile)
        if add and to in LISTS:
            given[to] = f"{given[to]}\n{add}".strip()
        return {"given": given, "problems": [], "preview": None, "digest": jobs.stored.digest}

    return await show(v, "rules.html", workspace, read, lists=LISTS, numbers=NUMBERS)


@router.post("/ui/jobs/rules")
async def change(form: Posted) -> Response:
    """Show what changed rules would do, or store them."""
    workspace, wanted = acting(form), form["do"]
    given = {name: form.get(name).replace("\r\n", "\n") for name in (*LISTS, *NUMBERS)}
    if wanted == "save":
        return await _save(form, workspace, given)
    if wanted != "preview":
        raise BadRequest(f"{wanted[:40]!r} cannot be done with the rules; there are preview and save")

    def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
        if jobs.stored is None:
            return {"given": None, "problems": [], "preview": None, "digest": ""}
        try:
            made = changed(jobs.stored.profile, given)
        except ProfileError as error:
            return {"given": given, "problems": str(error).split("\n"), "preview": None, "digest": jobs.stored.digest}
        found = what_if(conn, jobs.workspace, made, form.v.now)
        return {"given": given, "problems": [], "preview": found, "digest": jobs.stored.digest}

    return await show(form.v, "rules.html", workspace, read, lists=LISTS, numbers=NUMBERS)


async def _save(form: Form, workspace: str, given: Mapping[str, str]) -> Response:
    actor = form.v.who.actor_in(workspace)
    seen = form["digest"]

    def job(unit: Unit) -> Done:
        stored = profiles.find(unit.conn, workspace)
        if stored is None:
            raise NotFound("there is no profile yet; add one first")
        if stored.digest != seen:
            raise Refused("the profile was changed since you opened this page; load it again", [])
        try:
            made = changed(stored.profile, given)
        except ProfileError as error:
            raise BadRequest(str(error)) from None
        set_profile(unit, workspace, made, actor)
        return Done(said="The rules are stored; postings are filtered and scored again.")

    return await form.do(job, "rules")


def fields(profile: Profile) -> dict[str, str]:
    """The rules as the form's fields."""
    found = {name: "\n".join(getattr(profile.stop_list, name)) for name in LISTS}
    for name in NUMBERS:
        part, _, key = name.partition(".")
        found[name] = str(getattr(getattr(profile, part), key))
    return found


def changed(profile: Profile, given: Mapping[str, str]) -> Profile:
    """The profile with these rules. Raises ProfileError with every problem."""
    plain = profile.model_dump(mode="json", exclude_none=True)
    for name in LISTS:
        plain["stop_list"][name] = [one.strip() for one in given[name].split("\n") if one.strip()]
    for name in NUMBERS:
        part, _, key = name.partition(".")
        text = given[name].strip()
        plain[part][key] = int(text) if text.isdecimal() and len(text) < 10 else text
    return check_profile(plain)
