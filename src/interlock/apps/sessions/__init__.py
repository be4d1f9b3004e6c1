"""Agent sessions on borrowed sandboxes: a person prompts, an agent works in a sandbox, a person reviews.

A session is claimed in `pending`, borrows a sandbox (or reuses the one it has), moves to `in_progress` and keeps its
lease until the agent is done. The sandbox is a `loan`, a child of the session. It is never overwritten and ends only
in `returned`, or in `stuck`, where a person must act. A loan never moves an archived session.
"""

from interlock.apps.sessions.application import registry
from interlock.apps.sessions.machine import loan, session

__all__ = ["loan", "registry", "session"]
