"""Checkpoints of the history, and the rows of purge as a chain.

A row of purge was one for each instance and kind, and could be written over; now each is a link, and stays.
"""

import hashlib
import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
BATCH = 1_000
COLUMNS = ("instance_id", "kind", "upto_seq", "last_hash", "export_digest", "actor", "reason", "at")


def upgrade() -> None:
    sqlite = op.get_bind().dialect.name == "sqlite"
    if sqlite:  # a renamed table would be renamed in them, too
        for name in ("purge_no_delete", "history_no_delete", "history_no_update"):
            op.execute(f"DROP TRIGGER {name}")
    else:
        op.execute("DROP TRIGGER purge_keep ON purge")
        op.execute("ALTER TABLE purge RENAME CONSTRAINT pk_purge TO pk_purge_before")
    op.rename_table("purge", "purge_before")
    _tables()
    _chain()
    op.drop_table("purge_before")
    for statement in SQLITE_TRIGGERS if sqlite else POSTGRES_TRIGGERS:
        op.execute(statement)


def _tables() -> None:
    op.create_table(
        "purge",
        sa.Column("no", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("instance_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("upto_seq", sa.BigInteger(), nullable=False),
        sa.Column("last_hash", sa.LargeBinary(), nullable=False),
        sa.Column("export_digest", sa.LargeBinary(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=True),
        sa.Column("seal", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("no", name=op.f("pk_purge")),
    )
    op.create_index("ix_purge_instance", "purge", ["instance_id", "kind"], unique=False)
    op.create_index("ix_action_at", "action", ["at"], unique=False)
    op.create_table(
        "checkpoint",
        sa.Column("no", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("leaves", sa.LargeBinary(), nullable=False),
        sa.Column("actions", sa.LargeBinary(), nullable=False),
        sa.Column("purges", sa.BigInteger(), nullable=False),
        sa.Column("purge_hash", sa.LargeBinary(), nullable=False),
        sa.Column("xact", sa.BigInteger(), nullable=False),
        sa.Column("pos", sa.BigInteger(), nullable=False),
        sa.Column("vouched", sa.BigInteger(), nullable=False),
        sa.Column("former", sa.Text(), nullable=True),
        sa.Column("before", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("mac", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("no", name=op.f("pk_checkpoint")),
    )


def _chain() -> None:
    """Number what there is by its age, and link it; the spelling is that of `engine/purges.py` at this revision."""
    conn = op.get_bind()
    kinds: dict[str, Any] = {"instance_id": sa.Uuid(), "hash": sa.LargeBinary()}
    kinds |= {"last_hash": sa.LargeBinary(), "export_digest": sa.LargeBinary()}
    old = sa.table("purge_before", *(sa.column(name, kinds.get(name)) for name in COLUMNS))
    names = ("no", *COLUMNS, "hash")
    new = sa.table("purge", *(sa.column(name, kinds.get(name)) for name in names))
    rows = iter(conn.execute(sa.select(old).order_by(old.c.at, old.c.instance_id, old.c.kind)).all())
    links = _links(rows)
    while batch := list(islice(links, BATCH)):
        conn.execute(sa.insert(new), batch)


def _links(rows: Iterator[Any]) -> Iterator[dict[str, Any]]:
    before = b""
    for no, row in enumerate(rows, 1):
        export = bytes(row.export_digest).hex() if row.export_digest is not None else None
        said = [
            no,
            row.kind,
            row.instance_id.hex,
            row.upto_seq,
            bytes(row.last_hash).hex(),
            export,
            row.actor,
            row.reason,
            row.at,
        ]
        before = hashlib.sha256(before + json.dumps(said, separators=(",", ":")).encode()).digest()
        yield {"no": no, **row._mapping, "hash": before}


SQLITE_TRIGGERS = (
    """
    CREATE TRIGGER history_no_delete BEFORE DELETE ON history
    WHEN NOT EXISTS (SELECT 1 FROM purge WHERE instance_id = OLD.instance_id AND kind = 'rows' AND upto_seq >= OLD.seq)
    BEGIN SELECT RAISE(ABORT, 'history is append-only: a row can go only after a purge row allows it'); END
    """,
    """
    CREATE TRIGGER history_no_update BEFORE UPDATE ON history
    WHEN NOT (
      NEW.payload IS NULL
      AND EXISTS (SELECT 1 FROM purge WHERE instance_id = OLD.instance_id AND kind = 'payloads' AND upto_seq >= OLD.seq)
      AND NEW.pos IS OLD.pos AND NEW.instance_id IS OLD.instance_id AND NEW.seq IS OLD.seq AND NEW.kind IS OLD.kind
      AND NEW.from_state IS OLD.from_state AND NEW.to_state IS OLD.to_state AND NEW.event IS OLD.event
      AND NEW.actor IS OLD.actor AND NEW.at IS OLD.at AND NEW.digest IS OLD.digest AND NEW.hash IS OLD.hash
      AND NEW.xact IS OLD.xact AND NEW.dwell IS OLD.dwell AND NEW.waited IS OLD.waited
    )
    BEGIN SELECT RAISE(ABORT, 'history is append-only: a row cannot be changed'); END
    """,
    """
    CREATE TRIGGER purge_no_delete BEFORE DELETE ON purge
    BEGIN SELECT RAISE(ABORT, 'purge rows are kept: they prove what was removed'); END
    """,
    """
    CREATE TRIGGER purge_no_update BEFORE UPDATE ON purge
    BEGIN SELECT RAISE(ABORT, 'purge rows are kept: they prove what was removed'); END
    """,
    """
    CREATE TRIGGER checkpoint_no_delete BEFORE DELETE ON checkpoint
    BEGIN SELECT RAISE(ABORT, 'checkpoints are kept: they prove what the history was'); END
    """,
    """
    CREATE TRIGGER checkpoint_no_update BEFORE UPDATE ON checkpoint
    BEGIN SELECT RAISE(ABORT, 'checkpoints are kept: they prove what the history was'); END
    """,
)
POSTGRES_TRIGGERS = (
    """
    CREATE TRIGGER purge_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON purge
    FOR EACH STATEMENT EXECUTE FUNCTION interlock_keep_purge()
    """,
    """
    CREATE FUNCTION interlock_keep_checkpoint() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'checkpoints are kept: they prove what the history was'; END $$
    """,
    """
    CREATE TRIGGER checkpoint_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON checkpoint
    FOR EACH STATEMENT EXECUTE FUNCTION interlock_keep_checkpoint()
    """,
)
