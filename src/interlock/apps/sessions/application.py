"""The application as it plugs in: the machines of sessions and of the sandboxes that they borrow."""

from datetime import timedelta

from interlock.apps.sessions.allocator.scopes import SANDBOXES, SANDBOXES_ADMIN
from interlock.apps.sessions.machine import loan, session
from interlock.apps.sessions.settings import SessionSettings
from interlock.machine import Application, Duty, PageLink, Personal, Registry

application = Application(
    "sessions",
    machines=[session, loan],
    handlers=[
        "interlock.apps.sessions.loans.steps",
        "interlock.apps.sessions.loans.followers",
        "interlock.apps.sessions.steps.followers",
        "interlock.apps.sessions.steps.handlers",
    ],
    duties=[
        Duty("sandbox_pool", timedelta(seconds=1), "interlock.apps.sessions.loans.duties:fill_pool"),
        Duty("sandbox_returns", timedelta(seconds=5), "interlock.apps.sessions.loans.duties:return_sandboxes"),
        Duty("sandbox_drift", timedelta(seconds=30), "interlock.apps.sessions.loans.reconciling:reconcile"),
        Duty("sandbox_renewals", timedelta(minutes=1), "interlock.apps.sessions.loans.duties:renew_borrows"),
        Duty("sandbox_operations", timedelta(seconds=1), "interlock.apps.sessions.allocator.duties:carry_on"),
        Duty("sandbox_expiry", timedelta(seconds=30), "interlock.apps.sessions.allocator.duties:expire"),
        Duty("sandbox_cleaning", timedelta(hours=1), "interlock.apps.sessions.allocator.duties:clean_up"),
        Duty("session_files", timedelta(minutes=10), "interlock.apps.sessions.steps.tidying:tidy"),
    ],
    settings=SessionSettings,
    scopes=[SANDBOXES, SANDBOXES_ADMIN],
    routers=[
        "interlock.apps.sessions.api:routers",
        "interlock.apps.sessions.pages:routers",
        "interlock.apps.sessions.allocator.api:router",
        "interlock.apps.sessions.allocator.admin_api:router",
        "interlock.apps.sessions.loans.api:router",
    ],
    programs={
        "allocator": "interlock.apps.sessions.allocator.program:allocator",
        "session": "interlock.apps.sessions.commands:session",
    },
    pages=[PageLink("Sessions", "/ui/sessions")],
    starts=[PageLink("Start an agent's session", "/ui/sessions/new", "member")],
    checks="interlock.apps.sessions.host:checks",
    views="interlock.apps.sessions.pages.views:views",
    tables="interlock.apps.sessions.tables:metadata",
    migrations="interlock.apps.sessions.migrations",
    personal=[
        Personal("session_index", ["user_id"]),
        Personal("session_prompt", ["user_id", "text", "data", "answer"]),
        Personal("session_message", ["data"]),
    ],
    alerts="interlock.apps.sessions.loans.measures:alerts",
    metrics="interlock.apps.sessions.loans.measures:metrics",
    demo="interlock.apps.sessions.demo:parts",
)
registry = Registry([application])
