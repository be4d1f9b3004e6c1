"""The tables of the application: jobs indexed by board, number and tag."""

from __future__ import annotations

import sqlalchemy as sa

from interlock.store.columns import id_, new_metadata, text

metadata = new_metadata()

# The instance has all of the data; these rows only find it.
job_index = sa.Table(
    "job_index", metadata, id_("instance_id", primary=True), text("workspace"), text("board"), text("job_id")
)
sa.Index("ix_job_index_board", job_index.c.workspace, job_index.c.board, job_index.c.instance_id)
sa.Index("ix_job_index_job_id", job_index.c.workspace, job_index.c.job_id, job_index.c.instance_id)

job_tag = sa.Table(
    "job_tag",
    metadata,
    text("workspace", primary=True),
    text("tag", primary=True),
    id_("instance_id", primary=True),
    sa.Index("ix_job_tag_instance", "instance_id"),
)
