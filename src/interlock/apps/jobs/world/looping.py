"""The pages of the company that is made to loop."""

from __future__ import annotations

from interlock.apps.jobs.world.data.ouroboros import BOARDS, COMPANY
from interlock.apps.jobs.world.exchange import Call, Reply, element, raw_element, redirect, xml_reply
from interlock.apps.jobs.world.pages.company import company_page
from interlock.apps.jobs.world.systems import SYSTEMS


def loop(call: Call) -> Reply | None:
    """Its pages link to its board and its feed; those lead to postings, and postings to these pages again."""
    site = f"{call.base}/{COMPANY.slug}"
    board, feed = BOARDS
    match call.pieces:
        case ["again", _, *rest]:
            # A new address of the old page.
            return redirect("/".join([site, *rest]))
        case ["moved"]:
            return redirect(f"{site}/moved-again")
        case ["moved-again"]:
            return redirect(f"{site}/moved")
        case ["jobs", *_]:
            return redirect(f"{site}/careers")
        case [name] if name == feed.name:
            return _feed(call, site)
    links = [
        (SYSTEMS[board.kind].home(call.base, board), "Job board"),
        (f"{site}/again/{call.turn}/careers", "More careers"),
        (f"{site}/moved", "Even more careers"),
    ]
    return company_page(call, COMPANY, site, links, [("rss", f"{site}/{feed.name}")])


def _feed(call: Call, site: str) -> Reply:
    """A feed whose postings are the careers page itself: once by its own address, once by one that leads to it."""
    links = (f"{site}/careers", f"{site}/jobs/{call.turn}")
    entries = "".join(
        raw_element("item", element("title", BOARDS[1].openings[0].title) + element("link", link)) for link in links
    )
    return xml_reply(
        raw_element("rss", raw_element("channel", element("title", COMPANY.name) + entries), version="2.0")
    )
