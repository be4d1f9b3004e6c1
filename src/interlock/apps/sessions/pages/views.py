"""How the dashboard's own pages show sessions and loans: their titles, links, and what an approval is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from interlock.apps.sessions.approvals import ALLOW, DENY
from interlock.apps.sessions.conversation.entries import tool_name
from interlock.apps.sessions.conversation.visible import one_line, shown
from interlock.apps.sessions.machine import loan, session
from interlock.apps.sessions.pages.frame import ROOT, spelled_json
from interlock.dashboard.views import Block, View, ViewContext
from interlock.engine import Instance, OpenReview

SHOWN = ("repo", "branch")
"""What else of the session an approval shows."""
LEADS = {ALLOW: "the agent makes this call once and continues", DENY: "the agent continues without the call"}


class SessionView(View):
    """A session by its title, with a link to its conversation."""

    def title(self, instance: Instance) -> str:
        return one_line(str(instance.shown_data.get("title") or ""), 80) or f"session {str(instance.id)[-8:]}"

    def summary(self, review: OpenReview, instance: Instance) -> str:
        tool = tool_name(str(review.evidence.get("tool", "")))
        return one_line(review.title.replace(str(review.evidence.get("tool") or tool), tool, 1), 200)

    def leads(self, review: OpenReview, instance: Instance) -> Mapping[str, str]:
        return LEADS if "tool" in review.evidence else {}

    def links(self, instance: Instance) -> Sequence[tuple[str, str]]:
        return [("Open conversation", f"{ROOT}/{instance.id}")]

    def evidence(self, context: ViewContext) -> list[Block]:
        review = context.review
        if review is None or "tool" not in review.evidence:
            return View.evidence(self, context)
        found = review.evidence
        rows = [("tool", tool_name(str(found.get("tool", ""))), None)]
        rows += [(name, one_line(str(context.instance.shown_data.get(name) or ""), 200), None) for name in SHOWN]
        given = shown(spelled_json(str(found.get("input", ""))), 20_000, 400)
        return [Block("The call", rows=rows), Block("Its input", kind="text", text=given.text)]


class LoanView(View):
    """A loan by its state, with a link to its session."""

    def title(self, instance: Instance) -> str:
        return f"Sandbox of session {str(instance.shown_data.get('session_id') or '')[-8:] or 'nobody'}"

    def links(self, instance: Instance) -> Sequence[tuple[str, str]]:
        try:
            return [("Open session", f"{ROOT}/{UUID(str(instance.shown_data.get('session_id')))}")]
        except ValueError:
            return []


views: Mapping[str, View] = {session.name: SessionView(), loan.name: LoanView()}
