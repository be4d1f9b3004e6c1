"""The finder's companies, sources, crawls and postings, the profile, and raw answers."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "jobs_answer",
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("request_key", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("status", sa.BigInteger(), nullable=False),
        sa.Column("etag", sa.Text(), nullable=True),
        sa.Column("last_modified", sa.Text(), nullable=True),
        sa.Column("content_type", sa.Text(), nullable=True),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("fetched_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("workspace", "request_key", name=op.f("pk_jobs_answer")),
    )
    op.create_index("ix_jobs_answer_hash", "jobs_answer", ["hash"], unique=False)
    op.create_table(
        "jobs_company",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("company_key", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("website", sa.Text(), nullable=True),
        sa.Column("site_key", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("size_category", sa.Text(), nullable=True),
        sa.Column("tier", sa.Text(), nullable=True),
        sa.Column("priority_score", sa.BigInteger(), nullable=True),
        sa.Column("job_board_url", sa.Text(), nullable=True),
        sa.Column("board_confidence", sa.Text(), nullable=True),
        sa.Column("item_id", sa.Uuid(), nullable=True),
        sa.Column("tracking_id", sa.Text(), nullable=False),
        sa.Column("spawn_depth", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("analyzed_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs_company")),
    )
    op.create_index("ix_jobs_company_site", "jobs_company", ["workspace", "site_key"], unique=False)
    op.create_index("ix_jobs_company_status", "jobs_company", ["status", "analyzed_at"], unique=False)
    op.create_index("uq_jobs_company_key", "jobs_company", ["workspace", "company_key"], unique=True)
    op.create_table(
        "jobs_crawl",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("source_id", sa.Uuid(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("reasons", sa.Text(), nullable=False),
        sa.Column("counts", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs_crawl")),
    )
    op.create_index("ix_jobs_crawl_source", "jobs_crawl", ["source_id", "finished_at"], unique=False)
    op.create_table(
        "jobs_host",
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("host", name=op.f("pk_jobs_host")),
    )
    op.create_table(
        "jobs_posting",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("posting_key", sa.Text(), nullable=False),
        sa.Column("source_id", sa.Uuid(), nullable=True),
        sa.Column("company_id", sa.Uuid(), nullable=True),
        sa.Column("opening_id", sa.Uuid(), nullable=True),
        sa.Column("item_id", sa.Uuid(), nullable=True),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("url_key", sa.Text(), nullable=True),
        sa.Column("title", sa.Text(), nullable=True),
        sa.Column("company_name", sa.Text(), nullable=True),
        sa.Column("company_key", sa.Text(), nullable=True),
        sa.Column("group_key", sa.Text(), nullable=True),
        sa.Column("location", sa.Text(), nullable=False),
        sa.Column("workplace", sa.Text(), nullable=False),
        sa.Column("annual_min", sa.BigInteger(), nullable=True),
        sa.Column("annual_max", sa.BigInteger(), nullable=True),
        sa.Column("currency", sa.Text(), nullable=True),
        sa.Column("posting", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("raw_ref", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("closed_reason", sa.Text(), nullable=True),
        sa.Column("first_seen", sa.BigInteger(), nullable=False),
        sa.Column("last_seen", sa.BigInteger(), nullable=False),
        sa.Column("seen_count", sa.BigInteger(), nullable=False),
        sa.Column("missed", sa.BigInteger(), nullable=False),
        sa.Column("missed_at", sa.BigInteger(), nullable=True),
        sa.Column("posted_at", sa.BigInteger(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("flag", sa.Text(), nullable=True),
        sa.Column("filter_result", sa.Text(), nullable=True),
        sa.Column("match_result", sa.Text(), nullable=True),
        sa.Column("score", sa.BigInteger(), nullable=True),
        sa.Column("priority", sa.Text(), nullable=True),
        sa.Column("profile_digest", sa.Text(), nullable=True),
        sa.Column("scored_at", sa.BigInteger(), nullable=True),
        sa.Column("matched_at", sa.BigInteger(), nullable=True),
        sa.Column("decision", sa.Text(), nullable=True),
        sa.Column("decided_by", sa.Text(), nullable=True),
        sa.Column("decided_at", sa.BigInteger(), nullable=True),
        sa.Column("decided_on", sa.Text(), nullable=True),
        sa.Column("digested_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs_posting")),
    )
    op.create_index("ix_jobs_posting_company", "jobs_posting", ["workspace", "company_key"], unique=False)
    op.create_index(
        "ix_jobs_posting_counts",
        "jobs_posting",
        ["workspace", "outcome", "state", "decision", "opening_id", "item_id"],
        unique=False,
    )
    op.create_index("ix_jobs_posting_group", "jobs_posting", ["workspace", "group_key"], unique=False)
    op.create_index("ix_jobs_posting_outcome", "jobs_posting", ["workspace", "outcome", "score", "id"], unique=False)
    op.create_index("ix_jobs_posting_profile", "jobs_posting", ["workspace", "profile_digest"], unique=False)
    op.create_index("ix_jobs_posting_raw", "jobs_posting", ["raw_ref"], unique=False)
    op.create_index("ix_jobs_posting_source", "jobs_posting", ["source_id", "state"], unique=False)
    op.create_index("ix_jobs_posting_url", "jobs_posting", ["workspace", "url_key"], unique=False)
    op.create_index("uq_jobs_posting_key", "jobs_posting", ["workspace", "posting_key"], unique=True)
    op.create_table(
        "jobs_profile",
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("profile", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("file_digest", sa.Text(), nullable=True),
        sa.Column("changed_by", sa.Text(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("digest_sent_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("workspace", name=op.f("pk_jobs_profile")),
    )
    op.create_table(
        "jobs_raw",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("stored_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_jobs_raw")),
    )
    op.create_table(
        "jobs_source",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("board_key", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("source_type", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("status_reason", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Text(), nullable=False),
        sa.Column("validation_required", sa.BigInteger(), nullable=False),
        sa.Column("company_id", sa.Uuid(), nullable=True),
        sa.Column("company_name", sa.Text(), nullable=False),
        sa.Column("discovered_via", sa.Text(), nullable=False),
        sa.Column("discovered_by", sa.Text(), nullable=False),
        sa.Column("discovered_at", sa.BigInteger(), nullable=False),
        sa.Column("consecutive_failures", sa.BigInteger(), nullable=False),
        sa.Column("gone", sa.BigInteger(), nullable=False),
        sa.Column("last_scraped_at", sa.BigInteger(), nullable=True),
        sa.Column("last_scraped_status", sa.Text(), nullable=True),
        sa.Column("next_crawl_at", sa.BigInteger(), nullable=True),
        sa.Column("preview", sa.Text(), nullable=False),
        sa.Column("item_id", sa.Uuid(), nullable=True),
        sa.Column("tracking_id", sa.Text(), nullable=False),
        sa.Column("spawn_depth", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs_source")),
    )
    op.create_index("ix_jobs_source_company", "jobs_source", ["company_id"], unique=False)
    op.create_index("ix_jobs_source_due", "jobs_source", ["status", "next_crawl_at"], unique=False)
    op.create_index("uq_jobs_source_board", "jobs_source", ["workspace", "board_key"], unique=True)
