"""The service around the engine: people, messages, schedules, and what is watched."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    _tables()
    _outbox()
    _history()


def _tables() -> None:
    op.create_table(
        "action",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("details", sa.Text(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_action")),
    )
    op.create_table(
        "alert",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=True),
        sa.Column("machine", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("sentence", sa.Text(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("threshold", sa.Double(), nullable=False),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.Column("notified_at", sa.BigInteger(), nullable=True),
        sa.Column("notices", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("acknowledged_at", sa.BigInteger(), nullable=True),
        sa.Column("acknowledged_by", sa.Text(), nullable=True),
        sa.Column("closed_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert")),
    )
    op.create_index(
        "ix_alert_open",
        "alert",
        ["rule"],
        unique=False,
        postgresql_where=sa.text("status = 'open'"),
        sqlite_where=sa.text("status = 'open'"),
    )
    op.create_table(
        "alert_rule",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_alert_rule")),
    )
    op.create_table(
        "bulk",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=True),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("filter", sa.Text(), nullable=False),
        sa.Column("arguments", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("done", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("refused", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("problems", sa.Text(), nullable=True),
        sa.Column("after_id", sa.Uuid(), nullable=True),
        sa.Column("upto_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bulk")),
    )
    op.create_index(
        "ix_bulk_running",
        "bulk",
        ["created_at"],
        unique=False,
        postgresql_where=sa.text("status = 'running'"),
        sqlite_where=sa.text("status = 'running'"),
    )
    op.create_table(
        "cursor",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("xact", sa.BigInteger(), nullable=False),
        sa.Column("pos", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_cursor")),
    )
    op.create_table(
        "delivery",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("outbox_id", sa.Uuid(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("took", sa.BigInteger(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery")),
    )
    op.create_index("ix_delivery_outbox", "delivery", ["outbox_id"], unique=False)
    op.create_table(
        "halt",
        sa.Column("machine", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("machine", name=op.f("pk_halt")),
    )
    op.create_table(
        "idempotency",
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("status", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("who", "key", name=op.f("pk_idempotency")),
    )
    op.create_index("ix_idempotency_at", "idempotency", ["at"], unique=False)
    op.create_table(
        "login_attempt",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_login_attempt")),
    )
    op.create_index("ix_login_attempt_address", "login_attempt", ["address", "at"], unique=False)
    op.create_index("ix_login_attempt_name", "login_attempt", ["name", "at"], unique=False)
    op.create_table(
        "login_link",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Uuid(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_login_link")),
    )
    op.create_table(
        "login_session",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("browser", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_login_session")),
    )
    op.create_index("ix_login_session_person", "login_session", ["person_id"], unique=False)
    op.create_table(
        "membership",
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Uuid(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("workspace", "person_id", name=op.f("pk_membership")),
    )
    op.create_index("ix_membership_person", "membership", ["person_id"], unique=False)
    op.create_table(
        "person",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=True),
        sa.Column("password", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("disabled_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_person")),
        sa.UniqueConstraint("name", name=op.f("uq_person_name")),
    )
    op.create_table(
        "rollup",
        sa.Column("span", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("machine", sa.Text(), nullable=False),
        sa.Column("measure", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("worst", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "span", "at", "workspace", "machine", "measure", "state", "size", name=op.f("pk_rollup")
        ),
    )
    op.create_table(
        "schedule",
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("machine", sa.Text(), nullable=False),
        sa.Column("cron", sa.Text(), nullable=False),
        sa.Column("zone", sa.Text(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("labels", sa.Text(), nullable=True),
        sa.Column("priority", sa.BigInteger(), nullable=False),
        sa.Column("overlap", sa.Text(), nullable=False),
        sa.Column("missed", sa.Text(), nullable=False),
        sa.Column("paused_at", sa.BigInteger(), nullable=True),
        sa.Column("paused_by", sa.Text(), nullable=True),
        sa.Column("next_at", sa.BigInteger(), nullable=True),
        sa.Column("last_at", sa.BigInteger(), nullable=True),
        sa.Column("last_instance", sa.Uuid(), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("runs", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("workspace", "name", name=op.f("pk_schedule")),
    )
    op.create_index(
        "ix_schedule_next",
        "schedule",
        ["next_at"],
        unique=False,
        postgresql_where=sa.text("paused_at IS NULL"),
        sqlite_where=sa.text("paused_at IS NULL"),
    )
    op.create_table(
        "state_count",
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("machine", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("workspace", "machine", "state", name=op.f("pk_state_count")),
    )
    op.create_table(
        "token",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Uuid(), nullable=True),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("hint", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=True),
        sa.Column("until", sa.BigInteger(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_by", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_token")),
        sa.UniqueConstraint("hash", name=op.f("uq_token_hash")),
    )
    op.create_index("ix_token_workspace", "token", ["workspace"], unique=False)
    op.create_table(
        "workspace",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_workspace")),
    )


def _outbox() -> None:
    """A message may come from elsewhere than an instance, and is tried until it is delivered."""
    with op.batch_alter_table("outbox") as table:
        table.add_column(sa.Column("workspace", sa.Text(), nullable=True))
        table.add_column(sa.Column("attempts", sa.BigInteger(), server_default=sa.text("0"), nullable=False))
        table.add_column(sa.Column("due_at", sa.BigInteger(), nullable=True))
        table.add_column(sa.Column("settled_at", sa.BigInteger(), nullable=True))
        table.add_column(sa.Column("last_error", sa.Text(), nullable=True))
        table.alter_column("instance_id", existing_type=sa.Uuid(), nullable=True)
    op.create_index("ix_instance_workspace", "instance", ["workspace", "id"])
    op.execute(
        "UPDATE outbox SET due_at = at, "
        "workspace = (SELECT i.workspace FROM instance i WHERE i.id = outbox.instance_id)"
    )
    op.create_index("ix_outbox_instance", "outbox", ["instance_id"])
    op.create_index("ix_outbox_status", "outbox", ["status", "id"])
    waiting = sa.text("status = 'waiting'")
    op.create_index("ix_outbox_waiting", "outbox", ["due_at"], postgresql_where=waiting, sqlite_where=waiting)


def _history() -> None:
    # With a constant first: PostgreSQL then adds the column without rewriting every row.
    op.add_column("history", sa.Column("xact", sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.add_column("history", sa.Column("dwell", sa.BigInteger(), nullable=True))
    op.add_column("history", sa.Column("waited", sa.BigInteger(), nullable=True))
    op.create_index("ix_history_feed", "history", ["xact", "pos"], sqlite_where=sa.text("xact > 0"))
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TRIGGER history_no_update")
        op.execute(SQLITE_TRIGGER)
    else:
        op.execute("ALTER TABLE history ALTER COLUMN xact SET DEFAULT ((pg_current_xact_id())::text)::bigint")
        op.execute(POSTGRES_FUNCTION)


SQLITE_TRIGGER = """
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
"""
POSTGRES_FUNCTION = """
CREATE OR REPLACE FUNCTION interlock_keep_history() RETURNS trigger LANGUAGE plpgsql AS $$
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
         NEW.digest, NEW.hash, NEW.xact, NEW.dwell, NEW.waited)
      IS NOT DISTINCT FROM
        (OLD.pos, OLD.instance_id, OLD.seq, OLD.kind, OLD.from_state, OLD.to_state, OLD.event, OLD.actor, OLD.at,
         OLD.digest, OLD.hash, OLD.xact, OLD.dwell, OLD.waited)
  THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'history is append-only: a row cannot be changed';
END $$
"""
