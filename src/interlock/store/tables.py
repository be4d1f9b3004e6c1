"""The tables, named for what a row means. Moments are microseconds (UTC), JSON is text: equal on both databases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID, SafeUUID

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


class Id(sa.Uuid[UUID]):
    """A UUID. On SQLite it is read without UUID's own parsing, which takes four times as long (2.3 against 0.6 µs)."""

    cache_ok = True

    def result_processor(self, dialect: sa.Dialect, coltype: object) -> Callable[[Any], Any] | None:
        return _read_id if dialect.name == "sqlite" else None  # psycopg gives UUIDs by itself


def _read_id(text: str | None) -> UUID | None:
    if text is None:
        return None
    made = object.__new__(UUID)
    object.__setattr__(made, "int", int(text, 16))
    object.__setattr__(made, "is_safe", SafeUUID.unknown)
    return made


def _id(name: str = "id", *, null: bool = False, primary: bool = False) -> sa.Column[object]:
    return sa.Column(name, Id, primary_key=primary, nullable=null)


def _text(name: str, *, null: bool = False, primary: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.Text, nullable=null, primary_key=primary)


def _at(name: str, *, null: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.BigInteger, nullable=null)


def _number(name: str, *, null: bool = False, default: int | None = None) -> sa.Column[object]:
    return sa.Column(
        name, sa.BigInteger, nullable=null, server_default=None if default is None else sa.text(str(default))
    )


def _bytes(name: str, *, null: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.LargeBinary, nullable=null)


# The present of each instance.
instance = sa.Table(
    "instance",
    metadata,
    _id(primary=True),
    _text("machine"),
    _number("version"),
    _text("workspace"),
    _text("key", null=True),
    _text("unique_key", null=True),  # the key while it is taken; null once it is free again
    _text("state"),
    _text("previous", null=True),
    _number("seq"),
    _bytes("head"),  # hash of the last history row
    _text("data", null=True),  # null when it lies beside the row, in instance_data
    _text("labels", null=True),
    _text("queue"),
    _number("priority"),
    _text("wake", null=True),  # what due_at means: work, lease, resume, blocked
    _at("due_at", null=True),
    _text("due_event", null=True),  # what the system fires when a resume is due
    _at("timer_at", null=True),  # the state's next timer or reminder
    _number("timer_no", default=0),
    _text("failures", null=True),  # counters per step and rule
    _text("failed_step", null=True),
    _text("last_error", null=True),
    _id("holder", null=True),
    _number("fence", default=0),
    _at("claimed_at", null=True),
    _text("blocked_on", null=True),
    _at("paused_at", null=True),
    _text("held_wake", null=True),  # wake and due_at from before the pause
    _at("held_due", null=True),
    _id("parent", null=True),
    _id("root"),
    _number("depth", default=0),
    _text("trace_id"),
    _at("created_at"),
    _at("entered_at"),
    _at("updated_at"),
    _at("finished_at", null=True),
)
# Ready and future work: a claim probes each queue and priority by its oldest row.
sa.Index(
    "ix_instance_ready",
    instance.c.queue,
    instance.c.priority,
    instance.c.due_at,
    postgresql_where=sa.text("wake = 'work'"),
    sqlite_where=sa.text("wake = 'work'"),
)
sa.Index(
    "ix_instance_due",
    instance.c.wake,
    instance.c.due_at,
    postgresql_where=sa.text("wake IN ('lease', 'resume')"),
    sqlite_where=sa.text("wake IN ('lease', 'resume')"),
)
sa.Index(
    "ix_instance_timer",
    instance.c.timer_at,
    postgresql_where=sa.text("timer_at IS NOT NULL AND paused_at IS NULL"),
    sqlite_where=sa.text("timer_at IS NOT NULL AND paused_at IS NULL"),
)
sa.Index(
    "ix_instance_holder",
    instance.c.holder,
    postgresql_where=sa.text("holder IS NOT NULL"),
    sqlite_where=sa.text("holder IS NOT NULL"),
)
sa.Index(
    "ix_instance_blocked",
    instance.c.blocked_on,
    instance.c.priority,
    instance.c.due_at,
    postgresql_where=sa.text("wake = 'blocked'"),
    sqlite_where=sa.text("wake = 'blocked'"),
)
sa.Index(
    "uq_instance_key",
    instance.c.workspace,
    instance.c.machine,
    instance.c.unique_key,
    unique=True,
    postgresql_where=sa.text("unique_key IS NOT NULL"),
    sqlite_where=sa.text("unique_key IS NOT NULL"),
)
sa.Index("ix_instance_root", instance.c.root, instance.c.machine, instance.c.key)
sa.Index(
    "ix_instance_parent",
    instance.c.parent,
    postgresql_where=sa.text("parent IS NOT NULL"),
    sqlite_where=sa.text("parent IS NOT NULL"),
)
sa.Index("ix_instance_state", instance.c.machine, instance.c.state, instance.c.id)

