"""Tables of what was removed, and of what proves that nothing else was: kept keys, retention runs, checkpoints."""

from __future__ import annotations

import sqlalchemy as sa

from interlock.store.columns import at, binary, id_, metadata, number, text

# Keys of instances that were removed or erased: they stay taken. An erased key is kept as its hash alone.
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
    text("rows"),  # how many of each table that is kept by age
    text("kept_back"),  # old instances that had to stay, by reason
    text("files"),
    text("error", null=True),
    at("started_at"),
    at("ended_at"),
)

# What the history was at a moment, signed with a key that is not in the database. Each has the hash of the one before.
checkpoint = sa.Table(
    "checkpoint",
    metadata,
    sa.Column("no", sa.BigInteger, primary_key=True, autoincrement=False),  # 1, 2, 3 … without a gap
    at("at"),
    number("rows"),  # history rows that it and those before it cover
    binary("leaves"),  # 36 bytes for each instance that changed: its id, its seq, the first half of its hash
    binary("actions"),  # 36 bytes for each action: its id, its second, the first half of its digest
    number("purges"),  # the last row of purge, and its hash
    binary("purge_hash"),
    number("xact"),  # the place in the feed up to which it goes
    number("pos"),
    number("vouched"),  # purges up to this one need no seal of its key: its first checkpoint has found them
    text("former", null=True),  # the key of the one before, where that is another
    binary("before"),
    binary("hash"),
    text("key_id"),
    binary("mac"),
)
