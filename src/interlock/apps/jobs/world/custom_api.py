"""A company's own JSON API, in pages by `offset`. With `key` among its options it wants a key in a header."""

from __future__ import annotations

from typing import Any

from interlock.apps.jobs.world.exchange import KEY, Call, Reply, json_reply
from interlock.apps.jobs.world.identity import by_number, number
from interlock.apps.jobs.world.opening import Board, Opening
from interlock.apps.jobs.world.pages.listing import own_page

PAGE = 5


def api_address(base: str, board: Board) -> str:
    return f"{base}/{board.company.slug}/{board.name}"


def configuration(base: str, board: Board) -> dict[str, Any]:
    """The configuration of the finder for the API."""
    made: dict[str, Any] = {
        "base_url": api_address(base, board),
        "endpoints": {"search": "jobs", "details": "jobs/{id}"},
        "response_path": "data.jobs",
        "fields": {"posted": "published", "workplace": "work_mode", "salary_period": "pay.per"}
        | {f"salary_{name}": f"pay.{name}" for name in ("min", "max", "currency")},
        "pagination": {"param": "offset", "size": PAGE, "size_param": "limit", "total_path": "data.total"},
    }
    if board.options.get("key"):
        made |= {"auth_type": "api_key", "api_key_env": board.options["key"]}
    return made


def api(call: Call, board: Board, rest: list[str]) -> Reply | None:
    if board.options.get("key") and KEY not in (call.headers.get("x-api-key"), call.bearer):
        return json_reply({"error": "a key is wanted, as `Authorization: Bearer` or `X-Api-Key`"}, 401)
    match rest:
        case ["jobs"]:
            start, many = call.number("offset", 0), call.number("limit", PAGE, 50)
            total = 0 if "total_once" in call.faults and start else len(board.openings)
            rows = [_row(call, board, one) for one in board.openings[start : start + many]]
            return json_reply({"data": {"total": total, "jobs": rows}})
        case ["jobs", given] if one := by_number(board, given):
            return json_reply({"job": _row(call, board, one)})
    return None


def _row(call: Call, board: Board, one: Opening) -> dict[str, Any]:
    return {
        "id": number(one.key, call.turn),
        "title": one.title,
        "url": own_page(call.base, board, one),
        "company": one.employer or board.company.name,
        "locations": [spot.name for spot in one.places],
        "work_mode": one.workplace,
        "employment_type": one.employment,
        "department": one.department,
        "description": one.html(),
        "published": one.posted(call.began).isoformat(),
        "pay": {"min": one.pay.low, "max": one.pay.high, "currency": one.pay.currency, "per": one.pay.per}
        if one.pay
        else None,
        "language": one.language,
    }
