"""Archives of removed instances: files with one JSON line each, which can be verified by themselves.

A line has the instance's row, its history as it was hashed, and its rows of all other tables. Binary values are
hexadecimal; a payload is the exact text that was hashed. A batch of lines is one gzip member. It is on the disk before
anything is removed. Nothing follows a member that a crash has cut off.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import secrets
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine.audit import replaying, verifying
from interlock.engine.audit.row_digests import COLUMNS as PROVEN
from interlock.engine.errors import EngineError
from interlock.store import Micros, Store, moment, private
from interlock.store import service_tables as s
from interlock.store import tables as t
from interlock.store.application_tables import known
from interlock.store.columns import metadata
from interlock.store.sql import among

FORMAT = 1
FULL = 64 * 1024 * 1024
"""Bytes after which a new file is started."""
STAYS = {"limit_use", "lease", "kept_key"}
"""Tables whose rows stay when the instance is removed."""


class CannotArchive(EngineError):
    """The archive cannot be written; nothing was removed."""


@dataclass(frozen=True, slots=True)
class Record:
    """An instance as a line of an archive."""

    id: UUID
    seq: int
    head: bytes
    line: bytes

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.line).digest()


def owned_tables(conn: sa.Connection) -> list[sa.Table]:
    """All tables whose rows belong to an instance and are removed with it, including those of applications."""
    core = [table for table in metadata.sorted_tables if "instance_id" in table.c and table.name not in STAYS]
    return core + [one.as_table() for one in known(conn) if one.personal is not None]


def describe(conn: sa.Connection, ids: Sequence[UUID]) -> list[Record]:
    """The instances, with all their rows, as lines."""
    rows = conn.execute(sa.select(t.instance).where(among(conn, t.instance.c.id, ids)).order_by(t.instance.c.id)).all()
    records: dict[UUID, dict[str, Any]] = {row.id: {"format": FORMAT, "instance": plain(row)} for row in rows}
    for table in owned_tables(conn):
        query = sa.select(table).where(among(conn, table.c.instance_id, records))
        if table.name == "artifact_ref":
            size = t.artifact.c.size
            query = query.add_columns(size).join(t.artifact, t.artifact.c.hash == table.c.hash, isouter=True)
        keys = [next(iter(table.primary_key.columns))] if table.primary_key.columns else list(table.c)
        for row in conn.execute(query.order_by(*([table.c.seq] if table.name == "history" else keys))):
            records[row.instance_id].setdefault("artifact" if table.name == "artifact_ref" else table.name, []).append(
                {name: value for name, value in plain(row).items() if name != "instance_id"}
            )
    sent = sa.select(s.delivery, t.outbox.c.instance_id).join(t.outbox, t.outbox.c.id == s.delivery.c.outbox_id)
    for row in conn.execute(sent.where(among(conn, t.outbox.c.instance_id, records)).order_by(s.delivery.c.id)):
        records[row.instance_id].setdefault("delivery", []).append(plain(row))
    return [Record(row.id, row.seq, bytes(row.head), line_of(records[row.id])) for row in rows]


def problems(record: Record) -> tuple[str, ...]:
    """Why the line does not verify; none if the history is untouched."""
    return _verify(str(record.id), record.line, json.loads(record.line), None).problems


def plain(row: sa.Row[Any]) -> dict[str, Any]:
    """A row as JSON values."""
    return {name: _plain(value) for name, value in row._mapping.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    return str(value) if isinstance(value, UUID) else value


def line_of(record: Any) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


class Archive:
    """A file that lines are added to. Each run starts a new one, so that nothing follows a damaged member."""

    def __init__(self, folder: Path, name: str, now: Micros) -> None:
        self._folder, self._name, self._now = folder, name, now
        self.path: Path | None = None
        self.files: list[Path] = []

    def add(self, lines: Iterable[bytes]) -> Path:
        """Write the lines and wait until they are on the disk. Returns the file."""
        member = gzip.compress(b"".join(line + b"\n" for line in lines), compresslevel=6, mtime=0)
        try:
            if self.path is None or self.path.stat().st_size > FULL:
                self._begin()
            assert self.path is not None
            _append(self.path, member)
        except OSError as error:
            raise CannotArchive(
                f"cannot write to {self.path or self._folder}: {error.strerror}; make room or name another folder in "
                "retention.folder; nothing was removed"
            ) from error
        return self.path

    def _begin(self) -> None:
        private.folder(self._folder)
        stamp = f"{moment(self._now):%Y-%m-%dT%H-%M-%SZ}"
        self.path = self._folder / f"{self._name}-{stamp}-{secrets.token_hex(4)}.jsonl.gz"
        os.close(private.create(self.path))
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)  # so that the name of the file is on the disk as well
        finally:
            os.close(folder)
        self.files.append(self.path)


def _append(path: Path, member: bytes) -> None:
    with path.open("r+b") as file:
        before = file.seek(0, os.SEEK_END)
        try:
            file.write(member)
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            file.truncate(before)
            raise


# -- reading


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file. `problem` says why it and the rest cannot be read."""

    number: int
    text: bytes
    problem: str = ""


