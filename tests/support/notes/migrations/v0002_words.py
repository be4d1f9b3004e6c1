"""How often each word came up."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "notes_word",
        sa.Column("word", sa.Text(), nullable=False),
        sa.Column("times", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
        sa.Column("seal", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("word", name=op.f("pk_notes_word")),
    )
