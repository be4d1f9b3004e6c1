"""Effects that nobody knows the end of are found, and an instance that continues another sends under its own fence."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
UNSETTLED = sa.text("status IN ('sent', 'unknown') AND asked_at IS NULL")


def upgrade() -> None:
    op.add_column("effect", sa.Column("sender", sa.Uuid(), nullable=True))
    op.add_column("effect", sa.Column("asks", sa.BigInteger(), nullable=False, server_default=sa.text("1")))
    op.add_column("effect", sa.Column("asked_at", sa.BigInteger(), nullable=True))
    op.add_column("dead_letter", sa.Column("seq", sa.BigInteger(), nullable=True))
    # A model is asked again, not a person; and what somebody is asked about already is not asked twice.
    op.execute("UPDATE effect SET asks = 0 WHERE kind = 'ai_call'")
    op.execute(
        "UPDATE effect SET asked_at = COALESCE(sent_at, intended_at) WHERE status = 'unknown' AND ("
        "EXISTS (SELECT 1 FROM review WHERE review.instance_id = effect.instance_id AND review.status = 'open') OR "
        "EXISTS (SELECT 1 FROM dead_letter WHERE dead_letter.instance_id = effect.instance_id "
        "AND dead_letter.status = 'open'))"
    )
    op.create_index(
        "ix_effect_unsettled", "effect", ["sent_at"], unique=False, postgresql_where=UNSETTLED, sqlite_where=UNSETTLED
    )
