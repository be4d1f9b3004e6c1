"""Teamtailor: a JSON Feed with schema.org inside, in pages by `next_url`, and an RSS with a namespace for places."""

from __future__ import annotations

from datetime import UTC
from email.utils import format_datetime

from interlock.apps.jobs.world.exchange import Call, Reply, element, json_reply, raw_element, xml_reply
from interlock.apps.jobs.world.identity import by_number, number, uuid
from interlock.apps.jobs.world.opening import Board, Opening
from interlock.apps.jobs.world.pages.posting import board_page, posting_page, website
from interlock.apps.jobs.world.pages.schema import job_posting
from interlock.apps.jobs.world.systems.system import Boards, System

PAGE = 20
REMOTE = {"remote": "fully", "hybrid": "hybrid", "onsite": "none"}


class Teamtailor(System):
    kind = "teamtailor"
    own_hosts = True

    def home(self, base: str, board: Board) -> str:
        return f"{self.origin(base, board)}/jobs"

    def page(self, base: str, board: Board, opening: Opening, turn: int = 0) -> str:
        return f"{self.home(base, board)}/{number(opening.key, turn)}-{opening.slug}"

    def answer(self, call: Call, boards: Boards) -> Reply | None:
        match call.pieces:
            case [name, "jobs.json"] if board := boards(name):
                return self._feed(call, board)
            case [name, "jobs.rss"] if board := boards(name):
                return self._rss(call, board)
            case [name] | [name, "jobs"] if board := boards(name):
                return board_page(call, board, self)
            case [name, "jobs", given, *_] if (board := boards(name)) and (
                one := by_number(board, given.partition("-")[0])
            ):
                return posting_page(call, board, one, self.page(call.base, board, one))
        return None

    def _feed(self, call: Call, board: Board) -> Reply:
        start, where = call.number("offset", 0), f"{self.origin(call.base, board)}/jobs.json"
        rows = []
        for one in board.openings[start : start + PAGE]:
            url = self.page(call.base, board, one, call.turn)
            job = job_posting(board, one, url, call.began, website(call.base, board))
            job["identifier"] = {"@type": "PropertyValue", "value": number(one.key, call.turn)}
            rows.append(
                {
                    "id": uuid(one.key, call.turn),
                    "title": one.title,
                    "url": url,
                    "date_published": one.posted(call.began).isoformat(),
                    "_jobposting": job,
                }
            )
        made = {
            "version": "https://jsonfeed.org/version/1.1",
            "title": board.company.name,
            "home_page_url": self.home(call.base, board),
            "feed_url": where,
            "items": rows,
        }
        if start + PAGE < len(board.openings):
            made["next_url"] = f"{where}?offset={start + PAGE}"
        return json_reply(made)

    def _rss(self, call: Call, board: Board) -> Reply:
        start, many = call.number("offset", 0), call.number("per_page", 100, 200)
        shown = "".join(self._item(call, board, one) for one in board.openings[start : start + many])
        channel = element("title", board.company.name) + element("link", self.home(call.base, board)) + shown
        spaces = {"version": "2.0", "xmlns:tt": "https://teamtailor.com/locations"}
        return xml_reply(raw_element("rss", raw_element("channel", channel), **spaces), "application/rss+xml")

    def _item(self, call: Call, board: Board, one: Opening) -> str:
        spots = "".join(
            raw_element(
                "tt:location",
                element("tt:name", spot.city)
                + element("tt:city", spot.city)
                + element("tt:country", spot.country_name),
            )
            for spot in one.places
        )
        return raw_element(
            "item",
            element("title", one.title)
            + element("description", one.html())
            + element("pubDate", format_datetime(one.posted(call.began).astimezone(UTC)))
            + element("link", self.page(call.base, board, one, call.turn))
            + element("remoteStatus", REMOTE[one.workplace])
            + element("guid", uuid(one.key, call.turn))
            + raw_element("tt:locations", spots)
            + element("tt:department", one.department),
        )
