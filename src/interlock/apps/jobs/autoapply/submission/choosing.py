"""Which way of submitting a posting has."""

from __future__ import annotations

from interlock.apps.jobs.autoapply.submission import demo_world
from interlock.apps.jobs.autoapply.submission.adapter import Adapter
from interlock.apps.jobs.autoapply.submission.assisted import Assisted
from interlock.apps.jobs.autoapply.submission.sending import Sender
from interlock.apps.jobs.finder.fetching import Fetcher
from interlock.apps.jobs.finder.posting import Posting
from interlock.apps.jobs.settings import JobsSettings
from interlock.store import Clock


def adapter_for(
    posting: Posting, settings: JobsSettings, *, fetcher: Fetcher | None = None, clock: Clock | None = None
) -> Adapter:
    """The adapter for a posting; its `note` says why when a person has to send the application.

    Without a `fetcher` each request has a client of its own, whose rate no other process knows.
    """
    sender = Sender(settings, fetcher, clock)
    host = settings.autoapply.demo_host
    if host is not None and demo_world.is_of(posting, host):
        if host not in settings.private_hosts:
            return Assisted(f"[jobs.autoapply] demo_host {host} is not one of [jobs] private_hosts; add it there")
        return demo_world.DemoWorld(host, sender)
    return Assisted("this site takes applications by hand")
