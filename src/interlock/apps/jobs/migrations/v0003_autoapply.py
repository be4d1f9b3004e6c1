"""Auto-apply: rules, decisions, applications, their log and files, and saved answers."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "auto_apply_logs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("instance_id", sa.Uuid(), nullable=True),
        sa.Column("rule_id", sa.Uuid(), nullable=True),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("from_status", sa.Text(), nullable=True),
        sa.Column("to_status", sa.Text(), nullable=True),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("details", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_auto_apply_logs")),
    )
    op.create_index("ix_auto_apply_logs_instance", "auto_apply_logs", ["instance_id", "id"], unique=False)
    op.create_index("ix_auto_apply_logs_workspace", "auto_apply_logs", ["workspace", "id"], unique=False)
    op.create_table(
        "job_application_artifacts",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("instance_id", sa.Uuid(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("packet_hash", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_application_artifacts")),
    )
    op.create_index(
        "ix_job_application_artifacts_instance", "job_application_artifacts", ["instance_id", "id"], unique=False
    )
    op.create_table(
        "jobs_application",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("instance_id", sa.Uuid(), nullable=True),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("rule_id", sa.Uuid(), nullable=True),
        sa.Column("posting_id", sa.Uuid(), nullable=True),
        sa.Column("opening_id", sa.Uuid(), nullable=True),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("board", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("company", sa.Text(), nullable=False),
        sa.Column("company_key", sa.Text(), nullable=True),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("url_key", sa.Text(), nullable=True),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("tier", sa.Text(), nullable=True),
        sa.Column("score", sa.BigInteger(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("review_reason", sa.Text(), nullable=True),
        sa.Column("withdraw_reason", sa.Text(), nullable=True),
        sa.Column("paused_by", sa.Text(), nullable=True),
        sa.Column("attempt_count", sa.BigInteger(), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("scheduled_for", sa.BigInteger(), nullable=True),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("packet_hash", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("processed_at", sa.BigInteger(), nullable=True),
        sa.Column("status_at", sa.BigInteger(), nullable=False),
        sa.Column("sent_at", sa.BigInteger(), nullable=True),
        sa.Column("submitted_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs_application")),
    )
    op.create_index("ix_jobs_application_company", "jobs_application", ["workspace", "company_key"], unique=False)
    op.create_index("ix_jobs_application_instance", "jobs_application", ["instance_id"], unique=False)
    op.create_index("ix_jobs_application_opening", "jobs_application", ["workspace", "opening_id"], unique=False)
    op.create_index("ix_jobs_application_rule", "jobs_application", ["rule_id", "status"], unique=False)
    op.create_index("ix_jobs_application_status", "jobs_application", ["workspace", "status", "id"], unique=False)
    op.create_index("ix_jobs_application_url", "jobs_application", ["workspace", "url_key"], unique=False)
    op.create_index(
        "ix_jobs_application_user", "jobs_application", ["workspace", "user_id", "created_at"], unique=False
    )
    op.create_table(
        "jobs_apply_decision",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("rule_id", sa.Uuid(), nullable=False),
        sa.Column("posting_id", sa.Uuid(), nullable=False),
        sa.Column("judged_on", sa.Text(), nullable=False),
        sa.Column("taken", sa.BigInteger(), nullable=False),
        sa.Column("needs_approval", sa.BigInteger(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("blocked_by", sa.Text(), nullable=False),
        sa.Column("checks", sa.Text(), nullable=False),
        sa.Column("decided_at", sa.BigInteger(), nullable=False),
        sa.Column("again_at", sa.BigInteger(), nullable=True),
        sa.Column("application_id", sa.Uuid(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs_apply_decision")),
    )
    op.create_index("ix_jobs_apply_decision_posting", "jobs_apply_decision", ["posting_id"], unique=False)
    op.create_index("ix_jobs_apply_decision_workspace", "jobs_apply_decision", ["workspace", "id"], unique=False)
    op.create_index("uq_jobs_apply_decision_pair", "jobs_apply_decision", ["rule_id", "posting_id"], unique=True)
    op.create_table(
        "jobs_apply_rule",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("paused", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("changed_by", sa.Text(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("deleted_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs_apply_rule")),
    )
    op.create_index("ix_jobs_apply_rule_workspace", "jobs_apply_rule", ["workspace", "deleted_at", "id"], unique=False)
    op.create_table(
        "jobs_apply_seeker",
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("paused", sa.BigInteger(), nullable=False),
        sa.Column("paused_by", sa.Text(), nullable=True),
        sa.Column("paused_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("workspace", name=op.f("pk_jobs_apply_seeker")),
    )
    op.create_table(
        "jobs_saved_answer",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("answer_key", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("options_key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("company", sa.Text(), nullable=True),
        sa.Column("instance_id", sa.Uuid(), nullable=True),
        sa.Column("uses", sa.BigInteger(), nullable=False),
        sa.Column("saved_by", sa.Text(), nullable=False),
        sa.Column("saved_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs_saved_answer")),
    )
    op.create_index("uq_jobs_saved_answer_key", "jobs_saved_answer", ["workspace", "answer_key"], unique=True)
