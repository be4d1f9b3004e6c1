"""Runs one agent and leaves nothing of it behind: the program of the supervisor.

It is started as a file, with the standard library alone, so that it takes 10 MB and starts at once. Its arguments are a
JSON object (`control`, `folder`, `nonce`, `interrupt`, `terminate`, `max_output`) and the agent's command. It

- holds a lock on the folder while it lives, so that nobody runs or recovers the same prompt meanwhile;
- appends the agent's output to `stdout`, the end of its errors to `stderr`, and sends a byte over the control socket;
- ends the agent when the socket says so or closes, which it does when the worker dies;
- as the reaper of all descendants, kills what the agent left running, also what left its process group;
- writes `ended`: the exit code, and why it was stopped.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import select
import signal
import sys
import time
from typing import Any

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
MAX_STDERR = 64 * 1024
DRAIN = 5.0
"""Seconds in which the rest of the output must come once every process is dead."""


def prctl(option: int, value: int) -> None:
    """Linux only; elsewhere the process group has to do."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def descendants() -> list[int]:
    """Every process below this one; empty where there is no /proc."""
    parents: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                    # The name of a program may contain anything, also parentheses.
                    parents.setdefault(int(file.read().rpartition(b")")[2].split()[1]), []).append(int(name))
    found, waiting = [], [os.getpid()]
    while waiting:
        below = parents.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def send_signal(pid: int, number: int, *, everybody: bool = False) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
    if everybody:
        for one in descendants():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, number)


def write_whole(path: str, content: bytes) -> None:
    with open(path + ".new", "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.rename(path + ".new", path)


class Supervisor:
    def __init__(self, spec: dict[str, Any], command: list[str]) -> None:
        self.spec, self.command, self.folder = spec, command, spec["folder"]
        self.control = int(spec["control"])
        self.stop: str | None = None
        self.exit_code: int | None = None
        self.pid = 0
        self.step = 0
        """0 lives, 1 interrupted, 2 terminated, 3 killed."""
        self.deadline: float | None = None
        self.written = 0
        self.errors = b""

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def may_start(self) -> bool:
        """Whether the worker that asked for this run still waits for it."""
        with contextlib.suppress(OSError), open(self.path("started"), encoding="utf-8") as file:
            ready, _, _ = select.select([self.control], [], [], 0)
            return file.read() == self.spec["nonce"] and not ready
        return False

    def launch(self) -> tuple[int, int]:
        out, out_end = os.pipe()
        err, err_end = os.pipe()
        failed, failed_end = os.pipe()
        write_whole(self.path("launched"), b"")
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setsid()
                prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                os.dup2(out_end, 1)
                os.dup2(err_end, 2)
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGCHLD):
                    signal.signal(number, signal.SIG_DFL)
                os.execvp(self.command[0], self.command)  # noqa: S606 - that is what it is for
            except BaseException as error:
                os.write(failed_end, str(error).encode()[:1000])
            finally:
                os._exit(127)
        for end in (out_end, err_end, failed_end):
            os.close(end)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)  # the agent's input is the agent's alone
        os.close(nothing)
        if why := os.read(failed, 1000):
            os.waitpid(self.pid, 0)
            raise OSError(why.decode("utf-8", "replace"))
        os.close(failed)
        return out, err

    def notify(self, what: bytes) -> None:
        with contextlib.suppress(OSError):
            os.write(self.control, what)

    def end(self, why: str) -> None:
        if self.stop is None and self.exit_code is None:
            self.stop = why
        if self.step == 0:
            self.advance()

    def advance(self) -> None:
        self.step += 1
        now = time.monotonic()
        if self.step == 1:
            send_signal(self.pid, signal.SIGINT)
            self.deadline = now + self.spec["interrupt"]
        elif self.step == 2:
            send_signal(self.pid, signal.SIGTERM, everybody=True)
            self.deadline = now + self.spec["terminate"]
        else:
            send_signal(self.pid, signal.SIGKILL, everybody=True)
            # New children may have come while the old ones were looked for.
            self.deadline = now + 0.2

    def reap(self) -> bool:
        """Collect dead processes; whether any is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.pid:
                self.exit_code = os.waitstatus_to_exitcode(status)
                # What it left running gets a SIGTERM and then a SIGKILL.
                self.step = max(self.step, 1)
                self.advance()

    def watch(self, out: int, err: int) -> None:
        poll = select.poll()
        for one in (out, err, self.control, self.wakeup()):
            os.set_blocking(one, False)
            poll.register(one, select.POLLIN)
        spool = os.open(self.path("stdout"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        open_ends, alive, given_up = {out, err}, True, None
        while alive or open_ends:
            alive = self.reap()
            now = time.monotonic()
            if not alive:
                given_up = given_up or now + DRAIN
                if now >= given_up:
                    break
            elif self.deadline is not None and now >= self.deadline:
                self.advance()
            due = given_up if not alive else self.deadline
            wait = 1000 if due is None else max(1, min(1000, int((due - now) * 1000) + 1))
            for number, _ in poll.poll(wait):
                if number == self.control:
                    self.listen(poll)
                elif number not in (out, err):
                    self.read(number)
                elif (chunk := self.read(number)) == b"":
                    poll.unregister(number)
                    open_ends.discard(number)
                elif chunk and number == out:
                    self.keep(spool, chunk)
                elif chunk:
                    self.errors = (self.errors + chunk)[-MAX_STDERR:]
        os.fsync(spool)

    def listen(self, poll: select.poll) -> None:
        said = self.read(self.control)
        if said == b"":
            poll.unregister(self.control)
            self.end("lost")
        elif said and b"E" in said:
            self.end("asked")

    def keep(self, spool: int, chunk: bytes) -> None:
        room = self.spec["max_output"] - self.written
        chunk = chunk[: max(room, 0)]
        view = memoryview(chunk)
        while view:
            view = view[os.write(spool, view) :]
        self.written += len(chunk)
        self.notify(b".")
        if self.written >= self.spec["max_output"]:
            self.end("output")

    @staticmethod
    def read(number: int) -> bytes | None:
        try:
            return os.read(number, 256 * 1024)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    @staticmethod
    def wakeup() -> int:
        """Readable when a child died."""
        readable, writable = os.pipe()
        os.set_blocking(writable, False)
        signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        return readable

    def run(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # The worker ends the agent over the socket; a signal to its group must not stop that half way.
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        lock = os.open(self.path("lock"), os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return
        os.set_blocking(self.control, False)
        os.set_inheritable(self.control, False)
        if not self.may_start():
            return
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        ended: dict[str, Any] = {}
        try:
            out, err = self.launch()
        except OSError as error:
            ended["not_started"] = str(error)
        else:
            self.watch(out, err)
        write_whole(self.path("stderr"), self.errors)
        ended |= {"exit_code": self.exit_code, "stop": self.stop}
        write_whole(self.path("ended"), json.dumps(ended).encode())


if __name__ == "__main__":
    Supervisor(json.loads(sys.argv[1]), sys.argv[2:]).run()
