"""Generated secrets: 32 random bytes, of which only a hash is stored."""

from __future__ import annotations

import hashlib
import secrets


def new_secret(prefix: str = "") -> str:
    return prefix + secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """Hash a generated secret. SHA-256 is enough, because 256 random bits cannot be guessed."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
