"""Recruitee: an endpoint that takes applications without a key, and names what is wrong with them."""

from __future__ import annotations

from typing import Any

from interlock.apps.jobs.autoapply.submission.adapter import shown
from interlock.apps.jobs.autoapply.submission.judging import accepted, json_of, not_understood
from interlock.apps.jobs.autoapply.submission.multipart import FormFile, encode
from interlock.apps.jobs.autoapply.submission.systems.system import System, given, part
from interlock.apps.jobs.autoapply.submission.values import Capabilities, FilledForm, Outcome
from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.postings.posting import Question
from interlock.apps.jobs.finder.sources.answer import Answer

OWN = ("name", "email", "phone", "cover_letter")
FILES = ("cv", "photo")


class Recruitee(System):
    """Sends the form as multipart, as the careers page does."""

    name = "recruitee"
    label = "Recruitee"
    names = ("name",)
    capabilities = Capabilities(read_form=True, prefill=True, submit=True)

    @classmethod
    def host(cls, board: Address) -> str:
        return board.options.get("host") or f"{board.board}.recruitee.com"

    async def submit(self, form: FilledForm, key: str) -> Outcome:
        fields: list[tuple[str, str]] = []
        files: list[FormFile] = []
        asked = 0
        for question, value in given(form):
            if question.source != "open_questions" and question.key in (*OWN, *FILES):
                name = f"candidate[{question.key}]"
                if question.type == "file" and question.key == "cover_letter":
                    # The endpoint takes the letter as a text; this is the text of the file.
                    fields.append((name, form.packet.letter_text))
                elif question.type == "file":
                    files.append(part(form, name, value))
                else:
                    fields.append((name, shown(value) or ""))
                continue
            prefix = f"candidate[open_question_answers_attributes][{asked}]"
            asked += 1
            fields.append((f"{prefix}[open_question_id]", question.key))
            if question.type == "file":
                files.append(part(form, f"{prefix}[file]", value))
            else:
                fields += [(f"{prefix}{name}", text) for name, text in _answer(question, value)]
        body, kind = encode(fields, files)
        return await self.sent(f"/api/offers/{self.posting_id}/candidates", body, kind)

    def confirmed(self, answer: Answer) -> Outcome:
        found = json_of(answer)
        candidate = found.get("candidate") if found else None
        if not isinstance(candidate, dict):
            return not_understood(answer)
        return accepted(self.name, answer, candidate.get("id"))


def _answer(question: Question, value: Any) -> list[tuple[str, str]]:
    if question.type in ("bool", "consent"):
        return [("[flag]", "true" if value else "false")]
    if question.type == "multi":
        return [("[multi_content][]", str(one)) for one in (value if isinstance(value, list | tuple) else [value])]
    return [("[content]", shown(value) or "")]
