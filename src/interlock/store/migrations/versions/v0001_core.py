"""The first schema: instances, their history, and what stands beside them."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    _tables()
    if op.get_bind().dialect.name == "sqlite":
        for statement in SQLITE_TRIGGERS:
            op.execute(statement)
    else:
        for statement in POSTGRES_TRIGGERS:
            op.execute(statement)
        # Status flips leave dead rows behind quickly; the defaults would look after a fifth of the table has died.
        op.execute(
            "ALTER TABLE instance SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0, "
            "autovacuum_analyze_scale_factor = 0.02)"
        )


def _tables() -> None:
    op.create_table(
        "artifact",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_artifact")),
    )
    op.create_table(
        "artifact_ref",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("instance_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_artifact_ref")),
    )
    op.create_index("ix_artifact_ref_hash", "artifact_ref", ["hash"], unique=False)
    op.create_index("ix_artifact_ref_instance", "artifact_ref", ["instance_id", "name"], unique=False)
    op.create_table(
        "dead_letter",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("instance_id", sa.Uuid(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("machine", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("error_type", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("attempts", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("closed_at", sa.BigInteger(), nullable=True),
        sa.Column("closed_by", sa.Text(), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("retried_as", sa.Uuid(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dead_letter")),
    )
    op.create_index("ix_dead_letter_instance", "dead_letter", ["instance_id"], unique=False)
    op.create_index(
        "ix_dead_letter_open",
        "dead_letter",
        ["machine", "fingerprint"],
        unique=False,
        postgresql_where=sa.text("status = 'open'"),
        sqlite_where=sa.text("status = 'open'"),
    )
    op.create_table(
        "definition",
        sa.Column("machine", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("registered_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("machine", "version", name=op.f("pk_definition")),
        sa.UniqueConstraint("machine", "digest", name=op.f("uq_definition_machine_digest")),
    )
    op.create_table(
        "effect",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("instance_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("request_hash", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("sends", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("intended_at", sa.BigInteger(), nullable=False),
        sa.Column("sent_at", sa.BigInteger(), nullable=True),
        sa.Column("settled_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_effect")),
        sa.UniqueConstraint("key", name=op.f("uq_effect_key")),
    )
    op.create_index("ix_effect_instance", "effect", ["instance_id"], unique=False)
    op.create_table(
        "history",
        sa.Column(
            "pos",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            sa.Identity(always=False),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("instance_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("from_state", sa.Text(), nullable=True),
        sa.Column("to_state", sa.Text(), nullable=True),
        sa.Column("event", sa.Text(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=True),
        sa.Column("digest", sa.LargeBinary(), nullable=True),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("pos", name=op.f("pk_history")),
        sa.UniqueConstraint("instance_id", "seq", name=op.f("uq_history_instance_id_seq")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "instance",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("machine", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=True),
        sa.Column("unique_key", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("previous", sa.Text(), nullable=True),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("head", sa.LargeBinary(), nullable=False),
        sa.Column("data", sa.Text(), nullable=True),
        sa.Column("labels", sa.Text(), nullable=True),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("priority", sa.BigInteger(), nullable=False),
        sa.Column("wake", sa.Text(), nullable=True),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("due_event", sa.Text(), nullable=True),
        sa.Column("timer_at", sa.BigInteger(), nullable=True),
        sa.Column("timer_no", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("failures", sa.Text(), nullable=True),
        sa.Column("failed_step", sa.Text(), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("holder", sa.Uuid(), nullable=True),
        sa.Column("fence", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("claimed_at", sa.BigInteger(), nullable=True),
        sa.Column("blocked_on", sa.Text(), nullable=True),
        sa.Column("paused_at", sa.BigInteger(), nullable=True),
        sa.Column("paused_wake", sa.Text(), nullable=True),
        sa.Column("paused_due", sa.BigInteger(), nullable=True),
        sa.Column("parent", sa.Uuid(), nullable=True),
        sa.Column("root", sa.Uuid(), nullable=False),
        sa.Column("depth", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("entered_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_instance")),
    )
    op.create_index(
        "ix_instance_blocked",
        "instance",
        ["blocked_on", "priority", "due_at"],
        unique=False,
        postgresql_where=sa.text("wake = 'blocked'"),
        sqlite_where=sa.text("wake = 'blocked'"),
    )
    op.create_index(
        "ix_instance_due",
        "instance",
        ["wake", "due_at"],
        unique=False,
        postgresql_where=sa.text("wake IN ('lease', 'resume')"),
        sqlite_where=sa.text("wake IN ('lease', 'resume')"),
    )
    op.create_index(
        "ix_instance_holder",
        "instance",
        ["holder"],
        unique=False,
        postgresql_where=sa.text("holder IS NOT NULL"),
        sqlite_where=sa.text("holder IS NOT NULL"),
    )
    op.create_index(
        "ix_instance_parent",
        "instance",
        ["parent"],
        unique=False,
        postgresql_where=sa.text("parent IS NOT NULL"),
        sqlite_where=sa.text("parent IS NOT NULL"),
    )
    op.create_index(
        "ix_instance_ready",
        "instance",
        ["queue", "priority", "due_at"],
        unique=False,
        postgresql_where=sa.text("wake = 'work'"),
        sqlite_where=sa.text("wake = 'work'"),
    )
    op.create_index("ix_instance_root", "instance", ["root", "machine", "key"], unique=False)
    op.create_index("ix_instance_state", "instance", ["machine", "state", "id"], unique=False)
    op.create_index(
        "ix_instance_timer",
        "instance",
        ["timer_at"],
        unique=False,
        postgresql_where=sa.text("timer_at IS NOT NULL AND paused_at IS NULL"),
        sqlite_where=sa.text("timer_at IS NOT NULL AND paused_at IS NULL"),
    )
    op.create_index(
        "uq_instance_key",
        "instance",
        ["workspace", "machine", "unique_key"],
        unique=True,
        postgresql_where=sa.text("unique_key IS NOT NULL"),
        sqlite_where=sa.text("unique_key IS NOT NULL"),
    )
    op.create_table(
        "instance_data",
        sa.Column("instance_id", sa.Uuid(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("instance_id", name=op.f("pk_instance_data")),
    )
    op.create_table(
        "lease",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=True),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("taken_at", sa.BigInteger(), nullable=True),
        sa.Column("until", sa.BigInteger(), nullable=True),
        sa.Column("instance_id", sa.Uuid(), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_lease")),
    )
    op.create_table(
        "limit_key",
        sa.Column("key", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_limit_key")),
    )
    op.create_table(
        "limit_slot",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("instance_id", sa.Uuid(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", "instance_id", name=op.f("pk_limit_slot")),
    )
    op.create_index("ix_limit_slot_instance", "limit_slot", ["instance_id"], unique=False)
    op.create_table(
        "limit_use",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("instance_id", sa.Uuid(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_limit_use")),
    )
    op.create_index("ix_limit_use", "limit_use", ["key", "at"], unique=False)
    op.create_table(
        "outbox",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("instance_id", sa.Uuid(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("recipient", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
    )
    op.create_table(
        "progress",
        sa.Column("instance_id", sa.Uuid(), nullable=False),
        sa.Column("permille", sa.BigInteger(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("instance_id", name=op.f("pk_progress")),
    )
    op.create_table(
        "purge",
        sa.Column("instance_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("upto_seq", sa.BigInteger(), nullable=False),
        sa.Column("last_hash", sa.LargeBinary(), nullable=False),
        sa.Column("export_digest", sa.LargeBinary(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("instance_id", "kind", name=op.f("pk_purge")),
    )
    op.create_table(
        "review",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("instance_id", sa.Uuid(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("machine", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=True),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("form", sa.Text(), nullable=True),
        sa.Column("decisions", sa.Text(), nullable=False),
        sa.Column("settles", sa.Text(), nullable=True),
        sa.Column("evidence", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("claimed_by", sa.Text(), nullable=True),
        sa.Column("claimed_until", sa.BigInteger(), nullable=True),
        sa.Column("decision", sa.Text(), nullable=True),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("decided_by", sa.Text(), nullable=True),
        sa.Column("decided_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_review")),
    )
    op.create_index("ix_review_instance", "review", ["instance_id"], unique=False)
    op.create_index(
        "ix_review_open",
        "review",
        ["workspace", "due_at"],
        unique=False,
        postgresql_where=sa.text("status = 'open'"),
        sqlite_where=sa.text("status = 'open'"),
    )
    op.create_table(
        "worker",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.BigInteger(), nullable=False),
        sa.Column("queues", sa.Text(), nullable=False),
        sa.Column("lock_file", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("beats", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("clock_offset", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("beat_at", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_worker")),
    )
    op.create_index(
        "ix_worker_until",
        "worker",
        ["until"],
        unique=False,
        postgresql_where=sa.text("status IN ('alive', 'draining')"),
        sqlite_where=sa.text("status IN ('alive', 'draining')"),
    )


# History is append-only. `INSERT OR REPLACE` would pass a delete trigger, hence the one before inserts. A row of
# `purge` is the only leave to remove rows, or to empty payloads: the hash covers the payload's digest, not itself.
SQLITE_TRIGGERS = (
    """
    CREATE TRIGGER history_no_replace BEFORE INSERT ON history
    WHEN EXISTS (SELECT 1 FROM history WHERE instance_id = NEW.instance_id AND seq = NEW.seq)
      OR EXISTS (SELECT 1 FROM history WHERE pos = NEW.pos)
    BEGIN SELECT RAISE(ABORT, 'history is append-only: this row exists'); END
    """,
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
    )
    BEGIN SELECT RAISE(ABORT, 'history is append-only: a row cannot be changed'); END
    """,
    """
    CREATE TRIGGER purge_no_delete BEFORE DELETE ON purge
    BEGIN SELECT RAISE(ABORT, 'purge rows are kept: they prove what was removed'); END
    """,
)
POSTGRES_TRIGGERS = (
    """
    CREATE FUNCTION interlock_keep_history() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'TRUNCATE' THEN
        RAISE EXCEPTION 'history is append-only: it cannot be truncated';
      ELSIF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT 1 FROM purge p WHERE p.instance_id = OLD.instance_id AND p.kind = 'rows'
                   AND p.upto_seq >= OLD.seq) THEN
          RETURN OLD;
        END IF;
        RAISE EXCEPTION 'history is append-only: a row can go only after a purge row allows it';
      END IF;
      IF NEW.payload IS NULL
        AND EXISTS (SELECT 1 FROM purge p WHERE p.instance_id = OLD.instance_id AND p.kind = 'payloads'
                    AND p.upto_seq >= OLD.seq)
        AND (NEW.pos, NEW.instance_id, NEW.seq, NEW.kind, NEW.from_state, NEW.to_state, NEW.event, NEW.actor, NEW.at,
             NEW.digest, NEW.hash)
          IS NOT DISTINCT FROM
            (OLD.pos, OLD.instance_id, OLD.seq, OLD.kind, OLD.from_state, OLD.to_state, OLD.event, OLD.actor, OLD.at,
             OLD.digest, OLD.hash)
      THEN
        RETURN NEW;
      END IF;
      RAISE EXCEPTION 'history is append-only: a row cannot be changed';
    END $$
    """,
    """
    CREATE TRIGGER history_keep BEFORE UPDATE OR DELETE ON history
    FOR EACH ROW EXECUTE FUNCTION interlock_keep_history()
    """,
    """
    CREATE TRIGGER history_no_truncate BEFORE TRUNCATE ON history
    FOR EACH STATEMENT EXECUTE FUNCTION interlock_keep_history()
    """,
    """
    CREATE FUNCTION interlock_keep_purge() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'purge rows are kept: they prove what was removed'; END $$
    """,
    """
    CREATE TRIGGER purge_keep BEFORE DELETE OR TRUNCATE ON purge
    FOR EACH STATEMENT EXECUTE FUNCTION interlock_keep_purge()
    """,
)
