"""Tables for removals and their proof: kept keys, retention runs, checkpoints."""

from __future__ import annotations

import sqlalchemy as sa

from interlock.store.columns import at, binary, id_, metadata, number, text

# Keys of removed or erased instances, which stay taken. Of an erased key only the hash is stored.
kept_key = sa.Table(
    "kept_key",
    metadata,
    text("workspace", primary=True),
    text("machine", primary=True),
    text("key", primary=True),
    id_("instance_id"),
    at("at"),
)

# One run that removed something, or that failed.
retention_run = sa.Table(
    "retention_run",
    metadata,
    id_(primary=True),
    text("actor"),
    number("instances"),
    text("rows"),  # how many rows of each table that is removed by age
    text("kept_back"),  # old instances that were not removed, by reason
    text("files"),
    text("error", null=True),
    at("started_at"),
    at("ended_at"),
)

# Signed summaries of the history. The key is not in the database. Each has the hash of the one before.
checkpoint = sa.Table(
    "checkpoint",
    metadata,
    sa.Column("no", sa.BigInteger, primary_key=True, autoincrement=False),  # 1, 2, 3 … without a gap
    at("at"),
    number("rows"),  # history rows that it and earlier ones cover
    binary("leaves"),  # 36 bytes for each instance that changed: its id, its seq, the first half of its hash
    binary("actions"),  # 36 bytes for each action: its id, its second, the first half of its digest
    number("purges"),  # the last row of purge, and its hash
    binary("purge_hash"),
    number("xact"),  # the position in the feed up to which it goes
    number("pos"),
    number("vouched"),  # purges up to this one need no seal: they are older than the first checkpoint with its key
    text("former", null=True),  # the key of the one before, if it is another
    binary("before"),
    binary("hash"),
    text("key_id"),
    binary("mac"),
)
