"""The tables of the application: providers, what reviewers decided, calibrations, keys of signed links."""

from __future__ import annotations

import sqlalchemy as sa

from interlock.store.columns import at, id_, new_metadata, number, text

metadata = new_metadata()

# Who supplies what under which names, and what is usual for them; beside the list that comes with the package.
contract_provider = sa.Table(
    "contract_provider",
    metadata,
    text("list", primary=True),
    text("name", primary=True),
    text("aliases"),
    text("ranges"),
    text("changed_by"),
    at("changed_at"),
)

# One decision of a reviewer about one field: were the signals of a value those of a right one?
contract_label = sa.Table(
    "contract_label",
    metadata,
    id_(primary=True),
    id_("instance_id"),
    text("vertical"),
    text("field"),
    text("features"),
    number("was_right"),
    text("actor"),
    at("at"),
)
sa.Index("ix_contract_label_vertical", contract_label.c.vertical, contract_label.c.id)

# Tables of counts that scores are made with; a score names the version it was made with.
contract_calibration = sa.Table(
    "contract_calibration",
    metadata,
    text("vertical", primary=True),
    text("version", primary=True),
    text("counts"),
    number("documents"),
    number("labels"),
    at("at"),
)

# Keys that links are signed with, by what they are for.
signing_key = sa.Table("contract_signing_key", metadata, text("name", primary=True), text("key"), at("at"))
