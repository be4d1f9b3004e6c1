"""Tables of what was removed: keys that stay taken, and what each run of the retention did."""

from __future__ import annotations

import sqlalchemy as sa

from interlock.store.columns import at, id_, metadata, number, text

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
