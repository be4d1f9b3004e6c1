"""Lists of openings on a company's own pages: plain HTML in pages, and one with schema.org in it."""

from __future__ import annotations

from html import escape

from interlock.apps.jobs.world.exchange import Call, Reply, html_reply
from interlock.apps.jobs.world.opening import Board, Opening
from interlock.apps.jobs.world.pages.layout import json_ld, linked, page
from interlock.apps.jobs.world.pages.posting import EMPLOYMENT, website
from interlock.apps.jobs.world.pages.schema import job_posting

PAGE = 4


def own_page(base: str, board: Board, one: Opening) -> str:
    """The address of an opening on the company's own site."""
    return f"{base}/{board.company.slug}/jobs/{one.key}"


def html_list(call: Call, board: Board) -> Reply:
    """Cards without any markup for machines, in pages that a link to the next one joins."""
    number = max(1, call.number("page", 1, 1000))
    shown = board.openings[(number - 1) * PAGE : number * PAGE]
    cards = "\n".join(_card(call, board, one) for one in shown)
    where = f"{call.base}/{board.company.slug}/{board.name}"
    more = len(board.openings) > number * PAGE
    after = linked(f"{where}?page={number + 1}", "Next", rel="next") if more else ""
    before = linked(f"{where}?page={number - 1}", "Previous", rel="prev") if number > 1 else ""
    body = f'<h1>Open roles</h1>\n<div class="job-list">\n{cards}\n</div>\n<p class="pagination">{before} {after}</p>'
    return html_reply(page(f"Open roles at {board.company.name}", body))


def _card(call: Call, board: Board, one: Opening) -> str:
    posted = one.posted(call.began)
    pay = f'<span class="job-salary">{escape(one.pay.words)}</span>' if one.pay else ""
    return (
        f'<div class="job-card"><h3>{linked(own_page(call.base, board, one), one.title)}</h3>'
        f'<span class="job-location">{escape("; ".join(_placed(one)))}</span> '
        f'<span class="job-department">{escape(one.department)}</span> '
        f'<span class="job-type">{EMPLOYMENT[one.employment]}</span> {pay}'
        f'<time datetime="{posted.date().isoformat()}">{posted:%b} {posted.day}</time></div>'
    )


def _placed(one: Opening) -> list[str]:
    prefix = {"remote": "Remote, ", "hybrid": "Hybrid, ", "onsite": ""}[one.workplace]
    return [f"{prefix}{spot.country_name if one.workplace == 'remote' else spot.name}" for spot in one.places]


def schema_list(call: Call, board: Board) -> Reply:
    """A page whose openings are JSON-LD in one block."""
    site = website(call.base, board)
    found = [job_posting(board, one, own_page(call.base, board, one), call.began, site) for one in board.openings]
    rows = "".join(f"<li>{linked(own_page(call.base, board, one), one.title)}</li>\n" for one in board.openings)
    head = json_ld({"@context": "https://schema.org/", "@graph": found})
    return html_reply(page(f"Openings at {board.company.name}", f"<h1>Openings</h1>\n<ul>\n{rows}</ul>", head))
