"""Backups: one file with all data, from which either kind of database can be restored.

It is a zip file. A table is `tables/NAME.jsonl`, a row a JSON list in the order of the columns (ids as hexadecimal
text, bytes as base64). `manifest.json` has the schema, the columns, and the number of rows and a SHA-256 of each table.
The file gets its name only when it is complete and on the disk. Only its owner can read it.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from interlock.store import migrate, private, snapshot
from interlock.store.clock import Micros, SystemClock
from interlock.store.database import Store
from interlock.store.errors import StoreError
from interlock.store.snapshot import Owner, Part, Row, Snapshot

FORMAT = 1
MANIFEST = "manifest.json"
BLOCK = 1 << 18
NAME = re.compile(r"[a-z][a-z0-9_]*")
BROKEN = (KeyError, zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError)
"""Errors that reading a damaged zip file may raise."""
Progress = Callable[[str, int, int], None]
"""Called with what is done now, how much of it is done, and the total; 0 where that is unknown."""


def no_progress(what: str, done: int, total: int) -> None:
    """Reports nothing."""


class BackupDamaged(StoreError):
    """The file is not a backup, or is damaged."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table in a backup."""

    name: str
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    rows: int
    sha256: str

    @property
    def entry(self) -> str:
        return f"tables/{self.name}.jsonl"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of a backup."""

    format: int
    made_by: str
    made_at: Micros
    schema: str
    dialect: str
    """The kind of database it was made from."""
    tables: tuple[Table, ...]
    applications: Mapping[str, Owner] = field(default_factory=dict)
    """The applications whose tables are in it."""

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)

    def count(self, table: str) -> int:
        return sum(one.rows for one in self.tables if one.name == table)


# -- writing


def write(store: Store, file: Path, progress: Progress = no_progress) -> Manifest:
    """Write everything to a new file, consistently while others write, and verify the file."""
    migrate.require(store)
    if file.exists():
        raise StoreError(f"there is a file {file} already; name another, backups are not overwritten")
    try:
        folder = tempfile.TemporaryDirectory(prefix=f".{file.name}-", dir=file.absolute().parent)
    except OSError as error:
        raise StoreError(f"cannot write to {file}: {error.strerror}; name another file") from error
    with folder as made:
        aside, part = Path(made), Path(made) / "backup"
        try:
            found = snapshot.take(store, aside, lambda what: progress(what, 0, 0))
            manifest = _write(store.dialect, part, found, progress)
            check(part, progress)
            os.replace(part, file)
            _sync(file.absolute().parent)
        except OSError as error:
            raise StoreError(f"cannot write {file}: {error.strerror or error}; no file was written") from error
    return manifest


def _write(dialect: str, file: Path, found: Snapshot, progress: Progress) -> Manifest:
    total, done = sum(part.count for part in found.parts), 0
    tables = []
    with os.fdopen(private.create(file), "w+b") as out:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for part in found.parts:
                with archive.open(f"tables/{part.columns.table}.jsonl", "w", force_zip64=True) as entry:
                    written = _write_rows(entry, part, lambda n, so_far=done: progress("writing", so_far + n, total))  # type: ignore[misc]
                tables.append(written)
                done += written.rows
            manifest = Manifest(
                FORMAT,
                f"interlock {_version()}",
                SystemClock().now(),
                migrate.revisions()[-1],
                dialect,
                tuple(tables),
                found.applications,
            )
            archive.writestr(MANIFEST, json.dumps(asdict(manifest), indent=1))
        out.flush()
        os.fsync(out.fileno())
    return manifest


def _write_rows(entry: Any, part: Part, progress: Callable[[int], None]) -> Table:
    digest, count, waiting = hashlib.sha256(), 0, bytearray()
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    binary = [n for n, kind in enumerate(part.columns.kinds) if kind == "bytes"]
    for count, row in enumerate(part.rows(), 1):
        for n in binary:
            if row[n] is not None:
                row[n] = base64.b64encode(row[n]).decode()
        waiting += encode(row).encode() + b"\n"
        if len(waiting) >= BLOCK:
            digest.update(waiting)
            entry.write(waiting)
            waiting.clear()
            progress(count)
    digest.update(waiting)
    entry.write(waiting)
    progress(count)
    return Table(part.columns.table, part.columns.names, part.columns.kinds, count, digest.hexdigest())


def _version() -> str:
    try:
        return version("interlock")
    except PackageNotFoundError:
        return "?"


def _sync(folder: Path) -> None:
    """Write the folder to the disk, so that the name of the file survives a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# -- reading


