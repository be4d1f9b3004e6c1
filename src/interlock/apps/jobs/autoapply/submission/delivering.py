"""Sending inside an effect: the outcome of an adapter as `task.once` needs it.

    answer = await task.once("submit_application", request, lambda effect: deliver(adapter, form, effect.key), takes=…)

`answer` is the proof. Errors that are also NotSent mean that nothing arrived, so the effect has failed and may be sent
again. Any other error leaves the effect unknown, and it is never repeated.
"""

from __future__ import annotations

from typing import Any

from interlock.apps.jobs.autoapply.errors import JobClosed, SiteUnreachable
from interlock.apps.jobs.autoapply.submission.adapter import Adapter
from interlock.apps.jobs.autoapply.submission.values import (
    Blocked,
    BlockKind,
    FilledForm,
    Rejected,
    Submitted,
    Unknown,
)
from interlock.machine import NotSent, WorkError


class SiteNotReached(SiteUnreachable, NotSent):
    """No byte left, or the site asked for a pause. It is retried with backoff."""


class PostingGone(JobClosed, NotSent):
    """The site does not take applications for this posting any more."""


class NotDelivered(NotSent):
    """The application did not arrive and a retry alone does not help: `outcome` says what a person must do."""

    def __init__(self, outcome: Rejected | Blocked) -> None:
        if isinstance(outcome, Rejected):
            super().__init__("; ".join(one.message for one in outcome.problems[:5]) or "the site refused it")
        else:
            super().__init__(f"{outcome.kind}: {outcome.reason}")
        self.outcome = outcome


class AnswerLost(WorkError):
    """The application was sent and no valid answer came."""


async def deliver(adapter: Adapter, form: FilledForm, key: str) -> dict[str, Any]:
    """Send the form once and return the proof as JSON."""
    problems = adapter.validate(form)
    if problems:
        raise NotDelivered(Rejected(problems))
    try:
        outcome = await adapter.submit(form, key)
    except SiteUnreachable as error:
        raise SiteNotReached(str(error), retry_after=error.retry_after) from error
    match outcome:
        case Submitted(proof):
            return proof.json()
        case Blocked(BlockKind.BUSY, reason, retry_after):
            raise SiteNotReached(reason, retry_after=retry_after)
        case Blocked(BlockKind.CLOSED, reason):
            raise PostingGone(reason)
        case Unknown(reason):
            raise AnswerLost(reason)
        case Rejected() | Blocked():
            raise NotDelivered(outcome)
