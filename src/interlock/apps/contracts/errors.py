"""Errors of contracts, by whether a retry can help."""

from __future__ import annotations

from interlock.machine import WorkError


class NotRetryable(WorkError):
    """No retry can help (a PDF that is too large, a key that was refused): the contract is rejected at once."""
