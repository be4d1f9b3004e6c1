"""Feeds of a company's openings: RSS, Atom and JSON Feed."""

from __future__ import annotations

from datetime import UTC
from email.utils import format_datetime
from html import escape

from interlock.apps.jobs.world.exchange import Call, Reply, element, json_reply, raw_element, xml_reply
from interlock.apps.jobs.world.identity import uuid
from interlock.apps.jobs.world.opening import Board, Opening
from interlock.apps.jobs.world.pages.listing import own_page

PAGE = 3
EMPLOYMENT = {"full_time": "Full-Time", "part_time": "Part-Time", "contract": "Contract", "internship": "Internship"}


def feed(call: Call, board: Board) -> Reply:
    """The feed in the format that the board's name ends in."""
    form = board.options["format"]
    return {"rss": _rss, "atom": _atom, "json": _json}[form](call, board)


def feed_address(base: str, board: Board) -> str:
    return f"{base}/{board.company.slug}/{board.name}"


def _where(one: Opening) -> str:
    if one.workplace == "remote":
        return "; ".join(dict.fromkeys(f"Remote, {spot.country_name}" for spot in one.places))
    return "; ".join(spot.name for spot in one.places)


def _company(board: Board, one: Opening) -> str:
    return one.employer or board.company.name


def _rss(call: Call, board: Board) -> Reply:
    entries = []
    for one in board.openings:
        link = own_page(call.base, board, one)
        entries.append(
            raw_element(
                "item",
                element("title", one.title)
                + element("link", link)
                + element("guid", uuid(one.key, call.turn), isPermaLink="false")
                + element("pubDate", format_datetime(one.posted(call.began).astimezone(UTC)))
                + element("description", one.html())
                + element("company", _company(board, one))
                + element("location", _where(one))
                + element("category", one.department)
                + element("type", EMPLOYMENT[one.employment]),
            )
        )
    channel = (
        element("title", f"Jobs at {board.company.name}")
        + element("link", f"{call.base}/{board.company.slug}/careers")
        + element("description", board.company.tagline)
        + element("language", "en-US")
        + "".join(entries)
    )
    return xml_reply(raw_element("rss", raw_element("channel", channel), version="2.0"), "application/rss+xml")


def _atom(call: Call, board: Board) -> Reply:
    entries = []
    for one in board.openings:
        when = one.posted(call.began).isoformat()
        link = escape(own_page(call.base, board, one))
        entries.append(
            raw_element(
                "entry",
                element("id", f"urn:uuid:{uuid(one.key, call.turn)}")
                + element("title", f"{one.title} at {_company(board, one)}")
                + f'<link rel="alternate" href="{link}"/>'
                + element("published", when)
                + element("updated", when)
                + element("content", one.html(), type="html"),
            )
        )
    top = (
        element("id", feed_address(call.base, board))
        + element("title", f"Jobs at {board.company.name}")
        + element("updated", call.now.isoformat())
        + "".join(entries)
    )
    return xml_reply(raw_element("feed", top, xmlns="http://www.w3.org/2005/Atom"), "application/atom+xml")


def _json(call: Call, board: Board) -> Reply:
    """A JSON feed in pages of three, which `next_url` joins."""
    start = call.number("offset", 0)
    address = feed_address(call.base, board)
    made = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": f"Jobs at {board.company.name}",
        "home_page_url": f"{call.base}/{board.company.slug}/careers",
        "feed_url": address,
        "items": [
            {
                "id": uuid(one.key, call.turn),
                "url": own_page(call.base, board, one),
                "title": one.title,
                "content_html": one.html(),
                "date_published": one.posted(call.began).isoformat(),
                "company": _company(board, one),
                "location": _where(one),
                "type": EMPLOYMENT[one.employment],
                "category": one.department,
                "language": one.language,
            }
            for one in board.openings[start : start + PAGE]
        ],
    }
    if start + PAGE < len(board.openings):
        made["next_url"] = f"{address}?offset={start + PAGE}"
    return json_reply(made)


def configuration(base: str, board: Board) -> dict[str, str]:
    """The configuration of the finder for the feed. Atom has no field for a company, so it is in the title."""
    made = {"url": feed_address(base, board)}
    return made | {"company_extraction": "from_title"} if board.options["format"] == "atom" else made
