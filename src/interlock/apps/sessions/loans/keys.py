"""The idempotency key of a loan's borrow."""

from __future__ import annotations

from uuid import UUID

KIND = "loan"


def key_of(loan_id: UUID) -> str:
    """The key that finds what the loan was lent. No key that comes over HTTP begins like this."""
    return f"{KIND}:{loan_id}"


def loan_in(key: str | None) -> UUID | None:
    """The loan that a key belongs to; None for somebody else's."""
    kind, _, text = (key or "").partition(":")
    try:
        return UUID(text) if kind == KIND else None
    except ValueError:
        return None
