"""Workday: pages of twenty by POST, labels for dates in the list, and a detail for each posting."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from interlock.apps.jobs.world.exchange import Call, Reply, json_reply
from interlock.apps.jobs.world.identity import by_number, number, uuid
from interlock.apps.jobs.world.opening import Board, Opening
from interlock.apps.jobs.world.pages.posting import board_page, login_page, posting_page
from interlock.apps.jobs.world.systems.system import Boards, System

PAGE = 20
CLAMP = 2000
KEYS = {"appliedFacets", "limit", "offset", "searchText"}
TIME_TYPE = {"full_time": "Full time", "part_time": "Part time", "contract": "Full time", "internship": "Part time"}
REMOTE_TYPE = {"remote": "Fully Remote", "hybrid": "Hybrid", "onsite": "On-site"}
FACET = "locations"


class Workday(System):
    kind = "workday"
    own_hosts = True

    def home(self, base: str, board: Board) -> str:
        return f"{self.origin(base, board)}/{board.options.get('site', 'Careers')}"

    def page(self, base: str, board: Board, opening: Opening, turn: int = 0) -> str:
        return self.home(base, board) + self._path(opening, turn)

    def _path(self, one: Opening, turn: int) -> str:
        words = [re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-") for text in (one.places[0].name, one.title)]
        return f"/job/{words[0]}/{words[1]}_JR{number(one.key, turn)}"

    def answer(self, call: Call, boards: Boards) -> Reply | None:
        match call.pieces:
            case [tenant, "wday", "cxs", again, site, "jobs"] if (board := self._site(boards, tenant, site)) and (
                again == tenant
            ):
                return self._list(call, board) if call.method == "POST" else None
            case [tenant, "wday", "cxs", _, site, "job", _, last] if board := self._site(boards, tenant, site):
                one = by_number(board, last.rpartition("_JR")[2])
                return self._detail(call, board, one) if one else json_reply({"errorCode": "S22"}, 403)
            case [tenant, site] if board := self._site(boards, tenant, site):
                return board_page(call, board, self)
            case [tenant, site, "job", _, last, "apply"] if board := self._site(boards, tenant, site):
                return login_page(board) if by_number(board, last.rpartition("_JR")[2]) else None
            case [tenant, site, "job", _, last] if board := self._site(boards, tenant, site):
                one = by_number(board, last.rpartition("_JR")[2])
                return posting_page(call, board, one, self.page(call.base, board, one), form=False) if one else None
        return None

    def _site(self, boards: Boards, tenant: str, site: str) -> Board | None:
        board = boards(tenant)
        return board if board and site == board.options.get("site", "Careers") else None

    def _list(self, call: Call, board: Board) -> Reply:
        asked = call.json()
        if not asked.keys() >= KEYS or not all(isinstance(asked[name], int) for name in ("limit", "offset")):
            return json_reply({"errorCode": "HTTP_422", "httpStatus": 422}, 422)
        if not 0 < asked["limit"] <= PAGE or asked["offset"] < 0:
            return json_reply({"errorCode": "HTTP_400", "httpStatus": 400}, 400)
        facets = asked["appliedFacets"]
        wanted = facets.get(FACET) if isinstance(facets, dict) else None
        wanted = wanted if isinstance(wanted, list) else []
        names = {spot: uuid(spot) for spot in {one.places[0].name for one in board.openings}}
        there = [one for one in board.openings if not wanted or names[one.places[0].name] in wanted]
        total, offset = len(there), asked["offset"]
        if "clamp" in call.faults:
            total = min(total, CLAMP)
            offset = offset if offset < CLAMP else 0
        rows = [self.row(call, one) for one in there[offset : offset + asked["limit"]]]
        said = 0 if "total_once" in call.faults and asked["offset"] else total
        return json_reply({"total": said, "jobPostings": rows, "facets": _facets(there), "userAuthenticated": False})

    def row(self, call: Call, one: Opening) -> dict[str, Any]:
        several = len(one.places) > 1
        return {
            "title": one.title,
            "externalPath": self._path(one, call.turn),
            "locationsText": f"{len(one.places)} Locations" if several else one.places[0].name,
            "postedOn": _label(one.posted(call.began), call.now),
            "timeType": TIME_TYPE[one.employment],
            "remoteType": REMOTE_TYPE[one.workplace],
            "bulletFields": [f"JR{number(one.key, call.turn)}"],
        }

    def _detail(self, call: Call, board: Board, one: Opening) -> Reply:
        first, posted, closes = one.places[0], one.posted(call.began), one.closes(call.began)
        key = f"JR{number(one.key, call.turn)}"
        country = {"descriptor": first.country_name, "id": uuid(first.country)}
        info: dict[str, Any] = {
            "id": uuid(one.key, call.turn),
            "title": one.title,
            "jobDescription": one.html(),
            "location": first.name,
            "additionalLocations": [spot.name for spot in one.places[1:]],
            "postedOn": _label(posted, call.now),
            "startDate": posted.date().isoformat(),
            "timeType": TIME_TYPE[one.employment],
            "remoteType": REMOTE_TYPE[one.workplace],
            "jobReqId": key,
            "jobPostingId": self._path(one, call.turn).rpartition("/")[2],
            "jobPostingSiteId": board.options.get("site", "Careers"),
            "country": country,
            "jobRequisitionLocation": {
                "descriptor": first.name,
                "country": {**country, "alpha2Code": first.country},
            },
            "canApply": True,
            "posted": True,
            "includeResumeParsing": True,
            "externalUrl": self.page(call.base, board, one, call.turn),
        }
        if closes:
            info["endDate"] = closes.date().isoformat()
        organisation = {"name": one.employer or board.company.name, "url": ""}
        return json_reply(
            {"jobPostingInfo": info, "hiringOrganization": organisation, "similarJobs": [], "userAuthenticated": False}
        )


def _label(posted: datetime, now: datetime) -> str:
    days = (now.date() - posted.date()).days
    if days < 2:
        return ("Posted Today", "Posted Yesterday")[max(0, days)]
    return "Posted 30+ Days Ago" if days > 30 else f"Posted {days} Days Ago"


def _facets(there: list[Opening]) -> list[dict[str, Any]]:
    counted: dict[str, int] = {}
    for one in there:
        counted[one.places[0].name] = counted.get(one.places[0].name, 0) + 1
    values = [{"id": uuid(name), "descriptor": name, "count": many} for name, many in counted.items()]
    group = {"facetParameter": FACET, "descriptor": "Locations", "values": values}
    return [{"facetParameter": "locationMainGroup", "values": [group]}]
