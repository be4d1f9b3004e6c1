"""Greenhouse: the whole board in one answer, texts as escaped HTML, pay in cents in the detail."""

from __future__ import annotations

from html import escape
from typing import Any

from interlock.apps.jobs.world.applying import applied, checked
from interlock.apps.jobs.world.exchange import KEY, Call, Reply, json_reply
from interlock.apps.jobs.world.identity import by_number, number
from interlock.apps.jobs.world.opening import Board, Opening, Pay
from interlock.apps.jobs.world.pages.posting import board_page, posting_page
from interlock.apps.jobs.world.systems.system import Boards, System

FIELD_TYPES = {
    "text": "input_text",
    "long": "textarea",
    "choice": "multi_value_single_select",
    "flag": "multi_value_single_select",
}
EMPLOYMENT = {
    "full_time": "Full-time",
    "part_time": "Part-time",
    "contract": "Contract",
    "internship": "Internship",
}


class Greenhouse(System):
    kind = "greenhouse"

    def home(self, base: str, board: Board) -> str:
        return f"{self.origin(base, board)}/{board.name}"

    def page(self, base: str, board: Board, opening: Opening, turn: int = 0) -> str:
        return f"{self.home(base, board)}/jobs/{number(opening.key, turn)}"

    def answer(self, call: Call, boards: Boards) -> Reply | None:
        match call.pieces:
            case ["v1", "boards", name, *rest] if board := boards(name):
                return self._api(call, board, rest)
            case [name] if board := boards(name):
                return board_page(call, board, self)
            case [name, "jobs", given] if (board := boards(name)) and (one := by_number(board, given)):
                return posting_page(call, board, one, self.page(call.base, board, one))
            case ["v1", "boards", *_]:
                return json_reply({"status": 404, "error": "Job board not found"}, 404)
        return None

    def _api(self, call: Call, board: Board, rest: list[str]) -> Reply | None:
        match rest:
            case []:
                return json_reply({"name": board.company.name, "content": f"<p>{escape(board.company.tagline)}</p>"})
            case ["jobs"]:
                rows = [self.row(call, board, one, call.query.get("content") == "true") for one in board.openings]
                return json_reply({"jobs": rows, "meta": {"total": len(rows)}})
            case ["jobs", given]:
                one = by_number(board, given)
                if one is None:
                    return json_reply({"status": 404, "error": "Job not found"}, 404)
                return self._apply(call, board, one) if call.method == "POST" else self._detail(call, board, one)
        return None

    def row(self, call: Call, board: Board, one: Opening, content: bool) -> dict[str, Any]:
        posted, closes = one.posted(call.began), one.closes(call.began)
        key = number(one.key, call.turn)
        made: dict[str, Any] = {
            "id": key,
            "internal_job_id": key + 1,
            "title": one.title,
            "updated_at": posted.isoformat(),
            "first_published": posted.isoformat(),
            "application_deadline": closes.isoformat() if closes else None,
            "requisition_id": f"REQ-{number(one.key) % 10_000}",
            "location": {"name": "; ".join(_named(one))},
            "absolute_url": self.page(call.base, board, one, call.turn),
            "language": one.language,
            "company_name": one.employer or board.company.name,
            "metadata": [
                {"id": 1, "name": "Employment Type", "value": EMPLOYMENT[one.employment], "value_type": "single_select"}
            ],
            "data_compliance": [{"type": "gdpr", "requires_consent": False, "retention_period": None}],
        }
        if content:
            made["content"] = escape(one.html())
            made["departments"] = [
                {"id": number(one.department), "name": one.department, "parent_id": None, "child_ids": []}
            ]
            made["offices"] = [
                {"id": number(spot.name), "name": spot.city, "location": spot.name, "parent_id": None, "child_ids": []}
                for spot in one.places
            ]
        return made

    def _detail(self, call: Call, board: Board, one: Opening) -> Reply:
        made = self.row(call, board, one, True)
        if call.query.get("questions") == "true":
            made["questions"] = _questions(one)
        if call.query.get("pay_transparency") == "true":
            made["pay_input_ranges"] = [_range(one.pay)] if one.pay else []
        return json_reply(made)

    def _apply(self, call: Call, board: Board, one: Opening) -> Reply:
        if call.basic != KEY:
            return json_reply({"error": "Invalid Basic Auth credentials"}, 401)
        fields = call.json() or dict(call.form)
        missing = checked(fields, ("first_name", "last_name", "email"))
        if missing:
            return json_reply({"status": 422, "error": f"Invalid attributes: {', '.join(missing)}"}, 422)
        return json_reply(
            {"success": "Candidate saved successfully"}, submission=applied(call, board, one, self.kind, fields)
        )


def _named(one: Opening) -> list[str]:
    """Places as boards of Greenhouse write them, with the way to work where it is not the office."""
    prefix = {"remote": "Remote - ", "hybrid": "Hybrid - ", "onsite": ""}[one.workplace]
    if one.workplace == "remote":
        return list(dict.fromkeys(f"{prefix}{spot.country_name}" for spot in one.places))
    return [f"{prefix}{spot.name}" for spot in one.places]


def _range(pay: Pay) -> dict[str, Any]:
    title = {"year": "Annual salary", "hour": "Hourly wage", "month": "Monthly salary"}[pay.per]
    cents = {"min_cents": pay.low * 100, "max_cents": pay.high * 100}
    return {**cents, "currency_type": pay.currency, "title": title, "blurb": ""}


def _questions(one: Opening) -> list[dict[str, Any]]:
    def asked(label: str, name: str, kind: str, required: bool, options: tuple[str, ...] = ()) -> dict[str, Any]:
        values = [{"value": at, "label": text} for at, text in enumerate(options)]
        return {"label": label, "required": required, "fields": [{"name": name, "type": kind, "values": values}]}

    found = [
        asked("First Name", "first_name", "input_text", True),
        asked("Last Name", "last_name", "input_text", True),
        asked("Email", "email", "input_text", True),
        asked("Phone", "phone", "input_text", False),
        asked("Resume/CV", "resume", "input_file", True),
        asked("Cover Letter", "cover_letter", "input_file", False),
    ]
    for ask in one.questions:
        options = ask.options or (("Yes", "No") if ask.kind == "flag" else ())
        name = f"question_{number(one.key + ask.key)}"
        found.append(asked(ask.label, name, FIELD_TYPES[ask.kind], ask.required, options))
    return found
