"""Lever: a bare array in pages by `skip`, with requirements in lists and times in milliseconds."""

from __future__ import annotations

from html import escape
from typing import Any

from interlock.apps.jobs.world.applying import applied, checked
from interlock.apps.jobs.world.exchange import KEY, Call, Reply, json_reply
from interlock.apps.jobs.world.identity import by_uuid, uuid
from interlock.apps.jobs.world.opening import Board, Opening, paragraph
from interlock.apps.jobs.world.pages.posting import board_page, posting_page
from interlock.apps.jobs.world.systems.system import Boards, System

COMMITMENT = {"full_time": "Full-time", "part_time": "Part-time", "contract": "Contract", "internship": "Intern"}
WORKPLACE = {"remote": "remote", "hybrid": "hybrid", "onsite": "on-site"}
INTERVAL = {"year": "per-year-salary", "hour": "per-hour-wage", "month": "per-month-salary"}
NOT_FOUND = {"ok": False, "error": "Document not found"}


class Lever(System):
    kind = "lever"

    def home(self, base: str, board: Board) -> str:
        return f"{self.origin(base, board)}/{board.name}"

    def page(self, base: str, board: Board, opening: Opening, turn: int = 0) -> str:
        return f"{self.home(base, board)}/{uuid(opening.key, turn)}"

    def answer(self, call: Call, boards: Boards) -> Reply | None:
        match call.pieces:
            case ["v0", "postings", name] if (board := boards(name)) and _wants_html(call):
                return board_page(call, board, self)
            case ["v0", "postings", name] if board := boards(name):
                rows = [self.row(call, board, one) for one in board.openings]
                skip, limit = call.number("skip", 0), call.number("limit", len(rows))
                return json_reply(rows[skip : skip + limit])
            case ["v0", "postings", name, given] if (board := boards(name)) and (one := by_uuid(board, given)):
                return (
                    self._apply(call, board, one) if call.method == "POST" else json_reply(self.row(call, board, one))
                )
            case ["v0", "postings", *_]:
                return json_reply(NOT_FOUND, 404)
            case [name] if board := boards(name):
                return board_page(call, board, self)
            case [name, given, *_] if (board := boards(name)) and (one := by_uuid(board, given)):
                return posting_page(call, board, one, self.page(call.base, board, one))
        return None

    def row(self, call: Call, board: Board, one: Opening) -> dict[str, Any]:
        names = [spot.name for spot in one.places]
        page = self.page(call.base, board, one, call.turn)
        made: dict[str, Any] = {
            "id": uuid(one.key, call.turn),
            "text": one.title,
            "createdAt": int(one.posted(call.began).timestamp() * 1000),
            "categories": {
                "commitment": COMMITMENT[one.employment],
                "department": one.department,
                "location": names[0],
                "team": one.department,
                "allLocations": names,
            },
            "country": one.places[0].country,
            "workplaceType": WORKPLACE[one.workplace],
            "opening": "",
            "openingPlain": "",
            "description": paragraph(one.intro),
            "descriptionPlain": one.intro,
            "lists": [
                {"text": heading, "content": "".join(f"<li>{escape(text, quote=False)}</li>" for text in texts)}
                for heading, texts in one.lists
            ],
            "additional": paragraph(one.end) if one.end else "",
            "additionalPlain": one.end,
            "hostedUrl": page,
            "applyUrl": f"{page}/apply",
        }
        if one.pay:
            made["salaryRange"] = {
                "currency": one.pay.currency,
                "interval": INTERVAL[one.pay.per],
                "min": one.pay.low,
                "max": one.pay.high,
            }
        return made

    def _apply(self, call: Call, board: Board, one: Opening) -> Reply:
        if call.query.get("key") != KEY:
            return json_reply({"ok": False, "error": "Invalid API key"}, 401)
        fields = call.json() or dict(call.form)
        missing = checked(fields, ("name", "email"))
        if missing:
            return json_reply({"ok": False, "error": f"Missing required field: {missing[0]}"}, 400)
        sent = applied(call, board, one, self.kind, fields)
        return json_reply({"ok": True, "applicationId": uuid(f"{one.key} {fields['email']}")}, submission=sent)


def _wants_html(call: Call) -> bool:
    """A browser gets a page, unless the address says otherwise."""
    return call.query.get("mode") != "json" and "text/html" in call.headers.get("accept", "")
