"""Everything of a seeker's auto-apply as JSON, CSV, or both with all documents in a zip.

It is read page by page, so that no long snapshot is held; what changes meanwhile may be in one page and not in another.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any, TypeVar
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.autoapply.exchange.seeker_tables import EXPORTED, JSON, NOT_EXPORTED, TIMES
from interlock.apps.jobs.finder.records import profiles
from interlock.apps.jobs.tables import applied as T
from interlock.apps.jobs.tables import apply_artifact as F
from interlock.engine import NotFound, artifacts
from interlock.http.csv_cells import csv_line
from interlock.store import Micros, moment

PAGE = 500
FORMAT = 1
"""Of the JSON; a higher one has other meanings."""
R = TypeVar("R")
Read = Callable[[Callable[[sa.Connection], R]], R]
"""Runs a function in a read transaction of its own: `engine.read`."""
_UNSAFE = re.compile(r"[^\w.()\[\] -]+")


def rows_of(read: Read[Any], workspace: str, name: str) -> Iterator[dict[str, Any]]:
    """The rows of one kind, the oldest first, with times and JSON as values."""
    table = EXPORTED[name]
    key = table.c.id if "id" in table.c else table.c.application_id
    after: UUID | None = None

    def page(conn: sa.Connection, after: UUID | None) -> list[Any]:
        query = sa.select(table).where(table.c.workspace == workspace)
        if after is not None:
            query = query.where(key > after)
        return [dict(row) for row in conn.execute(query.order_by(key).limit(PAGE)).mappings()]

    while True:
        found = read(partial(page, after=after))
        for row in found:
            yield {column: _value(column, value) for column, value in row.items() if column not in NOT_EXPORTED}
        if len(found) < PAGE:
            return
        after = found[-1][key.name]


def _value(column: str, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, UUID):
        return str(value)
    if column in TIMES:
        return moment(value).isoformat()
    if column in JSON and isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def as_json(read: Read[Any], workspace: str, now: Micros) -> Iterator[str]:
    """One JSON object with a list for each kind, piece by piece."""
    yield f'{{"format": {FORMAT}, "workspace": {json.dumps(workspace)}, "exported_at": "{moment(now).isoformat()}"'
    yield f', "profile": {json.dumps(_profile(read, workspace), ensure_ascii=False)}'
    for name in EXPORTED:
        yield f', "{name}": ['
        for index, row in enumerate(rows_of(read, workspace, name)):
            yield (", " if index else "") + json.dumps(row, ensure_ascii=False)
        yield "]"
    yield "}\n"


def as_csv(read: Read[Any], workspace: str, name: str = "applications") -> Iterator[str]:
    """The rows of one kind as CSV; no cell is a formula."""
    columns = [column.name for column in EXPORTED[name].c if column.name not in NOT_EXPORTED]
    yield csv_line(columns)
    for row in rows_of(read, workspace, name):
        yield csv_line([row[column] for column in columns])


def write_zip(read: Read[Any], workspace: str, file: IO[bytes], now: Micros) -> int:
    """Everything with all documents, into a file; how many documents there are."""
    count = 0
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        with archive.open("applications.json", "w", force_zip64=True) as entry:
            for piece in as_json(read, workspace, now):
                entry.write(piece.encode("utf-8", "replace"))
        for name in EXPORTED:
            with archive.open(f"csv/{name}.csv", "w", force_zip64=True) as entry:
                for line in as_csv(read, workspace, name):
                    entry.write(line.encode("utf-8", "replace"))
        for path, content in _documents(read, workspace):
            archive.writestr(path, content)
            count += 1
    return count


def _documents(read: Read[Any], workspace: str) -> Iterator[tuple[str, bytes]]:
    """Path and content of every file of every packet."""
    names = read(
        lambda conn: {
            row.instance_id: _safe(f"{row.company} - {row.title}")
            for row in conn.execute(
                sa.select(T.c.instance_id, T.c.company, T.c.title).where(
                    T.c.workspace == workspace, T.c.instance_id.is_not(None)
                )
            )
        }
    )
    used: set[str] = set()
    after: UUID | None = None

    def page(conn: sa.Connection, after: UUID | None) -> list[Any]:
        query = sa.select(F).where(F.c.workspace == workspace)
        if after is not None:
            query = query.where(F.c.id > after)
        return list(conn.execute(query.order_by(F.c.id).limit(PAGE)))

    while True:
        found = read(partial(page, after=after))
        for one in found:
            path = _path(one, names.get(one.instance_id, ""), used)
            try:
                yield path, read(partial(_content, one.instance_id, one.hash))
            except NotFound:  # it was erased meanwhile
                continue
        if len(found) < PAGE:
            return
        after = found[-1].id


def _content(instance_id: UUID, digest: str, conn: sa.Connection) -> bytes:
    return artifacts.read(conn, instance_id, digest)


def _path(one: Any, name: str, used: set[str]) -> str:
    """A path of safe names, each once: packets that were replaced have the same names."""
    folder = f"documents/{name} {str(one.instance_id)[-12:]}".rstrip()
    path = f"{folder}/{_safe(one.name)}"
    if path in used:
        path = f"{folder}/{one.packet_hash[:8]}/{_safe(one.name)}"
    while path in used:
        path = f"{path}.{str(one.id)[-6:]}"
    used.add(path)
    return path


def _safe(name: str) -> str:
    clean = _UNSAFE.sub("_", name).strip(". ")[:80].strip(". ")
    return clean or "file"


def _profile(read: Read[Any], workspace: str) -> Any:
    found = read(lambda conn: profiles.find(conn, workspace))
    return None if found is None else found.profile.model_dump(mode="json", exclude_none=True)
