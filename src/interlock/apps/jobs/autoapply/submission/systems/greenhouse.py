"""Greenhouse: the form with the posting, the application as JSON with the employer's key.

Greenhouse takes an application without its required answers, so `validate` is the only check of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from interlock.apps.jobs.autoapply.submission.adapter import shown
from interlock.apps.jobs.autoapply.submission.judging import accepted, json_of, messages, not_understood
from interlock.apps.jobs.autoapply.submission.systems.system import System, chosen, encoded, given, number
from interlock.apps.jobs.autoapply.submission.validation import LINK
from interlock.apps.jobs.autoapply.submission.values import Capabilities, FilledForm, Outcome, Problem
from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.sources.answer import Answer

DEMOGRAPHIC = "demographic_"
COMPLIANCE = "data_compliance."


class Greenhouse(System):
    """Sends to the Job Board API."""

    name = "greenhouse"
    label = "Greenhouse"
    names = ("first_name", "last_name")
    capabilities = Capabilities(read_form=True, prefill=True, submit=True, needs_key=True)

    @classmethod
    def host(cls, board: Address) -> str:
        return "boards-api.greenhouse.io"

    @property
    def _path(self) -> str:
        return f"/v1/boards/{self.board.board}/jobs/{self.posting_id}"

    async def definition(self) -> Mapping[str, Any] | None:
        return await self.read(f"{self._path}?questions=true")

    def validate(self, form: FilledForm) -> tuple[Problem, ...]:
        phone = str(form.packet.answers.get("phone") or "")
        wrong = (Problem("phone must not contain a link", "phone"),) if LINK.search(phone) else ()
        return (*super().validate(form), *wrong)

    async def submit(self, form: FilledForm, key: str) -> Outcome:
        body: dict[str, Any] = {}
        demographic: list[dict[str, Any]] = []
        consents: dict[str, bool] = {}
        for question, value in given(form):
            name = question.key.removesuffix("[]")
            if question.type == "file":
                body[f"{name}_content"] = encoded(form, value)
                body[f"{name}_content_filename"] = value
            elif name.startswith(DEMOGRAPHIC):
                options = [{"answer_option_id": number(one)} for one in chosen(question, value)]
                demographic.append({"question_id": number(name.removeprefix(DEMOGRAPHIC)), "answer_options": options})
            elif name.startswith(COMPLIANCE):
                consents[f"gdpr_{name.removeprefix(COMPLIANCE)}_given"] = value is True
            elif question.options:
                ids = [number(one) for one in chosen(question, value)]
                body[name] = ids if question.type == "multi" else ids[0]
            else:
                body[name] = shown(value)
        if demographic:
            body["demographic_answers"] = demographic
        if consents:
            body["data_compliance"] = consents
        return await self.sent(self._path, orjson.dumps(body))

    def confirmed(self, answer: Answer) -> Outcome:
        found = json_of(answer)
        if found is None or messages(found):
            return not_understood(answer)
        return accepted(self.name, answer, found.get("id"))
