"""A digest of what a source states of a posting beside its text, so that another value is noticed."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("jobs_posting", sa.Column("stated", sa.Text(), nullable=True))
