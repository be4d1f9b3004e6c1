"""The tables of the application: what is known of a visitor, what was said, and how often each word came up."""

from __future__ import annotations

import sqlalchemy as sa

from interlock.store.columns import at, binary, id_, new_metadata, number, secret, text

metadata = new_metadata()

notes_visitor = sa.Table("notes_visitor", metadata, id_("instance_id", primary=True), text("name"), at("at"))
notes_line = sa.Table(
    "notes_line",
    metadata,
    id_(primary=True),
    id_("instance_id"),
    text("words"),
    binary("picture", null=True),
    sa.Index("ix_notes_line_instance", "instance_id"),
)
notes_word = sa.Table(
    "notes_word", metadata, text("word", primary=True), number("times", default=0), secret("seal", null=True)
)
