"""The process that is killed while it sends an application: at a point of a commit, or after so many of its bytes."""

from __future__ import annotations

import logging
import os
import signal
import socket
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from interlock.apps.jobs import registry
from interlock.store import failpoints, open_store
from interlock.testing import Trial
from tests.apps.jobs.autoapply.steps.sending import settings_for


@dataclass(frozen=True)
class Orders:
    """What a sender does, and where it dies."""

    url: str
    host: str
    """The demo world's host."""
    now: datetime
    worker: UUID
    point: int | None = None
    """It dies at the so manieth point of a commit."""
    share: float | None = None
    """It dies after this share of the bytes of the application has left; 0 is before the first one."""


def run(orders: Orders) -> None:
    logging.disable()
    given = settings_for(orders.host)
    with (
        open_store(orders.url, durability="normal", wakeup="poll") as store,
        Trial(registry.configured({"jobs": given}), store=store, start=orders.now, settings={"jobs": given}) as trial,
    ):
        [claim] = trial.claim(worker=orders.worker)
        if orders.point is not None:
            _die_at_commit(orders.point)
        if orders.share is not None:
            _die_while_sending(orders.share)
        trial.finish(claim, trial.run(claim))


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _die_at_commit(point: int) -> None:
    left = point

    def hook(_: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            _die()

    failpoints.hook = hook


def _die_while_sending(share: float) -> None:
    """Count the bytes of the POST, whose length its first piece names."""
    real = socket.socket.send
    left: dict[int, int] = {}

    def send(self: socket.socket, data: Any, *flags: int) -> int:
        piece, number = bytes(data), self.fileno()
        if piece.startswith(b"POST "):
            head, _, _ = piece.partition(b"\r\n\r\n")
            [body] = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            left[number] = round(share * (len(head) + 4 + int(body.split(b":")[1])))
        if number not in left:
            return real(self, data, *flags)
        part = piece[: left[number]]
        sent = real(self, part, *flags) if part else 0
        left[number] -= sent
        if left[number] <= 0:
            _die()
        return sent

    socket.socket.send = send  # type: ignore[method-assign, assignment]
