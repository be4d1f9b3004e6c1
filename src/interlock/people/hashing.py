"""Secrets that we make ourselves: 32 random bytes, of which only a hash is kept."""

from __future__ import annotations

import hashlib
import secrets


def new_secret(prefix: str = "") -> str:
    return prefix + secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """A plain SHA-256 is enough for these: nobody guesses 256 random bits, however fast each guess is."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
