"""Publishing a session's branch: push it, or merge it into its target, where the repository's configuration allows it.

What is about to happen and what came of it are in the session's history, each with the person who wanted it. Doing it
again changes nothing that is there already: git pushes the same commit, and merges what is merged without a new one.
"""

from __future__ import annotations

from uuid import UUID

from interlock.apps.sessions.conversation import index
from interlock.apps.sessions.host_folders import host_folders
from interlock.apps.sessions.machine import IN_PROGRESS
from interlock.apps.sessions.models import Session
from interlock.apps.sessions.sandbox.repository import Repository
from interlock.engine import Engine, InvalidData
from interlock.engine.application import Unit, change
from interlock.machine import Actor, InterlockError

PUSH, MERGE = "push", "merge"
WAYS = (PUSH, MERGE)


def publish(engine: Engine, session_id: UUID, how: str, actor: Actor, message: str = "") -> tuple[str, str]:
    """Push or merge the branch; what was done in a sentence, and the commit.

    Raises NotConfigured, UnknownBranch, MergeConflict or GitFailed. Who asks was checked before.
    """

    def begin(unit: Unit) -> Session:
        instance = unit.lock(session_id)
        index.visible(unit.conn, session_id)
        if instance.state == IN_PROGRESS:
            raise InvalidData(f"the agent of session {session_id} still works on the branch; {how} it afterwards")
        data = Session.model_validate(instance.data)
        repository(engine, data).require(how)
        change(unit, instance, {"published": _begins(how, data)}, actor)
        return data

    def end(unit: Unit, words: str) -> None:
        change(unit, unit.lock(session_id), {"published": words}, actor)

    data = engine.write(begin, name="publish")
    try:
        commit = _do(repository(engine, data), data, how, message)
    except InterlockError as error:
        failed = f"could not {how}: {error}"[:500]
        engine.write(lambda unit: end(unit, failed), name="publish")
        raise
    said = _done(how, data, commit)
    engine.write(lambda unit: end(unit, said), name="publish")
    return said, commit


def repository(engine: Engine, data: Session) -> Repository:
    """The repository of a session."""
    return host_folders(engine.setting).repository(data.repo)


def _do(where: Repository, data: Session, how: str, message: str) -> str:
    if how == MERGE:
        return where.merge(data.branch, data.target_branch, message or f"Merge {data.branch}: {data.title}")
    return where.push(data.branch)


def _begins(how: str, data: Session) -> str:
    return f"pushing {data.branch}" if how == PUSH else f"merging {data.branch} into {data.target_branch}"


def _done(how: str, data: Session, commit: str) -> str:
    if how == PUSH:
        return f"Pushed {data.branch} at {commit[:12]}"
    return f"Merged {data.branch} into {data.target_branch} as {commit[:12]}"
