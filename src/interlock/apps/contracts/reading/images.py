"""Pages as images, for people who check a value against the document."""

from __future__ import annotations

from interlock.apps.contracts.reading.limits import DEFAULT, Limits
from interlock.apps.contracts.reading.pdf import LARGEST_SCALE, render_page


def render(pdf: bytes, page: int, scale: float = 2.0, limits: Limits = DEFAULT) -> bytes:
    """Page `page` (from 1) as a PNG of `scale` pixels a point, at most 3 and within the limit of pixels."""
    return render_page(pdf, page, scale, limits)


__all__ = ["LARGEST_SCALE", "render"]
