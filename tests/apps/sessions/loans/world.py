"""Sessions that borrow real local sandboxes; what an agent would do is a function of the test."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from uuid import UUID

from interlock.apps.sessions.allocator import pool
from interlock.apps.sessions.host_folders import host_folders
from interlock.apps.sessions.loans import duties, followers, steps
from interlock.apps.sessions.loans.session_loans import sandbox_for, sandbox_of
from interlock.apps.sessions.machine import loan, session
from interlock.apps.sessions.models import Session
from interlock.apps.sessions.settings import SessionSettings
from interlock.apps.sessions.tables import sandbox_loan
from interlock.engine import Instance
from interlock.machine import USER, Actor, Again, Go, Outcome
from interlock.store import Store
from interlock.testing import START, Trial
from interlock.worker import Task

ANN = Actor(USER, "ann")
REPO = "harbour/shop"
DECLARED = (steps, followers)
"""The modules that declare the handlers of `loan`."""


def make_repository(folder: Path) -> Path:
    """A small repository with one file on `main`; the one that is there already."""
    if folder.exists():
        return folder
    folder.mkdir(parents=True)
    (folder / "README").write_text("shop\n")
    for words in (
        ("init", "-q", "-b", "main"),
        ("add", "."),
        ("-c", "user.name=ann", "-c", "user.email=ann@example.org", "commit", "-qm", "first"),
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


class SessionWorld(Trial):
    """Sessions, real loans, the allocator of this installation, and worktrees below a folder."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        settings: SessionSettings | None = None,
        size: int = 2,
        start: datetime = START,
    ) -> None:
        self.agent: Callable[[Path], None] = lambda tree: None
        self.worked: list[tuple[UUID, str]] = []
        given = settings or SessionSettings(pool_size=size, repos={REPO: str(make_repository(folder / "source"))})
        machines = [session.with_handlers({"pending": self.work, "in_progress": self.work}), loan]
        super().__init__(machines, store=store, settings={"sessions": given, "data": folder / "data"}, start=start)

    @property
    def settings(self) -> SessionSettings:
        found: SessionSettings = self.engine.setting("sessions")
        return found

    # -- what the worker's duties do

    def look_after(self) -> None:
        duties.fill_pool(self.engine)
        duties.return_sandboxes(self.engine)
        duties.renew_borrows(self.engine)

    def go_on(self, seconds: float = 60) -> None:
        """Let time pass, with the duties every five seconds, and every twenty in a long time."""
        step = 5 if seconds < 100 else 20
        for _ in range(max(1, int(seconds // step))):
            self.look_after()
            self.advance(seconds=step)
        self.look_after()
        self.run_until_idle()

    # -- the session's step, with the test's agent

    def work(self, task: Task[Session]) -> Outcome:
        held = sandbox_for(task)
        if held.lent is None:
            assert held.wait is not None
            return Again(held.wait, reason=held.why)
        if task.state == "pending":
            task.move("in_progress", {"loan_id": str(held.loan_id)})
        place = host_folders(task.setting)
        slot = place.sandboxes.slot(held.lent.item)
        self.worked.append((task.id, held.lent.item_id))
        if slot is not None:
            branch = f"claude/{task.id}"
            place.sandboxes.prepare(slot, place.repository(REPO), session=str(task.id), branch=branch, target="main")
            self.agent(slot.tree)
        return Go("needs_review", data={"result": "done"})

    # -- the test's own words

    def begin(self) -> UUID:
        return self.create("session", {"user_id": "ann", "repo": REPO})

    def loans(self, session_id: UUID) -> list[Instance]:
        return self.engine.children(session_id)

    def prompt(self, session_id: UUID) -> None:
        self.engine.fire(session_id, "prompt", actor=ANN)

    def counts(self) -> pool.Counts:
        return self.engine.read(lambda conn: pool.counts(conn, "local"))

    def items(self) -> list[pool.Item]:
        return self.engine.read(lambda conn: pool.items(conn, "local"))

    def lent(self, loan_id: UUID) -> bool:
        return self.engine.read(lambda conn: sandbox_of(conn, loan_id)) is not None

    def secrets_of(self, loan_id: UUID) -> tuple[str | None, str | None]:
        row = self.engine.read(
            lambda c: c.execute(sandbox_loan.select().where(sandbox_loan.c.loan_id == loan_id)).one()
        )
        return row.item, row.token

    def show(self, session_id: UUID, path: str) -> str:
        """A file on the session's branch."""
        mirror = host_folders(self.engine.setting).repository(REPO)
        return mirror.line("show", f"refs/heads/claude/{session_id}:{path}")