class Backup:
    """A backup that is open for reading. Raises BackupDamaged if it is none."""

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            self._archive = zipfile.ZipFile(file)
        except FileNotFoundError:
            raise StoreError(f"there is no file {file}") from None
        except OSError as error:
            raise StoreError(f"cannot read {file}: {error.strerror or error}") from error
        except zipfile.BadZipFile as error:
            raise BackupDamaged(f"{file} is not a backup, or its end is missing: {error}") from error
        try:
            self.manifest = self._manifest()
        except BaseException:
            self._archive.close()
            raise

    def _manifest(self) -> Manifest:
        try:
            found = json.loads(self._archive.read(MANIFEST))
            form = found["format"]
            tables = [
                Table(t["name"], tuple(t["columns"]), tuple(t["kinds"]), t["rows"], t["sha256"])
                for t in found["tables"]
            ]
            # They become parts of statements, and the file may be malicious.
            owners = {
                name: Owner(one["revision"], tuple(one["tables"]))
                for name, one in found.get("applications", {}).items()
            }
            if not all(NAME.fullmatch(name) for table in tables for name in (table.name, *table.columns)):
                raise ValueError("not a name")
            manifest = Manifest(
                form, found["made_by"], found["made_at"], found["schema"], found["dialect"], tuple(tables), owners
            )
        except (*BROKEN, TypeError, ValueError) as error:
            raise BackupDamaged(f"{self.file} is not a backup, or is damaged: its {MANIFEST} cannot be read") from error
        if form != FORMAT:
            raise StoreError(f"{self.file} has format {form} of backups, this code reads {FORMAT}; upgrade interlock")
        return manifest

    def lines(self, table: Table) -> Iterator[bytes]:
        """The rows of a table as lines. Raises BackupDamaged at the end if they differ from what was written."""
        digest, count = hashlib.sha256(), 0
        try:
            entry: Any = self._archive.open(table.entry)
            with entry, io.BufferedReader(entry, BLOCK) as lines:
                for count, line in enumerate(lines, 1):  # noqa: B007
                    digest.update(line)
                    yield line
        except BROKEN as error:
            raise BackupDamaged(f"{self.file} is damaged: the table {table.name} cannot be read: {error}") from error
        if count != table.rows or digest.hexdigest() != table.sha256:
            found = f"{count:,} of {table.rows:,} rows, or others than it had"
            raise BackupDamaged(f"{self.file} is damaged: the table {table.name} has {found}")

    def rows(self, table: Table) -> Iterator[Row]:
        binary = [n for n, kind in enumerate(table.kinds) if kind == "bytes"]
        for line in self.lines(table):
            row: Row = json.loads(line)
            for n in binary:
                if row[n] is not None:
                    row[n] = base64.b64decode(row[n])
            yield row

    def __enter__(self) -> Backup:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()


def check(file: Path, progress: Progress = no_progress) -> Manifest:
    """Read a whole backup. Raises BackupDamaged if a byte was changed."""
    with Backup(file) as backup:
        done, total = 0, backup.manifest.rows
        for table in backup.manifest.tables:
            for n, _ in enumerate(backup.lines(table), 1):
                if n % 10_000 == 0:
                    progress("checking", done + n, total)
            done += table.rows
            progress("checking", done, total)
        return backup.manifest
