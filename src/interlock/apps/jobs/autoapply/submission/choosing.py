"""Which way of submitting a posting has."""

from __future__ import annotations

import re

from interlock.apps.jobs.autoapply.submission import demo_world
from interlock.apps.jobs.autoapply.submission.adapter import Adapter
from interlock.apps.jobs.autoapply.submission.assisted import Assisted
from interlock.apps.jobs.autoapply.submission.boards import board_of
from interlock.apps.jobs.autoapply.submission.email_draft import EmailDraft, address_for
from interlock.apps.jobs.autoapply.submission.sending import Sender
from interlock.apps.jobs.autoapply.submission.systems import BY_PROGRAM
from interlock.apps.jobs.autoapply.submission.systems.credentials import credential_for
from interlock.apps.jobs.finder.fetching import Fetcher
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.settings import JobsSettings
from interlock.store import Clock

IDENT = re.compile(r"[A-Za-z0-9_-]{1,100}")
"""Ids of postings that may stand in an address; they came from a site."""


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
    board = board_of(posting, settings.private_hosts)
    system = BY_PROGRAM.get(board.ats) if board is not None else None
    if board is None or system is None or not IDENT.fullmatch(board.external_id or ""):
        to = address_for(posting) if board is None else None
        return EmailDraft(to) if to is not None else Assisted("this site takes applications by hand")
    if not system.capabilities.needs_key:
        return system(board, None, sender)
    found = credential_for(board.ats, system.label, board.board, system.authority(board), settings)
    return Assisted(found) if isinstance(found, str) else system(board, found, sender)
