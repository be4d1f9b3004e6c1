"""Personio: an XML feed without addresses, a careers page with boxes, and an API for applications."""

from __future__ import annotations

from html import escape

from interlock.apps.jobs.world.applying import applied, checked
from interlock.apps.jobs.world.exchange import KEY, Call, Reply, element, html_reply, json_reply, raw_element, xml_reply
from interlock.apps.jobs.world.identity import by_number, number, uuid
from interlock.apps.jobs.world.opening import Board, Opening, items, paragraph
from interlock.apps.jobs.world.pages.layout import page
from interlock.apps.jobs.world.pages.posting import posting_page
from interlock.apps.jobs.world.systems.system import Boards, System

EMPLOYMENT = {"full_time": "permanent", "part_time": "permanent", "contract": "freelance", "internship": "intern"}
LEVELS = {"entry": "entry-level", "mid": "experienced", "senior": "senior", "lead": "lead"}


class Personio(System):
    kind = "personio"
    own_hosts = True

    def home(self, base: str, board: Board) -> str:
        return f"{self.origin(base, board)}/"

    def page(self, base: str, board: Board, opening: Opening, turn: int = 0) -> str:
        return f"{self.origin(base, board)}/job/{number(opening.key, turn)}"

    def answer(self, call: Call, boards: Boards) -> Reply | None:
        match call.pieces:
            case [name, "xml"] if board := boards(name):
                positions = "".join(self.position(call, board, one) for one in board.openings)
                return xml_reply(raw_element("workzag-jobs", positions))
            case [name] if board := boards(name):
                return self._boxes(call, board)
            case [name, "job", given] if (board := boards(name)) and (one := by_number(board, given)):
                return posting_page(call, board, one, self.page(call.base, board, one))
            case [name, "v1", "recruiting", "applications"] if (board := boards(name)) and call.method == "POST":
                return self._apply(call, board)
            case [name, "v1", "recruiting", "applications", "documents"] if boards(name) and call.method == "POST":
                return self._document(call)
        return None

    def position(self, call: Call, board: Board, one: Opening) -> str:
        parts = [
            ("Introduction", paragraph(one.intro)),
            *((heading, items(texts)) for heading, texts in one.lists),
            ("What we offer", paragraph(one.end)),
        ]
        descriptions = "".join(
            raw_element("jobDescription", element("name", heading) + element("value", text)) for heading, text in parts
        )
        schedule = "part-time" if one.employment == "part_time" else "full-time"
        others = "".join(element("office", spot.city) for spot in one.places[1:])
        return raw_element(
            "position",
            element("id", str(number(one.key, call.turn)))
            + element("subcompany", one.employer or board.company.name)
            + element("office", one.places[0].city)
            + (raw_element("additionalOffices", others) if others else "")
            + element("department", one.department)
            + element("recruitingCategory", one.department)
            + element("name", one.title)
            + raw_element("jobDescriptions", descriptions)
            + element("employmentType", EMPLOYMENT[one.employment])
            + (element("seniority", LEVELS[one.level]) if one.level else "")
            + element("schedule", schedule)
            + element("createdAt", one.posted(call.began).isoformat()),
        )

    def _boxes(self, call: Call, board: Board) -> Reply:
        rows = "".join(
            f'<a class="job-box-link" href="{escape(self.page(call.base, board, one, call.turn))}">'
            f"<h3>{escape(one.title)}</h3><span>{escape(one.places[0].city)}</span></a>\n"
            for one in board.openings
        )
        return html_reply(page(f"Jobs at {board.company.name}", rows))

    def _apply(self, call: Call, board: Board) -> Reply:
        if call.bearer != KEY or not call.headers.get("x-company-id"):
            return json_reply({"success": False, "error": {"message": "Unauthorized"}}, 401)
        fields = call.json()
        one = by_number(board, str(fields.get("job_position_id", "")))
        missing = checked(fields, ("first_name", "last_name", "email"))
        if one is None:
            missing.append("job_position_id")
        if one is None or missing:
            return json_reply({"success": False, "error": {"message": f"Invalid: {', '.join(missing)}"}}, 422)
        return json_reply({"success": True}, 201, submission=applied(call, board, one, self.kind, fields))

    def _document(self, call: Call) -> Reply:
        if call.bearer != KEY or not call.files:
            return json_reply({"success": False}, 401 if call.bearer != KEY else 422)
        file = call.files[0]
        return json_reply(
            {
                "uuid": uuid(file.sha256),
                "size": file.size,
                "mimetype": file.content_type,
                "original_filename": file.filename,
                "extension": file.filename.rpartition(".")[2],
            },
            201,
        )
