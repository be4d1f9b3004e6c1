"""Decides from everything that is known how a prompt ended, and describes it in a sentence."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from interlock.apps.sessions.agents.transcript import Transcript, number, text
from interlock.apps.sessions.agents.values import AgentOutcome, AgentRun
from interlock.apps.sessions.models import Result

REASONS = {
    "done": "the agent finished",
    "cancelled": "somebody cancelled it",
    "interrupted": "the agent was interrupted",
    "api_error": "the model's API failed",
    "key_refused": "the model's API refused the key",
    "max_turns": "it used all its turns",
    "max_budget": "it used all its money",
    "bad_resume": "the agent does not know the conversation",
    "bad_output": "the agent never gave the output that was asked for",
    "mcp_failed": "the agent could not reach its tools",
    "exit_code": "the agent ended with an error",
    "killed": "a signal ended the agent",
    "no_start": "the agent printed nothing",
    "silent": "the agent was silent for too long",
    "time": "the agent took too long",
    "output": "the agent printed too much",
    "lost": "the worker was lost while the agent ran",
}

SHELL_CODES = {130, 137, 143}
"""What programs exit with that SIGINT, SIGKILL or SIGTERM ended."""


class Stop(StrEnum):
    """Why the runner ended an agent that had not ended."""

    CANCELLED = "cancelled"
    KEY_REFUSED = "key_refused"
    NO_START = "no_start"
    SILENT = "silent"
    TIME = "time"
    OUTPUT = "output"
    NO_EXIT = "no_exit"
    """It gave its result and did not end."""
    LOST = "lost"
    """The worker died."""


@dataclass(frozen=True)
class Ending:
    """How the process ended."""

    exit_code: int | None
    stop: Stop | None = None
    stderr: str = ""


def outcome_of(run: AgentRun, transcript: Transcript, ending: Ending) -> AgentOutcome:
    """The outcome of a run that is over."""
    result, reason, sentence = _verdict(run, transcript, ending)
    if sentence[-1] not in ".!?…":  # it ends with what the agent said
        sentence += "."
    cost, total = transcript.costs(run.spent_before_usd)
    denials = transcript.denials()
    found = transcript.result or {}
    if denials:
        tools = ", ".join(sorted({one.tool for one in denials}))
        sentence += f" {len(denials)} tool {'call was' if len(denials) == 1 else 'calls were'} denied ({tools[:200]})."
    turns = number(found.get("num_turns"))
    answer = text(found.get("result")) if reason != "api_error" else ""
    return AgentOutcome(
        result=result,
        reason=reason,
        sentence=sentence,
        answer=answer or transcript.answer,
        cost_usd=cost,
        conversation_cost_usd=total,
        usage=transcript.usage(),
        turns=None if turns is None else int(turns),
        exit_code=ending.exit_code,
        conversation=transcript.conversation,
        denials=denials,
        mcp_failed=transcript.mcp_failed,
        last_seq=transcript.last_seq,
        stderr=ending.stderr,
        structured_output=found.get("structured_output"),
    )


def _verdict(run: AgentRun, transcript: Transcript, ending: Ending) -> tuple[Result, str, str]:
    if transcript.key_refused is not None and not _succeeded(transcript):
        status = transcript.key_refused
        return (
            Result.FAILED,
            "key_refused",
            f"The model's API refused the agent's key (status {status}): check the key, then prompt again.",
        )
    if transcript.result is not None:
        return _by_result(run, transcript, transcript.result, ending)
    if transcript.said_failed is not None:
        return Result.FAILED, "exit_code", f"The agent said that it failed: {_clip(transcript.said_failed)}"
    if ending.stop is not None and not (ending.stop is Stop.NO_EXIT and transcript.said_done):
        return _stopped(run, ending.stop)
    return _by_exit(run, transcript, ending)


def _succeeded(transcript: Transcript) -> bool:
    found = transcript.result
    return found is not None and found.get("subtype") == "success" and not found.get("is_error")


def _by_result(
    run: AgentRun, transcript: Transcript, found: Mapping[str, Any], ending: Ending
) -> tuple[Result, str, str]:
    subtype, ended = text(found.get("subtype")), text(found.get("terminal_reason"))
    errors = found.get("errors")
    said = _clip("; ".join(text(one) for one in errors)) if isinstance(errors, list) else ""
    if ended.startswith("aborted"):
        if ending.stop in (None, Stop.CANCELLED):
            return Result.CANCELLED, "cancelled", "The agent was interrupted before it was done."
        return _stopped(run, ending.stop)
    if _succeeded(transcript):
        return _success(transcript, found, ending)
    match subtype:
        case "success":
            status = found.get("api_error_status")
            why = _clip(text(found.get("result"))) or transcript.error or "no reason given"
            number_of = f" with status {status}" if isinstance(status, int) else ""
            return Result.FAILED, "api_error", f"The model's API failed{number_of}: {why}"
        case "error_max_turns":
            return (
                Result.FAILED,
                "max_turns",
                f"The agent used all its turns ({run.max_turns}) and was not done: prompt again to continue.",
            )
        case "error_max_budget_usd":
            return (
                Result.FAILED,
                "max_budget",
                f"The agent used all its money (${run.max_budget_usd:g}) and was not done: raise it or prompt again.",
            )
        case "error_max_structured_output_retries":
            return Result.FAILED, "bad_output", "The agent never gave output of the form that was asked for."
        case "error_during_execution" if "No conversation found" in said:
            return (
                Result.FAILED,
                "bad_resume",
                f"The agent does not know the conversation {_clip(run.conversation, 60)}: start a new session.",
            )
    return Result.FAILED, "exit_code", f"The agent failed ({_clip(subtype, 60) or 'no reason given'}): {said or '-'}"


def _success(transcript: Transcript, found: Mapping[str, Any], ending: Ending) -> tuple[Result, str, str]:
    if transcript.mcp_failed:
        names = ", ".join(transcript.mcp_failed)
        return (
            Result.FAILED,
            "mcp_failed",
            f"The agent could not reach its tools ({_clip(names)}), so what it says about its work counts for nothing.",
        )
    if ending.exit_code not in (0, None) and ending.stop is None:
        return (
            Result.FAILED,
            "exit_code",
            f"The agent said that it was done, but {_exit(ending.exit_code or 0)}.",
        )
    turns = number(found.get("num_turns"))
    took = "" if turns is None else f" in {int(turns)} turn{'' if turns == 1 else 's'}"
    killed = " Its process did not end and was killed." if ending.stop is Stop.NO_EXIT else ""
    return Result.DONE, "done", f"The agent finished{took}.{killed}"


def _by_exit(run: AgentRun, transcript: Transcript, ending: Ending) -> tuple[Result, str, str]:
    code = ending.exit_code
    if code is None:
        return _stopped(run, Stop.LOST)
    why = f": {_clip(ending.stderr.strip().splitlines()[-1])}" if ending.stderr.strip() else ""
    if run.agent.kind == "command" and (code == 0 or ending.stop is Stop.NO_EXIT):
        if transcript.said_done or run.agent.lines.done is None:
            return Result.DONE, "done", "The agent finished."
        return Result.FAILED, "exit_code", "The agent ended without saying that it was done."
    reason = "killed" if code < 0 or code in SHELL_CODES else "exit_code"
    return Result.FAILED, reason, f"The agent gave no result and {_exit(code)}{why}."


def _stopped(run: AgentRun, stop: Stop) -> tuple[Result, str, str]:
    limits = run.limits
    match stop:
        case Stop.CANCELLED:
            return Result.CANCELLED, "cancelled", "The prompt was cancelled and the agent ended."
        case Stop.LOST:
            return (
                Result.UNKNOWN,
                "lost",
                "The worker was lost while the agent ran, and there is no result: check the branch, then prompt again.",
            )
        case Stop.NO_START:
            return Result.FAILED, "no_start", f"The agent printed nothing for {limits.start:g} s and was ended."
        case Stop.SILENT:
            return Result.FAILED, "silent", f"The agent was silent for {limits.silence:g} s and was ended."
        case Stop.TIME | Stop.NO_EXIT:
            return Result.FAILED, "time", f"The agent took longer than {limits.total:g} s and was ended."
        case Stop.OUTPUT:
            return Result.FAILED, "output", "The agent printed more than is kept of one prompt and was ended."
        case Stop.KEY_REFUSED:
            return Result.FAILED, "key_refused", "The model's API refused the agent's key: check it, then prompt again."


def _exit(code: int) -> str:
    if code >= 0 and code not in SHELL_CODES:
        return f"ended with exit code {code}"
    number_of = -code if code < 0 else code - 128
    try:
        name = signal.Signals(number_of).name
    except ValueError:
        name = f"signal {number_of}"
    return f"was ended by {name}" + (", which is often a lack of memory" if name == "SIGKILL" else "")


def _clip(found: str, length: int = 300) -> str:
    words = " ".join(found.split())
    return words if len(words) <= length else words[: length - 1] + "…"
