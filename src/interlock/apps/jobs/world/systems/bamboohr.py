"""BambooHR: a list without texts and dates, and a detail that has both."""

from __future__ import annotations

from typing import Any

from interlock.apps.jobs.world.exchange import Call, Reply, json_reply
from interlock.apps.jobs.world.identity import by_number, number
from interlock.apps.jobs.world.opening import Board, Opening
from interlock.apps.jobs.world.pages.posting import board_page, posting_page
from interlock.apps.jobs.world.systems.system import Boards, System

EMPLOYMENT = {"full_time": "Full-Time", "part_time": "Part-Time", "contract": "Contractor", "internship": "Intern"}
LOCATION_TYPES = {"onsite": "0", "remote": "1", "hybrid": "2"}
LEVELS = {"entry": "Entry-level", "mid": "Mid-level", "senior": "Senior", "lead": "Manager/Supervisor"}


class BambooHR(System):
    kind = "bamboohr"
    own_hosts = True

    def home(self, base: str, board: Board) -> str:
        return f"{self.origin(base, board)}/careers"

    def page(self, base: str, board: Board, opening: Opening, turn: int = 0) -> str:
        return f"{self.home(base, board)}/{number(opening.key, turn)}"

    def answer(self, call: Call, boards: Boards) -> Reply | None:
        match call.pieces:
            case [name, "careers", "list"] if board := boards(name):
                rows = [self.row(call, one) for one in board.openings]
                return json_reply({"meta": {"totalCount": len(rows)}, "result": rows})
            case [name, "careers", given, "detail"] if (board := boards(name)) and (one := by_number(board, given)):
                return json_reply({"meta": {}, "result": {"jobOpening": self.detail(call, board, one)}})
            case [name, "careers"] if board := boards(name):
                return board_page(call, board, self)
            case [name, "careers", given] if (board := boards(name)) and (one := by_number(board, given)):
                return posting_page(call, board, one, self.page(call.base, board, one))
        return None

    def row(self, call: Call, one: Opening) -> dict[str, Any]:
        return {
            "id": str(number(one.key, call.turn)),
            "jobOpeningName": one.title,
            "departmentId": str(number(one.department)),
            "departmentLabel": one.department,
            "employmentStatusLabel": EMPLOYMENT[one.employment],
            "location": {"city": one.places[0].city, "state": one.places[0].region},
            "atsLocation": {"country": one.places[0].country_name, "state": None, "province": None, "city": None},
            "isRemote": None,
            "locationType": LOCATION_TYPES[one.workplace],
        }

    def detail(self, call: Call, board: Board, one: Opening) -> dict[str, Any]:
        first = one.places[0]
        return {
            **{name: value for name, value in self.row(call, one).items() if name != "id"},
            "jobOpeningShareUrl": self.page(call.base, board, one, call.turn),
            "location": {
                "city": first.city,
                "state": first.region,
                "postalCode": None,
                "addressCountry": first.country_name,
            },
            "description": one.html(),
            "datePosted": one.posted(call.began).date().isoformat(),
            "minimumExperience": LEVELS.get(one.level or ""),
        }
