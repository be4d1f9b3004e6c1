"""Ashby: form and application with the employer's key. An answer of 200 is no success until its body says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from interlock.apps.jobs.autoapply.submission.adapter import shown
from interlock.apps.jobs.autoapply.submission.judging import accepted, json_of, messages, not_understood
from interlock.apps.jobs.autoapply.submission.multipart import FormFile, encode
from interlock.apps.jobs.autoapply.submission.systems.system import System, chosen, given, part
from interlock.apps.jobs.autoapply.submission.values import Capabilities, FilledForm, Outcome, Problem, Rejected
from interlock.apps.jobs.finder.geography.places import country_code
from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.postings.posting import Question
from interlock.apps.jobs.finder.sources.answer import Answer


class Ashby(System):
    """Sends by `applicationForm.submit`."""

    name = "ashby"
    label = "Ashby"
    names = ("_systemfield_name",)
    email = "_systemfield_email"
    capabilities = Capabilities(read_form=True, prefill=True, submit=True, needs_key=True)

    @classmethod
    def host(cls, board: Address) -> str:
        return "api.ashbyhq.com"

    async def definition(self) -> Mapping[str, Any] | None:
        found = await self.read("/jobPosting.info", "POST", {"jobPostingId": self.posting_id})
        result = found.get("results")
        form = result.get("applicationFormDefinition") if isinstance(result, dict) else None
        return form if isinstance(form, dict) else None

    def validate(self, form: FilledForm) -> tuple[Problem, ...]:
        broken = [
            Problem(f"{question.label or question.key} takes a whole number", question.key)
            for question, value in given(form)
            if question.type == "number" and isinstance(value, float) and not value.is_integer()
        ]
        return (*super().validate(form), *broken)

    async def submit(self, form: FilledForm, key: str) -> Outcome:
        answers: list[dict[str, Any]] = []
        files: list[FormFile] = []
        for question, value in given(form):
            if question.type == "file":
                name = f"file_{len(files) + 1}"
                files.append(part(form, name, value))
                answers.append({"path": question.key, "value": name})
            else:
                answers.append({"path": question.key, "value": _value(question, value)})
        fields = [
            ("jobPostingId", self.posting_id),
            ("applicationForm", orjson.dumps({"fieldSubmissions": answers}).decode()),
        ]
        body, kind = encode(fields, files)
        return await self.sent("/applicationForm.submit", body, kind)

    def confirmed(self, answer: Answer) -> Outcome:
        found = json_of(answer)
        if found is not None and found.get("success") is True:
            result = found.get("results")
            made = result.get("submittedFormInstance") if isinstance(result, dict) else None
            return accepted(self.name, answer, made.get("id") if isinstance(made, dict) else None)
        if found is not None and found.get("success") is False:
            said = messages(found) or ["Ashby refused the application"]
            return Rejected(tuple(Problem(text) for text in said))
        return not_understood(answer)


def _value(question: Question, value: Any) -> Any:
    """A value as the type of its field wants it."""
    if question.options:
        ids = chosen(question, value)
        return ids if question.type == "multi" else ids[0]
    if question.type in ("bool", "consent"):
        return value
    if question.type == "number":
        return int(value)
    if question.source == "form.RichText":
        return {"type": "PlainText", "value": shown(value)}
    if question.source == "form.Location":
        return _location(shown(value) or "")
    return shown(value)


def _location(text: str) -> dict[str, str]:
    """A place as an object: "City, Region, Country", "City, Country" or a country."""
    parts = [one for part in text.split(",") if (one := part.strip())]
    if len(parts) == 1:
        return {"country" if country_code(parts[0]) else "city": parts[0]}
    found = {"country": parts[-1], "city": parts[0]}
    return {**found, "region": ", ".join(parts[1:-1])} if len(parts) > 2 else found
