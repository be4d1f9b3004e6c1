"""The application as it plugs in: the machines of finder, claims and auto-apply, with endpoints, pages and duties."""

from datetime import timedelta

from interlock.apps.jobs.autoapply.machine import application as application_machine
from interlock.apps.jobs.claims.machine import job, run
from interlock.apps.jobs.claims.scopes import CLAIMS
from interlock.apps.jobs.finder import company, listing, source
from interlock.apps.jobs.settings import JobsSettings
from interlock.machine import Application, Duty, Personal, Registry

application = Application(
    "jobs",
    machines=[company, source, listing, job, run, application_machine],
    handlers=["interlock.apps.jobs.claims.followers", "interlock.apps.jobs.autoapply.claiming"],
    duties=[Duty("claims", timedelta(seconds=2), "interlock.apps.jobs.claims.followers:sweep")],
    settings=JobsSettings,
    scopes=[CLAIMS],
    tables="interlock.apps.jobs.tables:metadata",
    migrations="interlock.apps.jobs.migrations",
    personal=[Personal("job_index", ["job_id"]), Personal("job_tag", ["tag"])],
    views="interlock.apps.jobs.claims.pages:views",
    routers=["interlock.apps.jobs.claims.api:router"],
    commands="interlock.apps.jobs.commands:app",
    demo="interlock.apps.jobs.demo:parts",
)
registry = Registry([application])
