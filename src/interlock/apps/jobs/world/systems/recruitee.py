"""Recruitee: the whole board with its forms in one answer, and an endpoint that takes applications without a key."""

from __future__ import annotations

import re
from typing import Any

from interlock.apps.jobs.world.applying import applied, checked
from interlock.apps.jobs.world.exchange import Call, Reply, json_reply
from interlock.apps.jobs.world.identity import by_number, number, uuid
from interlock.apps.jobs.world.opening import Board, FormQuestion, Opening, items, paragraph
from interlock.apps.jobs.world.pages.posting import board_page, posting_page
from interlock.apps.jobs.world.systems.system import Boards, System

EMPLOYMENT = {"full_time": "fulltime", "part_time": "parttime", "contract": "contract", "internship": "internship"}
LEVELS = {"entry": "entry_level", "mid": "mid_level", "senior": "senior_level", "lead": "experienced"}
KINDS = {"text": "string", "long": "text", "choice": "single_choice", "flag": "boolean"}
BRACKETS = re.compile(r"candidate\[(\w+)\]")
ANSWER = re.compile(r"candidate\[open_question_answers_attributes\]\[(\d{1,3})\]\[(\w+)\]")


class Recruitee(System):
    kind = "recruitee"
    own_hosts = True

    def home(self, base: str, board: Board) -> str:
        return f"{self.origin(base, board)}/"

    def page(self, base: str, board: Board, opening: Opening, turn: int = 0) -> str:
        # The slug names the offer, so a new number of it does not change its address.
        return f"{self.origin(base, board)}/o/{_slug(opening)}"

    def answer(self, call: Call, boards: Boards) -> Reply | None:
        match call.pieces:
            case [name, "api", "offers"] if board := boards(name):
                return json_reply({"offers": [self.row(call, board, one) for one in board.openings]})
            case [name, "api", "offers", given] if (board := boards(name)) and (one := _offer(board, given)):
                return json_reply({"offer": self.row(call, board, one)})
            case [name, "api", "offers", given, "candidates"] if (
                (board := boards(name)) and (one := _offer(board, given)) and call.method == "POST"
            ):
                return self._apply(call, board, one)
            case [name] if board := boards(name):
                return board_page(call, board, self)
            case [name, "o", given, *_] if (board := boards(name)) and (one := _offer(board, given)):
                return posting_page(call, board, one, self.page(call.base, board, one))
        return None

    def row(self, call: Call, board: Board, one: Opening) -> dict[str, Any]:
        first, page, posted = one.places[0], self.page(call.base, board, one), _written(one.posted(call.began))
        closes = one.closes(call.began)
        wanted = "".join(f"<h3>{heading}</h3>{items(texts)}" for heading, texts in one.lists[1:])
        key = number(one.key, call.turn)
        made: dict[str, Any] = {
            "id": key,
            "guid": uuid(one.key, call.turn)[:8],
            "slug": _slug(one),
            "status": "published" if one.listed else "internal",
            "title": one.title,
            "description": paragraph(one.intro) + f"<h3>{one.headings[0]}</h3>{items(one.duties)}" + paragraph(one.end),
            "requirements": wanted,
            "department": one.department,
            "tags": [],
            "category_code": "information_technology",
            "employment_type_code": EMPLOYMENT[one.employment],
            "experience_code": LEVELS.get(one.level or ""),
            "location": first.name,
            "city": first.city,
            "country": first.country_name,
            "country_code": first.country,
            "state_name": first.region,
            "locations": [
                {
                    "id": number(spot.name),
                    "name": spot.name,
                    "city": spot.city,
                    "state": spot.region,
                    "country": spot.country_name,
                    "country_code": spot.country,
                }
                for spot in one.places
            ],
            "remote": one.workplace == "remote",
            "hybrid": one.workplace == "hybrid",
            "on_site": one.workplace == "onsite",
            "salary": {
                "min": str(one.pay.low) if one.pay else None,
                "max": str(one.pay.high) if one.pay else None,
                "period": one.pay.per if one.pay else None,
                "currency": one.pay.currency if one.pay else None,
            },
            "published_at": posted,
            "created_at": posted,
            "updated_at": posted,
            "close_at": _written(closes) if closes else None,
            "careers_url": page,
            "careers_apply_url": f"{page}/c/new",
            "company_name": one.employer or board.company.name,
            "mailbox_email": f"job.{key}@{board.name}.recruitee.com",
            "options_cv": "required",
            "options_cover_letter": "optional",
            "options_phone": "optional",
            "options_photo": "off",
            "open_questions": [_question(one, ask, at) for at, ask in enumerate(one.questions)],
            "dynamic_fields": [],
            "translations": {one.language: {"title": one.title}},
        }
        return made

    def _apply(self, call: Call, board: Board, one: Opening) -> Reply:
        fields = _candidate(call)
        wrong = {name: ["can't be blank"] for name in checked(fields, ("name", "email"))}
        if not any(file.field == "candidate[cv]" for file in call.files) and not fields.get("remote_cv_url"):
            wrong["cv"] = ["can't be blank"]
        answers = {str(answer.get("open_question_id")) for answer in fields["open_question_answers_attributes"]}
        for ask in one.questions:
            if ask.required and str(number(one.key + ask.key)) not in answers:
                wrong[f"open_question_{number(one.key + ask.key)}"] = ["can't be blank"]
        if wrong:
            return json_reply({"error": [f"{name} {texts[0]}" for name, texts in wrong.items()], "errors": wrong}, 422)
        sent = applied(call, board, one, self.kind, fields)
        candidate = {"id": number(f"{one.key} {fields['email']}"), "name": fields["name"], "emails": [fields["email"]]}
        return json_reply({"candidate": candidate}, 201, submission=sent)


def _slug(one: Opening) -> str:
    return f"{one.slug}-{number(one.key) % 1000}"


def _offer(board: Board, given: str) -> Opening | None:
    return next((one for one in board.openings if _slug(one) == given), None) or by_number(board, given)


def _written(moment: Any) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def _question(one: Opening, ask: FormQuestion, at: int) -> dict[str, Any]:
    options = [{"id": number(text), "body": text, "position": index} for index, text in enumerate(ask.options)]
    return {
        "id": number(one.key + ask.key),
        "kind": KINDS[ask.kind],
        "required": ask.required,
        "position": at,
        "body": ask.label,
        "options": {"length": 2000} if ask.kind == "long" else {},
        "open_question_options": options,
        "translations": {},
    }


def _candidate(call: Call) -> dict[str, Any]:
    """The candidate of a JSON body or of a form's names in brackets."""
    given = call.json().get("candidate")
    if isinstance(given, dict):
        answers = given.get("open_question_answers_attributes")
        kept = [one for one in answers if isinstance(one, dict)] if isinstance(answers, list) else []
        return {**given, "open_question_answers_attributes": kept}
    fields: dict[str, Any] = {}
    numbered: dict[str, dict[str, Any]] = {}
    for name, value in call.form:
        if plain := BRACKETS.fullmatch(name):
            fields[plain[1]] = value
        elif answer := ANSWER.fullmatch(name):
            numbered.setdefault(answer[1], {})[answer[2]] = value
    return {**fields, "open_question_answers_attributes": list(numbered.values())}
