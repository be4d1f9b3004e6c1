"""Costs of model calls by day, filled from the calls that are there."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

SUMS = """
INSERT INTO ai_cost (workspace, day, machine, task, model, calls, cached, failed, input_tokens, output_tokens, cost,
                     unpriced)
SELECT {workspace}, c.at - c.at % 86400000000, COALESCE(i.machine, ''), c.task, c.model, COUNT(*), SUM(c.cached),
       SUM(CASE WHEN c.error_type IS NULL THEN 0 ELSE 1 END), SUM(COALESCE(c.input_tokens, 0)),
       SUM(COALESCE(c.output_tokens, 0)), SUM(COALESCE(c.cost, 0)), SUM(CASE WHEN c.cost IS NULL THEN 1 ELSE 0 END)
FROM ai_call c LEFT JOIN instance i ON i.id = c.instance_id
GROUP BY {group} c.at - c.at % 86400000000, COALESCE(i.machine, ''), c.task, c.model
"""


def upgrade() -> None:
    op.create_table(
        "ai_cost",
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("day", sa.BigInteger(), nullable=False),
        sa.Column("machine", sa.Text(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("cached", sa.BigInteger(), nullable=False),
        sa.Column("failed", sa.BigInteger(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost", sa.BigInteger(), nullable=False),
        sa.Column("unpriced", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("workspace", "day", "machine", "task", "model", name=op.f("pk_ai_cost")),
    )
    op.execute(SUMS.format(workspace="c.workspace", group="c.workspace,"))
    op.execute(SUMS.format(workspace="''", group=""))
