"""The flow of a machine's instances between its states, and how long they stayed in each."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response

from interlock.dashboard import flow, plots
from interlock.dashboard.site import Reader, render
from interlock.dashboard.spread import spreads
from interlock.engine import NotFound
from interlock.watch.flow import moves, stays

router = APIRouter(include_in_schema=False)
WINDOWS = {
    name: plots.Span(name, words, timedelta(days=days), "hour")
    for name, words, days in (("24h", "24 hours", 1), ("7d", "7 days", 7), ("30d", "30 days", 30))
}


@router.get("/ui/machines/{name}/flow")
async def show_flow(
    v: Reader, name: str, chosen: Annotated[str, Query(alias="span", max_length=10)] = "7d"
) -> Response:
    machine = v.service.engine.registry.get(name)
    if machine is None:
        raise NotFound(f"there is no machine {name!r}")
    window = WINDOWS.get(chosen, WINDOWS["7d"])

    def read(conn: Any) -> tuple[Any, Any]:
        given = (conn, name, v.now, window.window, v.workspaces)
        return moves(*given), stays(*given)

    moved, stayed = await v.service.read(read)
    left: dict[str, int] = {}
    for one in moved:
        if one.source is not None:
            left[one.source] = left.get(one.source, 0) + one.n
    return await render(
        v,
        "flow.html",
        machine=machine,
        window=window,
        windows=WINDOWS.values(),
        flow=flow.picture(machine, moved, window.words),
        moves=moved,
        left=left,
        created=sum(one.n for one in moved if one.source is None),
        total=sum(left.values()),
        times=spreads(machine, stayed),
    )
