"""Pages of auto-apply: what waits for the person, one application with its packet."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from interlock.apps.jobs.autoapply.pages import application, applications
from interlock.dashboard.site import bring

bring("apply", "interlock.apps.jobs.autoapply.pages")

routers: Sequence[APIRouter] = tuple(one.router for one in (applications, application))

__all__ = ["routers"]
