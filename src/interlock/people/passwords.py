"""Password hashing with Argon2id: constant time for unknown people, and bounded memory."""

from __future__ import annotations

import threading
from functools import cached_property

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from interlock.people.errors import WeakPassword
from interlock.people.hashing import new_secret

SHORTEST, LONGEST = 10, 200

# Each hash takes 64 MiB. A flood of logins waits here instead of exhausting the memory.
_AT_ONCE = threading.BoundedSemaphore(4)


class Passwords:
    """Hashes and verifies passwords. Knows neither people nor a database; must not run inside a transaction."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()

    def hashed(self, password: str) -> str:
        """Hash a password. Raises WeakPassword if it is too short or too long."""
        if not SHORTEST <= len(password) <= LONGEST:
            raise WeakPassword(
                f"a password has {SHORTEST} to {LONGEST} characters, this one has {len(password)}; "
                "choose a few unrelated words"
            )
        return self._hash(password)

    def fits(self, kept: str | None, given: str) -> bool:
        """Verify a password. Without a stored hash it takes the same time and returns False."""
        stand_in = self._stand_in  # computed before the branch: the first login pays for it in any case
        # No stored password is longer, so longer input is not hashed.
        tried = given if len(given) <= LONGEST else ""
        try:
            with _AT_ONCE:
                self._hasher.verify(kept or stand_in, _bytes(tried))
        except (VerificationError, InvalidHashError):
            return False
        return kept is not None

    def renewed(self, kept: str, given: str) -> str | None:
        """A new hash of a correct password, if the stored one was made with other parameters."""
        return self._hash(given) if self._hasher.check_needs_rehash(kept) else None

    def _hash(self, password: str) -> str:
        with _AT_ONCE:
            return self._hasher.hash(_bytes(password))

    @cached_property
    def _stand_in(self) -> str:
        return self._hash(new_secret())


def _bytes(password: str) -> bytes:
    return password.encode("utf-8", "surrogatepass")
