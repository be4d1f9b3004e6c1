"""What a session's branch changes: the difference, a patch, and push or merge where the repository allows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

from fastapi.responses import Response
from pydantic import Field

from interlock.apps.sessions.api.access import MACHINE, seen
from interlock.apps.sessions.api.answers import BothSpellings
from interlock.apps.sessions.api.bodies import MergeBody
from interlock.apps.sessions.host_folders import UnknownRepository, host_folders
from interlock.apps.sessions.models import Session
from interlock.apps.sessions.repositories.publishing import MERGE, PUSH, publish
from interlock.apps.sessions.sandbox.repository import MergeConflict, NotConfigured, Repository, UnknownBranch
from interlock.engine import NotFound
from interlock.http.caller import Caller, TheService, require
from interlock.http.direct import Router
from interlock.http.problems import BadRequest
from interlock.http.service import Service
from interlock.http.writing import Write
from interlock.people import Principal

router = Router(prefix="/sessions", tags=["sessions"])
T = TypeVar("T")


class FileOut(BothSpellings):
    """A changed file."""

    path: str
    added: int | None = Field(description="Null for a binary file.")
    removed: int | None


class DiffOut(BothSpellings):
    """What the branch changes, compared to where it began."""

    branch: str
    target_branch: str
    base: str
    head: str
    files: list[FileOut]
    diff: str
    cut: bool = Field(description="Whether `diff` is only the beginning; the patch is whole.")


class BranchDone(BothSpellings):
    """A pushed or merged branch."""

    success: bool = True
    message: str
    commit: str


async def _with_repository(service: Service, who: Principal, id: UUID, do: Callable[[Repository, Session], T]) -> T:
    instance, _ = await service.read(lambda conn: seen(conn, id, who))
    data = Session.model_validate(instance.data)
    try:
        return await service.call(lambda: do(host_folders(service.engine.setting).repository(data.repo), data))
    except (UnknownBranch, UnknownRepository) as error:
        raise NotFound(f"session {id} has no branch to show yet: {error}") from None


async def _published(service: Service, who: Principal, id: UUID, how: str, message: str = "") -> BranchDone:
    instance, _ = await service.read(lambda conn: seen(conn, id, who))
    require(who, "fire", instance.workspace, f"session {id}", machine=MACHINE)
    actor = who.actor_in(instance.workspace)
    try:
        said, commit = await service.call(publish, service.engine, id, how, actor, message)
    except (UnknownBranch, UnknownRepository) as error:
        raise NotFound(f"session {id} has no branch to show yet: {error}") from None
    except (MergeConflict, NotConfigured) as error:
        raise BadRequest(str(error), status=409, kind="not-merged") from None
    return BranchDone(message=said, commit=commit)


@router.get("/{id}/diff", summary="What the session has changed", response_model=DiffOut)
async def get_diff(service: TheService, who: Caller, id: UUID) -> Response:
    def do(repository: Repository, data: Session) -> DiffOut:
        found = repository.diff(data.branch, data.target_branch)
        files = [FileOut(path=one.path, added=one.added, removed=one.removed) for one in found.files]
        return DiffOut(
            branch=data.branch,
            target_branch=data.target_branch,
            base=found.base,
            head=found.head,
            files=files,
            diff=found.text,
            cut=found.cut,
        )

    found = await _with_repository(service, who, id, do)
    return await service.answer(lambda: found)


@router.get(
    "/{id}/patch",
    summary="The commits of the branch, for git am",
    response_class=Response,
    responses={200: {"content": {"text/x-patch": {"schema": {"type": "string"}}}}},
)
async def get_patch(service: TheService, who: Caller, id: UUID) -> Response:
    def do(repository: Repository, data: Session) -> bytes:
        return repository.patch(data.branch, data.target_branch)

    found = await _with_repository(service, who, id, do)
    headers = {"Content-Disposition": f'attachment; filename="session-{id}.patch"'}
    return Response(found, media_type="text/x-patch; charset=utf-8", headers=headers)


@router.post("/{id}/push", summary="Push the branch", response_model=BranchDone)
async def push_branch(write: Write, id: UUID) -> Any:
    """Pushes to the repository that it came from, never by force. 409 if the configuration does not allow it."""
    return await _published(write.service, write.who, id, PUSH)


@router.post("/{id}/merge", summary="Merge the branch into its target", response_model=BranchDone)
async def merge_branch(write: Write, id: UUID, body: MergeBody | None = None) -> Any:
    """409 if the configuration does not allow it, or if there are conflicts."""
    return await _published(write.service, write.who, id, MERGE, body.message if body is not None else "")
