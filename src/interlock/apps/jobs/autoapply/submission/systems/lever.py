"""Lever: the fixed fields as a form, with the employer's key in the address. Its page may ask more than is known."""

from __future__ import annotations

from interlock.apps.jobs.autoapply.submission.adapter import shown
from interlock.apps.jobs.autoapply.submission.judging import accepted, json_of, messages, not_understood
from interlock.apps.jobs.autoapply.submission.multipart import FormFile, encode
from interlock.apps.jobs.autoapply.submission.systems.system import System, given, part
from interlock.apps.jobs.autoapply.submission.values import Capabilities, FilledForm, Outcome, Problem, Rejected
from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.sources.answer import Answer


class Lever(System):
    """Sends to the Postings API."""

    name = "lever"
    label = "Lever"
    names = ("name",)
    capabilities = Capabilities(prefill=True, submit=True, needs_key=True)

    @classmethod
    def host(cls, board: Address) -> str:
        return "api.eu.lever.co" if board.options.get("region") == "eu" else "api.lever.co"

    async def submit(self, form: FilledForm, key: str) -> Outcome:
        fields: list[tuple[str, str]] = []
        files: list[FormFile] = []
        for question, value in given(form):
            if question.type == "file":
                files.append(part(form, question.key, value))
            elif question.type in ("bool", "consent"):
                fields.append((question.key, "true" if value else "false"))
            else:
                fields.append((question.key, shown(value) or ""))
        body, kind = encode(fields, files)
        return await self.sent(f"/v0/postings/{self.board.board}/{self.posting_id}", body, kind)

    def confirmed(self, answer: Answer) -> Outcome:
        found = json_of(answer)
        if found is not None and found.get("ok") is True:
            return accepted(self.name, answer, found.get("applicationId"))
        if found is not None and found.get("ok") is False:
            said = messages(found) or ["Lever refused the application"]
            return Rejected(tuple(Problem(text) for text in said))
        return not_understood(answer)
