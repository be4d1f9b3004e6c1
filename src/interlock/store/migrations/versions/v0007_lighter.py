"""Fewer entries of indexes for each claim and each move.

What a worker holds is found by the index on due times, and an instance without a parent is its own root.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
DUE, CHILD = sa.text("wake IN ('lease', 'resume')"), sa.text("parent IS NOT NULL")


def upgrade() -> None:
    op.drop_index("ix_instance_holder", table_name="instance")
    for name, columns, which in (
        ("ix_instance_due", ["wake", "due_at", "holder"], DUE),
        ("ix_instance_root", ["root", "machine", "key"], CHILD),
    ):
        op.drop_index(name, table_name="instance")
        op.create_index(name, "instance", columns, unique=False, postgresql_where=which, sqlite_where=which)
