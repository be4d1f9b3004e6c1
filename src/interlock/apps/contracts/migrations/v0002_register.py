"""The register of contracts: what lists, search, calendar and reminders need without opening documents."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "contract_record",
        sa.Column("instance_id", sa.Uuid(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("filename", sa.Text(), nullable=False),
        sa.Column("parties", sa.Text(), nullable=False),
        sa.Column("law", sa.Text(), nullable=False),
        sa.Column("term", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("ends", sa.Text(), nullable=True),
        sa.Column("notice", sa.Text(), nullable=False),
        sa.Column("renewal", sa.Text(), nullable=False),
        sa.Column("basis", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("instance_id", name=op.f("pk_contract_record")),
    )
    op.create_index("ix_contract_record_ends", "contract_record", ["workspace", "ends"], unique=False)
    op.create_table(
        "contract_text",
        sa.Column("instance_id", sa.Uuid(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("folded", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("instance_id", name=op.f("pk_contract_text")),
    )
    op.create_table(
        "contract_reminder",
        sa.Column("instance_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("day", sa.Text(), nullable=False),
        sa.Column("days_before", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("instance_id", "kind", "day", "days_before", name=op.f("pk_contract_reminder")),
    )
    op.create_table(
        "contract_feed",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_contract_feed")),
    )
    op.create_index("uq_contract_feed_person", "contract_feed", ["workspace", "person"], unique=True)
