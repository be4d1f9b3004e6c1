"""Runs one prompt to its end: reads the lines, answers the agent's questions, watches the time, decides the outcome."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from interlock.apps.sessions.agents.launching import Launch, launch_of
from interlock.apps.sessions.agents.lines import LineReader
from interlock.apps.sessions.agents.outcome import Ending, Stop, outcome_of
from interlock.apps.sessions.agents.spool import MARK, Spool
from interlock.apps.sessions.agents.transcript import Transcript, text
from interlock.apps.sessions.agents.values import (
    AgentNotStarted,
    AgentOutcome,
    AgentRun,
    Approve,
    Cancelled,
    Decision,
    Line,
    OnLine,
    ToolCall,
)

SUPERVISOR = Path(__file__).with_name("supervise.py")
MAX_OUTPUT = 256 * 1024**2
"""Bytes that an agent may print for one prompt."""
TICK = 0.25
"""Seconds between two looks at the time and whether it was cancelled, while nothing is printed."""
ASK_EVERY = 0.5
STUCK = 30.0
"""Seconds, beyond those of the steps, in which a supervisor must have ended its agent."""
ENDED = {"lost": Stop.LOST, "output": Stop.OUTPUT}
"""Reasons of the supervisor to end an agent by itself."""


def run(
    wanted: AgentRun, *, on_line: OnLine, approve: Approve | None = None, cancelled: Cancelled = lambda: False
) -> AgentOutcome:
    """Run the agent to its end. When this returns or raises, none of its processes is left.

    AgentNotStarted: nothing was run. AlreadyStarted: `recover` it. What `on_line` or `approve` raises ends the agent.
    """
    launch = launch_of(wanted)
    spool = Spool(wanted.folder)
    nonce = spool.start()
    try:
        process = _Process(wanted, launch, nonce)
    except OSError as error:
        spool.unstart()
        raise AgentNotStarted(f"the supervisor of the agent could not be started: {error}") from error
    attempt = _Attempt(wanted, launch, spool, process, on_line, approve)
    try:
        attempt.follow(cancelled)
    except BaseException:
        process.end_now()
        spool.kill_rest()
        raise
    ended = spool.ended() or {}
    if "not_started" in ended:
        spool.unstart()
        raise AgentNotStarted(f"the agent could not be started: {ended['not_started']}")
    if not ended:
        spool.kill_rest()
    return attempt.outcome(ended)


def recover(wanted: AgentRun, *, after_seq: int, on_line: OnLine) -> AgentOutcome | None:
    """The outcome of a run whose worker was lost, after its lines that nobody has read yet.

    None if the prompt was not started on this host: then it may be run. Waits until the former run is over.
    """
    spool = Spool(wanted.folder)
    if not spool.was_started:
        return None
    limits = wanted.limits
    with spool.locked(limits.interrupt + limits.terminate + STUCK):
        if not spool.was_launched:
            spool.unstart()
            return None
        ended = spool.ended()
        if ended is not None and "not_started" in ended:
            spool.unstart()
            return None
        if ended is None:
            spool.kill_rest()
        transcript, reader = Transcript(wanted.agent.rules), _reader(wanted)
        lines = [line for chunk in spool.chunks() for line in reader.feed(chunk)]
        for line in (*lines, *reader.finish()):
            transcript.read(line)
            if line.seq > after_seq:
                on_line(line)
    return outcome_of(wanted, transcript, _ending(spool, ended or {}, None))


def _reader(wanted: AgentRun) -> LineReader:
    rules = wanted.agent.rules
    return LineReader(rules.separator if rules is not None else "")


def _ending(spool: Spool, ended: Mapping[str, Any], stop: Stop | None) -> Ending:
    code = ended.get("exit_code")
    if not ended:
        stop = stop or Stop.LOST  # the supervisor was killed
    return Ending(
        exit_code=code if isinstance(code, int) else None,
        stop=stop or ENDED.get(str(ended.get("stop"))),
        stderr=spool.stderr(),
    )


class _Process:
    """The supervisor with its agent: the agent's input, and the socket that ends it."""

    def __init__(self, wanted: AgentRun, launch: Launch, nonce: str) -> None:
        self.control, theirs = socket.socketpair()
        spec = {
            "control": theirs.fileno(),
            "folder": str(wanted.folder.absolute()),
            "nonce": nonce,
            "interrupt": wanted.limits.interrupt,
            "terminate": wanted.limits.terminate,
            "max_output": MAX_OUTPUT,
        }
        self._patience = wanted.limits.interrupt + wanted.limits.terminate + STUCK
        try:
            self.supervisor = subprocess.Popen(  # noqa: S603 - a list, without a shell
                [sys.executable, "-I", "-S", str(SUPERVISOR), json.dumps(spec), *launch.argv],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=launch.cwd,
                env={**launch.env, MARK: nonce},
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        except BaseException:
            self.control.close()
            raise
        finally:
            theirs.close()
        assert self.supervisor.stdin is not None
        self.input = self.supervisor.stdin
        os.set_blocking(self.input.fileno(), False)
        self.control.setblocking(False)
        self._waiting: deque[memoryview] = deque()
        self._closing = False
        self.over = False

    def write(self, content: bytes) -> None:
        """Give the agent input. It may not read it for long, so it is kept until it does."""
        if content and not self._closing:
            self._waiting.append(memoryview(content))
            self._flush()

    def close_input(self) -> None:
        """No more input, once what waits was read."""
        self._closing = True
        self._flush()

    def _flush(self) -> None:
        if self.input.closed:
            return
        try:
            while self._waiting:
                written = os.write(self.input.fileno(), self._waiting[0])
                self._waiting[0] = self._waiting[0][written:]
                if not self._waiting[0]:
                    self._waiting.popleft()
        except BlockingIOError:
            return
        except OSError:  # it reads no more
            self._waiting.clear()
            self._closing = True
        if self._closing:
            with suppress(OSError):
                self.input.close()

    def wait(self, seconds: float) -> None:
        """Until something was printed, the agent takes input, or the time is over."""
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        if self._waiting and not self.input.closed:
            poll.register(self.input, select.POLLOUT)
        for number, _ in poll.poll(max(seconds, 0) * 1000):
            if number == self.control.fileno():
                try:
                    self.over = not self.control.recv(65536)
                except BlockingIOError:
                    continue
                except OSError:
                    self.over = True
            else:
                self._flush()

    def ask_to_end(self) -> None:
        with suppress(OSError):
            self.control.send(b"E")

    def finish(self) -> None:
        """Collect the supervisor, which is about to end."""
        self._waiting.clear()
        self.close_input()
        try:
            self.supervisor.wait(self._patience)
        except subprocess.TimeoutExpired:
            self.supervisor.kill()
            self.supervisor.wait()
        self.control.close()

    def end_now(self) -> None:
        """End the agent whatever it does, and wait until it is gone."""
        self.ask_to_end()
        self.finish()


class _Attempt:
    """One run from the first line to the outcome."""

    def __init__(
        self,
        wanted: AgentRun,
        launch: Launch,
        spool: Spool,
        process: _Process,
        on_line: OnLine,
        approve: Approve | None,
    ) -> None:
        self._wanted, self._launch, self._spool, self._process = wanted, launch, spool, process
        self._on_line, self._approve = on_line, approve
        self._reader, self._transcript = _reader(wanted), Transcript(wanted.agent.rules)
        self._offset = 0
        self._stop: Stop | None = None
        self._begun = self._heard = time.monotonic()
        self._waited = 0.0
        """Seconds that people took for approvals; they do not count."""
        self._result_at: float | None = None
        self._end_at: float | None = None
        """When an agent that was asked to stop is ended."""
        self._open: dict[str, tuple[ToolCall, float]] = {}
        self._asked_at = 0.0

    def follow(self, cancelled: Cancelled) -> None:
        self._process.write(self._launch.first_input)
        if not self._launch.two_way:
            self._process.close_input()
        while not self._process.over:
            before = time.monotonic()
            self._process.wait(TICK)
            self._read()
            now = time.monotonic()
            if self._open:
                self._waited += now - before
                self._heard = now
                self._ask(now)
            if self._stop is None:
                self._stop = Stop.CANCELLED if cancelled() else self._watch(now)
                if self._stop is not None:
                    self._begin_stop(now)
            if self._end_at is not None and now >= self._end_at:
                self._process.ask_to_end()
                self._end_at = None
        self._process.finish()
        self._read()
        for line in self._reader.finish():
            self._take(line)

    def outcome(self, ended: Mapping[str, Any]) -> AgentOutcome:
        return outcome_of(self._wanted, self._transcript, _ending(self._spool, ended, self._stop))

    # -- lines

    def _read(self) -> None:
        for chunk in self._spool.chunks(self._offset):
            self._offset += len(chunk)
            self._heard = time.monotonic()
            for line in self._reader.feed(chunk):
                self._take(line)

    def _take(self, line: Line) -> None:
        self._on_line(line)
        self._transcript.read(line)
        if self._transcript.ended and self._result_at is None:
            self._result_at = time.monotonic()
            self._open.clear()
            self._process.close_input()
        if self._launch.two_way and line.data is not None and line.data.get("type") == "control_request":
            self._requested(line.data)
        elif self._launch.two_way and line.data is not None and line.data.get("type") == "control_cancel_request":
            self._open.pop(text(line.data.get("request_id")), None)

    # -- approvals

    def _requested(self, data: Mapping[str, Any]) -> None:
        named, request = text(data.get("request_id")), data.get("request")
        if not named or len(named) > 200 or not isinstance(request, dict) or self._stop is not None:
            return
        if request.get("subtype") != "can_use_tool":
            self._respond(named, {"subtype": "error", "request_id": named, "error": "this is not supported"})
            return
        given = request.get("input")
        tool = text(request.get("tool_name")) or "a tool"
        call = ToolCall(
            request_id=named,
            tool=tool[:200],
            tool_input=given if isinstance(given, dict) else {},
            tool_use_id=text(request.get("tool_use_id"))[:200],
            title=_title(tool, given),
        )
        if self._approve is None:
            self._decide(call, Decision(False, "Nobody can be asked to approve this."))
            return
        self._open[named] = (call, time.monotonic() + self._wanted.limits.approval)
        self._asked_at = 0.0

    def _ask(self, now: float) -> None:
        if now - self._asked_at < ASK_EVERY or self._approve is None:
            return
        self._asked_at = now
        for named, (call, deadline) in list(self._open.items()):
            decision = self._approve(call)
            if decision is None and now >= deadline:
                decision = Decision(False, f"Nobody answered within {self._wanted.limits.approval:g} s.")
            if decision is not None:
                self._open.pop(named, None)
                self._decide(call, decision)

    def _decide(self, call: ToolCall, decision: Decision) -> None:
        if decision.allow:
            given = call.tool_input if decision.changed_input is None else decision.changed_input
            answer: dict[str, Any] = {"behavior": "allow", "updatedInput": given}
        else:
            answer = {"behavior": "deny", "message": decision.reason or "A person denied this."}
        self._respond(call.request_id, {"subtype": "success", "request_id": call.request_id, "response": answer})

    def _respond(self, named: str, response: Mapping[str, Any]) -> None:
        self._process.write(json.dumps({"type": "control_response", "response": response}).encode() + b"\n")

    # -- time

    def _watch(self, now: float) -> Stop | None:
        limits = self._wanted.limits
        if self._transcript.key_refused is not None and self._result_at is None:
            return Stop.KEY_REFUSED
        if self._result_at is not None:
            return Stop.NO_EXIT if now - self._result_at > limits.exit else None
        if now - self._begun - self._waited > limits.total:
            return Stop.TIME
        if self._transcript.last_seq == 0 and self._offset == 0 and now - self._begun > limits.start:
            return Stop.NO_START
        return Stop.SILENT if now - self._heard > limits.silence else None

    def _begin_stop(self, now: float) -> None:
        """Ask a two-way agent to stop, so that it says what it spent; end any other at once."""
        self._open.clear()
        polite = self._launch.two_way and self._stop in (Stop.CANCELLED, Stop.TIME) and self._result_at is None
        if polite:
            request = {"type": "control_request", "request_id": "stop", "request": {"subtype": "interrupt"}}
            self._process.write(json.dumps(request).encode() + b"\n")
        self._end_at = now + (self._wanted.limits.interrupt if polite else 0.0)


def _title(tool: str, given: Any) -> str:
    """A tool call in one line."""
    words = json.dumps(given, ensure_ascii=False, default=str) if isinstance(given, dict) else ""
    if isinstance(given, dict):
        for name in ("command", "cmd", "path", "file_path", "url", "query"):
            if isinstance(given.get(name), str):
                words = given[name]
                break
    short = " ".join(words.split())
    return f"{tool.rpartition('__')[2]}: {short[:160]}{'…' if len(short) > 160 else ''}"
