"""A company's own pages: home, about, careers."""

from __future__ import annotations

from html import escape

from interlock.apps.jobs.world.exchange import Call, Reply, html_reply
from interlock.apps.jobs.world.opening import Company, paragraph
from interlock.apps.jobs.world.pages.layout import json_ld, linked, page
from interlock.apps.jobs.world.pages.schema import organization

FEED_TYPES = {"rss": "application/rss+xml", "atom": "application/atom+xml", "json": "application/feed+json"}
Link = tuple[str, str]
"""An address and its words."""


def company_page(call: Call, company: Company, website: str, boards: list[Link], feeds: list[Link]) -> Reply | None:
    """One of the company's pages; None where it has none. `feeds` are (format, address)."""
    nav = "".join(
        linked(f"{website}{path}", words)
        for path, words in (("", "Home"), (f"/{company.about_path}", "About us"), ("/careers", "Careers"))
    )
    match call.pieces:
        case []:
            return html_reply(page(company.name, _home(company, website), json_ld(organization(company, website)), nav))
        case [path] if path == company.about_path:
            return html_reply(page(f"About {company.name}", _about(company), nav=nav))
        case ["careers"]:
            head = "".join(
                f'<link rel="alternate" type="{FEED_TYPES[form]}" title="Open positions" href="{escape(url)}">\n'
                for form, url in feeds
            )
            return html_reply(page(f"Careers at {company.name}", _careers(company, boards), head, nav))
    return None


def _home(company: Company, website: str) -> str:
    careers = linked(f"{website}/careers", "See our open positions")
    return (
        f"<h1>{escape(company.name)}</h1>\n<p class=tagline>{escape(company.tagline)}</p>\n"
        f"{paragraph(company.about[0])}\n<p>{careers}</p>"
    )


def _about(company: Company) -> str:
    about = "\n".join(paragraph(text) for text in company.about)
    where = company.headquarters
    return (
        f"<h1>About {escape(company.name)}</h1>\n{about}\n<h2>Our mission</h2>\n{paragraph(company.mission)}\n"
        f"<h2>At a glance</h2>\n<dl><dt>Industry</dt><dd>{escape(company.industry)}</dd>"
        f"<dt>Founded</dt><dd>{company.founded}</dd><dt>Headquarters</dt><dd>{escape(where.name)}</dd>"
        f"<dt>Company size</dt><dd>{company.size:,} employees</dd></dl>\n"
        f"<p>{escape(company.name)} was founded in {company.founded} and is headquartered in {escape(where.name)}. "
        f"Today we are {company.size:,} people.</p>"
    )


def _careers(company: Company, boards: list[Link]) -> str:
    culture = "\n".join(paragraph(text) for text in company.culture)
    links = "\n".join(f"<li>{linked(url, words)}</li>" for url, words in boards)
    stack = ", ".join(company.technologies)
    return (
        f"<h1>Work at {escape(company.name)}</h1>\n<h2>Our culture</h2>\n{culture}\n"
        f"<h2>How we build</h2>\n<p>Our stack: {escape(stack)}.</p>\n<h2>Open positions</h2>\n<ul>\n{links}\n</ul>"
    )
