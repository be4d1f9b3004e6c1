"""The tables of the application: providers, what reviewers decided, calibrations, keys of signed links."""

from __future__ import annotations

import sqlalchemy as sa

from interlock.store.columns import at, id_, new_metadata, number, text

metadata = new_metadata()

# Providers with their aliases and usual ranges, in addition to the shipped list.
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

# Calibration tables; a score names the version it was computed with.
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

# Keys that sign links, by purpose.
signing_key = sa.Table("contract_signing_key", metadata, text("name", primary=True), text("key"), at("at"))