def lines(path: Path) -> Iterator[Line]:
    number = 0
    try:
        with gzip.open(path, "rb") as file:
            for number, text in enumerate(file, 1):
                yield Line(number, text.rstrip(b"\n"))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        yield Line(number + 1, b"", f"the file is damaged or was cut off after line {number}: {error}")
    except OSError as error:
        raise EngineError(f"cannot read {path}: {error.strerror}") from error


def verify(path: Path, store: Store | None = None) -> Iterator[replaying.Verdict]:
    """Verify the chain of each line. With a database, compare it with the purge that it has."""
    for line in lines(path):
        if line.problem:
            yield replaying.Verdict(problems=(f"{path.name}: {line.problem}",))
            return
        try:
            record = json.loads(line.text)
        except ValueError:
            record = None
        if isinstance(record, dict) and "table" in record:
            continue  # a row of a table that is removed by age
        yield _verify(f"{path.name}, line {line.number}", line.text, record, store)


def _verify(place: str, text: bytes, record: Any, store: Store | None) -> replaying.Verdict:
    try:
        instance_id = UUID(record["instance"]["id"])
        instance = _row(record["instance"], ("head",))
        beside = record.get("instance_data")
        if instance.data is None and beside:
            instance.data = beside[0]["data"]
        rows = [_row({**row, "instance_id": instance_id}, ("digest", "hash")) for row in record.get("history", ())]
        leave = [_row(row, ("last_hash", "export_digest")) for row in record.get("purge", ())]
        found = verifying.verify_rows(instance, instance_id, rows, leave, _beside(record))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return replaying.Verdict(1, 0, (f"{place}: it is not a line of an archive ({type(error).__name__}: {error})",))
    if store is not None:
        found += store.read(lambda conn: _remembered(conn, instance_id, text))
    return replaying.Verdict(1, len(rows), tuple(f"{place}: {problem}" for problem in found))


def _beside(record: Any) -> verifying.Beside:
    """The rows of other tables in a line, in the types of the database."""
    found: verifying.Beside = []
    for table in PROVEN:
        for row in record.get("artifact" if table == "artifact_ref" else table, ()):
            ids = {name: UUID(row[name]) for name in ("id", "retried_as") if row.get(name)}
            found.append((table, row | ids))
    return found


def _row(values: dict[str, Any], binary: tuple[str, ...]) -> Any:
    """A row in the types of the database: hexadecimal text becomes bytes."""
    made = SimpleNamespace(**values)
    for name in binary:
        value = values[name]
        setattr(made, name, bytes.fromhex(value) if value is not None else None)
    return made


def _remembered(conn: sa.Connection, instance_id: UUID, text: bytes) -> list[str]:
    there = conn.execute(sa.select(t.instance.c.id).where(t.instance.c.id == instance_id)).first()
    if there is not None:
        return []  # it was archived and not removed: a later file has it as well
    P = t.purge
    found = conn.execute(sa.select(P.c.export_digest).where(P.c.instance_id == instance_id, P.c.kind == "rows")).first()
    if found is None:
        return [f"{instance_id}: the database does not know that it was removed"]
    if found.export_digest is None or bytes(found.export_digest) != hashlib.sha256(text).digest():
        return [f"{instance_id}: the database remembers another line than this one"]
    return []


def contains(text: bytes, wanted: Sequence[str]) -> bool:
    """Whether a line contains one of the texts, in any case."""
    folded = text.decode("utf-8", "surrogatepass").casefold()
    return any(one.casefold() in folded for one in wanted)


def owner_of(text: bytes) -> str:
    """The instance of a line, or its table."""
    record = json.loads(text)
    return str(record["instance"]["id"]) if "instance" in record else str(record.get("table", ""))
