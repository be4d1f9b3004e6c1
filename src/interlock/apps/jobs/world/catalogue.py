"""What there is in the world: companies, their boards, and where each of them is found."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from interlock.apps.jobs.world import custom_api, feeds
from interlock.apps.jobs.world.data import (
    brightwater,
    lumenfield,
    meridian,
    nordlicht,
    ouroboros,
    quillstack,
    tidewater,
)
from interlock.apps.jobs.world.data.generated import CROWD, LARGE, large_board
from interlock.apps.jobs.world.exchange import KEY
from interlock.apps.jobs.world.opening import Board, Company, Opening
from interlock.apps.jobs.world.pages.listing import own_page
from interlock.apps.jobs.world.pages.posting import website
from interlock.apps.jobs.world.systems import SYSTEMS

BOARDS: tuple[Board, ...] = (
    *tidewater.BOARDS,
    *lumenfield.BOARDS,
    *quillstack.BOARDS,
    *brightwater.BOARDS,
    *nordlicht.BOARDS,
    *meridian.BOARDS,
)
COMPANIES: dict[str, Company] = {board.company.slug: board.company for board in BOARDS}


def board_of(kind: str, name: str) -> Board | None:
    """A board of a system by its name, as its address has it."""
    found = (one for one in (*BOARDS, *ouroboros.BOARDS) if one.kind == kind and one.name == name)
    return next(found, None) or large_board(kind, name)


def boards_of(company: Company) -> list[Board]:
    return [one for one in BOARDS if one.company is company]


def opening_of(company: Company, key: str) -> tuple[Board, Opening] | None:
    """An opening of a company by its key, on the first board that shows it."""
    for board in boards_of(company):
        found = board.find(key)
        if found:
            return board, found
    return None


def source_address(base: str, board: Board) -> str:
    """Where a source begins, as somebody would give it to the finder."""
    if board.kind in SYSTEMS:
        return SYSTEMS[board.kind].home(base, board)
    if board.kind == "api":
        return custom_api.api_address(base, board)
    return f"{website(base, board)}/{board.name}"


def page_address(base: str, board: Board, opening: Opening) -> str:
    system = SYSTEMS.get(board.kind)
    return system.page(base, board, opening) if system else own_page(base, board, opening)


def described(base: str, began: datetime) -> dict[str, Any]:
    """The world as `GET /_world` tells it."""
    return {
        "companies": [_company(base, began, one) for one in COMPANIES.values()],
        "special": {
            "large": [
                {"kind": kind, "url": system.home(base, Board(kind, name, CROWD, ())), "postings": many}
                for name, many in LARGE.items()
                for kind, system in SYSTEMS.items()
            ],
            "loop": {
                "name": ouroboros.COMPANY.name,
                "website": f"{base}/{ouroboros.COMPANY.slug}",
                "sources": [_source(base, board) for board in ouroboros.BOARDS],
                "redirects": f"{base}/{ouroboros.COMPANY.slug}/moved",
            },
        },
        "key": KEY,
    }


def _company(base: str, began: datetime, company: Company) -> dict[str, Any]:
    boards = boards_of(company)
    return {
        "name": company.name,
        "website": f"{base}/{company.slug}",
        "size": company.size,
        "headquarters": company.headquarters.name,
        "industry": company.industry,
        "founded": company.founded,
        "technologies": list(company.technologies),
        "about_page": f"{base}/{company.slug}/{company.about_path}",
        "sources": [_source(base, board) for board in boards],
        "postings": [_posting(base, began, board, one) for board in boards for one in board.openings if one.listed],
    }


def _source(base: str, board: Board) -> dict[str, Any]:
    made: dict[str, Any] = {
        "kind": board.kind,
        "url": source_address(base, board),
        "postings": sum(one.listed for one in board.openings),
    }
    if board.kind == "api":
        made["config"] = custom_api.configuration(base, board)
    if board.kind == "feed":
        made["format"] = board.options["format"]
        made["config"] = feeds.configuration(base, board)
    return made


def _posting(base: str, began: datetime, board: Board, one: Opening) -> dict[str, Any]:
    closes = one.closes(began)
    return {
        "key": one.key,
        "source": source_address(base, board),
        "kind": board.kind,
        "url": page_address(base, board, one),
        "title": one.title,
        "company": one.employer or board.company.name,
        "department": one.department,
        "locations": [spot.name for spot in one.places],
        "countries": sorted({spot.country for spot in one.places}),
        "workplace": one.workplace,
        "employment_type": one.employment,
        "salary": {"min": one.pay.low, "max": one.pay.high, "currency": one.pay.currency, "period": one.pay.per}
        if one.pay
        else None,
        "posted_at": one.posted(began).isoformat(),
        "closes_at": closes.isoformat() if closes else None,
        "language": one.language,
        "requirements": list(one.wanted),
    }
