"""Ashby: the whole board in one answer, with pay inside each job. Names of boards are case-sensitive."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import orjson

from interlock.apps.jobs.world.applying import applied, checked
from interlock.apps.jobs.world.exchange import KEY, Call, Reply, json_reply
from interlock.apps.jobs.world.identity import by_uuid, uuid
from interlock.apps.jobs.world.opening import Board, Opening
from interlock.apps.jobs.world.pages.posting import board_page, posting_page
from interlock.apps.jobs.world.systems.system import Boards, System

EMPLOYMENT = {"full_time": "FullTime", "part_time": "PartTime", "contract": "Contract", "internship": "Intern"}
WORKPLACE = {"remote": "Remote", "hybrid": "Hybrid", "onsite": "OnSite"}
FIELD_TYPES = {"text": "String", "long": "RichText", "choice": "ValueSelect", "flag": "Boolean"}
INTERVAL = {"year": "1 YEAR", "hour": "1 HOUR", "month": "1 MONTH"}


class Ashby(System):
    kind = "ashby"

    def home(self, base: str, board: Board) -> str:
        return f"{self.origin(base, board)}/{quote(board.name)}"

    def page(self, base: str, board: Board, opening: Opening, turn: int = 0) -> str:
        return f"{self.home(base, board)}/{uuid(opening.key, turn)}"

    def answer(self, call: Call, boards: Boards) -> Reply | None:
        match call.pieces:
            case ["posting-api", "job-board", name] if board := boards(name):
                pay = call.query.get("includeCompensation") == "true"
                return json_reply(
                    {"apiVersion": "1", "jobs": [self.row(call, board, one, pay) for one in board.openings]}
                )
            case ["posting-api", *_]:
                return json_reply({"error": "Not Found"}, 404)
            case ["jobPosting.info"] if call.method == "POST":
                return self._info(call, boards)
            case ["applicationForm.submit"] if call.method == "POST":
                return self._apply(call, boards)
            case [name] if board := boards(name):
                return board_page(call, board, self)
            case [name, given, *_] if (board := boards(name)) and (one := by_uuid(board, given)):
                return posting_page(call, board, one, self.page(call.base, board, one))
        return None

    def row(self, call: Call, board: Board, one: Opening, pay: bool) -> dict[str, Any]:
        first, page = one.places[0], self.page(call.base, board, one, call.turn)
        made: dict[str, Any] = {
            "id": uuid(one.key, call.turn),
            "title": one.title,
            "department": one.department,
            "team": one.department,
            "employmentType": EMPLOYMENT[one.employment],
            "location": first.name,
            "secondaryLocations": [{"location": spot.name, "address": _postal(spot)} for spot in one.places[1:]],
            "publishedAt": one.posted(call.began).isoformat(timespec="milliseconds"),
            "isListed": one.listed,
            "isRemote": one.workplace != "onsite",
            "workplaceType": WORKPLACE[one.workplace],
            "address": {"postalAddress": _postal(first)},
            "jobUrl": page,
            "applyUrl": f"{page}/application",
            "descriptionHtml": one.html(),
            "descriptionPlain": f"{one.intro}\n\n{one.end}",
            "shouldDisplayCompensationOnJobPostings": one.pay is not None,
        }
        if pay:
            made["compensation"] = _compensation(one)
        return made

    def _info(self, call: Call, boards: Boards) -> Reply:
        """A posting with the definition of its form."""
        if call.basic != KEY:
            return json_reply({"success": False, "errors": ["invalid_credentials"]}, 401)
        found = boards.opening(by_uuid, str(call.json().get("jobPostingId", "")))
        if found is None:
            return json_reply({"success": False, "errors": ["job_posting_not_found"]})
        fields = [
            ("_systemfield_name", "Name", "String", True),
            ("_systemfield_email", "Email", "Email", True),
            ("_systemfield_resume", "Resume", "File", True),
            *((ask.key, ask.label, FIELD_TYPES[ask.kind], ask.required) for ask in found[1].questions),
        ]
        definition = [
            {"isRequired": must, "field": {"id": uuid(path), "type": kind, "path": path, "title": title}}
            for path, title, kind, must in fields
        ]
        form = {"sections": [{"fields": definition}]}
        return json_reply({"success": True, "results": {"title": found[1].title, "applicationFormDefinition": form}})

    def _apply(self, call: Call, boards: Boards) -> Reply:
        fields = _submitted(call)
        if call.basic != KEY:
            return json_reply({"success": False, "errors": ["invalid_credentials"]}, 401)
        found = boards.opening(by_uuid, str(fields.get("jobPostingId", "")))
        if found is None:
            return json_reply({"success": False, "errors": ["job_posting_not_found"]})
        board, one = found
        missing = checked(fields, ("_systemfield_name", "_systemfield_email"))
        if missing:
            # The answer is 200 all the same; only its body tells.
            return json_reply({"success": False, "errors": [f"missing {name}" for name in missing]})
        result = {"submittedFormInstance": {"id": uuid(f"{one.key} {fields['_systemfield_email']}")}}
        return json_reply({"success": True, "results": result}, submission=applied(call, board, one, self.kind, fields))


def _submitted(call: Call) -> dict[str, Any]:
    """The fields by their paths; a form of several parts has them as JSON in one part."""
    fields: dict[str, Any] = dict(call.form) or call.json()
    try:
        listed = orjson.loads(fields.pop("applicationForm", "{}"))
    except (orjson.JSONDecodeError, TypeError):
        return fields
    rows = listed.get("fieldSubmissions") if isinstance(listed, dict) else None
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict) and isinstance(row.get("path"), str):
            fields[row["path"][:200]] = row.get("value")
    return fields


def _postal(spot: Any) -> dict[str, str]:
    return {"addressLocality": spot.city, "addressRegion": spot.region, "addressCountry": spot.country_name}


def _compensation(one: Opening) -> dict[str, Any]:
    if one.pay is None:
        return {"compensationTierSummary": None, "compensationTiers": [], "summaryComponents": []}
    component = {
        "compensationType": "Salary",
        "interval": INTERVAL[one.pay.per],
        "currencyCode": one.pay.currency,
        "minValue": one.pay.low,
        "maxValue": one.pay.high,
    }
    equity = {"compensationType": "EquityPercentage", "interval": "NONE", "minValue": None, "maxValue": None}
    summary = f"{one.pay.low:,} - {one.pay.high:,} {one.pay.currency} • Offers Equity"
    tier = {"id": uuid(f"{one.key} pay"), "title": "", "tierSummary": summary, "components": [component]}
    return {
        "compensationTierSummary": summary,
        "scrapeableCompensationSalarySummary": f"{one.pay.low:,} - {one.pay.high:,} {one.pay.currency}",
        "compensationTiers": [tier],
        "summaryComponents": [component, equity],
    }
