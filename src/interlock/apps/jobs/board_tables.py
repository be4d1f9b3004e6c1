"""The tables of the board after applying: cards, their moves, notes, contacts and dates, and what mail proposes.

They belong to an application's record (`jobs_application`); `instance_id` is empty for one that was made elsewhere.
"""

from __future__ import annotations

import sqlalchemy as sa

from interlock.apps.jobs.tables import metadata
from interlock.store.columns import at, id_, text

__all__ = ["metadata"]

# Where an application is after it was submitted. The stage is a field, not a state of the machine.
card = sa.Table(
    "jobs_board_card",
    metadata,
    id_("application_id", primary=True),
    id_("instance_id", null=True),
    text("workspace"),
    text("stage"),
    text("outcome", null=True),
    text("variant", null=True),
    at("opened_at"),
    at("moved_at"),
    text("moved_by"),
    at("replied_at", null=True),
)
sa.Index("ix_jobs_board_card_workspace", card.c.workspace, card.c.stage, card.c.moved_at)
sa.Index("ix_jobs_board_card_instance", card.c.instance_id)

# The log of the field `stage`.
move = sa.Table(
    "jobs_board_move",
    metadata,
    id_(primary=True),
    id_("application_id"),
    id_("instance_id", null=True),
    text("workspace"),
    at("at"),
    text("made_by"),
    text("from_stage", null=True),
    text("to_stage"),
    text("outcome", null=True),
    text("reason"),
)
sa.Index("ix_jobs_board_move_application", move.c.application_id, move.c.id)
sa.Index("ix_jobs_board_move_instance", move.c.instance_id)

note = sa.Table(
    "jobs_board_note",
    metadata,
    id_(primary=True),
    id_("application_id"),
    id_("instance_id", null=True),
    text("workspace"),
    text("text"),
    text("made_by"),
    at("at"),
)
sa.Index("ix_jobs_board_note_application", note.c.application_id, note.c.id)
sa.Index("ix_jobs_board_note_instance", note.c.instance_id)

contact = sa.Table(
    "jobs_board_contact",
    metadata,
    id_(primary=True),
    id_("application_id"),
    id_("instance_id", null=True),
    text("workspace"),
    text("name"),
    text("role", null=True),
    text("email", null=True),
    text("phone", null=True),
    text("made_by"),
    at("at"),
)
sa.Index("ix_jobs_board_contact_application", contact.c.application_id, contact.c.id)
sa.Index("ix_jobs_board_contact_instance", contact.c.instance_id)

# Follow-ups and appointments. `made_by` is `system` for the follow-up that every application gets.
date = sa.Table(
    "jobs_board_date",
    metadata,
    id_(primary=True),
    id_("application_id"),
    id_("instance_id", null=True),
    text("workspace"),
    text("kind"),
    text("what"),
    at("at"),
    at("until", null=True),
    text("place", null=True),
    text("made_by"),
    at("made_at"),
    at("done_at", null=True),
    text("done_by", null=True),
)
sa.Index("ix_jobs_board_date_due", date.c.workspace, date.c.done_at, date.c.at)
sa.Index("ix_jobs_board_date_application", date.c.application_id, date.c.at)
sa.Index("ix_jobs_board_date_instance", date.c.instance_id)

# The calendar of a workspace, by the SHA-256 of the secret in its address.
feed = sa.Table(
    "jobs_calendar_feed",
    metadata,
    text("workspace", primary=True),
    text("secret_hash"),
    text("made_by"),
    at("made_at"),
)
sa.Index("uq_jobs_calendar_feed_secret", feed.c.secret_hash, unique=True)

# Mails that were read, by the hash of the id and the beginning, so that none is looked at twice.
mail = sa.Table(
    "jobs_mail_read",
    metadata,
    text("workspace", primary=True),
    text("mail_key", primary=True),
    at("read_at"),
)
sa.Index("ix_jobs_mail_read_at", mail.c.read_at)

# How far a mailbox was read, and the error of the last attempt.
mailbox = sa.Table(
    "jobs_mailbox",
    metadata,
    text("workspace", primary=True),
    text("mailbox", primary=True),
    text("position"),
    at("read_at"),
    text("error", null=True),
)

# What a mail says about an application, with its evidence. Nothing follows from it until a person accepts it.
proposal = sa.Table(
    "jobs_mail_proposal",
    metadata,
    id_(primary=True),
    id_("application_id", null=True),
    id_("instance_id", null=True),
    text("workspace"),
    text("mail_key"),
    text("message_id"),
    text("thread"),
    text("sender"),
    text("subject"),
    at("sent_at", null=True),
    text("kind"),
    text("quote"),
    text("matched_by"),
    text("candidates"),
    at("found_at"),
    text("state"),
    text("decided_by", null=True),
    at("decided_at", null=True),
)
sa.Index("ix_jobs_mail_proposal_state", proposal.c.workspace, proposal.c.state, proposal.c.id)
sa.Index("ix_jobs_mail_proposal_application", proposal.c.application_id, proposal.c.id)
sa.Index("ix_jobs_mail_proposal_instance", proposal.c.instance_id)
sa.Index("uq_jobs_mail_proposal_mail", proposal.c.workspace, proposal.c.mail_key, unique=True)
