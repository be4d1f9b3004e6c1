"""SmartRecruiters: form and application with a token, under an id of the posting that only its detail tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from interlock.apps.jobs.autoapply.errors import JobClosed
from interlock.apps.jobs.autoapply.submission.adapter import shown
from interlock.apps.jobs.autoapply.submission.judging import accepted, json_of, messages, not_understood
from interlock.apps.jobs.autoapply.submission.systems.system import KeyRefused, System, chosen, encoded, given
from interlock.apps.jobs.autoapply.submission.values import (
    Blocked,
    BlockKind,
    Capabilities,
    FilledForm,
    Outcome,
    Problem,
    media_type,
)
from interlock.apps.jobs.finder.identity.addresses import UUID, Address
from interlock.apps.jobs.finder.postings.posting import Question
from interlock.apps.jobs.finder.sources.answer import Answer

OWN = ("firstName", "lastName", "email", "phoneNumber")
CONSENT = "consent."
PURPOSES = ("SMART_RECRUIT", "SMART_CRM", "SMART_MESSAGE_SMS", "SMART_MESSAGE_WHATSAPP")
NO_ID = "SmartRecruiters does not tell the id that applications for this posting need"
MOST_TEXT = 4000
"""Bytes of an answer in words."""


class SmartRecruiters(System):
    """Sends to the Application API."""

    name = "smartrecruiters"
    label = "SmartRecruiters"
    names = ("firstName", "lastName")
    most_file = 2_000_000
    capabilities = Capabilities(read_form=True, prefill=True, submit=True, needs_key=True)

    @classmethod
    def host(cls, board: Address) -> str:
        return "api.smartrecruiters.com"

    async def definition(self) -> Mapping[str, Any] | None:
        ident = await self._uuid()
        return await self.read(f"/postings/{ident}/configuration") if ident else None

    def validate(self, form: FilledForm) -> tuple[Problem, ...]:
        long = [
            Problem(f"{question.label or question.key} takes {MOST_TEXT} bytes", question.key)
            for question, value in given(form)
            if isinstance(value, str) and question.type != "file" and len(value.encode()) > MOST_TEXT
        ]
        return (*super().validate(form), *long)

    async def submit(self, form: FilledForm, key: str) -> Outcome:
        try:
            ident = await self._uuid()
        except JobClosed as error:
            return Blocked(BlockKind.CLOSED, str(error))
        except KeyRefused as error:
            return Blocked(BlockKind.KEY, str(error))
        if ident is None:
            return Blocked(BlockKind.PERSON, NO_ID)
        body: dict[str, Any] = {}
        answers: list[dict[str, Any]] = []
        consents: dict[str, bool] = {}
        attachments: list[dict[str, str]] = []
        for question, value in given(form):
            if question.type == "file":
                file = {"fileName": value, "mimeType": media_type(value), "fileContent": encoded(form, value)}
                if question.key == "resume":
                    body["resume"] = file
                else:
                    attachments.append(file)
            elif question.key in OWN:
                body[question.key] = shown(value)
            elif question.key.startswith(CONSENT):
                consents[question.key.removeprefix(CONSENT)] = value is True
            else:
                answers.append({"id": question.key, "records": [{"fields": {"value": _values(question, value)}}]})
        body |= {"answers": answers, "attachments": attachments}
        if consents:
            named = {name: said for name, said in consents.items() if name in PURPOSES}
            body["consentDecisions"] = named or {"SINGLE": all(consents.values())}
        return await self.sent(f"/postings/{ident}/candidates", orjson.dumps(body))

    async def _uuid(self) -> str | None:
        found = await self.read(f"/v1/companies/{self.board.board}/postings/{self.posting_id}")
        ident = str(found.get("uuid") or "")
        return ident if UUID.fullmatch(ident) else None

    def confirmed(self, answer: Answer) -> Outcome:
        found = json_of(answer)
        if found is None or messages(found) or "id" not in found:
            return not_understood(answer)
        return accepted(self.name, answer, found["id"])


def _values(question: Question, value: Any) -> list[str]:
    if question.options:
        return chosen(question, value)
    if isinstance(value, bool):
        return ["true" if value else "false"]
    return [shown(value) or ""]
