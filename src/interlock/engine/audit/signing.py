"""The audit key, which signs checkpoints and seals removals. It is never stored in the database.

It is used with HMAC-SHA256: verifying needs the same key as signing. A key is 32 random bytes, written as hexadecimal
text. A key file may have several lines: the first signs, the others are former keys that still verify.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from interlock.machine import InterlockError
from interlock.store import private
from interlock.store.database import file_of

if TYPE_CHECKING:
    from interlock.config import Settings

NAME = "audit.key"
SHAPE = re.compile(r"[0-9a-f]{64,}")


class BadKey(InterlockError):
    """The audit key cannot be used: it is missing, invalid, or readable by others."""


@dataclass(frozen=True, slots=True)
class Signed:
    """A signature, and the id of its key."""

    key_id: str
    mac: bytes


class Keys:
    """The key that signs, and former keys that only verify."""

    def __init__(self, keys: Iterable[bytes]) -> None:
        self._keys = {_id(key): key for key in keys}
        if not self._keys:
            raise BadKey("there is no audit key in it; make one with: interlock audit key")
        self.id = next(iter(self._keys))
        """The id of the key that signs. It reveals nothing about the key."""

    def sign(self, what: str, digest: bytes) -> Signed:
        return Signed(self.id, _mac(self._keys[self.id], what, digest))

    def knows(self, key_id: str | None) -> bool:
        return key_id in self._keys

    def proves(self, what: str, digest: bytes, key_id: str | None, mac: bytes | None) -> bool:
        """Whether one of our keys has signed this."""
        key = self._keys.get(key_id or "")
        return key is not None and mac is not None and hmac.compare_digest(_mac(key, what, digest), bytes(mac))

    def __repr__(self) -> str:
        return f"Keys({self.id})"


def _id(key: bytes) -> str:
    return hashlib.sha256(b"interlock audit key id" + key).hexdigest()[:16]


def _mac(key: bytes, what: str, digest: bytes) -> bytes:
    """`what` is part of the signed text, so that a seal cannot be used as a checkpoint."""
    return hmac.digest(key, f"interlock {what}\0".encode() + digest, "sha256")


def parsed(text: str, place: str) -> Keys:
    found = [line.strip().lower() for line in text.splitlines() if line.strip()]
    wrong = next((number for number, line in enumerate(found, 1) if not SHAPE.fullmatch(line) or len(line) % 2), None)
    if wrong is not None:
        raise BadKey(
            f"{place} has no audit key in line {wrong}: a key is at least 64 hexadecimal digits; "
            "make one with: interlock audit key"
        )
    return Keys(bytes.fromhex(line) for line in found)


def place(settings: Settings) -> Path:
    """Where the key file is, or would be: beside the embedded database, else in the data folder."""
    if settings.audit.key_file is not None:
        return settings.audit.key_file
    file = file_of(sa.make_url(settings.database_url))
    return (file.parent if file is not None else settings.data) / NAME


def find(settings: Settings) -> Keys | None:
    """The configured key, or the one in the default file; None if there is none."""
    if settings.audit.key is not None:
        return parsed(settings.audit.key.get_secret_value(), "audit.key")
    file = place(settings)
    try:
        text = private.read_secret(file)
    except FileNotFoundError:
        if settings.audit.key_file is not None:
            raise BadKey(f"there is no audit key {file}; make one with: interlock audit key") from None
        return None
    except OSError as error:
        raise BadKey(f"the audit key {file} cannot be read: {error.strerror}") from error
    return parsed(text.decode("ascii", "replace"), str(file))


def make(settings: Settings) -> Path:
    """Write a new key to its file, readable by its owner alone. Raises BadKey if there is one."""
    file = place(settings)
    try:
        private.folder(file.parent)
        handle = private.create(file)
    except FileExistsError:
        raise BadKey(f"there is an audit key {file} already; add a new one as its first line") from None
    except OSError as error:
        raise BadKey(f"the audit key {file} cannot be written: {error.strerror}") from error
    with os.fdopen(handle, "wb") as out:
        out.write(secrets.token_hex(32).encode() + b"\n")
        out.flush()
        os.fsync(out.fileno())
    return file
