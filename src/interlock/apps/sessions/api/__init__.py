"""The HTTP API of sessions: sessions, prompts with their messages, branches, and live events.

Names are those of the specification. Bodies may also have the camelCase names of other clients, and answers have both.
"""

from interlock.apps.sessions.api import branches, live, prompts, sessions

routers = (sessions.router, branches.router, live.router, prompts.router)
