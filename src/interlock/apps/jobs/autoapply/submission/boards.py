"""The board that a posting is on, as submission addresses it."""

from __future__ import annotations

from collections.abc import Collection

from interlock.apps.jobs.finder.identity.addresses import NAME, Address, address_of, private_address, slug
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.sources import SYSTEMS

NAMED_BY_PEOPLE = {"ashby", "workday"}


def board_of(posting: Posting, private_hosts: Collection[str] = ()) -> Address | None:
    """The board and id of a posting of a known system; None for any other.

    Name and id are checked before they go into an address: both came from a site. The host comes from the posting's
    address only where that is the system's own, or a private host that the operator named.
    """
    if posting.ats not in SYSTEMS or not posting.external_id:
        return None
    for url in (posting.url, posting.apply_url):
        found = (private_address(url, private_hosts) or address_of(url)) if url else None
        if found is not None and found.ats == posting.ats and found.board:
            return Address(found.ats, found.board, posting.external_id, found.options)
    pattern = {"pattern": NAME} if posting.ats in NAMED_BY_PEOPLE else {}
    name = slug(posting.board, posting.ats, **pattern)
    return Address(posting.ats, name, posting.external_id) if name else None
