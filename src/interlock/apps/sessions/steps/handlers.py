"""The handler of a session: one prompt, from the queue to its outcome."""

from __future__ import annotations

from datetime import timedelta

from interlock.ai import TotalBudgetSpent
from interlock.ai.calls import require_budget
from interlock.apps.sessions.agents.spool import StillRunning
from interlock.apps.sessions.agents.values import AgentNotStarted
from interlock.apps.sessions.conversation import naming, prompts
from interlock.apps.sessions.conversation.prompts import Ending, Prompt
from interlock.apps.sessions.host_folders import UnknownRepository
from interlock.apps.sessions.loans.session_loans import sandbox_for
from interlock.apps.sessions.machine import IN_PROGRESS, NEEDS_REVIEW, PENDING, session
from interlock.apps.sessions.models import Result, Session
from interlock.apps.sessions.sandbox.git import GitFailed
from interlock.apps.sessions.sandbox.local import SandboxMissing
from interlock.apps.sessions.sandbox.repository import UnknownBranch
from interlock.apps.sessions.steps import recovery, work
from interlock.machine import Again, Go, Outcome
from interlock.worker import Task

TIME = timedelta(minutes=10)
"""For each part of the work; it starts again each minute while the agent lives."""
SOON = timedelta(seconds=2)
LAST_ATTEMPT = 5
"""The attempt after which trouble with git ends the prompt: the first and the four retries of the machine."""


@session.work(PENDING, timeout=TIME)
@session.work(IN_PROGRESS, timeout=TIME)
def run_next_prompt(task: Task[Session]) -> Outcome:
    """Run the prompt that is next, or find out what became of the one whose worker was lost."""
    prompt = task.read(prompts.following, task.id)
    if prompt is None:
        return _rest(task)
    if prompt.agent_at is not None:
        try:
            ended = recovery.recovered(task, prompt)
        except StillRunning:
            return Again(SOON, reason="the agent of a lost worker is being ended")
        if ended is not None:
            return _done(task, prompt, ended)
        task.write(prompts.agent_did_not_start, prompt.id)
    if prompt.cancel_at is not None:
        return _done(task, prompt, Ending(Result.CANCELLED, "It was cancelled before it began.", "cancelled"))
    try:
        task.write(require_budget)
    except TotalBudgetSpent as error:
        return _not_run(task, prompt, error)
    try:
        work.check_repository(task)
        held = sandbox_for(task)
        if held.wait is not None or held.lent is None:
            return Again(held.wait or SOON, reason=held.why)
        sandbox = work.prepare(task, held.lent)
    except SandboxMissing as missing:
        return Again(SOON, reason=str(missing))
    except (UnknownBranch, UnknownRepository) as error:
        return _not_run(task, prompt, error)
    except (GitFailed, OSError) as error:
        if task.attempt < LAST_ATTEMPT:
            raise
        return _not_run(task, prompt, error)
    _name(task, prompt)
    conversation = work.conversation_of(task)
    started = {
        "prompt_id": str(prompt.id),
        "loan_id": str(held.loan_id),
        "agent_session": conversation.name,
        "result": None,
        "error": None,
    }
    if task.state == PENDING:
        task.move(IN_PROGRESS, started, reason=f"prompt {prompt.number}")
    else:
        task.save(started)
    if task.read(prompts.get, prompt.id).inbox_status != prompts.ACTIVE:
        return _rest(task)  # cancelled between the queue and here
    try:
        return _done(task, prompt, work.run_agent(task, prompt, sandbox, conversation))
    except AgentNotStarted as error:
        task.write(prompts.agent_did_not_start, prompt.id)
        return _not_run(task, prompt, error)


def _done(task: Task[Session], prompt: Prompt, ending: Ending) -> Outcome:
    """Store how the prompt ended, then let the session go on."""
    task.write(prompts.end, prompt.id, ending, patient=True)
    work.forget_run(task, prompt.id)
    return _go(task, prompt.id, ending.result, ending.sentence)


def _not_run(task: Task[Session], prompt: Prompt, error: Exception) -> Outcome:
    """The prompt cannot be run, and no retry helps: its user reads why."""
    return _done(task, prompt, Ending(Result.FAILED, f"It could not be run: {error}", "not_run"))


def _rest(task: Task[Session]) -> Outcome:
    """No prompt is left: what the last one came to is reviewed."""
    last = task.read(prompts.last_ended, task.id)
    if last is None:
        return _go(task, None, None, "there is no prompt")
    return _go(task, last.id, Result(last.inbox_status), last.sentence or "")


def _go(task: Task[Session], prompt_id: object, result: Result | None, sentence: str) -> Outcome:
    to = NEEDS_REVIEW if task.state == IN_PROGRESS else (IN_PROGRESS, NEEDS_REVIEW)
    data = {
        "prompt_id": str(prompt_id) if prompt_id is not None else None,
        "result": result,
        "error": sentence[:2000] if result in {Result.FAILED, Result.UNKNOWN} else None,
    }
    return Go(to, data=data, reason=sentence[:2000])


def _name(task: Task[Session], prompt: Prompt) -> None:
    """A title by a model, where one is configured and nobody gave another."""
    if prompt.number == 1 and task.data.title == naming.title_of(prompt.text):
        title = naming.by_model(task, prompt.text, task.data.user_id)
        if title is not None:
            task.save({"title": title})
