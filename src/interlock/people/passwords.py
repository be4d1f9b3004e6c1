"""Passwords: Argon2id, in equal time for whoever is not there, and never so many at once that memory runs out."""

from __future__ import annotations

import threading
from functools import cached_property

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from interlock.people.errors import WeakPassword
from interlock.people.hashing import new_secret

SHORTEST, LONGEST = 10, 200

# Each hash takes 64 MiB: a flood of logins waits here instead of taking the process down.
_AT_ONCE = threading.BoundedSemaphore(4)


class Passwords:
    """Hashes and checks; it knows neither people nor a database, and must not run inside a transaction."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()

    def hashed(self, password: str) -> str:
        """The hash to keep; WeakPassword when it is too short or too long."""
        if not SHORTEST <= len(password) <= LONGEST:
            raise WeakPassword(
                f"a password has {SHORTEST} to {LONGEST} characters, this one has {len(password)}; "
                "take a few words that do not belong together"
            )
        return self._hash(password)

    def fits(self, kept: str | None, given: str) -> bool:
        """Whether it is the password. Where there is none to compare with, it takes as long and is not."""
        stand_in = self._stand_in  # made before either way is taken: the first login pays for it in any case
        # Nobody's password is longer, so nothing that long has to be hashed.
        tried = given if len(given) <= LONGEST else ""
        try:
            with _AT_ONCE:
                self._hasher.verify(kept or stand_in, _bytes(tried))
        except (VerificationError, InvalidHashError):
            return False
        return kept is not None

    def renewed(self, kept: str, given: str) -> str | None:
        """A new hash of the right password, if the kept one was made with other parameters than today's."""
        return self._hash(given) if self._hasher.check_needs_rehash(kept) else None

    def _hash(self, password: str) -> str:
        with _AT_ONCE:
            return self._hasher.hash(_bytes(password))

    @cached_property
    def _stand_in(self) -> str:
        return self._hash(new_secret())


def _bytes(password: str) -> bytes:
    return password.encode("utf-8", "surrogatepass")
