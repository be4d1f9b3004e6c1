"""The tables of the application: pools of sandboxes, who borrowed them, what each loan holds, and conversations.

Tokens and items are secrets: backups carry them, and exports hide them.
"""

from __future__ import annotations

import sqlalchemy as sa

from interlock.store.columns import at, id_, new_metadata, number, secret, text

metadata = new_metadata()

# -- the allocator

# A pool and its counts. The database itself refuses counts that do not add up.
sandbox_pool = sa.Table(
    "sandbox_pool",
    metadata,
    text("name", primary=True),
    number("total"),
    number("free"),
    number("borrowed"),
    number("in_return"),
    number("quarantined"),
    sa.CheckConstraint("free + borrowed + in_return + quarantined = total", name="ck_sandbox_pool_conserved"),
    sa.CheckConstraint(
        "free >= 0 AND borrowed >= 0 AND in_return >= 0 AND quarantined >= 0", name="ck_sandbox_pool_counts"
    ),
)

# One sandbox. Its identity is its id: two with the same content stay two.
sandbox_item = sa.Table(
    "sandbox_item",
    metadata,
    id_(primary=True),
    text("pool"),
    number("slot"),
    secret("content"),
    text("digest"),
    text("state"),
    id_("borrow_id", null=True),
    at("since"),
    text("note", null=True),
    sa.CheckConstraint("state IN ('free', 'borrowed', 'in_return', 'quarantined')", name="ck_sandbox_item_state"),
    sa.CheckConstraint("state <> 'free' OR borrow_id IS NULL", name="ck_sandbox_item_free"),
    sa.CheckConstraint(
        "state NOT IN ('borrowed', 'in_return') OR borrow_id IS NOT NULL", name="ck_sandbox_item_borrowed"
    ),
    sa.UniqueConstraint("borrow_id"),
    sa.UniqueConstraint("pool", "slot"),
)
sa.Index("ix_sandbox_item_free", sandbox_item.c.pool, sandbox_item.c.state, sandbox_item.c.since)
sa.Index("ix_sandbox_item_digest", sandbox_item.c.digest)

# One lending of one item. `key` is the caller's idempotency key, `token` the secret that returns the item, `borrower`
# the name that people see.
sandbox_borrow = sa.Table(
    "sandbox_borrow",
    metadata,
    id_(primary=True),
    text("pool"),
    id_("item_id"),
    text("key"),
    secret("token"),
    text("borrower"),
    text("status"),
    id_("operation_id", null=True),
    at("borrowed_at"),
    at("until"),
    at("ended_at", null=True),
    sa.UniqueConstraint("key"),
    sa.UniqueConstraint("token"),
)
sa.Index("ix_sandbox_borrow_status", sandbox_borrow.c.status, sandbox_borrow.c.until)

# What is done for a borrow, a return or a new item, with its subscribers.
sandbox_operation = sa.Table(
    "sandbox_operation",
    metadata,
    id_(primary=True),
    text("kind"),
    text("pool"),
    text("status"),
    text("message", null=True),
    secret("content"),
    text("params"),
    id_("item_id", null=True),
    id_("borrow_id", null=True),
    number("fence"),
    at("due_at", null=True),
    at("created_at"),
    at("ended_at", null=True),
)
sa.Index("ix_sandbox_operation_due", sandbox_operation.c.status, sandbox_operation.c.due_at)

# One subscriber of one operation: what it answered.
sandbox_notice = sa.Table(
    "sandbox_notice",
    metadata,
    id_("operation_id", primary=True),
    text("subscriber", primary=True),
    text("status"),
    text("remote_id", null=True),
    text("error", null=True),
    at("since"),
)

# Events of an operation, in their order.
sandbox_event = sa.Table(
    "sandbox_event",
    metadata,
    id_("operation_id", primary=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, nullable=False, autoincrement=False),
    text("event"),
    text("reason", null=True),
    at("at"),
)

# Who waits for an item of a pool, in line; one that does not ask again in time loses its place.
sandbox_waiter = sa.Table(
    "sandbox_waiter",
    metadata,
    text("pool", primary=True),
    text("key", primary=True),
    at("since"),
    at("until"),
)

# -- loans

# What a loan holds: the allocator's answer, kept outside the instance because item and token are secrets.
sandbox_loan = sa.Table(
    "sandbox_loan",
    metadata,
    id_("loan_id", primary=True),
    text("allocator"),
    text("item_id", null=True),
    secret("item", null=True),
    secret("token", null=True),
    at("lent_at"),
    at("renewed_at"),
    at("ended_at", null=True),
)
sa.Index("ix_sandbox_loan_open", sandbox_loan.c.ended_at, sandbox_loan.c.loan_id)

# A difference between the loans and the allocator, as long as it is seen.
sandbox_drift = sa.Table(
    "sandbox_drift",
    metadata,
    text("name", primary=True),
    text("whose"),
    text("sentence"),
    text("item_id", null=True),
    id_("loan_id", null=True),
    at("first_seen"),
    at("last_seen"),
)

# -- the conversation

# What sessions are listed by. The rest is in the data of their instances.
session_index = sa.Table(
    "session_index",
    metadata,
    id_("instance_id", primary=True),
    text("workspace"),
    text("user_id"),
    text("repo"),
    id_("parent_id", null=True),
    text("after_run", null=True),  # `archive`: what the system does as soon as the agent has ended
    at("created_at"),
    at("deleted_at", null=True),
    text("deleted_by", null=True),
)
sa.Index("ix_session_index_workspace", session_index.c.workspace, session_index.c.instance_id)

# One thing that somebody asks an agent to do. `inbox_status`: pending, active, then done, failed, cancelled or unknown.
session_prompt = sa.Table(
    "session_prompt",
    metadata,
    id_(primary=True),
    id_("instance_id"),
    number("number"),
    text("user_id"),
    text("text"),
    text("data"),
    text("attachments"),
    text("inbox_status"),
    at("created_at"),
    at("updated_at"),
    at("started_at", null=True),
    at("agent_at", null=True),  # the intent: from here on the agent may have changed something
    text("host", null=True),  # where the agent was started
    at("ended_at", null=True),
    at("cancel_at", null=True),
    text("cancel_by", null=True),
    text("reason", null=True),
    text("sentence", null=True),
    text("answer", null=True),
    text("conversation", null=True),  # the agent's own name for it, once it has said so
    number("cost", null=True),  # in millionths of a dollar
    number("conversation_cost", null=True),
    text("usage", null=True),
    number("turns", null=True),
    sa.UniqueConstraint("instance_id", "number", name="uq_session_prompt_number"),
)

# One line that an agent printed. A long one has only its beginning here, and all of it as an artifact.
session_message = sa.Table(
    "session_message",
    metadata,
    id_(primary=True),
    id_("prompt_id"),
    id_("instance_id"),
    number("seq"),
    text("kind"),
    text("data"),
    number("size"),
    text("artifact", null=True),
    at("created_at"),
    sa.UniqueConstraint("prompt_id", "seq", name="uq_session_message_seq"),
)
sa.Index("ix_session_message_instance", session_message.c.instance_id)