# Data too big to be written again with each move: in the row it halves the rate.
instance_data = sa.Table("instance_data", metadata, _id("instance_id", primary=True), _text("data"))

# The past: append-only by triggers, hash-chained per instance.
history = sa.Table(
    "history",
    metadata,
    sa.Column(
        "pos", sa.BigInteger().with_variant(sa.Integer, "sqlite"), sa.Identity(), primary_key=True, autoincrement=True
    ),
    _id("instance_id"),
    _number("seq"),
    _text("kind"),
    _text("from_state", null=True),
    _text("to_state", null=True),
    _text("event", null=True),
    _text("actor"),
    _at("at"),
    _text("payload", null=True),  # null with a digest: erased
    _bytes("digest", null=True),
    _bytes("hash"),
    sa.UniqueConstraint("instance_id", "seq"),
    sqlite_autoincrement=True,
)

# Leave to remove history rows (up to a seq) or their payloads, with what stays provable.
purge = sa.Table(
    "purge",
    metadata,
    _id("instance_id", primary=True),
    _text("kind", primary=True),  # rows: rows may go; payloads: payloads may be emptied
    _number("upto_seq"),
    _bytes("last_hash"),
    _bytes("export_digest", null=True),
    _text("actor"),
    _text("reason"),
    _at("at"),
)

# The life cycles that instances were started with.
definition = sa.Table(
    "definition",
    metadata,
    _text("machine", primary=True),
    sa.Column("version", sa.BigInteger, primary_key=True, autoincrement=False),
    _text("digest"),
    _text("spec"),
    _at("registered_at"),
    sa.UniqueConstraint("machine", "digest"),
)

# Things that left the house, or are about to.
effect = sa.Table(
    "effect",
    metadata,
    _id(primary=True),
    _id("instance_id"),
    _text("kind"),
    _text("key"),
    _text("request_hash"),
    _text("status"),  # intended, sent, confirmed, failed, unknown
    _text("step"),
    _number("fence"),
    _number("sends", default=0),
    _text("answer", null=True),
    _text("error", null=True),
    _at("intended_at"),
    _at("sent_at", null=True),
    _at("settled_at", null=True),
    sa.UniqueConstraint("key"),
    sa.Index("ix_effect_instance", "instance_id"),
)

# Questions to people.
review = sa.Table(
    "review",
    metadata,
    _id(primary=True),
    _id("instance_id"),
    _text("workspace"),
    _text("machine"),
    _text("name"),
    _text("title"),
    _text("state", null=True),  # the waiting state that opened it; null when it stands beside the state
    _text("role"),
    _text("form", null=True),
    _text("decisions"),
    _text("settles", null=True),
    _text("evidence", null=True),
    _text("status"),  # open, decided, closed
    _at("opened_at"),
    _at("due_at", null=True),
    _text("claimed_by", null=True),
    _at("claimed_until", null=True),
    _text("decision", null=True),
    _text("answer", null=True),
    _text("decided_by", null=True),
    _at("decided_at", null=True),
)
sa.Index("ix_review_instance", review.c.instance_id)
sa.Index(
    "ix_review_open",
    review.c.workspace,
    review.c.due_at,
    postgresql_where=sa.text("status = 'open'"),
    sqlite_where=sa.text("status = 'open'"),
)

