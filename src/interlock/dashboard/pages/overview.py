"""The overview: every machine at a glance."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from interlock.dashboard.site import Reader, render

router = APIRouter(include_in_schema=False)


@router.get("/ui")
async def overview(v: Reader) -> Response:
    return await render(v, "overview.html")
