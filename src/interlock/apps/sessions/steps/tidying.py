"""Files that nobody needs any more: of runs whose prompt has ended, and homes of sessions that are gone."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.sessions.agents.spool import Spool, StillRunning, forget
from interlock.apps.sessions.conversation import index, prompts
from interlock.apps.sessions.host_folders import NoHostFolders, host_folders
from interlock.engine import Engine

log = logging.getLogger("interlock.sessions")
TOGETHER = 500
"""Sessions that one query looks for."""


def tidy(engine: Engine) -> bool:
    """Remove what a lost worker has left of prompts that have ended, and the homes of erased and removed sessions."""
    try:
        place = host_folders(engine.setting)
    except NoHostFolders:
        return False
    for folder in _named(place.root / "runs"):
        if not engine.read(partial(_is_open, prompt_id=UUID(folder.name))):
            _forget(folder)
    homes = _named(place.root / "homes")
    for start in range(0, len(homes), TOGETHER):
        some = homes[start : start + TOGETHER]
        known = engine.read(partial(index.entries, session_ids=[UUID(one.name) for one in some]))
        for home in some:
            if UUID(home.name) not in known:
                shutil.rmtree(home, ignore_errors=True)
    return False


def _named(folder: Path) -> list[Path]:
    """The folders in there that are named after something of ours."""
    return [one for one in _entries(folder) if _is_id(one.name)]


def _entries(folder: Path) -> Iterable[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else ()


def _is_id(name: str) -> bool:
    try:
        return str(UUID(name)) == name
    except ValueError:
        return False


def _is_open(conn: sa.Connection, prompt_id: UUID) -> bool:
    found = prompts.find(conn, prompt_id)
    return found is not None and found.open


def _forget(folder: Path) -> None:
    try:
        with Spool(folder).locked(0.0):
            forget(folder)
    except (StillRunning, OSError) as error:
        log.debug("the files of run %s stay for now: %s", folder.name, error)
