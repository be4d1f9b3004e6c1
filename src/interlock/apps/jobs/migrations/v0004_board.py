"""The board after applying: cards, moves, notes, contacts, dates, the calendar, and what mail proposes."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "jobs_board_card",
        sa.Column("application_id", sa.Uuid(), nullable=False),
        sa.Column("instance_id", sa.Uuid(), nullable=True),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("variant", sa.Text(), nullable=True),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.Column("moved_at", sa.BigInteger(), nullable=False),
        sa.Column("moved_by", sa.Text(), nullable=False),
        sa.Column("replied_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("application_id", name=op.f("pk_jobs_board_card")),
    )
    op.create_index("ix_jobs_board_card_instance", "jobs_board_card", ["instance_id"], unique=False)
    op.create_index("ix_jobs_board_card_workspace", "jobs_board_card", ["workspace", "stage", "moved_at"], unique=False)
    op.create_table(
        "jobs_board_contact",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("application_id", sa.Uuid(), nullable=False),
        sa.Column("instance_id", sa.Uuid(), nullable=True),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=True),
        sa.Column("email", sa.Text(), nullable=True),
        sa.Column("phone", sa.Text(), nullable=True),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs_board_contact")),
    )
    op.create_index("ix_jobs_board_contact_application", "jobs_board_contact", ["application_id", "id"], unique=False)
    op.create_index("ix_jobs_board_contact_instance", "jobs_board_contact", ["instance_id"], unique=False)
    op.create_table(
        "jobs_board_date",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("application_id", sa.Uuid(), nullable=False),
        sa.Column("instance_id", sa.Uuid(), nullable=True),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=True),
        sa.Column("place", sa.Text(), nullable=True),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("done_at", sa.BigInteger(), nullable=True),
        sa.Column("done_by", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs_board_date")),
    )
    op.create_index("ix_jobs_board_date_application", "jobs_board_date", ["application_id", "at"], unique=False)
    op.create_index("ix_jobs_board_date_due", "jobs_board_date", ["workspace", "done_at", "at"], unique=False)
    op.create_index("ix_jobs_board_date_instance", "jobs_board_date", ["instance_id"], unique=False)
    op.create_table(
        "jobs_board_move",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("application_id", sa.Uuid(), nullable=False),
        sa.Column("instance_id", sa.Uuid(), nullable=True),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("from_stage", sa.Text(), nullable=True),
        sa.Column("to_stage", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs_board_move")),
    )
    op.create_index("ix_jobs_board_move_application", "jobs_board_move", ["application_id", "id"], unique=False)
    op.create_index("ix_jobs_board_move_instance", "jobs_board_move", ["instance_id"], unique=False)
    op.create_table(
        "jobs_board_note",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("application_id", sa.Uuid(), nullable=False),
        sa.Column("instance_id", sa.Uuid(), nullable=True),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs_board_note")),
    )
    op.create_index("ix_jobs_board_note_application", "jobs_board_note", ["application_id", "id"], unique=False)
    op.create_index("ix_jobs_board_note_instance", "jobs_board_note", ["instance_id"], unique=False)
    op.create_table(
        "jobs_calendar_feed",
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("secret_hash", sa.Text(), nullable=False),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("workspace", name=op.f("pk_jobs_calendar_feed")),
    )
    op.create_index("uq_jobs_calendar_feed_secret", "jobs_calendar_feed", ["secret_hash"], unique=True)
    op.create_table(
        "jobs_mail_proposal",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("application_id", sa.Uuid(), nullable=True),
        sa.Column("instance_id", sa.Uuid(), nullable=True),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("mail_key", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("thread", sa.Text(), nullable=False),
        sa.Column("sender", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("sent_at", sa.BigInteger(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("quote", sa.Text(), nullable=False),
        sa.Column("matched_by", sa.Text(), nullable=False),
        sa.Column("candidates", sa.Text(), nullable=False),
        sa.Column("found_at", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("decided_by", sa.Text(), nullable=True),
        sa.Column("decided_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs_mail_proposal")),
    )
    op.create_index("ix_jobs_mail_proposal_application", "jobs_mail_proposal", ["application_id", "id"], unique=False)
    op.create_index("ix_jobs_mail_proposal_instance", "jobs_mail_proposal", ["instance_id"], unique=False)
    op.create_index("ix_jobs_mail_proposal_state", "jobs_mail_proposal", ["workspace", "state", "id"], unique=False)
    op.create_index("uq_jobs_mail_proposal_mail", "jobs_mail_proposal", ["workspace", "mail_key"], unique=True)
    op.create_table(
        "jobs_mail_read",
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("mail_key", sa.Text(), nullable=False),
        sa.Column("read_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("workspace", "mail_key", name=op.f("pk_jobs_mail_read")),
    )
    op.create_index("ix_jobs_mail_read_at", "jobs_mail_read", ["read_at"], unique=False)
    op.create_table(
        "jobs_mailbox",
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("mailbox", sa.Text(), nullable=False),
        sa.Column("position", sa.Text(), nullable=False),
        sa.Column("read_at", sa.BigInteger(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("workspace", "mailbox", name=op.f("pk_jobs_mailbox")),
    )
