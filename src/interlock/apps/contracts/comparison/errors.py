"""Errors in the input of a comparison."""

from __future__ import annotations

from interlock.apps.contracts.errors import NotRetryable


class BadTemplate(NotRetryable):
    """A template or a file of offers cannot be read; the message says where and what."""


class NotComparable(NotRetryable):
    """The documents or fields given do not make a comparison; the message says what is missing."""
