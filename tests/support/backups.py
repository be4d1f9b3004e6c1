"""Backups that were damaged on their way."""

from __future__ import annotations

import zipfile
from pathlib import Path


def damage(file: Path, where: str) -> None:
    whole = file.read_bytes()
    if where == "cut":
        file.write_bytes(whole[: len(whole) // 2])
    elif where == "empty":
        file.write_bytes(b"")
    elif where == "other":
        file.write_text("this is no backup")
    else:
        with zipfile.ZipFile(file) as archive:
            place = archive.getinfo("tables/history.jsonl").header_offset + 200
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
