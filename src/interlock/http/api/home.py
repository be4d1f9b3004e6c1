"""The home page: what this is, and where to go."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from interlock import __version__

router = APIRouter(include_in_schema=False)
PAGE = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Interlock</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body><main><h1>Interlock {__version__}</h1>
<p>The service is running. The API is under <a href="/api/overview">/api</a>; its description is
<a href="/openapi.json">/openapi.json</a>.</p>
<ul><li><a href="/api/me">Who you are</a></li><li><a href="/api/machines">Machines</a></li>
<li><a href="/api/instances">Instances</a></li><li><a href="/api/reviews">Reviews</a></li>
<li><a href="/api/dead-letters">Dead letters</a></li><li><a href="/api/workers">Workers</a></li>
<li><a href="/api/alerts">Alerts</a></li></ul></main></body></html>
"""


@router.get("/")
async def home() -> HTMLResponse:
    return HTMLResponse(PAGE)
