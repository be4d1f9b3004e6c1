"""Whom an alert has notified: the rule and the configuration may change afterwards."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("alert", sa.Column("notified", sa.Text(), nullable=True))
