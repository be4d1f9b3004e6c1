"""The tables of the application: the jobs that agents claim, and what the finder knows of companies, sources, postings.

Instances are the work; these rows are what the work found out, and they outlive it. Times are microseconds since 1970.
"""

from __future__ import annotations

import sqlalchemy as sa

from interlock.store.columns import at, binary, id_, new_metadata, number, text

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

# The seeker's profile, one a workspace. `file_digest` is that of the file it was last taken from.
profile = sa.Table(
    "jobs_profile",
    metadata,
    text("workspace", primary=True),
    text("profile"),
    text("digest"),
    text("file_digest", null=True),
    text("changed_by"),
    at("changed_at"),
    at("digest_sent_at", null=True),
)

# `status`: analyzing, complete, insufficient or named. `facts` is the specification's record, as JSON.
company = sa.Table(
    "jobs_company",
    metadata,
    id_(primary=True),
    text("workspace"),
    text("company_key"),
    text("name"),
    text("website", null=True),
    text("site_key", null=True),
    text("status"),
    text("facts"),
    text("size_category", null=True),
    text("tier", null=True),
    number("priority_score", null=True),
    text("job_board_url", null=True),
    text("board_confidence", null=True),
    id_("item_id", null=True),
    text("tracking_id"),
    number("spawn_depth"),
    at("created_at"),
    at("updated_at"),
    at("analyzed_at", null=True),
)
sa.Index("uq_jobs_company_key", company.c.workspace, company.c.company_key, unique=True)
sa.Index("ix_jobs_company_site", company.c.workspace, company.c.site_key)
sa.Index("ix_jobs_company_status", company.c.status, company.c.analyzed_at)

# `status`: pending_validation, active or disabled. `config` has the board's address and what its adapter needs.
source = sa.Table(
    "jobs_source",
    metadata,
    id_(primary=True),
    text("workspace"),
    text("board_key"),
    text("name"),
    text("source_type"),
    text("url"),
    text("config"),
    text("status"),
    text("status_reason"),
    text("confidence"),
    number("validation_required"),
    id_("company_id", null=True),
    text("company_name"),
    text("discovered_via"),
    text("discovered_by"),
    at("discovered_at"),
    number("consecutive_failures"),
    number("gone"),
    at("last_scraped_at", null=True),
    text("last_scraped_status", null=True),
    at("next_crawl_at", null=True),
    text("preview"),
    id_("item_id", null=True),
    text("tracking_id"),
    number("spawn_depth"),
    at("updated_at"),
)
sa.Index("uq_jobs_source_board", source.c.workspace, source.c.board_key, unique=True)
sa.Index("ix_jobs_source_due", source.c.status, source.c.next_crawl_at)
sa.Index("ix_jobs_source_company", source.c.company_id)

# One crawl; its id is that of the item that made it.
crawl = sa.Table(
    "jobs_crawl",
    metadata,
    id_(primary=True),
    id_("source_id"),
    text("workspace"),
    at("started_at"),
    at("finished_at"),
    text("verdict"),
    text("reasons"),
    text("counts"),
)
sa.Index("ix_jobs_crawl_source", crawl.c.source_id, crawl.c.finished_at)

