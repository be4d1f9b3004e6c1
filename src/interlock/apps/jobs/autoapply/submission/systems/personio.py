"""Personio: the documents first, then the application that names them, with the employer's token and id."""

from __future__ import annotations

from typing import Any

import orjson

from interlock.apps.jobs.autoapply.errors import SiteUnreachable
from interlock.apps.jobs.autoapply.submission.adapter import shown
from interlock.apps.jobs.autoapply.submission.judging import accepted, json_of, messages, not_understood, refusal
from interlock.apps.jobs.autoapply.submission.multipart import encode
from interlock.apps.jobs.autoapply.submission.systems.system import System, given, number, part
from interlock.apps.jobs.autoapply.submission.values import Capabilities, FilledForm, Outcome, Unknown
from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.sources.answer import Answer

OWN = ("first_name", "last_name", "email", "message")
CATEGORIES = {"cv": "cv", "resume": "cv", "cover-letter": "cover-letter", "cover_letter": "cover-letter"}
_PATH = "/v1/recruiting/applications"


class Personio(System):
    """Sends to the Recruiting API. Documents that were uploaded for an application that is not sent are never seen."""

    name = "personio"
    label = "Personio"
    names = ("first_name", "last_name")
    capabilities = Capabilities(prefill=True, submit=True, needs_key=True)

    @classmethod
    def host(cls, board: Address) -> str:
        return "api.personio.de"

    async def submit(self, form: FilledForm, key: str) -> Outcome:
        body: dict[str, Any] = {"job_position_id": number(self.posting_id)}
        attributes: list[dict[str, Any]] = []
        files: list[dict[str, Any]] = []
        for question, value in given(form):
            if question.type == "file":
                found = await self._uploaded(form, value)
                if not isinstance(found, str):
                    return found
                category = CATEGORIES.get(question.key, "other")
                files.append({"uuid": found, "original_filename": value, "category": category})
            elif question.key in OWN:
                body[question.key] = shown(value)
            else:
                attributes.append({"id": question.key, "value": shown(value)})
        body |= {"files": files, "attributes": attributes}
        return await self.sent(_PATH, orjson.dumps(body))

    async def _uploaded(self, form: FilledForm, name: str) -> str | Outcome:
        """The id of an uploaded document, or why there is none. Nothing has been applied for yet."""
        body, kind = encode([], [part(form, "file", name)])
        answer = await self.sender.ask(self.request(f"{_PATH}/documents", body, kind))
        refused = refusal(answer, self.sender.now(), keyed=True)
        if refused is not None and not isinstance(refused, Unknown):
            return refused
        found = json_of(answer) if refused is None else None
        ident = found.get("uuid") if found else None
        if not isinstance(ident, str) or not ident or len(ident) > 100:
            raise SiteUnreachable(f"Personio did not take the document {name} ({answer.status})")
        return ident

    def confirmed(self, answer: Answer) -> Outcome:
        if answer.status == 201 and not answer.body.strip():
            return accepted(self.name, answer)
        found = json_of(answer)
        if found is None or messages(found) or found.get("success") is False:
            return not_understood(answer)
        return accepted(self.name, answer, found.get("id"))
