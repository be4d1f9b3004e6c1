"""Agent sessions on borrowed sandboxes: a person prompts, an agent works in a sandbox, a person reviews.

A session is claimed in `pending`, borrows a sandbox (or uses again the one that it holds), moves to `in_progress`
and keeps its lease until the agent is done. The sandbox is a `loan` of its own, a child of the session, that is
never overwritten and ends only in `returned`, or in `stuck`, where somebody must act. What becomes of a loan never
moves an archived session.
"""

from interlock.apps.sessions.application import registry
from interlock.apps.sessions.machine import loan, session

__all__ = ["loan", "registry", "session"]
