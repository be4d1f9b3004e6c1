"""What the systems have in common: one request with the employer's key, and an answer in the system's own shape."""

from __future__ import annotations

import base64
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar
from urllib.parse import urlsplit

import orjson

from interlock.apps.jobs.autoapply.answers import form_of
from interlock.apps.jobs.autoapply.errors import JobClosed, SiteUnreachable
from interlock.apps.jobs.autoapply.submission.adapter import Adapter
from interlock.apps.jobs.autoapply.submission.judging import json_of, refusal
from interlock.apps.jobs.autoapply.submission.multipart import FormFile
from interlock.apps.jobs.autoapply.submission.sending import Sender
from interlock.apps.jobs.autoapply.submission.systems.credentials import Credential
from interlock.apps.jobs.autoapply.submission.validation import MOST_FILE, contact_problems, problems_of
from interlock.apps.jobs.autoapply.submission.values import FilledForm, Outcome, Problem, media_type
from interlock.apps.jobs.finder.fetching import Dispatch
from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.postings.posting import Posting, Question
from interlock.apps.jobs.finder.sources.answer import Answer


class KeyRefused(Exception):
    """The system refuses the key while its form is read."""


class System(Adapter):
    """A system that takes applications over HTTP."""

    label: ClassVar[str]
    """The system's name for people."""
    names: ClassVar[tuple[str, ...]]
    """Keys of the fields for the applicant's name."""
    email: ClassVar[str] = "email"
    most_file: ClassVar[int] = MOST_FILE

    def __init__(self, board: Address, credential: Credential | None, sender: Sender) -> None:
        assert board.external_id is not None
        self.board, self.posting_id, self.sender = board, board.external_id, sender
        self.credential = credential

    @classmethod
    @abstractmethod
    def host(cls, board: Address) -> str:
        """The system's own host for requests of this board."""

    @classmethod
    def origin(cls, board: Address) -> str:
        """The beginning of the addresses: the system's host, or a private one that plays it."""
        return board.options.get("origin") or f"https://{cls.host(board)}"

    @classmethod
    def authority(cls, board: Address) -> str:
        """The host that a key must be for."""
        return urlsplit(cls.origin(board)).netloc.lower()

    def validate(self, form: FilledForm) -> tuple[Problem, ...]:
        return (
            *problems_of(form, most_file=self.most_file),
            *contact_problems(form, self.names, self.email),
        )

    async def form(self, posting: Posting) -> tuple[Question, ...]:
        """The questions. When the key is refused, those that are known without it; the note then says so."""
        try:
            return form_of(posting, await self.definition())
        except KeyRefused as error:
            self.note = str(error)
            return form_of(posting)

    async def definition(self) -> Mapping[str, Any] | None:
        """The form's definition, where the system has one beside the posting."""
        return None

    async def read(self, path: str, method: str = "GET", body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """An object that the system answers before anything is sent."""
        answer = await self.sender.ask(self.request(path, b"" if body is None else orjson.dumps(body), method=method))
        if answer.status in (404, 410):
            raise JobClosed(f"{self.label} does not know the posting ({answer.status})")
        found = json_of(answer) if 200 <= answer.status < 300 else None
        if found is None and answer.status in (401, 403):
            raise KeyRefused(
                f"{self.label} refuses the key ({answer.status}); check [jobs.autoapply.keys] or remove it"
            )
        if found is None:
            raise SiteUnreachable(f"{self.label} answered {answer.status} without the form")
        return found

    def request(
        self, path: str, content: bytes, content_type: str = "application/json", *, method: str = "POST"
    ) -> Dispatch:
        headers = {"Accept": "application/json"}
        if self.credential is not None and self.credential.company_id is not None:
            headers["X-Company-ID"] = self.credential.company_id
        key = self.credential.key if self.credential is not None else None
        return Dispatch(self.origin(self.board) + path, content, content_type, headers, key, method)

    async def sent(self, path: str, content: bytes, content_type: str = "application/json") -> Outcome:
        """Send the application itself, once."""
        answer = await self.sender.send(self.request(path, content, content_type))
        if not isinstance(answer, Answer):
            return answer
        return refusal(answer, self.sender.now(), keyed=self.credential is not None) or self.confirmed(answer)

    @abstractmethod
    def confirmed(self, answer: Answer) -> Outcome:
        """What an answer from 200 to 299 means."""


def given(form: FilledForm) -> Iterator[tuple[Question, Any]]:
    """The questions that have an answer, in the order of the form."""
    for question in form.questions:
        value = form.packet.answers.get(question.key)
        if value not in (None, "", [], ()):
            yield question, value


def chosen(question: Question, value: Any) -> list[str]:
    """The system's ids of the chosen options; their texts where it has none."""
    texts = value if isinstance(value, list | tuple) else [value]
    known = dict(zip(question.options, question.option_ids, strict=False))
    return [known.get(text) or str(text) for text in texts]


def part(form: FilledForm, field: str, name: str) -> FormFile:
    """A file of the packet as a part of a form."""
    return FormFile(field, name, media_type(name), form.files[name])


def encoded(form: FilledForm, name: str) -> str:
    """A file of the packet as base64."""
    return base64.b64encode(form.files[name]).decode("ascii")


def number(text: str) -> int | str:
    """An id as JSON has it: a number where it is one."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else text
