"""What became of a prompt whose worker was lost. It is never run again once its agent was started.

On the host where it was started the files of the run say everything. Elsewhere the stored lines have to do: a result
line among them decides, and without one the outcome is unknown.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.sessions.agents.lines import parse
from interlock.apps.sessions.agents.outcome import Ending as ProcessEnding
from interlock.apps.sessions.agents.outcome import Stop, outcome_of
from interlock.apps.sessions.agents.running import recover
from interlock.apps.sessions.agents.transcript import Transcript
from interlock.apps.sessions.agents.values import AgentNotStarted, AgentOutcome, AgentRun
from interlock.apps.sessions.conversation import messages
from interlock.apps.sessions.conversation.prompts import Ending, Prompt
from interlock.apps.sessions.conversation.writing import MessageWriter
from interlock.apps.sessions.host_folders import host_folders
from interlock.apps.sessions.loans.session_loans import open_loan, sandbox_of
from interlock.apps.sessions.machine import HELD
from interlock.apps.sessions.models import Result, Session
from interlock.apps.sessions.sandbox.local import SandboxMissing
from interlock.apps.sessions.steps import work
from interlock.worker import Task

TOGETHER = 500


def recovered(task: Task[Session], prompt: Prompt) -> Ending | None:
    """How the prompt ended; None if its agent was certainly not started. StillRunning while it is being ended."""
    name = work.Conversation(task.data.agent_session or "", resume=True)
    try:
        wanted = work.agent_run(task, prompt, None, name)
    except AgentNotStarted as gone:  # its configuration was removed meanwhile
        return Ending(Result.UNKNOWN, f"The worker was lost while the agent ran, and {gone}.", "lost")
    held = _held_sandbox(task)
    secrets = work.secrets_of(held.lent if held is not None else None, wanted.agent)
    if prompt.host in (None, socket.gethostname()):
        stored = task.read(messages.last_seq, prompt.id)
        with MessageWriter(task, prompt.id, secrets) as writer:
            outcome = recover(wanted, after_seq=stored, on_line=writer.put)
        if outcome is None:
            return None
    else:
        outcome = _by_stored_lines(task, prompt, wanted)
    if prompt.cancel_at is not None and outcome.result is Result.UNKNOWN:
        sentence = f"It was cancelled by {prompt.cancel_by}; its worker was lost meanwhile."
        outcome = replace(outcome, result=Result.CANCELLED, reason="cancelled", sentence=sentence)
    elif prompt.cancel_at is None and outcome.result is Result.CANCELLED:
        sentence = (
            "The worker was lost and the agent was ended before it was done: check the branch, then prompt again."
        )
        outcome = replace(outcome, result=Result.UNKNOWN, reason="lost", sentence=sentence)
    return work.ending_of(task, prompt, outcome, held, secrets)


def _by_stored_lines(task: Task[Session], prompt: Prompt, wanted: AgentRun) -> AgentOutcome:
    transcript = Transcript(wanted.agent.rules)
    seq = 0
    while page := task.read(_lines, prompt.id, seq):
        for seq, text in page.items():
            transcript.read(parse(seq, text.encode()))
    return outcome_of(wanted, transcript, ProcessEnding(exit_code=None, stop=Stop.LOST))


def _lines(conn: sa.Connection, prompt_id: UUID, after: int) -> Mapping[int, str]:
    found = messages.of_prompt(conn, prompt_id, after=after, limit=TOGETHER)
    return {one.seq: messages.whole(conn, one) for one in found}


def _held_sandbox(task: Task[Session]) -> work.Sandbox | None:
    """The sandbox in which the agent worked, if it is here and still the session's."""
    loan = task.read(open_loan, task.id)
    lent = task.read(sandbox_of, loan.id) if loan is not None and loan.state == HELD else None
    if lent is None or not isinstance(lent.item, Mapping):
        return None
    try:
        slot = host_folders(task.setting).sandboxes.slot(lent.item)
    except SandboxMissing:
        return None
    return work.Sandbox(lent, slot)
