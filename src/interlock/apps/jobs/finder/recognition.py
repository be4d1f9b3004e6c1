"""What an address that somebody adds seems to be: a company's website, a source of postings, or one posting."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from interlock.apps.jobs.finder.identity.keys import word_list
from interlock.apps.jobs.finder.identity.urls import canonical_url, typed_url
from interlock.apps.jobs.finder.sources.detection import detect
from interlock.engine import InvalidData

Kind = Literal["company", "source", "listing"]
KINDS: tuple[Kind, ...] = ("company", "source", "listing")
LISTS = word_list("""
    careers career jobs job openings vacancies positions opportunities join-us work-with-us karriere stellen
    stellenangebote emplois empleo lavora-con-noi
""")
"""Parts of a path that name a list of postings; what follows one names a posting."""


class Recognised(NamedTuple):
    """What an address was taken for, and why."""

    kind: Kind
    url: str
    reason: str


def recognise(text: str, private_hosts: Collection[str] = ()) -> Recognised:
    """What an address seems to be, by itself alone: nothing is fetched."""
    url = typed_url(text)
    if url is None:
        raise InvalidData(f"{text!r} is not a web address; write it as https://example.com")
    board = detect(url, private_hosts)
    if board is not None and board.external_id is not None:
        return Recognised("listing", url, f"it names a posting on {board.ats}")
    if board is not None:
        named = f"the {board.ats} board {board.board!r}" if board.board else f"a {board.ats}"
        return Recognised("source", url, f"it is {named}")
    parts = [one.lower() for one in urlsplit(canonical_url(url) or "").path.split("/") if one]
    at = next((index for index, part in enumerate(parts) if part in LISTS), None)
    if at is None:
        if len(parts) > 1:
            return Recognised("listing", url, "it is a page deep in a website")
        return Recognised("company", url, "nothing in the address names a board or a posting")
    if at == len(parts) - 1:
        return Recognised("source", url, f"its path ends with {parts[at]!r}")
    return Recognised("listing", url, f"it is a page below {parts[at]!r}")
