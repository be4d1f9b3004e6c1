"""The tables of the AI layer: what a model was asked, and what it answered."""

from __future__ import annotations

import sqlalchemy as sa

from interlock.store.columns import at, id_, metadata, number, text

# One request to a model, one answer from the cache, or one by rules.
ai_call = sa.Table(
    "ai_call",
    metadata,
    id_(primary=True),
    id_("instance_id", null=True),  # null: asked outside of a handler
    id_("effect_id", null=True),
    text("workspace"),
    text("for_user", null=True),  # whose budget it is counted on; null: the workspace's
    text("trace_id", null=True),
    text("task"),
    text("prompt_version"),
    text("tier"),  # cheap, strong
    text("provider"),  # anthropic, openai, none
    text("model"),  # `rules` where none was asked
    number("sample"),
    number("attempt"),  # 2: asked again because the first answer did not fit the type
    number("input_tokens", null=True),
    number("output_tokens", null=True),
    number("cost", null=True),  # billionths of a dollar; null: nobody knows
    number("took"),
    number("cached"),  # 1: from ai_answer, nothing was sent
    text("error_type", null=True),
    text("error", null=True),
    at("at"),
    sa.Index("ix_ai_call_instance", "instance_id", "id"),
    sa.Index("ix_ai_call_user", "for_user", "at"),
    sa.Index("ix_ai_call_workspace", "workspace", "at"),
)

# Sums of calls by day (UTC), so that costs and budgets are read without the calls, which go with their instances.
# Each call is in two rows: that of its workspace, and that of all workspaces, whose name is empty.
ai_cost = sa.Table(
    "ai_cost",
    metadata,
    text("workspace"),
    at("day"),
    text("machine"),  # empty: asked outside of a handler
    text("task"),
    text("model"),
    number("calls"),
    number("cached"),
    number("failed"),
    number("input_tokens"),
    number("output_tokens"),
    number("cost"),  # billionths of a dollar, of calls whose price is known
    number("unpriced"),  # calls of unknown cost
    sa.PrimaryKeyConstraint("workspace", "day", "machine", "task", "model"),
)

# Answers by the hash of what was asked: the same question in the same workspace is not paid for twice.
ai_answer = sa.Table(
    "ai_answer",
    metadata,
    text("workspace", primary=True),
    text("hash", primary=True),
    text("task"),
    text("model"),
    text("output"),
    id_("call_id"),
    at("at"),
)
