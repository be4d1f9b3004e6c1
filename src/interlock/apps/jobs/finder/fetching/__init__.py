"""Fetching: the polite client, what it may reach, how fast, and what is kept of the answers."""

from interlock.machine.extras import require

require("jobs", "httpx2", "httpcore2", "protego")

from interlock.apps.jobs.finder.fetching.errors import (
    CutOff,
    FetchError,
    FetchFailed,
    FetchRefused,
    Forbidden,
    HostBusy,
    NoBrowser,
    RobotsUnknown,
    TimedOut,
    TooLarge,
    TooManyRedirects,
    Unreachable,
)
from interlock.apps.jobs.finder.fetching.fetcher import Fetcher, Known
from interlock.apps.jobs.finder.fetching.pacing import MemoryPacer, Pacer
from interlock.apps.jobs.finder.fetching.sending import Dispatch, NeverLeft, NotAnswered

__all__ = [
    "CutOff",
    "Dispatch",
    "FetchError",
    "FetchFailed",
    "FetchRefused",
    "Fetcher",
    "Forbidden",
    "HostBusy",
    "Known",
    "MemoryPacer",
    "NeverLeft",
    "NoBrowser",
    "NotAnswered",
    "Pacer",
    "RobotsUnknown",
    "TimedOut",
    "TooLarge",
    "TooManyRedirects",
    "Unreachable",
]
