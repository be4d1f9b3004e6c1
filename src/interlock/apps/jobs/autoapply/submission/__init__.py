"""Submission: how a prepared application reaches the employer, at most once.

`adapter_for` chooses the way for a posting, and the adapter says what it can do (`capabilities`). Most sites take
applications from people only; there the person sends the packet (`assisted`). `deliver` sends inside an effect, whose
intent and key are stored before the first byte leaves. A failure before that byte is SiteUnreachable and is retried;
whatever goes wrong after it is Unknown, and a person verifies it.
"""

from interlock.apps.jobs.autoapply.submission.adapter import Adapter
from interlock.apps.jobs.autoapply.submission.choosing import adapter_for
from interlock.apps.jobs.autoapply.submission.delivering import (
    AnswerLost,
    NotDelivered,
    PostingGone,
    SiteNotReached,
    deliver,
)
from interlock.apps.jobs.autoapply.submission.email_draft import EmailDraft, email_draft
from interlock.apps.jobs.autoapply.submission.still_open import Openness, still_open
from interlock.apps.jobs.autoapply.submission.values import (
    Blocked,
    BlockKind,
    Capabilities,
    FilledForm,
    HandOver,
    HandOverItem,
    Outcome,
    Problem,
    Proof,
    Rejected,
    Submitted,
    Unknown,
)

__all__ = [
    "Adapter",
    "AnswerLost",
    "BlockKind",
    "Blocked",
    "Capabilities",
    "EmailDraft",
    "FilledForm",
    "HandOver",
    "HandOverItem",
    "NotDelivered",
    "Openness",
    "Outcome",
    "PostingGone",
    "Problem",
    "Proof",
    "Rejected",
    "SiteNotReached",
    "Submitted",
    "Unknown",
    "adapter_for",
    "deliver",
    "email_draft",
    "still_open",
]
