"""Sessions as their callers meet them: the API on one side, a worker on the other, a small repository to work on."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from interlock.apps.sessions import registry
from interlock.apps.sessions.settings import SessionSettings
from interlock.engine import Claim, Engine, Result
from interlock.store import Store
from interlock.testing import Trial
from interlock.worker.port import EnginePort
from interlock.worker.runner import invoke
from tests.support.api import Api, open_api

REPO = "harbour/shop"
FILES = {
    "README.md": "# Shop\n\nSells tea.\n",
    "CHANGELOG.md": "# Changes\n\n- First version\n",
    "src/app.py": "def total(prices):\n    return sum(prices)\n",
}


def git(*arguments: str | Path, cwd: Path) -> str:
    """Git as the owner of a repository uses it, without the host's configuration."""
    who = {name: "Owner" if name.endswith("NAME") else "owner@localhost" for name in NAMES}
    env = {"PATH": os.environ["PATH"], "HOME": str(cwd), "GIT_CONFIG_NOSYSTEM": "1", **who}
    done = subprocess.run(["git", *map(str, arguments)], cwd=cwd, env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


NAMES = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")


def make_repository(folder: Path, files: Mapping[str, str] = FILES) -> Path:
    """A repository with one commit on main."""
    folder.mkdir(parents=True)
    git("init", "--quiet", "--initial-branch=main", cwd=folder)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    git("add", ".", cwd=folder)
    git("commit", "--quiet", "-m", "First version", cwd=folder)
    git("config", "receive.denyCurrentBranch", "ignore", cwd=folder)
    return folder


@dataclass
class Sessions:
    """The API, and a trial that works on what was asked for."""

    api: Api
    trial: Trial
    folder: Path

    @property
    def engine(self) -> Engine:
        return self.api.engine

    @property
    def settings(self) -> SessionSettings:
        found: SessionSettings = self.engine.core.settings["sessions"]
        return found

    def set(self, **settings: Any) -> None:
        """Change the configuration."""
        given = self.settings.model_dump(exclude_unset=True) | settings
        self.engine.core.settings["sessions"] = SessionSettings.model_validate(given)

    def start(self, prompt: str | None = None, who: str = "member", **body: Any) -> dict[str, Any]:
        """Start a session, with a prompt if there is one; the answer."""
        path = "/sessions" if prompt is None else "/sessions/with-prompt"
        given = {"repo": REPO, **({} if prompt is None else {"prompt": prompt}), **body}
        made = self.api.post(path, given, who)
        assert made.status_code == 201, made.text
        answer: dict[str, Any] = made.json()
        return answer

    def prompt(self, session_id: str | UUID, text: str, who: str = "member", **body: Any) -> dict[str, Any]:
        made = self.api.post("/prompts", {"session_id": str(session_id), "content": text, **body}, who)
        assert made.status_code == 201, made.text
        answer: dict[str, Any] = made.json()
        return answer

    def look(self, session_id: str | UUID, who: str = "member") -> dict[str, Any]:
        found = self.api.get(f"/sessions/{session_id}", who)
        assert found.status_code == 200, found.text
        answer: dict[str, Any] = found.json()
        return answer

    def prompts(self, session_id: str | UUID) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.api.get(f"/sessions/{session_id}/prompts", "member").json()["prompts"]
        return found

    def messages(self, prompt_id: str | UUID) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.api.get(f"/prompts/{prompt_id}/messages", "member").json()["messages"]
        return found

    def state(self, session_id: str | UUID) -> str:
        return self.engine.get(UUID(str(session_id))).state

    def go_on(self, seconds: float = 30) -> None:
        """Let time pass, with the worker's duties every five seconds, and every twenty in a long time."""
        step = 5 if seconds < 100 else 20
        for _ in range(max(1, int(seconds // step))):
            self.trial.look_after()
            self.trial.advance(seconds=step)
        self.trial.look_after()
        self.trial.run_until_idle()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Whatever becomes ready is done at once, beside the test, each in a thread of its own as a worker does."""
        over, broken = threading.Event(), []

        def run() -> None:
            try:
                with ThreadPoolExecutor(8) as pool:
                    while not over.wait(0.01):
                        self.trial.look_after()
                        for claim in self.trial.claim(8):
                            pool.submit(self._handle, claim)
                        self.engine.tick()
            except BaseException as error:
                broken.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
        assert broken == []

    def _handle(self, claim: Claim) -> None:
        port = EnginePort(self.engine, claim)
        done = threading.Event()

        def watch() -> None:
            while not done.wait(0.1):
                found = self.engine.get(claim.id)
                if (found.fence, found.wake) != (claim.fence, "lease"):
                    port.cancel()

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            outcome = invoke(claim, port)
        finally:
            done.set()
            watcher.join()
        self.engine.finish([Result(claim, outcome)])

    def path(self, session_id: str | UUID) -> list[str]:
        return [row.to_state for row in self.engine.history(UUID(str(session_id))) if row.to_state is not None]


@contextmanager
def open_sessions(store: Store, folder: Path, **settings: Any) -> Iterator[Sessions]:
    """The application with one repository, `harbour/shop`."""
    source = make_repository(folder / "source")
    given = {"repos": {REPO: {"url": str(source), "push": True, "merge": True}}, "folder": folder / "files"}
    with open_api(store, applications=[registry]) as api:
        api.engine.core.settings["sessions"] = SessionSettings.model_validate({**given, **settings})
        yield Sessions(api, Trial(api.engine), folder)
