"""Jobs are found by board, number and tag."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "job_index",
        sa.Column("instance_id", sa.Uuid(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("board", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("instance_id", name=op.f("pk_job_index")),
    )
    op.create_index("ix_job_index_board", "job_index", ["workspace", "board", "instance_id"], unique=False)
    op.create_index("ix_job_index_job_id", "job_index", ["workspace", "job_id", "instance_id"], unique=False)
    op.create_table(
        "job_tag",
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("tag", sa.Text(), nullable=False),
        sa.Column("instance_id", sa.Uuid(), nullable=False),
        sa.PrimaryKeyConstraint("workspace", "tag", "instance_id", name=op.f("pk_job_tag")),
    )
    op.create_index("ix_job_tag_instance", "job_tag", ["instance_id"], unique=False)
