"""The tables with a seeker's auto-apply data, in the order in which they can be emptied."""

from __future__ import annotations

import sqlalchemy as sa

from interlock.apps.jobs import board_tables as b
from interlock.apps.jobs import tables as t

EXPORTED: dict[str, sa.Table] = {
    "applications": t.applied,
    "log": t.apply_log,
    "rules": t.apply_rule,
    "decisions": t.apply_decision,
    "answers": t.saved_answer,
    "files": t.apply_artifact,
    "board": b.card,
    "board_moves": b.move,
    "board_notes": b.note,
    "board_contacts": b.contact,
    "board_dates": b.date,
    "mail": b.proposal,
}
"""Name in an export → its table. Each has a column `workspace`."""
OTHERS = (t.apply_seeker, b.feed, b.mail, b.mailbox)
"""What has no meaning outside of this installation: a stop, the calendar's address, which mails were read."""
NOT_EXPORTED = {"digest", "answer_key", "mail_key", "workspace", "judged_on"}
"""Columns that only this installation understands."""
JSON = {"rule", "checks", "details", "value", "candidates", "blocked_by"}
"""Columns whose text is JSON."""
TIMES = {
    *("created_at", "changed_at", "deleted_at", "decided_at", "again_at", "processed_at", "status_at", "sent_at"),
    *("submitted_at", "scheduled_for", "at", "until", "opened_at", "moved_at", "replied_at", "made_at", "done_at"),
    *("saved_at", "used_at", "found_at"),
}
"""Columns with a time."""
