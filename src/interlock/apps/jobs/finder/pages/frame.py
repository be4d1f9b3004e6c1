"""What the finder's pages share: the workspace, times in the seeker's zone, links, rendering, and forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from fastapi.responses import Response

from interlock.apps.jobs.finder.pages.wording import tier_points
from interlock.apps.jobs.finder.records import profiles
from interlock.apps.jobs.finder.records.profiles import StoredProfile
from interlock.apps.jobs.finder.scopes import JOBS
from interlock.dashboard.forms import Form
from interlock.dashboard.site import Visitor, render
from interlock.engine import NotFound, Unreadable
from interlock.http.caller import require, workspace_of
from interlock.store import Micros, moment

ROOT = "/ui/jobs"


class Tab(NamedTuple):
    """An entry of the navigation between the finder's pages."""

    name: str
    path: str


TABS = (
    Tab("Today", ""),
    Tab("Matches", "/matches"),
    Tab("Why not", "/why-not"),
    Tab("Applications", "/applications"),
    Tab("Companies", "/companies"),
    Tab("Sources", "/sources"),
    Tab("Profile", "/profile"),
)


@dataclass(frozen=True, slots=True)
class JobsFrame:
    """One reader in one workspace."""

    v: Visitor
    workspace: str
    stored: StoredProfile | None
    """The seeker's profile; None while there is none."""
    problem: str = ""
    """Why the stored profile cannot be read."""

    @property
    def may(self) -> bool:
        """Whether the reader may change something."""
        return self.v.who.may(JOBS, self.workspace)

    @property
    def workspaces(self) -> list[str]:
        return sorted(self.v.workspaces)

    @property
    def tabs(self) -> list[tuple[Tab, str, bool]]:
        path = self.v.request.url.path
        at = path.removeprefix(ROOT)
        section = {
            "/postings": "/matches",
            "/rules": "/why-not",
            "/refused": "/companies",
            "/apply-rules": "/applications",
            "/board": "/applications",
            "/calendar": "/applications",
            "/answers": "/applications",
            "/numbers": "/applications",
            "/apply-data": "/applications",
        }
        for own, shown in section.items():
            if at.startswith(own):
                at = shown
        return [(one, self.url(one.path), at == one.path or bool(one.path and at.startswith(one.path))) for one in TABS]

    def url(self, path: str = "", **params: Any) -> str:
        """The address of a page. It names the workspace where the reader has several."""
        named = {"workspace": self.workspace} if len(self.v.workspaces) > 1 else {}
        kept = {name: value for name, value in {**params, **named}.items() if value not in (None, "", False)}
        return f"{ROOT}{path}" + (f"?{urlencode(kept)}" if kept else "")

    def time(self, at: Micros | None) -> str:
        """A moment in the seeker's time zone."""
        if at is None:
            return ""
        zone = self.stored.profile.time_zone if self.stored is not None else None
        return f"{moment(at).astimezone(_zone(zone)):%Y-%m-%d %H:%M %Z}"


@lru_cache(maxsize=64)
def _zone(name: str | None) -> ZoneInfo:
    return ZoneInfo(name or "UTC")


Read = Callable[[sa.Connection, JobsFrame], Mapping[str, Any]]


async def show(
    v: Visitor, template: str, workspace: str, read: Read, *, folder: str = "jobs", status: int = 200, **context: Any
) -> Response:
    """Render a page: `read` fetches its data in one transaction. `folder` is the name that brought its template."""
    chosen = seen_workspace(v, workspace)

    def look(conn: sa.Connection) -> tuple[JobsFrame, Mapping[str, Any]]:
        try:
            frame = JobsFrame(v, chosen, profiles.find(conn, chosen))
        except Unreadable as error:
            frame = JobsFrame(v, chosen, None, str(error))
        return frame, read(conn, frame)

    frame, found = await v.service.read(look)
    return await render(
        v, f"{folder}/{template}", status=status, jobs=frame, tier_points=tier_points, **{**context, **found}
    )


def seen_workspace(v: Visitor, named: str) -> str:
    """The workspace that the reader means. NotFound for one that they are not in."""
    if named and not v.may("read", named):
        raise NotFound(f"there is no workspace {named[:60]!r}")
    if named:
        return named
    if len(v.workspaces) > 1 and "default" not in v.workspaces:
        return min(v.workspaces)
    return workspace_of(v.who, None)


def acting(form: Form) -> str:
    """The workspace that a form changes. Raises unless its reader may."""
    workspace = seen_workspace(form.v, form.get("workspace"))
    require(form.v.who, JOBS, workspace, "the job finder")
    return workspace
