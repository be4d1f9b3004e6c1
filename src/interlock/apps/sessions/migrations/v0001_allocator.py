"""The allocator of sandboxes, and what each loan holds."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "sandbox_pool",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("free", sa.BigInteger(), nullable=False),
        sa.Column("borrowed", sa.BigInteger(), nullable=False),
        sa.Column("in_return", sa.BigInteger(), nullable=False),
        sa.Column("quarantined", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("free + borrowed + in_return + quarantined = total", name=op.f("ck_sandbox_pool_conserved")),
        sa.CheckConstraint(
            "free >= 0 AND borrowed >= 0 AND in_return >= 0 AND quarantined >= 0", name=op.f("ck_sandbox_pool_counts")
        ),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_sandbox_pool")),
    )
    op.create_table(
        "sandbox_item",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("slot", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("borrow_id", sa.Uuid(), nullable=True),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "state IN ('free', 'borrowed', 'in_return', 'quarantined')", name=op.f("ck_sandbox_item_state")
        ),
        sa.CheckConstraint("state <> 'free' OR borrow_id IS NULL", name=op.f("ck_sandbox_item_free")),
        sa.CheckConstraint(
            "state NOT IN ('borrowed', 'in_return') OR borrow_id IS NOT NULL", name=op.f("ck_sandbox_item_borrowed")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sandbox_item")),
        sa.UniqueConstraint("borrow_id", name=op.f("uq_sandbox_item_borrow_id")),
        sa.UniqueConstraint("pool", "slot", name=op.f("uq_sandbox_item_pool_slot")),
    )
    op.create_index("ix_sandbox_item_free", "sandbox_item", ["pool", "state", "since"], unique=False)
    op.create_index("ix_sandbox_item_digest", "sandbox_item", ["digest"], unique=False)
    op.create_table(
        "sandbox_borrow",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("item_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("borrower", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("operation_id", sa.Uuid(), nullable=True),
        sa.Column("borrowed_at", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sandbox_borrow")),
        sa.UniqueConstraint("key", name=op.f("uq_sandbox_borrow_key")),
        sa.UniqueConstraint("token", name=op.f("uq_sandbox_borrow_token")),
    )
    op.create_index("ix_sandbox_borrow_status", "sandbox_borrow", ["status", "until"], unique=False)
    op.create_table(
        "sandbox_operation",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("params", sa.Text(), nullable=False),
        sa.Column("item_id", sa.Uuid(), nullable=True),
        sa.Column("borrow_id", sa.Uuid(), nullable=True),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sandbox_operation")),
    )
    op.create_index("ix_sandbox_operation_due", "sandbox_operation", ["status", "due_at"], unique=False)
    op.create_table(
        "sandbox_notice",
        sa.Column("operation_id", sa.Uuid(), nullable=False),
        sa.Column("subscriber", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("remote_id", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("operation_id", "subscriber", name=op.f("pk_sandbox_notice")),
    )
    op.create_table(
        "sandbox_event",
        sa.Column("operation_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("operation_id", "seq", name=op.f("pk_sandbox_event")),
    )
    op.create_table(
        "sandbox_waiter",
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("pool", "key", name=op.f("pk_sandbox_waiter")),
    )
    op.create_table(
        "sandbox_loan",
        sa.Column("loan_id", sa.Uuid(), nullable=False),
        sa.Column("allocator", sa.Text(), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=True),
        sa.Column("item", sa.Text(), nullable=True),
        sa.Column("token", sa.Text(), nullable=True),
        sa.Column("lent_at", sa.BigInteger(), nullable=False),
        sa.Column("renewed_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("loan_id", name=op.f("pk_sandbox_loan")),
    )
    op.create_index("ix_sandbox_loan_open", "sandbox_loan", ["ended_at", "loan_id"], unique=False)
    op.create_table(
        "sandbox_drift",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("whose", sa.Text(), nullable=False),
        sa.Column("sentence", sa.Text(), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=True),
        sa.Column("loan_id", sa.Uuid(), nullable=True),
        sa.Column("first_seen", sa.BigInteger(), nullable=False),
        sa.Column("last_seen", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_sandbox_drift")),
    )