# Work that failed for good, until somebody looks at it.
dead_letter = sa.Table(
    "dead_letter",
    metadata,
    _id(primary=True),
    _id("instance_id"),
    _text("workspace"),
    _text("machine"),
    _text("state"),
    _text("step"),
    _text("error_type"),
    _text("error"),
    _text("fingerprint"),
    _number("attempts"),
    _text("data"),
    _text("status"),  # open, retried, resolved, discarded
    _at("at"),
    _at("closed_at", null=True),
    _text("closed_by", null=True),
    _text("note", null=True),
    _id("retried_as", null=True),
)
sa.Index("ix_dead_letter_instance", dead_letter.c.instance_id)
sa.Index(
    "ix_dead_letter_open",
    dead_letter.c.machine,
    dead_letter.c.fingerprint,
    postgresql_where=sa.text("status = 'open'"),
    sqlite_where=sa.text("status = 'open'"),
)

# Named resources that one holder has at a time. A free one keeps its row, so that its fence only grows.
lease = sa.Table(
    "lease",
    metadata,
    _text("name", primary=True),
    _text("holder", null=True),
    _number("fence"),
    _at("taken_at", null=True),
    _at("until", null=True),
    _id("instance_id", null=True),
)

# One row a limit key, to be locked; its uses in a window; the instances that hold a slot of it.
limit_key = sa.Table("limit_key", metadata, _text("key", primary=True))
limit_use = sa.Table(
    "limit_use",
    metadata,
    _id(primary=True),
    _text("key"),
    _at("at"),
    _id("instance_id"),
    sa.Index("ix_limit_use", "key", "at"),
)
limit_slot = sa.Table(
    "limit_slot",
    metadata,
    _text("key", primary=True),
    _id("instance_id", primary=True),
    _at("at"),
    sa.Index("ix_limit_slot_instance", "instance_id"),
)

# Processes that do work. A new row at each start.
worker = sa.Table(
    "worker",
    metadata,
    _id(primary=True),
    _text("host"),
    _number("pid"),
    _text("queues"),
    _text("lock_file", null=True),
    _text("status"),  # alive, draining, stopped, lost
    _number("beats", default=0),
    _number("clock_offset", default=0),
    _at("started_at"),
    _at("beat_at"),
    _at("until"),
)
sa.Index(
    "ix_worker_until",
    worker.c.until,
    postgresql_where=sa.text("status IN ('alive', 'draining')"),
    sqlite_where=sa.text("status IN ('alive', 'draining')"),
)

# How far a running handler is.
progress = sa.Table(
    "progress", metadata, _id("instance_id", primary=True), _number("permille"), _text("message"), _at("at")
)

# Messages to deliver after the commit.
outbox = sa.Table(
    "outbox",
    metadata,
    _id(primary=True),
    _id("instance_id"),
    _text("channel"),
    _text("recipient"),
    _text("subject"),
    _text("body"),
    _text("status"),  # waiting
    _at("at"),
)

# Big values by content hash, kept once; and who refers to them under which name.
artifact = sa.Table(
    "artifact",
    metadata,
    _text("hash", primary=True),
    _number("size"),
    _bytes("content"),
    _at("at"),
)
artifact_ref = sa.Table(
    "artifact_ref",
    metadata,
    _id(primary=True),
    _id("instance_id"),
    _text("name"),
    _text("media_type"),
    _text("hash"),
    _text("step"),
    _at("at"),
    sa.Index("ix_artifact_ref_instance", "instance_id", "name"),
    sa.Index("ix_artifact_ref_hash", "hash"),
)
