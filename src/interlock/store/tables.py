"""The tables of the engine. Times are microseconds (UTC) and JSON is text, equal on both databases."""

from __future__ import annotations

import sqlalchemy as sa

from interlock.store.columns import ThisTransaction, at, binary, id_, metadata, number, text

# The current state of each instance.
instance = sa.Table(
    "instance",
    metadata,
    id_(primary=True),
    text("machine"),
    number("version"),
    text("workspace"),
    text("key", null=True),
    text("unique_key", null=True),  # the key while it is taken; null once it is free again
    text("state"),
    text("previous", null=True),
    number("seq"),
    binary("head"),  # hash of the last history row
    text("data", null=True),  # null if it is in instance_data
    text("labels", null=True),
    text("queue"),
    number("priority"),
    text("wake", null=True),  # what due_at means: work, lease, resume, blocked
    at("due_at", null=True),
    text("due_event", null=True),  # what the system fires when a resume is due
    at("timer_at", null=True),  # the state's next timer or reminder
    number("timer_no", default=0),
    text("failures", null=True),  # counters per step and rule
    text("failed_step", null=True),
    text("last_error", null=True),
    id_("holder", null=True),
    number("fence", default=0),
    at("claimed_at", null=True),
    text("blocked_on", null=True),
    at("paused_at", null=True),
    text("paused_wake", null=True),  # wake and due_at from before the pause
    at("paused_due", null=True),
    id_("parent", null=True),
    id_("root"),
    number("depth", default=0),
    text("trace_id"),
    at("created_at"),
    at("entered_at"),
    at("updated_at"),
    at("finished_at", null=True),
    id_("taken_by", null=True),  # the holder of a claim in place: no index has it, and `wake` stays `work`
    at("taken_until", null=True),
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
# The holder is at the end, so that the claims of a worker are found without reading rows. An index by holder would slow
# down each claim, and mislead PostgreSQL when it searches rows by id.
sa.Index(
    "ix_instance_due",
    instance.c.wake,
    instance.c.due_at,
    instance.c.holder,
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
# Without a parent an instance is its own root, and is found by its id.
sa.Index(
    "ix_instance_root",
    instance.c.root,
    instance.c.machine,
    instance.c.key,
    postgresql_where=sa.text("parent IS NOT NULL"),
    sqlite_where=sa.text("parent IS NOT NULL"),
)
sa.Index(
    "ix_instance_parent",
    instance.c.parent,
    postgresql_where=sa.text("parent IS NOT NULL"),
    sqlite_where=sa.text("parent IS NOT NULL"),
)
sa.Index("ix_instance_state", instance.c.machine, instance.c.state, instance.c.id)
# Most instances are in the first workspace, whose lists follow the ids. So most moves write no entry here.
FIRST_WORKSPACE = "default"
ELSEWHERE = instance.c.workspace != sa.literal_column(f"'{FIRST_WORKSPACE}'", sa.Text)
sa.Index(
    "ix_instance_workspace",
    instance.c.workspace,
    instance.c.id,
    postgresql_where=ELSEWHERE,
    sqlite_where=ELSEWHERE,
)

# Claims in place: what they claim is found here until it is finished, or has a lease that an index finds.
claim_batch = sa.Table(
    "claim_batch",
    metadata,
    id_(primary=True),
    id_("worker"),
    at("at"),
    binary("ids"),  # of the claimed instances, 16 bytes each
)

# Data that is too large to be written again with each move: in the row it would halve the rate.
instance_data = sa.Table("instance_data", metadata, id_("instance_id", primary=True), text("data"))

# The history: append-only by triggers, hash-chained per instance.
history = sa.Table(
    "history",
    metadata,
    sa.Column(
        "pos", sa.BigInteger().with_variant(sa.Integer, "sqlite"), sa.Identity(), primary_key=True, autoincrement=True
    ),
    id_("instance_id"),
    number("seq"),
    text("kind"),
    text("from_state", null=True),
    text("to_state", null=True),
    text("event", null=True),
    text("actor"),
    at("at"),
    text("payload", null=True),  # null with a digest: erased
    binary("digest", null=True),
    binary("hash"),
    # The order of the feed. PostgreSQL commits out of order, so it is by transaction first, then by position.
    sa.Column("xact", sa.BigInteger, nullable=False, server_default=ThisTransaction()),
    number("dwell", null=True),  # how long it was in `from_state`
    number("waited", null=True),  # how long the step was ready before a worker took it
    sa.UniqueConstraint("instance_id", "seq"),
    sqlite_autoincrement=True,
)
# SQLite has one writer, so there the order is by position alone, and the index is empty.
sa.Index("ix_history_feed", history.c.xact, history.c.pos, sqlite_where=sa.text("xact > 0"))

# Permissions to remove history rows (up to a seq) or their payloads. They form a hash chain over the database.
purge = sa.Table(
    "purge",
    metadata,
    sa.Column("no", sa.BigInteger, primary_key=True, autoincrement=False),  # 1, 2, 3 … without a gap
    id_("instance_id"),
    text("kind"),  # rows: rows may go; payloads: payloads may be emptied; age:TABLE: rows of no instance went
    number("upto_seq"),
    binary("last_hash"),
    binary("export_digest", null=True),
    text("actor"),
    text("reason"),
    at("at"),
    binary("hash"),  # over this row and the hash before it
    text("key_id", null=True),  # the audit key that sealed it
    binary("seal", null=True),  # HMAC of the hash with that key, which is not in the database
    sa.Index("ix_purge_instance", "instance_id", "kind"),
)

# The versions of each machine.
definition = sa.Table(
    "definition",
    metadata,
    text("machine", primary=True),
    sa.Column("version", sa.BigInteger, primary_key=True, autoincrement=False),
    text("digest"),
    text("spec"),
    at("registered_at"),
    sa.UniqueConstraint("machine", "digest"),
)

# Things that were sent to the outside, or are about to be.
effect = sa.Table(
    "effect",
    metadata,
    id_(primary=True),
    id_("instance_id"),
    text("kind"),
    text("key"),
    text("request_hash"),
    text("status"),  # intended, sent, confirmed, failed, unknown
    text("step"),
    number("fence"),
    number("sends", default=0),
    text("answer", null=True),
    text("error", null=True),
    at("intended_at"),
    at("sent_at", null=True),
    at("settled_at", null=True),
    id_("sender", null=True),  # the instance under whose fence it is sent, if that continues the instance it belongs to
    number("asks", default=1),  # whether a person is asked if its outcome is unknown
    at("asked_at", null=True),  # when a person was asked
    sa.UniqueConstraint("key"),
    sa.Index("ix_effect_instance", "instance_id"),
)
# Effects without an answer about which nobody was asked.
sa.Index(
    "ix_effect_unsettled",
    effect.c.sent_at,
    postgresql_where=sa.text("status IN ('sent', 'unknown') AND asked_at IS NULL"),
    sqlite_where=sa.text("status IN ('sent', 'unknown') AND asked_at IS NULL"),
)

# Questions to people.
review = sa.Table(
    "review",
    metadata,
    id_(primary=True),
    id_("instance_id"),
    text("workspace"),
    text("machine"),
    text("name"),
    text("title"),
    text("state", null=True),  # the state that owns it; null if none does
    text("role"),
    text("form", null=True),
    text("decisions"),
    text("settles", null=True),
    text("evidence", null=True),
    text("status"),  # open, decided, closed
    at("opened_at"),
    at("due_at", null=True),
    text("claimed_by", null=True),
    at("claimed_until", null=True),
    text("decision", null=True),
    text("answer", null=True),
    text("decided_by", null=True),
    at("decided_at", null=True),
    text("visit", null=True),  # the visit of the step whose handler asks; null for every other review
    text("fallback", null=True),  # the default that is taken at due_at: decision and answer, as JSON
    text("closed_reason", null=True),
    text("assigned_to", null=True),  # the name of the person who is to decide it; others may as well
    text("snoozed_by", null=True),
    at("snoozed_until", null=True),
)
sa.Index("ix_review_instance", review.c.instance_id)
sa.Index(
    "ix_review_fallback",
    review.c.due_at,
    postgresql_where=sa.text("status = 'open' AND fallback IS NOT NULL"),
    sqlite_where=sa.text("status = 'open' AND fallback IS NOT NULL"),
)
sa.Index(
    "ix_review_open",
    review.c.workspace,
    review.c.due_at,
    postgresql_where=sa.text("status = 'open'"),
    sqlite_where=sa.text("status = 'open'"),
)

# Failures that wait for a person.
dead_letter = sa.Table(
    "dead_letter",
    metadata,
    id_(primary=True),
    id_("instance_id"),
    text("workspace"),
    text("machine"),
    text("state"),
    text("step"),
    text("error_type"),
    text("error"),
    text("fingerprint"),
    number("attempts"),
    text("data"),
    text("status"),  # open, retried, resolved, discarded
    at("at"),
    at("closed_at", null=True),
    text("closed_by", null=True),
    text("note", null=True),
    id_("retried_as", null=True),
    number("seq", null=True),  # the seq of the instance when it failed
)
sa.Index("ix_dead_letter_instance", dead_letter.c.instance_id)
sa.Index(
    "ix_dead_letter_open",
    dead_letter.c.machine,
    dead_letter.c.fingerprint,
    postgresql_where=sa.text("status = 'open'"),
    sqlite_where=sa.text("status = 'open'"),
)

# Named resources with one holder at a time. A free one keeps its row, so that its fence only grows.
lease = sa.Table(
    "lease",
    metadata,
    text("name", primary=True),
    text("holder", null=True),
    number("fence"),
    at("taken_at", null=True),
    at("until", null=True),
    id_("instance_id", null=True),
)
sa.Index(
    "ix_lease_until",
    lease.c.until,
    postgresql_where=sa.text("holder IS NOT NULL"),
    sqlite_where=sa.text("holder IS NOT NULL"),
)

# One row per key of a limit, to be locked; the uses of a window; the instances that have a slot.
limit_key = sa.Table("limit_key", metadata, text("key", primary=True))
limit_use = sa.Table(
    "limit_use",
    metadata,
    id_(primary=True),
    text("key"),
    at("at"),
    id_("instance_id"),
    sa.Index("ix_limit_use", "key", "at"),
)
limit_slot = sa.Table(
    "limit_slot",
    metadata,
    text("key", primary=True),
    id_("instance_id", primary=True),
    at("at"),
    sa.Index("ix_limit_slot_instance", "instance_id"),
)

# Processes that do work. A new row at each start.
worker = sa.Table(
    "worker",
    metadata,
    id_(primary=True),
    text("host"),
    number("pid"),
    text("queues"),
    text("lock_file", null=True),
    text("status"),  # alive, draining, stopped, lost
    number("beats", default=0),
    number("clock_offset", default=0),
    at("started_at"),
    at("beat_at"),
    at("until"),
    number("in_place", default=0),  # 1 if it knows claims in place (`claim_batch`)
)
sa.Index(
    "ix_worker_until",
    worker.c.until,
    postgresql_where=sa.text("status IN ('alive', 'draining')"),
    sqlite_where=sa.text("status IN ('alive', 'draining')"),
)

# The progress of running handlers.
progress = sa.Table(
    "progress", metadata, id_("instance_id", primary=True), number("permille"), text("message"), at("at")
)

# Messages to deliver after the commit.
outbox = sa.Table(
    "outbox",
    metadata,
    id_(primary=True),
    id_("instance_id", null=True),
    text("channel"),
    text("recipient"),
    text("subject"),
    text("body"),
    text("status"),  # waiting, delivered, dead, discarded
    at("at"),
    text("workspace", null=True),
    number("attempts", default=0),
    at("due_at", null=True),
    at("settled_at", null=True),
    text("last_error", null=True),
)
sa.Index(
    "ix_outbox_waiting",
    outbox.c.due_at,
    postgresql_where=sa.text("status = 'waiting'"),
    sqlite_where=sa.text("status = 'waiting'"),
)
sa.Index("ix_outbox_instance", outbox.c.instance_id)
sa.Index("ix_outbox_status", outbox.c.status, outbox.c.id)

# Large values by content hash, stored once; and the instances that refer to them by name.
artifact = sa.Table(
    "artifact",
    metadata,
    text("hash", primary=True),
    number("size"),
    binary("content"),
    at("at"),
)
artifact_ref = sa.Table(
    "artifact_ref",
    metadata,
    id_(primary=True),
    id_("instance_id"),
    text("name"),
    text("media_type"),
    text("hash"),
    text("step"),
    at("at"),
    sa.Index("ix_artifact_ref_instance", "instance_id", "name"),
    sa.Index("ix_artifact_ref_hash", "hash"),
)
