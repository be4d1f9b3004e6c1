"""Leases that ran out are found without reading all."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_index(
        "ix_lease_until",
        "lease",
        ["until"],
        unique=False,
        postgresql_where=sa.text("holder IS NOT NULL"),
        sqlite_where=sa.text("holder IS NOT NULL"),
    )
