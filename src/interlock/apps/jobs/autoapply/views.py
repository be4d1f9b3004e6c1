"""How the dashboard shows applications: their titles, and the page on which they are decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from interlock.apps.jobs.autoapply.machine import application
from interlock.dashboard.views import Block, View, ViewContext, facts
from interlock.engine import Instance, OpenReview

DOCUMENTS = {"resume.pdf": "Resume", "letter.pdf": "Letter", "cover-letter.txt": "Letter"}
"""File of a packet → what it is."""


@dataclass(frozen=True, slots=True)
class ApplicationView(View):
    """An application. Its packet is reviewed on its own page, as it will be sent."""

    def title(self, instance: Instance) -> str:
        data = instance.data
        return " at ".join(one for one in (data["title"], data["company"]) if one) or View.title(self, instance)

    def review_page(self, review: OpenReview, instance: Instance) -> str:
        return _page(instance)

    def evidence(self, context: ViewContext) -> list[Block]:
        data = context.instance.data
        names = ("company", "title", "job_url", "user_id", "review_reason", "doubts", "packet_hash")
        newest = {one.name: one for one in context.artifacts if one.name in DOCUMENTS}
        return [
            Block("Posting", rows=facts({name: data[name] for name in names if data.get(name)})),
            *(Block(DOCUMENTS[name], kind="artifact", artifact=name) for name in newest),
        ]

    def links(self, instance: Instance) -> Sequence[tuple[str, str]]:
        page = _page(instance)
        return [("Application", page)] if page else []


def _page(instance: Instance) -> str:
    """The page is made from its record, which an application for a posting has."""
    return f"/ui/jobs/applications/{instance.id}" if instance.data.get("posting_id") else ""


views = {application.name: ApplicationView()}
