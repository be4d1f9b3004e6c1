"""Claims in place: a lease that touches no index, and the rows that list such claims."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.create_table(
        "claim_batch",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("worker", sa.Uuid(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("ids", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_claim_batch")),
    )
    # Not in a batch, which would copy the table: both databases add a column without reading a row.
    op.add_column("instance", sa.Column("taken_by", sa.Uuid(), nullable=True))
    op.add_column("instance", sa.Column("taken_until", sa.BigInteger(), nullable=True))
    op.add_column("worker", sa.Column("in_place", sa.BigInteger(), nullable=False, server_default=sa.text("0")))
    if op.get_bind().dialect.name == "postgresql":
        # Room for the version that a claim writes beside the one before. Pages that are full already stay as they are.
        op.execute("ALTER TABLE instance SET (fillfactor = 50)")
