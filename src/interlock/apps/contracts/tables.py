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

# What lists, the calendar and reminders need of a contract. `notice` and `renewal` are periods, such as P90D.
contract_record = sa.Table(
    "contract_record",
    metadata,
    id_("instance_id", primary=True),
    text("workspace"),
    text("filename"),
    text("parties"),
    text("law"),
    text("term"),
    text("value"),
    text("ends", null=True),
    text("notice"),
    text("renewal"),
    text("basis"),
    at("at"),
)
sa.Index("ix_contract_record_ends", contract_record.c.workspace, contract_record.c.ends)

# The text for the search: with single spaces, and the same in small letters.
contract_text = sa.Table("contract_text", metadata, id_("instance_id", primary=True), text("text"), text("folded"))

# Reminders that were sent, so that each is sent once.
contract_reminder = sa.Table(
    "contract_reminder",
    metadata,
    id_("instance_id", primary=True),
    text("kind", primary=True),
    text("day", primary=True),
    text("days_before", primary=True),
    at("at"),
)

# Secret addresses of calendars, one for each person and workspace.
contract_feed = sa.Table("contract_feed", metadata, id_(primary=True), text("workspace"), text("person"), at("at"))
sa.Index("uq_contract_feed_person", contract_feed.c.workspace, contract_feed.c.person, unique=True)
