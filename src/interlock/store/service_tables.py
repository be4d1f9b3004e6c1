"""The tables of the service: people, their actions, messages, schedules and monitoring."""

from __future__ import annotations

import sqlalchemy as sa

from interlock.store import (  # noqa: F401 - so that the metadata has them all
    ai,
    application_tables,
    retention_tables,
    tables,
)
from interlock.store.columns import at, id_, metadata, number, text

# -- people

person = sa.Table(
    "person",
    metadata,
    id_(primary=True),
    text("name"),
    text("email", null=True),
    text("password", null=True),  # an Argon2 hash; null: no login by password
    at("created_at"),
    at("disabled_at", null=True),
    sa.UniqueConstraint("name"),
)
workspace = sa.Table("workspace", metadata, text("name", primary=True), text("title"), at("created_at"))
membership = sa.Table(
    "membership",
    metadata,
    text("workspace", primary=True),
    id_("person_id", primary=True),
    text("role"),  # owner, member, reviewer, viewer
    at("at"),
    sa.Index("ix_membership_person", "person_id"),
)

# API tokens. Only a hash is stored, and a few characters to recognise them.
token = sa.Table(
    "token",
    metadata,
    id_(primary=True),
    text("workspace"),
    text("name"),
    text("kind"),  # person: acts as that person; agent: may do what its scopes say
    id_("person_id", null=True),
    text("scopes"),
    text("hash"),
    text("hint"),
    at("created_at"),
    text("created_by"),
    at("used_at", null=True),
    at("until", null=True),
    at("revoked_at", null=True),
    text("revoked_by", null=True),
    sa.UniqueConstraint("hash"),
    sa.Index("ix_token_workspace", "workspace"),
)
login_session = sa.Table(
    "login_session",
    metadata,
    text("hash", primary=True),
    id_("person_id"),
    at("created_at"),
    at("seen_at"),
    at("until"),
    at("ended_at", null=True),
    text("address"),
    text("browser"),
    sa.Index("ix_login_session_person", "person_id"),
)
login_link = sa.Table("login_link", metadata, text("hash", primary=True), id_("person_id"), at("until"))
login_attempt = sa.Table(
    "login_attempt",
    metadata,
    id_(primary=True),
    text("name"),
    text("address"),
    at("at"),
    sa.Index("ix_login_attempt_name", "name", "at"),
    sa.Index("ix_login_attempt_address", "address", "at"),
)

# Actions of people and tokens that no instance's history records.
action = sa.Table(
    "action",
    metadata,
    id_(primary=True),
    text("workspace", null=True),
    text("actor"),
    text("what"),
    text("target"),
    text("details", null=True),
    at("at"),
    sa.Index("ix_action_at", "at"),
)

# Answers to writes with an idempotency key, so that repeating the request changes nothing.
idempotency = sa.Table(
    "idempotency",
    metadata,
    text("who", primary=True),
    text("key", primary=True),
    text("request"),  # its hash
    number("status"),
    text("body"),
    at("at"),
    sa.Index("ix_idempotency_at", "at"),
)

# Bulk actions: one action for all items that match a filter.
bulk = sa.Table(
    "bulk",
    metadata,
    id_(primary=True),
    text("workspace", null=True),
    text("target"),  # instances, dead_letters
    text("action"),
    text("filter"),
    text("arguments"),
    text("actor"),
    text("reason"),
    text("status"),  # running, done, stopped
    number("total"),
    number("done", default=0),
    number("refused", default=0),
    text("problems", null=True),
    id_("after_id", null=True),
    id_("upto_id"),
    at("created_at"),
    at("updated_at"),
    at("finished_at", null=True),
)
sa.Index(
    "ix_bulk_running",
    bulk.c.created_at,
    postgresql_where=sa.text("status = 'running'"),
    sqlite_where=sa.text("status = 'running'"),
)

# Halted machines; `*` is all of them.
halt = sa.Table("halt", metadata, text("machine", primary=True), text("actor"), text("reason"), at("at"))

# -- messages and schedules

delivery = sa.Table(
    "delivery",
    metadata,
    id_(primary=True),
    id_("outbox_id"),
    at("at"),
    number("took"),
    text("outcome"),  # delivered, failed, refused
    text("detail"),
    sa.Index("ix_delivery_outbox", "outbox_id"),
)
schedule = sa.Table(
    "schedule",
    metadata,
    text("workspace", primary=True),
    text("name", primary=True),
    text("machine"),
    text("cron"),
    text("zone"),
    text("data"),
    text("labels", null=True),
    number("priority"),
    text("overlap"),  # allow, skip
    text("missed"),  # once, all, skip
    at("paused_at", null=True),
    text("paused_by", null=True),
    at("next_at", null=True),
    at("last_at", null=True),
    id_("last_instance", null=True),
    text("last_error", null=True),
    number("runs", default=0),
    text("created_by"),
    at("created_at"),
    at("updated_at"),
)
sa.Index(
    "ix_schedule_next",
    schedule.c.next_at,
    postgresql_where=sa.text("paused_at IS NULL"),
    sqlite_where=sa.text("paused_at IS NULL"),
)

# -- monitoring: computed from the history by one process at a time, so that no page has to scan

cursor = sa.Table("cursor", metadata, text("name", primary=True), number("xact"), number("pos"))
state_count = sa.Table(
    "state_count",
    metadata,
    text("workspace", primary=True),
    text("machine", primary=True),
    text("state", primary=True),
    number("n"),
)
rollup = sa.Table(
    "rollup",
    metadata,
    text("span", primary=True),  # minute, hour
    sa.Column("at", sa.BigInteger, primary_key=True, autoincrement=False),  # when the span begins
    text("workspace", primary=True),
    text("machine", primary=True),
    text("measure", primary=True),
    text("state", primary=True),
    sa.Column("size", sa.BigInteger, primary_key=True, autoincrement=False),  # bucket of durations; 0 if none
    number("n"),
    number("total"),
    number("worst"),
)
alert = sa.Table(
    "alert",
    metadata,
    id_(primary=True),
    text("rule"),
    text("workspace", null=True),
    text("machine", null=True),
    text("status"),  # open, closed
    text("sentence"),
    sa.Column("value", sa.Double, nullable=False),
    sa.Column("threshold", sa.Double, nullable=False),
    at("opened_at"),
    at("seen_at"),
    at("notified_at", null=True),
    number("notices", default=0),
    at("acknowledged_at", null=True),
    text("acknowledged_by", null=True),
    at("closed_at", null=True),
    text("notified", null=True),  # the recipients, separated by lines
)
sa.Index(
    "ix_alert_open",
    alert.c.rule,
    postgresql_where=sa.text("status = 'open'"),
    sqlite_where=sa.text("status = 'open'"),
)
alert_rule = sa.Table(
    "alert_rule",
    metadata,
    text("name", primary=True),
    text("spec"),
    text("created_by"),
    at("created_at"),
)
