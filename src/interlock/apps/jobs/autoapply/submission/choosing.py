"""Which way of submitting a posting has."""

from __future__ import annotations

from interlock.apps.jobs.autoapply.submission.adapter import Adapter
from interlock.apps.jobs.autoapply.submission.assisted import Assisted
from interlock.apps.jobs.finder.posting import Posting
from interlock.apps.jobs.settings import JobsSettings


def adapter_for(posting: Posting, settings: JobsSettings) -> Adapter:
    """The adapter for a posting; its `note` says why when a person has to send the application."""
    return Assisted("this site takes applications by hand")