# A posting as one source shows it (`posting`, JSON), with what became of it. Lists are read from the columns beside it.
# `outcome`: new, waiting, filtered, skipped, matched or failed. `decision`: saved or dismissed, by a person.
posting = sa.Table(
    "jobs_posting",
    metadata,
    id_(primary=True),
    text("workspace"),
    text("posting_key"),
    id_("source_id", null=True),
    id_("company_id", null=True),
    id_("opening_id", null=True),
    id_("item_id", null=True),
    text("url", null=True),
    text("url_key", null=True),
    text("title", null=True),
    text("company_name", null=True),
    text("company_key", null=True),
    text("group_key", null=True),
    text("location"),
    text("workplace"),
    number("annual_min", null=True),
    number("annual_max", null=True),
    text("currency", null=True),
    text("posting"),
    text("content_hash"),
    text("raw_ref", null=True),
    text("state"),
    text("closed_reason", null=True),
    at("first_seen"),
    at("last_seen"),
    number("seen_count"),
    number("missed"),
    at("missed_at", null=True),
    at("posted_at", null=True),
    text("outcome"),
    text("reason"),
    text("flag", null=True),
    text("filter_result", null=True),
    text("match_result", null=True),
    number("score", null=True),
    text("priority", null=True),
    text("profile_digest", null=True),
    at("scored_at", null=True),
    at("matched_at", null=True),
    text("decision", null=True),
    text("decided_by", null=True),
    at("decided_at", null=True),
    text("decided_on", null=True),
    at("digested_at", null=True),
    text("stated", null=True),
)
sa.Index("uq_jobs_posting_key", posting.c.workspace, posting.c.posting_key, unique=True)
sa.Index("ix_jobs_posting_url", posting.c.workspace, posting.c.url_key)
sa.Index("ix_jobs_posting_outcome", posting.c.workspace, posting.c.outcome, posting.c.score, posting.c.id)
sa.Index(
    "ix_jobs_posting_counts",
    posting.c.workspace,
    posting.c.outcome,
    posting.c.state,
    posting.c.decision,
    posting.c.opening_id,
    posting.c.item_id,
)
sa.Index("ix_jobs_posting_source", posting.c.source_id, posting.c.state)
sa.Index("ix_jobs_posting_company", posting.c.workspace, posting.c.company_key)
sa.Index("ix_jobs_posting_group", posting.c.workspace, posting.c.group_key)
sa.Index(
    "ix_jobs_posting_opening",
    posting.c.opening_id,
    postgresql_where=sa.text("opening_id IS NOT NULL"),
    sqlite_where=sa.text("opening_id IS NOT NULL"),
)
sa.Index("ix_jobs_posting_profile", posting.c.workspace, posting.c.profile_digest)
sa.Index("ix_jobs_posting_raw", posting.c.raw_ref)

# When the next request to a host may be made, for all processes.
host = sa.Table("jobs_host", metadata, text("host", primary=True), at("next_at"))

# Raw answers by their SHA-256, compressed, so that a better parser can read them again.
raw = sa.Table("jobs_raw", metadata, text("hash", primary=True), binary("body"), number("size"), at("stored_at"))

# The last answer to each request: what a conditional request needs, and which raw answer it was.
answer = sa.Table(
    "jobs_answer",
    metadata,
    text("workspace", primary=True),
    text("request_key", primary=True),
    text("url"),
    number("status"),
    text("etag", null=True),
    text("last_modified", null=True),
    text("content_type", null=True),
    text("hash"),
    at("fetched_at"),
)
sa.Index("ix_jobs_answer_hash", answer.c.hash)

# Whether a seeker has stopped all of auto-apply, one row a workspace.
apply_seeker = sa.Table(
    "jobs_apply_seeker",
    metadata,
    text("workspace", primary=True),
    number("paused"),
    text("paused_by", null=True),
    at("paused_at", null=True),
)

# Auto-apply rules. `rule` has the criteria as JSON; `paused` and the limit are in it as well.
apply_rule = sa.Table(
    "jobs_apply_rule",
    metadata,
    id_(primary=True),
    text("workspace"),
    text("name"),
    text("rule"),
    text("digest"),
    number("paused"),
    text("created_by"),
    at("created_at"),
    text("changed_by"),
    at("changed_at"),
    at("deleted_at", null=True),
)
sa.Index("ix_jobs_apply_rule_workspace", apply_rule.c.workspace, apply_rule.c.deleted_at, apply_rule.c.id)

# The last decision of a rule about a posting, with every check (JSON), also where it did not take the posting.
# `judged_on` is a digest of what was judged; `again_at` is when a decision that only the moment blocks is made again.
apply_decision = sa.Table(
    "jobs_apply_decision",
    metadata,
    id_(primary=True),
    text("workspace"),
    id_("rule_id"),
    id_("posting_id"),
    text("judged_on"),
    number("taken"),
    number("needs_approval"),
    text("summary"),
    text("blocked_by"),
    text("checks"),
    at("decided_at"),
    at("again_at", null=True),
    id_("application_id", null=True),
)
sa.Index("uq_jobs_apply_decision_pair", apply_decision.c.rule_id, apply_decision.c.posting_id, unique=True)
sa.Index("ix_jobs_apply_decision_workspace", apply_decision.c.workspace, apply_decision.c.id)
sa.Index("ix_jobs_apply_decision_posting", apply_decision.c.posting_id)

