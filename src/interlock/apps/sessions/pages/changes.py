"""What a session's branch changes: file by file, as a patch, and on its way to the repository."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Path
from fastapi.responses import Response

from interlock.apps.sessions.api.access import locked
from interlock.apps.sessions.conversation.visible import one_line, visible
from interlock.apps.sessions.host_folders import NoHostFolders, UnknownRepository, host_folders
from interlock.apps.sessions.models import Session
from interlock.apps.sessions.pages.frame import FIRE, ROOT, SessionOnPage, look, show
from interlock.apps.sessions.repositories.publishing import MERGE, PUSH, WAYS, publish
from interlock.apps.sessions.sandbox.git import GitFailed
from interlock.apps.sessions.sandbox.repository import (
    Diff,
    FileChange,
    MergeConflict,
    NotConfigured,
    Repository,
    UnknownBranch,
)
from interlock.dashboard.forms import Done, Posted
from interlock.dashboard.site import Reader, Visitor
from interlock.engine import NotFound
from interlock.http.problems import BadRequest

router = APIRouter(include_in_schema=False)
FILES = 300
ROWS = 600
"""Lines of one file that the page shows."""
ALL_ROWS = 8000
OPEN = 6
"""Files that are open when the page is loaded, if they are small."""
SMALL = 120
WIDE = 2000
Id = Annotated[UUID, Path()]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """One line of a difference."""

    kind: str
    """added, removed, same, place, or note."""
    old: int | None
    new: int | None
    text: str


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """What the branch changes in one file."""

    path: str
    added: int | None
    removed: int | None
    said: str
    """new, deleted, mode changed; empty for a file that is only changed."""
    rows: Sequence[ChangedRow]
    hidden: int
    """Lines that are not shown."""
    why: str
    """Why nothing is shown."""

    @property
    def size(self) -> int:
        return len(self.rows)


def changed_files(diff: Diff) -> list[ChangedFile]:
    """The files of a difference with their lines, as far as a page shows them."""
    left, found = ALL_ROWS, []
    sections = _sections(diff.text)
    for number, file in enumerate(diff.files[:FILES]):
        lines = sections[number] if number < len(sections) else None
        last = number == len(sections) - 1
        one = _file(file, lines, min(ROWS, left), cut=diff.cut and (lines is None or last))
        left = max(0, left - len(one.rows))
        found.append(one)
    return found


def _sections(text: str) -> list[list[str]]:
    """The lines of each file. Lines of a file's content begin with a blank, + or -, so none is taken for a heading."""
    found: list[list[str]] = []
    for line in text.split("\n"):
        if line.startswith("diff --git "):
            found.append([])
        elif found:
            found[-1].append(line)
    return found


def _file(file: FileChange, lines: Sequence[str] | None, most: int, *, cut: bool) -> ChangedFile:
    path = one_line(file.path, 500)
    if lines is None:
        return ChangedFile(path, file.added, file.removed, "", (), 0, "It is beyond what a page shows: see the patch.")
    head = [one for one in lines[:8] if not one.startswith(("@@", "+++", "---"))]
    said = next(
        (
            words
            for start, words in (("new file", "new"), ("deleted file", "deleted"), ("old mode", "its mode changed"))
            if any(one.startswith(start) for one in head)
        ),
        "",
    )
    if file.added is None:
        return ChangedFile(path, None, None, said, (), 0, "It is no text, so its content is not shown.")
    rows = _rows(lines)
    why = "" if rows else "Its content is the same." if not cut else "It is too big to be shown: see the patch."
    return ChangedFile(path, file.added, file.removed, said, rows[:most], max(0, len(rows) - most), why)


