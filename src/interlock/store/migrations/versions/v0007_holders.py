"""What a worker holds is found by the index on due times; one of its own cost each claim."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
DUE = sa.text("wake IN ('lease', 'resume')")


def upgrade() -> None:
    op.drop_index("ix_instance_holder", table_name="instance")
    op.drop_index("ix_instance_due", table_name="instance")
    op.create_index(
        "ix_instance_due",
        "instance",
        ["wake", "due_at", "holder"],
        unique=False,
        postgresql_where=DUE,
        sqlite_where=DUE,
    )
