"""The allocator that the configuration names."""

from __future__ import annotations

from interlock.apps.sessions.allocator.lender import Lender
from interlock.apps.sessions.allocator.local_lender import LocalLender
from interlock.apps.sessions.allocator.remote_lender import RemoteLender
from interlock.apps.sessions.allocator.transactions import Transactions
from interlock.apps.sessions.settings import SessionSettings


def lender_of(settings: SessionSettings, db: Transactions, borrower: str = "sessions") -> Lender:
    """The allocator in this installation, or the one elsewhere."""
    here = settings.allocator
    if here.url is None:
        return LocalLender(db, here, borrower)
    return RemoteLender(here.url, here.token.get_secret_value() if here.token is not None else "", here.timeout)
