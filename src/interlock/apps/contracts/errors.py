"""What can go wrong with a contract, by what follows from it."""

from __future__ import annotations

from interlock.machine import WorkError


class NotRetryable(WorkError):
    """No retry can help (a PDF that is too large, a key that was refused): the contract is rejected at once."""
