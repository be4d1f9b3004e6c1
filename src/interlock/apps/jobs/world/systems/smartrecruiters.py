"""SmartRecruiters: pages of up to a hundred, a detail for the text, and an empty list for an unknown company."""

from __future__ import annotations

from typing import Any

from interlock.apps.jobs.world.applying import applied, checked
from interlock.apps.jobs.world.exchange import KEY, Call, Reply, json_reply
from interlock.apps.jobs.world.identity import by_number, by_uuid, number, uuid
from interlock.apps.jobs.world.opening import Board, Opening, items, paragraph
from interlock.apps.jobs.world.pages.posting import board_page, posting_page
from interlock.apps.jobs.world.systems.system import Boards, System

MOST = 100
EMPLOYMENT = {
    "full_time": ("permanent", "Full-time"),
    "part_time": ("part_time", "Part-time"),
    "contract": ("contract", "Contract"),
    "internship": ("intern", "Intern"),
}
LEVELS = {
    "entry": ("entry_level", "Entry Level"),
    "mid": ("associate", "Associate"),
    "senior": ("mid_senior_level", "Mid-Senior Level"),
    "lead": ("director", "Director"),
}


class SmartRecruiters(System):
    kind = "smartrecruiters"

    def home(self, base: str, board: Board) -> str:
        return f"{self.origin(base, board)}/{board.name}"

    def page(self, base: str, board: Board, opening: Opening, turn: int = 0) -> str:
        return f"{self.home(base, board)}/{number(opening.key, turn)}"

    def answer(self, call: Call, boards: Boards) -> Reply | None:
        match call.pieces:
            case ["v1", "companies", name, "postings"]:
                return self._list(call, boards(name))
            case ["v1", "companies", name, "postings", given] if (board := boards(name)) and (
                one := by_number(board, given)
            ):
                return json_reply(self.detail(call, board, one))
            case ["postings", given, "configuration"] if found := boards.opening(by_uuid, given):
                return _configuration(call, found[1])
            case ["postings", given, "candidates"] if call.method == "POST":
                return self._apply(call, boards, given)
            case [name] if board := boards(name):
                return board_page(call, board, self)
            case [name, given] if (board := boards(name)) and (one := by_number(board, given.partition("-")[0])):
                return posting_page(call, board, one, self.page(call.base, board, one))
            case ["v1", *_]:
                return json_reply({"message": "Posting not found"}, 404)
        return None

    def _list(self, call: Call, board: Board | None) -> Reply:
        offset, limit = call.number("offset", 0), call.number("limit", 10, MOST)
        there = board.openings if board else ()
        rows = [self.row(call, board, one) for one in there[offset : offset + limit]] if board else []
        total = 0 if "total_once" in call.faults and offset else len(there)
        return json_reply({"offset": offset, "limit": limit, "totalFound": total, "content": rows})

    def row(self, call: Call, board: Board, one: Opening) -> dict[str, Any]:
        first, key = one.places[0], number(one.key, call.turn)
        kind, level = EMPLOYMENT[one.employment], LEVELS.get(one.level or "")
        made: dict[str, Any] = {
            "id": str(key),
            "uuid": uuid(one.key, call.turn),
            "name": one.title,
            "jobAdId": uuid(f"{one.key} ad"),
            "defaultJobAd": True,
            "refNumber": f"REF{number(one.key) % 10_000}",
            "company": {"identifier": board.name, "name": one.employer or board.company.name},
            "releasedDate": one.posted(call.began).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "location": {
                "city": first.city,
                "region": first.region,
                "country": first.country.lower(),
                "remote": one.workplace == "remote",
                "hybrid": one.workplace == "hybrid",
                "fullLocation": f"{first.city}, {first.region}, {first.country_name}",
            },
            "department": {"id": str(number(one.department)), "label": one.department},
            "typeOfEmployment": {"id": kind[0], "label": kind[1]},
            "customField": [],
            "visibility": "PUBLIC" if one.listed else "INTERNAL",
            "ref": f"{self.origin(call.base, board)}/v1/companies/{board.name}/postings/{key}",
            "language": {"code": one.language, "label": "German" if one.language == "de" else "English"},
        }
        if level:
            made["experienceLevel"] = {"id": level[0], "label": level[1]}
        return made

    def detail(self, call: Call, board: Board, one: Opening) -> dict[str, Any]:
        wanted = items(one.wanted) + (f"<h4>{one.headings[2]}</h4>{items(one.preferred)}" if one.preferred else "")
        sections = {
            "companyDescription": ("Company Description", paragraph(board.company.about[0])),
            "jobDescription": ("Job Description", paragraph(one.intro) + items(one.duties)),
            "qualifications": ("Qualifications", wanted),
            "additionalInformation": ("Additional Information", paragraph(one.end)),
        }
        made = self.row(call, board, one)
        made["jobAd"] = {"sections": {name: {"title": title, "text": text} for name, (title, text) in sections.items()}}
        made["applyUrl"] = self.page(call.base, board, one, call.turn)
        if one.pay:
            pay = one.pay
            made["compensation"] = {
                "salary": {"min": pay.low, "max": pay.high, "currency": pay.currency, "period": f"{pay.per.upper()}"}
            }
        return made

    def _apply(self, call: Call, boards: Boards, given: str) -> Reply:
        if call.headers.get("x-smarttoken") != KEY:
            return json_reply({"message": "Unauthorized"}, 401)
        found = boards.opening(by_uuid, given)
        if found is None:
            return json_reply({"message": "Posting not found"}, 404)
        board, one = found
        fields = call.json()
        missing = checked(fields, ("firstName", "lastName", "email"))
        if missing:
            return json_reply({"message": "Validation failed", "errors": missing}, 422)
        fields["attachments"] = _named(fields.get("attachments"))
        sent = applied(call, board, one, self.kind, fields)
        answer = {"id": uuid(f"{one.key} {fields['email']}"), "createdOn": call.now.isoformat(), "status": "NEW"}
        return json_reply(answer, 201, submission=sent)


def _configuration(call: Call, one: Opening) -> Reply:
    """The questions of the application form."""
    if call.headers.get("x-smarttoken") != KEY:
        return json_reply({"message": "Unauthorized"}, 401)
    questions = [
        {
            "id": uuid(one.key + ask.key),
            "type": {"choice": "SINGLE_SELECT", "flag": "CHECKBOX", "long": "TEXTAREA", "text": "INPUT_TEXT"}[ask.kind],
            "label": ask.label,
            "required": ask.required,
            "values": [{"id": str(at), "label": text} for at, text in enumerate(ask.options)],
        }
        for ask in one.questions
    ]
    return json_reply({"questions": questions, "privacyPolicies": []})


def _named(attachments: Any) -> list[str]:
    """Names of attachments; their content is not kept."""
    given = attachments if isinstance(attachments, list) else []
    return [str(one.get("fileName") or one.get("name") or "")[:200] for one in given[:20] if isinstance(one, dict)]
