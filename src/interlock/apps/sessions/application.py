"""The application as it plugs in: the machines of sessions and of the sandboxes that they borrow."""

from interlock.apps.sessions.machine import loan, session
from interlock.machine import Application, Registry

application = Application("sessions", machines=[session, loan], demo="interlock.apps.sessions.demo:parts")
registry = Registry([application])
