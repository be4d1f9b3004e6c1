"""Errors of a fetch. A failure rule tells by the type whether another attempt can help."""

from __future__ import annotations

from interlock.machine import WorkError


class FetchError(WorkError):
    """An address was not fetched."""


class FetchRefused(FetchError):
    """Another attempt would end the same."""


class Forbidden(FetchRefused):
    """The address may not be fetched: private, of another scheme or port, or disallowed by robots.txt."""


class TooLarge(FetchRefused):
    """The answer has more bytes than are read."""


class TooManyRedirects(FetchRefused):
    """The address redirects more often than is followed."""


class NoBrowser(FetchRefused):
    """A source wants a browser, and there is none here."""


class FetchFailed(FetchError):
    """Another attempt may succeed."""


class Unreachable(FetchFailed):
    """The host has no address, or no connection to it was possible, or it sent no valid answer."""


class TimedOut(FetchFailed):
    """The answer was not complete in time."""


class CutOff(FetchFailed):
    """The connection was lost before the answer was complete."""


class RobotsUnknown(FetchFailed):
    """The site's robots.txt cannot be read now, so nothing may be fetched from it yet."""


class HostBusy(FetchFailed):
    """The host wants a longer pause than a handler should wait for; `retry_after` says how long."""
