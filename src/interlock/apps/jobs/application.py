"""The application as it plugs in: the machines of finder, claims and auto-apply, with endpoints, pages and duties."""

from dataclasses import replace
from datetime import timedelta
from importlib.util import find_spec

from interlock.apps.jobs.autoapply import versions
from interlock.apps.jobs.autoapply.machine import application as application_machine
from interlock.apps.jobs.claims.machine import job, run
from interlock.apps.jobs.claims.scopes import CLAIMS
from interlock.apps.jobs.finder import company, listing, source
from interlock.apps.jobs.finder.scopes import JOBS, JOBS_READ
from interlock.apps.jobs.settings import JobsSettings
from interlock.machine import Application, Duty, Machine, PageLink, Personal, Registry


def machines_of(settings: JobsSettings) -> list[Machine]:
    """The machines, with the version of `application` that the settings choose."""
    return [company, source, listing, job, run, versions.chosen(settings)]


NEEDED = ("selectolax", "defusedxml", "feedparser", "tldextract", "ahocorasick", "yaml", "protego", "httpx2")
"""Modules of the extra `jobs`. Without them there are the life cycles and the claims, but no finder."""

application = Application(
    "jobs",
    machines=[company, source, listing, job, run, application_machine],
    machines_by_settings="interlock.apps.jobs.application:machines_of",
    handlers=[
        "interlock.apps.jobs.claims.followers",
        "interlock.apps.jobs.autoapply.review.verdicts",
        "interlock.apps.jobs.autoapply.review.by_hand",
        "interlock.apps.jobs.autoapply.followers",
    ],
    duties=[Duty("claims", timedelta(seconds=2), "interlock.apps.jobs.claims.followers:sweep")],
    settings=JobsSettings,
    scopes=[CLAIMS, JOBS, JOBS_READ],
    tables="interlock.apps.jobs.board_tables:metadata",
    migrations="interlock.apps.jobs.migrations",
    personal=[
        Personal("job_index", ["job_id"]),
        Personal("job_tag", ["tag"]),
        # What was applied for is known after its erasure too, by ids alone: nobody applies twice.
        Personal("jobs_application", ["title", "company", "url", "url_key", "last_error"], erase="empty"),
        Personal("auto_apply_logs", ["user_id", "reason", "error", "details"]),
        Personal("job_application_artifacts", ["name"]),
        Personal("jobs_saved_answer", ["label", "value", "company"]),
        Personal("jobs_board_card", ["variant"]),
        Personal("jobs_board_move", ["made_by", "reason"]),
        Personal("jobs_board_note", ["text", "made_by"]),
        Personal("jobs_board_contact", ["name", "role", "email", "phone"]),
        Personal("jobs_board_date", ["what", "place"]),
        Personal("jobs_mail_proposal", ["sender", "subject", "quote"]),
    ],
    views="interlock.apps.jobs.views:views",
    routers=["interlock.apps.jobs.claims.api:router"],
    commands="interlock.apps.jobs.commands:app",
    programs={
        "demo-world": "interlock.apps.jobs.world.command:demo_world",
        "apply": "interlock.apps.jobs.commands.apply:app",
    },
    demo="interlock.apps.jobs.demo:claim_parts",
)
if all(find_spec(name) for name in NEEDED):
    application = replace(
        application,
        handlers=[
            *application.handlers,
            "interlock.apps.jobs.finder.steps.companies",
            "interlock.apps.jobs.finder.steps.sources",
            "interlock.apps.jobs.finder.steps.crawls",
            "interlock.apps.jobs.finder.steps.listings",
            "interlock.apps.jobs.finder.steps.followers",
            "interlock.apps.jobs.autoapply.board.followers",
            "interlock.apps.jobs.autoapply.steps.validate",
            "interlock.apps.jobs.autoapply.steps.prepare",
            "interlock.apps.jobs.autoapply.steps.submit",
        ],
        routers=[
            *application.routers,
            "interlock.apps.jobs.finder.api:router",
            "interlock.apps.jobs.finder.pages:routers",
            "interlock.apps.jobs.autoapply.api:routers",
            "interlock.apps.jobs.autoapply.board.routes:router",
            "interlock.apps.jobs.autoapply.pages:routers",
        ],
        pages=[PageLink("Jobs", "/ui/jobs")],
        starts=[
            PageLink("Describe yourself: the profile that jobs are matched with", "/ui/jobs/profile", "member"),
            PageLink("Add a company whose jobs are followed", "/ui/jobs/companies", "member"),
        ],
        checks="interlock.apps.jobs.host:checks",
        metrics="interlock.apps.jobs.autoapply.records.numbers:metrics",
        alerts="interlock.apps.jobs.autoapply.records.numbers:ALERTS",
        demo="interlock.apps.jobs.demo:parts",
        duties=[
            *application.duties,
            Duty("crawls", timedelta(seconds=5), "interlock.apps.jobs.finder.steps.duties:start_crawls"),
            Duty("companies", timedelta(hours=1), "interlock.apps.jobs.finder.steps.duties:scan_companies"),
            Duty("profile", timedelta(seconds=10), "interlock.apps.jobs.finder.steps.duties:read_profile_file"),
            Duty("waiting", timedelta(seconds=30), "interlock.apps.jobs.finder.steps.duties:start_waiting"),
            Duty("scores", timedelta(seconds=10), "interlock.apps.jobs.finder.steps.duties:score_again"),
            Duty("tiers", timedelta(minutes=1), "interlock.apps.jobs.finder.steps.tiers:tier_again"),
            Duty("digest", timedelta(minutes=10), "interlock.apps.jobs.finder.steps.digest:send_digest"),
            Duty("postings", timedelta(hours=1), "interlock.apps.jobs.finder.steps.retention:remove_old"),
            Duty("mail", timedelta(seconds=30), "interlock.apps.jobs.autoapply.mail.duty:read_mailbox"),
            Duty("rules", timedelta(seconds=10), "interlock.apps.jobs.autoapply.steps.duties:match_rules"),
            Duty("queue", timedelta(minutes=5), "interlock.apps.jobs.autoapply.steps.duties:sweep_queue"),
            Duty("retries", timedelta(minutes=30), "interlock.apps.jobs.autoapply.steps.duties:sweep_retries"),
            Duty("by_hand", timedelta(minutes=1), "interlock.apps.jobs.autoapply.steps.duties:keep_claims"),
            Duty("nudges", timedelta(hours=1), "interlock.apps.jobs.autoapply.steps.duties:nudge"),
        ],
    )
registry = Registry([application])
