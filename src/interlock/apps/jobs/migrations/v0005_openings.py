"""An index of the postings that repeat an opening."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_index(
        "ix_jobs_posting_opening",
        "jobs_posting",
        ["opening_id"],
        unique=False,
        postgresql_where=sa.text("opening_id IS NOT NULL"),
        sqlite_where=sa.text("opening_id IS NOT NULL"),
    )