def _rows(lines: Sequence[str]) -> list[ChangedRow]:
    rows, old, new, begun = [], 0, 0, False
    for line in lines:
        if line.startswith("@@"):
            old, new = _places(line)
            begun = True
            rows.append(ChangedRow("place", None, None, visible(line[:300])))
        elif not begun or not line:
            continue
        elif line[0] == "+":
            rows.append(ChangedRow("added", None, new, _text(line)))
            new += 1
        elif line[0] == "-":
            rows.append(ChangedRow("removed", old, None, _text(line)))
            old += 1
        elif line[0] == " ":
            rows.append(ChangedRow("same", old, new, _text(line)))
            old, new = old + 1, new + 1
        else:
            rows.append(ChangedRow("note", None, None, visible(line[1:200]).strip()))
    return rows


def _text(line: str) -> str:
    shown = visible(line[1 : WIDE + 1]).replace("\n", "␍")
    return shown if len(line) <= WIDE + 1 else f"{shown} … ({len(line):,} characters)"


def _places(line: str) -> tuple[int, int]:
    """The first line numbers of a hunk: `@@ -12,3 +14,5 @@`."""
    found = []
    for part in line.split(" ")[1:3]:
        number = part[1:].partition(",")[0]
        found.append(int(number) if number.isdigit() and len(number) < 9 else 0)
    return (found[0], found[1]) if len(found) == 2 else (0, 0)


# -- pages


async def _with_repository(v: Visitor, seen: SessionOnPage, do: Callable[[Repository, Session], T]) -> T:
    data = seen.data
    return await v.service.call(lambda: do(host_folders(v.service.engine.setting).repository(data.repo), data))


@router.get(f"{ROOT}/{{id}}/changes")
async def changes_page(v: Reader, id: Id) -> Response:
    seen = await v.service.read(lambda conn: look(conn, v, id))

    def do(repository: Repository, data: Session) -> dict[str, Any]:
        found = repository.diff(data.branch, data.target_branch)
        return {
            "diff": found,
            "files": changed_files(found),
            "pushes": repository.config.push,
            "merges": repository.config.merge,
        }

    context: dict[str, Any] = {
        "one": seen,
        "diff": None,
        "files": [],
        "problem": "",
        "open_files": OPEN,
        "small": SMALL,
    }
    try:
        context |= await _with_repository(v, seen, do)
    except (UnknownBranch, UnknownRepository, NoHostFolders, GitFailed) as error:
        context["problem"] = visible(str(error))[:500]
    return await show(v, "changes.html", context)


@router.get(f"{ROOT}/{{id}}/patch")
async def patch(v: Reader, id: Id) -> Response:
    """The commits of the branch, for `git am`."""
    seen = await v.service.read(lambda conn: look(conn, v, id))
    try:
        found = await _with_repository(
            v, seen, lambda repository, data: repository.patch(data.branch, data.target_branch)
        )
    except (UnknownBranch, UnknownRepository, NoHostFolders, GitFailed) as error:
        raise NotFound(f"session {id} has no patch yet: {error}") from None
    headers = {"Content-Disposition": f'attachment; filename="session-{id}.patch"'}
    return Response(found, media_type="text/x-patch; charset=utf-8", headers=headers)


@router.post(f"{ROOT}/{{id}}/publish")
async def publish_branch(form: Posted, id: Id) -> Response:
    """Push the branch or merge it into its target, once it was confirmed."""
    how = form["how"]
    if how not in WAYS:
        raise BadRequest(f"{how[:40]!r} cannot be done with a branch; there are {PUSH} and {MERGE}")
    if form.get("sure") != "yes":
        raise BadRequest("tick the box to confirm it; nothing was done")
    v = form.v

    def check(conn: sa.Connection) -> SessionOnPage:
        return look(conn, v, id)

    seen = await v.service.read(check)
    await v.service.write_as(v.who, lambda unit: locked(unit, id, v.who, FIRE).id, "fire")
    actor = v.who.actor_in(seen.instance.workspace)
    try:
        said, _ = await v.service.call(publish, v.service.engine, id, how, actor)
    except (MergeConflict, NotConfigured, UnknownBranch, UnknownRepository, NoHostFolders, GitFailed) as error:
        raise BadRequest(visible(str(error))[:1000], status=409, kind="not-published") from None
    return await form.do(lambda unit: Done(said=said, to=f"{ROOT}/{id}/changes"), "write")
