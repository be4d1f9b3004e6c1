"""A running handler asks a person: whose question it is, what is decided at its deadline, why it was closed."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
WAITING = sa.text("status = 'open' AND fallback IS NOT NULL")


def upgrade() -> None:
    for name in ("visit", "fallback", "closed_reason"):
        op.add_column("review", sa.Column(name, sa.Text(), nullable=True))
    op.create_index(
        "ix_review_fallback", "review", ["due_at"], unique=False, postgresql_where=WAITING, sqlite_where=WAITING
    )
