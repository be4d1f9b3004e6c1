"""The ledger of payments."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "expenses_payment",
        sa.Column("instance_id", sa.Uuid(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("employee", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("cents", sa.BigInteger(), nullable=False),
        sa.Column("paid_at", sa.BigInteger(), nullable=False),
        sa.Column("audit", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("instance_id", name="pk_expenses_payment"),
    )
    op.create_index("ix_expenses_payment_audit", "expenses_payment", ["audit", "paid_at"])
