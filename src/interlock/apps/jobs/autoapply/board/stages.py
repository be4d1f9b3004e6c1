"""The stages of the board, how a closed application ended, and what counts as a reply."""

from __future__ import annotations

from enum import StrEnum


class Stage(StrEnum):
    """Where an application is after it was submitted."""

    SUBMITTED = "submitted"
    SCREENING = "screening"
    INTERVIEW = "interview"
    OFFER = "offer"
    CLOSED = "closed"


class Ending(StrEnum):
    """How a closed application ended."""

    ACCEPTED = "accepted"
    DECLINED = "declined"
    """The seeker declined an offer."""
    REJECTED = "rejected"
    NO_ANSWER = "no_answer"
    WITHDRAWN = "withdrawn"
    JOB_CLOSED = "job_closed"


REPLIES = frozenset({Stage.SCREENING, Stage.INTERVIEW, Stage.OFFER})
"""Stages that an employer's reply leads to."""
ANSWERED = frozenset({Ending.ACCEPTED, Ending.DECLINED, Ending.REJECTED})
"""Endings that an employer's reply leads to."""


def is_reply(stage: Stage, ending: Ending | None) -> bool:
    """Whether the employer must have replied for an application to be there. A confirmation of receipt is no reply."""
    return stage in REPLIES or (stage is Stage.CLOSED and ending in ANSWERED)