# Applications as lists and limits read them; followers keep the row with the instance. A row without an instance is an
# application that was made elsewhere (`origin` import). `opening_id` is the posting that stands for the opening;
# `sent_at` is when bytes may have left, or when a person opened the form.
applied = sa.Table(
    "jobs_application",
    metadata,
    id_(primary=True),
    id_("instance_id", null=True),
    text("workspace"),
    text("user_id"),
    id_("rule_id", null=True),
    id_("posting_id", null=True),
    id_("opening_id", null=True),
    text("origin"),
    text("board"),
    text("job_id"),
    text("title"),
    text("company"),
    text("company_key", null=True),
    text("url", null=True),
    text("url_key", null=True),
    text("source", null=True),
    text("tier", null=True),
    number("score", null=True),
    text("status"),
    text("review_reason", null=True),
    text("withdraw_reason", null=True),
    text("paused_by", null=True),
    number("attempt_count"),
    text("last_error", null=True),
    at("scheduled_for", null=True),
    text("trace_id"),
    text("packet_hash", null=True),
    at("created_at"),
    at("processed_at", null=True),
    at("status_at"),
    at("sent_at", null=True),
    at("submitted_at", null=True),
)
sa.Index("ix_jobs_application_instance", applied.c.instance_id)
sa.Index("ix_jobs_application_status", applied.c.workspace, applied.c.status, applied.c.id)
sa.Index("ix_jobs_application_company", applied.c.workspace, applied.c.company_key)
sa.Index("ix_jobs_application_opening", applied.c.workspace, applied.c.opening_id)
sa.Index("ix_jobs_application_url", applied.c.workspace, applied.c.url_key)
sa.Index("ix_jobs_application_rule", applied.c.rule_id, applied.c.status)
sa.Index("ix_jobs_application_user", applied.c.workspace, applied.c.user_id, applied.c.created_at)

# The specification's log: every transition of an application, and what was not done, with who and why.
apply_log = sa.Table(
    "auto_apply_logs",
    metadata,
    id_(primary=True),
    text("workspace"),
    id_("instance_id", null=True),
    id_("rule_id", null=True),
    text("user_id"),
    text("trace_id"),
    at("at"),
    text("status"),
    text("from_status", null=True),
    text("to_status", null=True),
    text("event"),
    text("actor"),
    text("reason"),
    text("error", null=True),
    text("details", null=True),
)
sa.Index("ix_auto_apply_logs_workspace", apply_log.c.workspace, apply_log.c.id)
sa.Index("ix_auto_apply_logs_instance", apply_log.c.instance_id, apply_log.c.id)

# The files of a packet; their bytes are artifacts of the instance with this hash.
apply_artifact = sa.Table(
    "job_application_artifacts",
    metadata,
    id_(primary=True),
    id_("instance_id"),
    text("workspace"),
    text("packet_hash"),
    text("kind"),
    text("name"),
    text("media_type"),
    text("hash"),
    number("size"),
    at("created_at"),
)
sa.Index("ix_job_application_artifacts_instance", apply_artifact.c.instance_id, apply_artifact.c.id)

# Answers that a person gave to questions of forms. `answer_key` is a digest of what they may be used for; an answer
# for one application has its `instance_id`.
saved_answer = sa.Table(
    "jobs_saved_answer",
    metadata,
    id_(primary=True),
    text("workspace"),
    text("answer_key"),
    text("label"),
    text("options_key"),
    text("value"),
    text("scope"),
    text("company", null=True),
    id_("instance_id", null=True),
    number("uses"),
    text("saved_by"),
    at("saved_at"),
    at("used_at", null=True),
)
sa.Index("uq_jobs_saved_answer_key", saved_answer.c.workspace, saved_answer.c.answer_key, unique=True)
