"""The page of an opening with its application form, and the list of a board."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from interlock.apps.jobs.world.applying import applied, checked
from interlock.apps.jobs.world.exchange import Call, Reply, html_reply
from interlock.apps.jobs.world.identity import uuid
from interlock.apps.jobs.world.opening import Board, FormQuestion, Opening
from interlock.apps.jobs.world.pages.layout import json_ld, linked, page
from interlock.apps.jobs.world.pages.schema import job_posting

if TYPE_CHECKING:
    from interlock.apps.jobs.world.systems.system import System

WORKPLACES = {"remote": "Remote", "hybrid": "Hybrid", "onsite": "On-site"}
EMPLOYMENT = {"full_time": "Full-time", "part_time": "Part-time", "contract": "Contract", "internship": "Internship"}
REQUIRED = ("name", "email")


def board_page(call: Call, board: Board, system: System) -> Reply:
    """The list of a board as people see it."""
    rows = "".join(
        f'<li class="opening">{linked(system.page(call.base, board, one), one.title)} '
        f'<span class="location">{escape(one.places[0].name)}</span></li>\n'
        for one in board.openings
        if one.listed
    )
    title = f"Jobs at {board.company.name}"
    return html_reply(page(title, f"<h1>{escape(title)}</h1>\n<ul>\n{rows}</ul>"))


def posting_page(call: Call, board: Board, one: Opening, url: str, form: bool = True) -> Reply:
    """The page of one opening; `form` is whether it can be applied for here."""
    company = one.employer or board.company.name
    posted = one.posted(call.began)
    day = f'<time datetime="{posted.date().isoformat()}">{posted:%B} {posted.day}, {posted.year}</time>'
    facts = [
        ("company", company),
        ("location", "; ".join(spot.name for spot in one.places)),
        ("workplace", WORKPLACES[one.workplace]),
        ("employment-type", EMPLOYMENT[one.employment]),
        ("department", one.department),
    ]
    lines = "".join(f'<li class="{name}">{escape(text)}</li>' for name, text in facts)
    apply = apply_form(call.base, board, one) if form else f"<p>{linked(f'{url}/apply', 'Apply')}</p>"
    body = (
        f'<article>\n<h1 class="title">{escape(one.title)}</h1>\n<ul class="facts">{lines}</ul>\n'
        f"<p>Posted on {day}</p>\n"
        f'<div class="description">\n{one.html()}\n</div>\n</article>\n{apply}'
    )
    head = f'<link rel="canonical" href="{escape(url)}">\n' + json_ld(
        job_posting(board, one, url, call.began, website(call.base, board, call.turn))
    )
    return html_reply(page(f"{one.title} at {company}", body, head))


def website(base: str, board: Board, turn: int = 0) -> str:
    """The company's own site. One that is made to loop has a new address in every answer, which leads to the old."""
    site = f"{base}/{board.company.slug}"
    return f"{site}/again/{turn}" if board.options.get("loops") else site


def form_address(base: str, board: Board, one: Opening) -> str:
    return f"{base}/apply/{board.kind}/{board.name}/{one.key}"


def apply_form(base: str, board: Board, one: Opening) -> str:
    asked = "".join(_field(ask) for ask in one.questions)
    return (
        f'<h2 id="app">Apply for this job</h2>\n<form method="post" enctype="multipart/form-data" '
        f'action="{escape(form_address(base, board, one))}">\n'
        '<label>Full name <input name="name" required autocomplete="name"></label>\n'
        '<label>Email <input name="email" type="email" required autocomplete="email"></label>\n'
        '<label>Phone <input name="phone" type="tel" autocomplete="tel"></label>\n'
        '<label>Resume <input name="resume" type="file" required accept=".pdf,.doc,.docx,.txt,.rtf"></label>\n'
        '<label>Cover letter <textarea name="cover_letter" rows="6"></textarea></label>\n'
        f'{asked}<p><button type="submit">Submit application</button></p>\n</form>'
    )


def _field(ask: FormQuestion) -> str:
    name, label, must = escape(ask.key), escape(ask.label), " required" if ask.required else ""
    if ask.kind == "choice":
        options = "".join(f"<option>{escape(text)}</option>" for text in ask.options)
        return f'<label>{label} <select name="{name}"{must}><option value=""></option>{options}</select></label>\n'
    if ask.kind == "flag":
        return f'<label><input type="checkbox" name="{name}" value="yes"{must}> {label}</label>\n'
    if ask.kind == "long":
        return f'<label>{label} <textarea name="{name}" rows="4"{must}></textarea></label>\n'
    return f'<label>{label} <input name="{name}"{must}></label>\n'


def take_form(call: Call, board: Board, one: Opening) -> Reply:
    """The answer to a form that was sent: a proof with a number, or what is missing."""
    fields = dict(call.form)
    missing = checked(fields, REQUIRED)
    if not any(file.field == "resume" and file.size for file in call.files):
        missing.append("resume")
    missing += [ask.key for ask in one.questions if ask.required and not fields.get(ask.key, "").strip()]
    if missing:
        rows = "".join(f"<li>{escape(name)}</li>" for name in missing)
        body = f"<h1>Your application was not sent</h1>\n<p>Missing or wrong:</p>\n<ul class=errors>{rows}</ul>\n"
        return html_reply(page("Not sent", body + apply_form(call.base, board, one)), 422)
    number = uuid(f"{one.key} {fields['email']}")[:8].upper()
    body = (
        f"<h1>Thank you, {escape(fields['name'])}</h1>\n<p>Your application for <b>{escape(one.title)}</b> at "
        f'{escape(board.company.name)} was received. Reference: <b class="reference">{number}</b></p>'
    )
    return html_reply(page("Application received", body), submission=applied(call, board, one, "form", fields))


def login_page(board: Board) -> Reply:
    """The wall of a system that wants an account of its own for each employer."""
    body = (
        f"<h1>Sign in to apply at {escape(board.company.name)}</h1>\n"
        "<p>Create an account to apply. We will send you a link to verify your email address.</p>\n"
        '<form method="post"><label>Email <input name="email" type="email"></label>'
        '<label>Password <input name="password" type="password"></label><button>Sign in</button></form>'
    )
    return html_reply(page("Sign in", body))
