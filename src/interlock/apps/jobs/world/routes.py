"""Which part of the world answers an address."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from interlock.apps.jobs.world.catalogue import (
    BOARDS,
    COMPANIES,
    board_of,
    boards_of,
    opening_of,
    source_address,
)
from interlock.apps.jobs.world.custom_api import api
from interlock.apps.jobs.world.data import ouroboros
from interlock.apps.jobs.world.exchange import Call, Reply, html_reply
from interlock.apps.jobs.world.feeds import feed, feed_address
from interlock.apps.jobs.world.looping import loop
from interlock.apps.jobs.world.opening import Board, Company
from interlock.apps.jobs.world.pages.company import company_page
from interlock.apps.jobs.world.pages.layout import linked, page
from interlock.apps.jobs.world.pages.listing import html_list, own_page, schema_list
from interlock.apps.jobs.world.pages.posting import posting_page, take_form
from interlock.apps.jobs.world.systems import SYSTEMS
from interlock.apps.jobs.world.systems.system import Boards

NAMES = {"jsonld": "Openings in one page", "html": "All open roles", "api": "Our jobs API", "feed": "Jobs as a feed"}
ROBOTS = "User-agent: *\nDisallow: /private/\nCrawl-delay: 0\n"


def answer(call: Call) -> Reply:
    """The answer to a request."""
    return _find(call) or html_reply(page("Not found", "<h1>Not found</h1>"), 404)


def _find(call: Call) -> Reply | None:
    match call.pieces:
        case []:
            return _index(call)
        case ["robots.txt"]:
            return Reply(ROBOTS.encode(), content_type="text/plain; charset=utf-8")
        case ["apply", kind, *name, key]:
            return _form(call, kind, "/".join(name), key)
        case [first, *_] if first.endswith("-host") and (system := SYSTEMS.get(first.removesuffix("-host"))):
            inner = replace(call, path=call.path.split("/", 2)[2] if call.path.count("/") > 1 else "")
            every = [one for one in BOARDS if one.kind == system.kind]
            return system.answer(inner, Boards(partial(board_of, system.kind), every))
        case [ouroboros.COMPANY.slug, *rest]:
            return loop(replace(call, path="/" + "/".join(rest)))
        case [slug, *rest] if company := COMPANIES.get(slug):
            return _company(replace(call, path="/" + "/".join(rest)), company)
    return None


def _index(call: Call) -> Reply:
    rows = "".join(f"<li>{linked(f'{call.base}/{slug}', one.name)}</li>" for slug, one in COMPANIES.items())
    body = (
        f"<h1>The demo world</h1>\n<ul>{rows}</ul>\n<p>{linked(f'{call.base}/_world', 'What is to be found here')}</p>"
    )
    return html_reply(page("The demo world", body))


def _form(call: Call, kind: str, name: str, key: str) -> Reply | None:
    known = (one for one in BOARDS if one.kind == kind and one.name == name and one.find(key))
    board = next(known, None) or board_of(kind, name)
    opening = board.find(key) if board else None
    if board is None or opening is None:
        return None
    if call.method == "POST":
        return take_form(call, board, opening)
    return posting_page(call, board, opening, own_page(call.base, board, opening))


def _company(call: Call, company: Company) -> Reply | None:
    match call.pieces:
        case ["jobs", key] if found := opening_of(company, key):
            return posting_page(call, *found, own_page(call.base, *found))
        case [_, *_] as pieces:
            for board in boards_of(company):
                name = board.name.split("/")
                if board.kind not in SYSTEMS and pieces[: len(name)] == name:
                    return _own_source(call, board, pieces[len(name) :])
    boards = boards_of(company)
    links = [(source_address(call.base, one), NAMES.get(one.kind, "Job board")) for one in boards if one.kind != "api"]
    feeds = [(one.options["format"], feed_address(call.base, one)) for one in boards if one.kind == "feed"]
    return company_page(call, company, f"{call.base}/{company.slug}", links, feeds)


def _own_source(call: Call, board: Board, rest: list[str]) -> Reply | None:
    if board.kind == "api":
        return api(call, board, rest)
    if rest:
        return None
    return {"feed": feed, "jsonld": schema_list, "html": html_list}[board.kind](call, board)
