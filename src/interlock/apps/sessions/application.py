"""The application as it plugs in: the machines of sessions and of the sandboxes that they borrow."""

from interlock.apps.sessions.machine import loan, session
from interlock.apps.sessions.settings import SessionSettings
from interlock.machine import Application, Personal, Registry

application = Application(
    "sessions",
    machines=[session, loan],
    settings=SessionSettings,
    tables="interlock.apps.sessions.tables:metadata",
    migrations="interlock.apps.sessions.migrations",
    personal=[
        Personal("session_index", ["user_id"]),
        Personal("session_prompt", ["user_id", "text", "data", "answer"]),
        Personal("session_message", ["data"]),
    ],
    demo="interlock.apps.sessions.demo:parts",
)
registry = Registry([application])
