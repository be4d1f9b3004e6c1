"""Words of the pages: what a status means, what is needed of the person, and texts with what is marked in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from interlock.apps.jobs.autoapply.models import ReviewReason

KINDS = {
    "queued": "work",
    "preparing": "work",
    "ready_to_submit": "work",
    "requires_review": "person",
    "submitted": "done",
    "interview_requested": "done",
    "failed": "failed",
    "paused": "wait",
    "withdrawn": "ended",
}
"""Status → the kind that colours it; one that is not named waits."""
FIELD = 2000
"""Characters of an answer that a page shows in one line."""


class Piece(NamedTuple):
    """Part of a text; `why` says what is wrong with it."""

    text: str
    why: str = ""


def kind_of(status: str) -> str:
    return KINDS.get(status, "wait")


def needed(data: Mapping[str, Any]) -> str:
    """What the person has to do with an application that waits for them, by the data of its instance.

    The reason in its row is that of entering the review; the instance knows what was asked since.
    """
    asked, reason = data.get("open_questions") or 0, data.get("review_reason")
    if reason == ReviewReason.VERIFY_SUBMISSION:
        return "Find out whether it arrived"
    if asked:
        return f"Answer {asked} question{'' if asked == 1 else 's'}"
    if reason == ReviewReason.SUBMIT_BY_HAND:
        return "Say how it ended" if data.get("run_id") else "Send it yourself"
    return "Approve or reject its packet"


def marked(text: str, findings: Iterable[Mapping[str, Any]]) -> list[Piece]:
    """The text in pieces: those that the claim check found carry the reason. Findings that overlap are one."""
    pieces, at = [], 0
    for one in sorted(findings, key=lambda one: (int(one.get("start", 0)), -int(one.get("end", 0)))):
        start, end = max(at, int(one.get("start", 0))), min(len(text), int(one.get("end", 0)))
        if end <= start:
            continue
        if start > at:
            pieces.append(Piece(text[at:start]))
        pieces.append(Piece(text[start:end], str(one.get("why") or "not in your profile")))
        at = end
    return [*pieces, Piece(text[at:])] if at < len(text) else pieces


def said(value: Any) -> str:
    """An answer as a person reads it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)[:FIELD]
