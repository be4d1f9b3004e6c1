"""Errors of an application; each class is a row of the retry table."""

from __future__ import annotations

from interlock.machine import WorkError


class GenerationTimeout(WorkError):
    """The model did not answer in time; it is called again later."""


class SiteUnreachable(WorkError):
    """The employer's site did not answer; it is retried later."""


class ModelQuotaExceeded(WorkError):
    """The quota of the model is used up; the application pauses for an hour."""


class InvalidJobUrl(WorkError):
    """The posting's address does not exist; no retry can help."""


class JobClosed(WorkError):
    """The posting no longer takes applications."""


class AlreadyApplied(WorkError):
    """Somebody applied for the opening meanwhile, through auto-apply, an agent or by hand."""
