"""The database says which tables are an application's."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "application_table",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("application", sa.Text(), nullable=False),
        sa.Column("columns", sa.Text(), nullable=False),
        sa.Column("personal", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_application_table")),
    )
