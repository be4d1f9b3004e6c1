"""Workable: a widget with the whole account, a second list in pages by a token, and details by a code."""

from __future__ import annotations

from typing import Any

from interlock.apps.jobs.world.applying import applied, checked
from interlock.apps.jobs.world.exchange import KEY, Call, Reply, json_reply
from interlock.apps.jobs.world.identity import by_code, code, number
from interlock.apps.jobs.world.opening import Board, Opening, items, paragraph
from interlock.apps.jobs.world.pages.posting import board_page, posting_page
from interlock.apps.jobs.world.systems.system import Boards, System

PAGE = 10
EMPLOYMENT = {"full_time": "Full-time", "part_time": "Part-time", "contract": "Contract", "internship": "Internship"}
LEVELS = {"entry": "Entry level", "mid": "Associate", "senior": "Mid-Senior level", "lead": "Director"}
WORKPLACE = {"remote": "remote", "hybrid": "hybrid", "onsite": "on_site"}


class Workable(System):
    kind = "workable"

    def home(self, base: str, board: Board) -> str:
        return f"{self.origin(base, board)}/{board.name}"

    def page(self, base: str, board: Board, opening: Opening, turn: int = 0) -> str:
        return f"{self.home(base, board)}/j/{code(opening.key, turn)}"

    def answer(self, call: Call, boards: Boards) -> Reply | None:
        match call.pieces:
            case ["api", "v1", "widget", "accounts", name] if board := boards(name):
                text = call.query.get("details") == "true"
                rows = [row for one in board.openings for row in self.rows(call, board, one, text)]
                tagline = board.company.tagline
                return json_reply({"name": board.company.name, "description": tagline, "jobs": rows})
            case ["api", "v3", "accounts", name, "jobs"] if (board := boards(name)) and call.method == "POST":
                return self._paged(call, board)
            case ["api", "v2", "accounts", name, "jobs", given] if (board := boards(name)) and (
                one := by_code(board, given)
            ):
                return json_reply(self.detail(call, one))
            case ["spi", "v3", "jobs", given, "application_form"] if found := boards.opening(by_code, given):
                return _form(call, found[1])
            case ["spi", "v3", "jobs", given, "candidates"] if call.method == "POST":
                return self._apply(call, boards, given)
            case ["api", *_]:
                return json_reply({"error": "Not found"}, 404)
            case ["j", given] if found := boards.opening(by_code, given):
                return posting_page(call, *found, self.page(call.base, *found))
            case [name] if board := boards(name):
                return board_page(call, board, self)
            case [name, "j", given, *_] if (board := boards(name)) and (one := by_code(board, given)):
                return posting_page(call, board, one, self.page(call.base, board, one))
        return None

    def rows(self, call: Call, board: Board, one: Opening, text: bool) -> list[dict[str, Any]]:
        """One row for each place, as the widget has it."""
        page = self.page(call.base, board, one, call.turn)
        locations = [
            {
                "country": spot.country_name,
                "countryCode": spot.country,
                "city": spot.city,
                "region": spot.region,
                "hidden": False,
            }
            for spot in one.places
        ]
        day = one.posted(call.began).date().isoformat()
        return [
            {
                "title": one.title,
                "shortcode": code(one.key, call.turn),
                "code": f"W{number(one.key) % 10_000}",
                "employment_type": EMPLOYMENT[one.employment],
                "telecommuting": one.workplace == "remote",
                "department": one.department,
                "url": page,
                "shortlink": page,
                "application_url": f"{page}/apply",
                "published_on": day,
                "created_at": day,
                "country": spot.country_name,
                "city": spot.city,
                "state": spot.region,
                "education": "",
                "experience": LEVELS.get(one.level or "", ""),
                "function": "",
                "industry": "",
                "locations": locations,
                **({"description": one.html()} if text else {}),
            }
            for spot in one.places
        ]

    def detail(self, call: Call, one: Opening) -> dict[str, Any]:
        first = one.places[0]
        return {
            "shortcode": code(one.key, call.turn),
            "title": one.title,
            "remote": one.workplace == "remote",
            "workplace": WORKPLACE[one.workplace],
            "type": EMPLOYMENT[one.employment],
            "department": [one.department],
            "location": {"country": first.country_name, "city": first.city, "region": first.region},
            "published": one.posted(call.began).isoformat(),
            "description": paragraph(one.intro) + items(one.duties),
            "requirements": items(one.wanted) + (items(one.preferred) if one.preferred else ""),
            "benefits": paragraph(one.end),
        }

    def _paged(self, call: Call, board: Board) -> Reply:
        token = call.json().get("token")
        start = int(token) if isinstance(token, str) and token.isdecimal() and len(token) < 9 else 0
        shown = board.openings[start : start + PAGE]
        rows = [{name: value for name, value in self.detail(call, one).items() if name in LISTED} for one in shown]
        total = 0 if "total_once" in call.faults and start else len(board.openings)
        made: dict[str, Any] = {"total": total, "results": rows}
        if start + PAGE < len(board.openings):
            made["nextPage"] = str(start + PAGE)
        return json_reply(made)

    def _apply(self, call: Call, boards: Boards, given: str) -> Reply:
        if call.bearer != KEY:
            return json_reply({"error": "Not authorized"}, 401)
        found = boards.opening(by_code, given)
        if found is None:
            return json_reply({"error": "Not found"}, 404)
        board, one = found
        candidate = call.json().get("candidate")
        fields = candidate if isinstance(candidate, dict) else {}
        missing = checked(fields, ("firstname", "lastname", "email"))
        if missing:
            return json_reply({"error": "Validation failed", "validation_errors": missing}, 422)
        sent = applied(call, board, one, self.kind, fields)
        made = {"id": code(f"{one.key} {fields['email']}"), "name": f"{fields['firstname']} {fields['lastname']}"}
        return json_reply({"status": "created", "candidate": made}, 201, submission=sent)


def _form(call: Call, one: Opening) -> Reply:
    if call.bearer != KEY:
        return json_reply({"error": "Not authorized"}, 401)
    kinds = {"text": "free_text", "long": "free_text", "choice": "dropdown", "flag": "boolean"}
    fields = [
        {"key": key, "label": label, "type": kind, "required": required}
        for key, label, kind, required in (
            ("firstname", "First name", "string", True),
            ("lastname", "Last name", "string", True),
            ("email", "Email", "string", True),
            ("phone", "Phone", "string", False),
            ("resume", "Resume", "file", True),
        )
    ]
    questions = [
        {
            "id": code(one.key + ask.key),
            "body": ask.label,
            "type": kinds[ask.kind],
            "required": ask.required,
            "choices": [{"id": code(text), "body": text} for text in ask.options],
        }
        for ask in one.questions
    ]
    return json_reply({"form_fields": fields, "questions": questions})


LISTED = {"shortcode", "title", "remote", "workplace", "type", "department", "location", "published"}
"""What the second list tells of a job."""
