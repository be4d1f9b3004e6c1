"""Workable: form and application with the employer's token, on the account's own host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from interlock.apps.jobs.autoapply.submission.adapter import shown
from interlock.apps.jobs.autoapply.submission.judging import accepted, json_of, messages, not_understood
from interlock.apps.jobs.autoapply.submission.systems.system import System, chosen, encoded, given
from interlock.apps.jobs.autoapply.submission.values import Capabilities, FilledForm, Outcome
from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.postings.posting import Question
from interlock.apps.jobs.finder.sources.answer import Answer


class Workable(System):
    """Sends to the API of the account."""

    name = "workable"
    label = "Workable"
    names = ("firstname", "lastname")
    capabilities = Capabilities(read_form=True, prefill=True, submit=True, needs_key=True)

    @classmethod
    def host(cls, board: Address) -> str:
        return f"{board.board}.workable.com"

    @property
    def _path(self) -> str:
        return f"/spi/v3/jobs/{self.posting_id}"

    async def definition(self) -> Mapping[str, Any] | None:
        return await self.read(f"{self._path}/application_form")

    async def submit(self, form: FilledForm, key: str) -> Outcome:
        candidate: dict[str, Any] = {}
        answers: list[dict[str, Any]] = []
        for question, value in given(form):
            if question.source == "questions":
                answers.append({"question_key": question.key, **_answer(form, question, value)})
            elif question.type == "file":
                candidate[question.key] = {"name": value, "data": encoded(form, value)}
            else:
                candidate[question.key] = shown(value)
        # "sourced" would mean that the employer found the person, who then gets no confirmation by mail.
        body = {"sourced": False, "candidate": {**candidate, "answers": answers}}
        return await self.sent(f"{self._path}/candidates", orjson.dumps(body))

    def confirmed(self, answer: Answer) -> Outcome:
        found = json_of(answer)
        candidate = found.get("candidate") if found else None
        if not isinstance(candidate, dict) or messages(found):
            return not_understood(answer)
        return accepted(self.name, answer, candidate.get("id"))


def _answer(form: FilledForm, question: Question, value: Any) -> dict[str, Any]:
    if question.type == "file":
        return {"file": {"name": value, "data": encoded(form, value)}}
    if question.options:
        return {"choices": chosen(question, value)}
    if question.type in ("bool", "consent"):
        return {"checked": value}
    if question.type in ("number", "date"):
        return {question.type: value}
    return {"body": shown(value)}
