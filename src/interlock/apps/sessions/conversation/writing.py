"""Stores the lines of a running agent: in order, as they come, several in one transaction where they come fast."""

from __future__ import annotations

import queue
import threading
import time
from dataclasses import replace
from typing import Any
from uuid import UUID

from interlock.apps.sessions.agents.values import Line
from interlock.apps.sessions.conversation import messages
from interlock.apps.sessions.conversation.hiding import RunSecrets
from interlock.worker import Task

WAITING = 500
"""Lines that may wait to be stored; the agent's reader waits when there are more."""
TOGETHER = 100
CHARACTERS = 1_000_000
"""Lines of one transaction, and their characters."""
ALIVE_EVERY = 60.0
"""Seconds after which the time limit of the step starts again while the agent works."""


class MessageWriter:
    """One thread that stores what `put` is given. There is no timer: what waits while one commit runs is the next."""

    def __init__(self, task: Task[Any], prompt_id: UUID, secrets: RunSecrets) -> None:
        self._task, self._prompt_id = task, prompt_id
        self._secrets = secrets
        self._lines: queue.Queue[Line | None] = queue.Queue(WAITING)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="interlock-messages", daemon=True)
        self._thread.start()

    def put(self, line: Line) -> None:
        """Store a line soon. Raises what storing an earlier one raised."""
        hidden = self._secrets.hide(line.text)
        if hidden is not line.text:
            line = replace(line, text=hidden)
        while True:
            if self._error is not None:
                raise self._error
            try:
                self._lines.put(line, timeout=0.5)
                return
            except queue.Full:
                continue

    def close(self) -> None:
        """Wait until everything is stored. Raises what storing raised."""
        while self._thread.is_alive():
            try:
                self._lines.put(None, timeout=0.5)
                break
            except queue.Full:
                continue
        self._thread.join()
        if self._error is not None:
            raise self._error

    def __enter__(self) -> MessageWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self.close()
        except BaseException:
            if kind is None:  # what ended the run counts more than what storing its last lines raised
                raise

    def _run(self) -> None:
        alive = time.monotonic()
        try:
            while True:
                try:
                    line = self._lines.get(timeout=ALIVE_EVERY)
                except queue.Empty:
                    self._task.heartbeat()
                    alive = time.monotonic()
                    continue
                if line is None:
                    return
                batch, last = self._batch(line)
                self._task.write(messages.store, self._prompt_id, batch, patient=True)
                if time.monotonic() - alive > ALIVE_EVERY:
                    self._task.heartbeat()
                    alive = time.monotonic()
                if last:
                    return
        except BaseException as error:  # the reader raises it at its next line, which ends the agent
            self._error = error

    def _batch(self, first: Line) -> tuple[list[Line], bool]:
        batch, size = [first], len(first.text)
        while len(batch) < TOGETHER and size < CHARACTERS:
            try:
                line = self._lines.get_nowait()
            except queue.Empty:
                break
            if line is None:
                return batch, True
            batch.append(line)
            size += len(line.text)
        return batch, False
