"""The seeker's profile: as it is stored, and the form that replaces it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import sqlalchemy as sa
import yaml  # type: ignore[import-untyped]
from fastapi import APIRouter, Query
from fastapi.responses import Response

from interlock.apps.jobs.finder.intake import set_profile
from interlock.apps.jobs.finder.pages.frame import JobsFrame, acting, show
from interlock.apps.jobs.finder.profiles.profile import Profile
from interlock.apps.jobs.finder.profiles.profile_file import ProfileError, parse_profile, sample
from interlock.dashboard.forms import Done, Posted
from interlock.dashboard.site import Reader
from interlock.engine.application import Unit

router = APIRouter(include_in_schema=False)
Text = Annotated[str, Query(max_length=200)]


@router.get("/ui/jobs/profile")
async def profile(v: Reader, workspace: Text = "", start: Annotated[str, Query(max_length=10)] = "") -> Response:
    def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
        if start == "sample":
            return {"text": sample(), "problems": []}
        return {"text": as_yaml(jobs.stored.profile) if jobs.stored is not None else "", "problems": []}

    return await show(v, "profile.html", workspace, read, start=start)


@router.post("/ui/jobs/profile")
async def replace(form: Posted) -> Response:
    """Store a profile, or show it again with what is wrong in it."""
    workspace, text = acting(form), form.get("profile").replace("\r\n", "\n")
    try:
        made = parse_profile(text)
    except ProfileError as error:
        problems = str(error).split("\n")

        def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
            return {"text": text, "problems": problems}

        return await show(form.v, "profile.html", workspace, read, status=422, start="")
    actor = form.v.who.actor_in(workspace)

    def job(unit: Unit) -> Done:
        changed = set_profile(unit, workspace, made, actor)
        said = "The profile is stored; postings are filtered and scored again." if changed else "Nothing changed."
        return Done(said=said)

    return await form.do(job, "profile")


def as_yaml(profile: Profile) -> str:
    """The profile as the file that would give it, without what has its default."""
    plain = profile.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    text: str = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=100)
    return text if plain else ""
