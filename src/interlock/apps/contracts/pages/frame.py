"""What the register's pages share: the workspace, the tabs, and rendering."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import sqlalchemy as sa
from fastapi.responses import Response

from interlock.apps.contracts.machine import contract
from interlock.dashboard.site import Visitor, render
from interlock.engine import NotFound
from interlock.http.caller import require, workspace_of

ROOT = "/ui/contracts"
TABS = (("Contracts", ""), ("Upload", "/upload"), ("Calendar", "/calendar"))
Read = Callable[[sa.Connection, "ContractsFrame"], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ContractsFrame:
    """One reader in one workspace."""

    v: Visitor
    workspace: str

    @property
    def may_create(self) -> bool:
        return self.v.may("create", self.workspace, contract.name)

    @property
    def workspaces(self) -> list[str]:
        return sorted(self.v.workspaces)

    @property
    def tabs(self) -> list[tuple[str, str, bool]]:
        path = self.v.request.url.path.removeprefix(ROOT)
        return [
            (name, self.url(to), path == to or bool(to and path.startswith(to)))
            for name, to in TABS
            if to != "/upload" or self.may_create
        ]

    def url(self, path: str = "", **params: Any) -> str:
        """The address of a page. It names the workspace where the reader has several."""
        named = {"workspace": self.workspace} if len(self.v.workspaces) > 1 else {}
        kept = {name: value for name, value in {**params, **named}.items() if value not in (None, "", False)}
        return f"{ROOT}{path}" + (f"?{urlencode(kept)}" if kept else "")


def frame_of(v: Visitor, named: str) -> ContractsFrame:
    """The workspace that the reader means. NotFound for one that they are not in."""
    if named and not v.may("read", named, contract.name):
        raise NotFound(f"there is no workspace {named[:60]!r}")
    if not named and len(v.workspaces) > 1 and "default" not in v.workspaces:
        named = min(v.workspaces)
    workspace = named or workspace_of(v.who, None)
    require(v.who, "read", workspace, f"workspace {workspace!r}", machine=contract.name)
    return ContractsFrame(v, workspace)


async def show(v: Visitor, template: str, workspace: str, read: Read, *, status: int = 200, **context: Any) -> Response:
    """Render a page: `read` fetches its data in one transaction."""
    frame = frame_of(v, workspace)
    found = await v.service.read(lambda conn: read(conn, frame))
    return await render(v, f"contracts/{template}", status=status, c=frame, **{**context, **found})
