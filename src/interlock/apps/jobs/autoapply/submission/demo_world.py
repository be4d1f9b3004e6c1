"""The demo world: its application forms are read from their pages, filled in and sent by program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from interlock.apps.jobs.autoapply.answers.fields import field_of
from interlock.apps.jobs.autoapply.documents.values import clean
from interlock.apps.jobs.autoapply.errors import JobClosed, SiteUnreachable
from interlock.apps.jobs.autoapply.submission.adapter import Adapter, shown
from interlock.apps.jobs.autoapply.submission.judging import accepted, not_understood, refusal
from interlock.apps.jobs.autoapply.submission.multipart import FormFile, encode
from interlock.apps.jobs.autoapply.submission.sending import Sender
from interlock.apps.jobs.autoapply.submission.values import (
    Blocked,
    BlockKind,
    Capabilities,
    FilledForm,
    Outcome,
    Problem,
    Rejected,
    media_type,
)
from interlock.apps.jobs.finder.fetching import Dispatch
from interlock.apps.jobs.finder.postings.posting import Posting, Question
from interlock.apps.jobs.finder.sources.answer import Answer

MOST_FIELDS = 200
KEY = re.compile(r"[A-Za-z0-9_.\[\]-]{1,100}")


@dataclass(frozen=True, slots=True)
class PageForm:
    """The form of a page."""

    action: str
    questions: tuple[Question, ...]
    ticked: dict[str, str]
    """What a box sends when it is ticked, by its name."""


class DemoWorld(Adapter):
    """Sends to the demo world only, whose host the operator named."""

    name = "demo_world"
    capabilities = Capabilities(read_form=True, prefill=True, submit=True)

    def __init__(self, host: str, sender: Sender) -> None:
        self._host, self._sender = host, sender

    async def form(self, posting: Posting) -> tuple[Question, ...]:
        """The fields of the form on the posting's page; none where an account is wanted."""
        answer = await self._page(posting)
        if answer.status in (404, 410):
            raise JobClosed(f"the posting's page answered {answer.status}")
        found = form_on(answer)
        return found.questions if found else ()

    async def submit(self, form: FilledForm, key: str) -> Outcome:
        answer = await self._page(form.posting)
        if answer.status in (404, 410):
            return Blocked(BlockKind.CLOSED, f"the posting's page answered {answer.status}")
        page = form_on(answer)
        if page is None:
            return Blocked(BlockKind.LOGIN, "the page has no form; it wants an account")
        if not _is_on(page.action, self._host):
            return Blocked(BlockKind.ADDRESS, f"the form is sent to another host than {self._host}")
        asked = {one.key for one in page.questions}
        given = {name: value for name, value in form.packet.answers.items() if value not in (None, "", [], ())}
        gone = [name for name in given if name not in asked]
        if gone:
            return Rejected(
                tuple(Problem("the form has no such field any more; prepare it again", one) for one in gone)
            )
        body, kind = encode(*_filled(page, given, form))
        sent = await self._sender.send(Dispatch(page.action, body, kind, {"Accept": "text/html"}))
        return sent if not isinstance(sent, Answer) else self._outcome(sent)

    def _outcome(self, answer: Answer) -> Outcome:
        tree = LexborHTMLParser(answer.body)
        if answer.status == 422:
            named = [clean(one.text(), 100) for one in tree.css("ul.errors li")[:20]]
            return (
                Rejected(tuple(Problem(f"missing or wrong: {name}", name) for name in named if name))
                if named
                else (Rejected((Problem("the form was refused"),)))
            )
        refused = refusal(answer, self._sender.now())
        if refused is not None:
            return refused
        reference = tree.css_first(".reference")
        return accepted(self.name, answer, reference.text()) if reference else not_understood(answer)

    async def _page(self, posting: Posting) -> Answer:
        url = posting.url or posting.apply_url or ""
        answer = await self._sender.page(url)
        if answer.status == 429 or answer.status >= 500:
            raise SiteUnreachable(f"the posting's page answered {answer.status}")
        return answer


def is_of(posting: Posting, host: str | None) -> bool:
    """Whether a posting is one of the demo world's."""
    return host is not None and _is_on(posting.url or posting.apply_url or "", host)


def _is_on(url: str, host: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host


def form_on(answer: Answer) -> PageForm | None:
    """The form of a page that takes a resume, or None."""
    if not 200 <= answer.status < 300:
        return None
    form = next((one for one in LexborHTMLParser(answer.body).css("form") if one.css_first("input[type=file]")), None)
    if form is None:
        return None
    questions: dict[str, Question] = {}
    ticked: dict[str, str] = {}
    for node in form.css("input, select, textarea")[:MOST_FIELDS]:
        name, kind = node.attributes.get("name") or "", (node.attributes.get("type") or "text").lower()
        if not KEY.fullmatch(name) or name in questions or kind in ("hidden", "submit", "button", "password"):
            continue
        questions[name] = _question(node, name, kind)
        if kind == "checkbox":
            ticked[name] = node.attributes.get("value") or "on"
    action = urljoin(answer.url or "", form.attributes.get("action") or "")
    return PageForm(action, tuple(questions.values()), ticked)


def _question(node: LexborNode, name: str, kind: str) -> Question:
    options = tuple(text for one in node.css("option")[:300] if (text := clean(one.text(), 300)))
    made: dict[str, Any] = {"key": name, "label": _label(node), "required": "required" in node.attributes}
    if node.tag == "select":
        made |= {"type": "single", "options": options}
    elif node.tag == "textarea":
        made |= {"type": "long"}
    else:
        made |= {"type": {"file": "file", "checkbox": "bool", "number": "number", "date": "date"}.get(kind, "text")}
    question = Question.model_validate({**made, "source": "page"})
    is_consent = question.type == "bool" and field_of(question, "").name == "consent"
    return question.model_copy(update={"type": "consent"}) if is_consent else question


def _label(node: LexborNode) -> str | None:
    parent = node.parent
    text = clean(parent.text(deep=False), 1000) if parent is not None and parent.tag == "label" else ""
    return text or None


def _filled(page: PageForm, given: dict[str, Any], form: FilledForm) -> tuple[list[tuple[str, str]], list[FormFile]]:
    fields: list[tuple[str, str]] = []
    files: list[FormFile] = []
    for question in page.questions:
        if question.key not in given:
            continue
        value = given[question.key]
        if question.type == "file":
            files.append(FormFile(question.key, value, media_type(value), form.files[value]))
        elif question.type in ("bool", "consent"):
            fields += [(question.key, page.ticked.get(question.key, "on"))] if value is True else []
        else:
            fields += [(question.key, text) for text in _texts(value)]
    return fields, files


def _texts(value: Any) -> Iterator[str]:
    for one in value if isinstance(value, list | tuple) else [value]:
        yield shown(one) or ""
