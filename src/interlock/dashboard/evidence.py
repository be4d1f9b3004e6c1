"""Safe display of artifacts: nothing from outside can run, load anything, or leave its frame.

Text and JSON are shown as text. HTML is sanitised and put into a sandboxed frame. Images and PDF files have their own
URL, whose headers forbid scripts. Everything else can only be downloaded.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from uuid import UUID

import nh3
import sqlalchemy as sa
from fastapi.responses import Response

from interlock.dashboard.site import static
from interlock.dashboard.views import View
from interlock.engine import artifacts, secrets
from interlock.engine.artifacts import Artifact

IMAGES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
FRAMED = {"application/pdf"}
MOST_SHOWN = 300_000
"""The longest text, in bytes, that a page shows."""
ONLY_SHOWN = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"
# A sandbox would prevent Chromium's PDF viewer from opening, so PDF files have none.
SANDBOXED = f"{ONLY_SHOWN}; sandbox"
TAGS = nh3.ALLOWED_TAGS - {"img", "area", "map"}
ATTRIBUTES = {
    "*": {"class", "dir", "lang", "title"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
}


@dataclass(frozen=True, slots=True)
class Shown:
    """An artifact prepared for a page."""

    artifact: Artifact
    how: str
    """text, json, html, image, pdf, or save (no preview)."""
    text: str = ""
    value: Any = None


def how(artifact: Artifact) -> str:
    """How an artifact of this type and size can be shown."""
    kind = artifact.media_type
    if kind in IMAGES:
        return "image"
    if kind in FRAMED:
        return "pdf"
    if artifact.size > MOST_SHOWN:
        return "save"
    if kind == "application/json" or kind.endswith("+json"):
        return "json"
    if kind in {"text/html", "application/xhtml+xml"}:
        return "html"
    return "text" if kind.startswith("text/") or kind in {"application/xml", "application/yaml"} else "save"


def needs_content(artifact: Artifact) -> bool:
    return how(artifact) in {"text", "json", "html"}


def show(artifact: Artifact, content: bytes | None, style: tuple[str, str] = ("", "")) -> Shown:
    """Prepare an artifact. `content` is only needed for text; `style` is the address of a style sheet of ours for HTML,
    and the class around it."""
    way = how(artifact)
    if content is None or not needs_content(artifact):
        return Shown(artifact, way)
    text = content.decode("utf-8", "replace")
    if way == "json":
        try:
            return Shown(artifact, "json", value=json.loads(text))
        except ValueError:
            way = "text"
    if way != "html":
        return Shown(artifact, way, secrets.hide(text))
    sheet, around = style
    page = f'<link rel="stylesheet" href="{sheet}"><div class="{around}">{clean(text)}</div>' if sheet else clean(text)
    return Shown(artifact, way, page)


def preview(conn: sa.Connection, instance_id: UUID, artifact: Artifact, view: View, *, content: bool = True) -> Shown:
    """Prepare an artifact of an instance, with its text if `content`."""
    read = artifacts.read(conn, instance_id, artifact.hash) if content and needs_content(artifact) else None
    sheet, around = view.preview_style(artifact.name)
    return show(artifact, read, (static(sheet) if sheet else "", around))


def clean(html: str) -> str:
    """Sanitise HTML: keep text and structure, remove scripts, styles, images, links and forms."""
    return nh3.clean(
        secrets.hide(html),
        tags=set(TAGS - {"a"}),
        attributes={k: set(v) for k, v in ATTRIBUTES.items()},
        clean_content_tags={"script", "style", "title", "template", "noscript"},
        strip_comments=True,
        url_schemes=set(),
        link_rel=None,
    )


def served(artifact: Artifact, content: bytes) -> Response:
    """Serve the content from its own URL."""
    kind = artifact.media_type
    shown, name = kind in IMAGES or kind in FRAMED, quote(artifact.name, safe="")
    headers = {
        "Content-Disposition": f"{'inline' if shown else 'attachment'}; filename*=UTF-8''{name}",
        "Content-Security-Policy": ONLY_SHOWN if kind in FRAMED else SANDBOXED,
        "X-Frame-Options": "SAMEORIGIN",
    }
    return Response(content, headers=headers, media_type=kind if shown else "application/octet-stream")
