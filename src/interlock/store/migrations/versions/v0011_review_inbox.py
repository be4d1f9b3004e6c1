"""Who is to decide a review, and until when it was put aside."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    for name in ("assigned_to", "snoozed_by"):
        op.add_column("review", sa.Column(name, sa.Text(), nullable=True))
    op.add_column("review", sa.Column("snoozed_until", sa.BigInteger(), nullable=True))
