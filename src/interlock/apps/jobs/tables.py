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
