"""Applications by mail: a draft with its attachments, which the person reads and sends."""

from __future__ import annotations

import re
from email.headerregistry import Address as MailAddress
from email.message import EmailMessage
from email.policy import SMTP
from urllib.parse import parse_qs, quote, unquote, urlsplit

from interlock.apps.jobs.autoapply.documents.values import clean
from interlock.apps.jobs.autoapply.submission.adapter import Adapter
from interlock.apps.jobs.autoapply.submission.validation import EMAIL, problems_of
from interlock.apps.jobs.autoapply.submission.values import (
    Blocked,
    BlockKind,
    Capabilities,
    FilledForm,
    HandOver,
    HandOverItem,
    Outcome,
    Problem,
    media_type,
)
from interlock.apps.jobs.finder.postings.posting import Posting, Question

ADDRESS = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{2,63}){1,5}")
ASKS = re.compile(
    r"\b(?:appl(?:y|ication|ications)|cv|r[eé]sum[eé]|cover letter|bewerb\w*|lebenslauf)\b", re.IGNORECASE
)
MOST_TEXT = 100_000
MOST_BODY = 1500
"""Characters of the letter in a mailto address; programs cut longer ones off."""
QUESTIONS = (
    Question(key="name", label="Full name", required=True, source="mail"),
    Question(key="email", label="Email", required=True, source="mail"),
    Question(key="resume", label="Resume", type="file", required=True, source="mail"),
    Question(key="cover_letter", label="Cover letter", type="file", required=False, source="mail"),
)


class EmailDraft(Adapter):
    """For postings that take applications by mail. It writes the draft and sends nothing."""

    name = "email_draft"
    capabilities = Capabilities(read_form=True, prefill=True, needs_person=True)

    def __init__(self, to: str) -> None:
        self.to = to
        self.note = f"this posting takes applications by mail to {to}"

    async def form(self, posting: Posting) -> tuple[Question, ...]:
        return QUESTIONS

    def validate(self, form: FilledForm) -> tuple[Problem, ...]:
        return problems_of(form)

    async def submit(self, form: FilledForm, key: str) -> Outcome:
        return Blocked(BlockKind.PERSON, self.note)

    def hand_over(self, form: FilledForm) -> HandOver:
        subject, body = subject_of(form.posting), form.packet.letter_text
        said = f"mailto:{self.to}?subject={quote(subject)}&body={quote(body[:MOST_BODY])}"
        texts = (("to", "To", self.to), ("subject", "Subject", subject), ("body", "Message", body))
        items = [HandOverItem(Question(key=key, label=label, type="long"), text) for key, label, text in texts]
        for question in form.questions:
            value = form.packet.answers.get(question.key)
            if question.type == "file" and isinstance(value, str) and value in form.files:
                items.append(HandOverItem(question, None, value))
        return HandOver(said, tuple(items), self.note)


def email_draft(form: FilledForm, to: str) -> bytes:
    """The packet as a mail file (`.eml`) that mail programs open as a draft. Raises ValueError for a wrong address."""
    if not EMAIL.fullmatch(to) or not to.isascii():
        raise ValueError(f"{to[:100]!r} is not a mail address")
    answers = form.packet.answers
    mail = EmailMessage(policy=SMTP)
    mail["X-Unsent"] = "1"  # Outlook opens it for editing
    mail["To"] = to
    mine = str(answers.get("email") or "")
    if EMAIL.fullmatch(mine) and mine.isascii():
        mail["From"] = MailAddress(clean(str(answers.get("name") or ""), 100), addr_spec=mine)
    mail["Subject"] = subject_of(form.posting)
    mail.set_content(form.packet.letter_text or "\n")
    named = [value for one in form.questions if one.type == "file" and isinstance(value := answers.get(one.key), str)]
    for name in named or list(form.files):
        if name in form.files:
            kind, _, subtype = media_type(name).partition("/")
            mail.add_attachment(form.files[name], maintype=kind, subtype=subtype, filename=name)
    return mail.as_bytes()


def subject_of(posting: Posting) -> str:
    word = "Bewerbung" if (posting.language or "").startswith("de") else "Application"
    said = clean(f"{word}: {posting.title or ''}", 150).rstrip(": ")
    number = clean(posting.requisition_id or "", 50)
    return f"{said} ({number})" if number else said


def address_for(posting: Posting) -> str | None:
    """The address that a posting takes applications at: its own mailto, or the only one that its text asks to use."""
    for url in (posting.apply_url, posting.url):
        if url and url[:7].lower() == "mailto:":
            return _of_mailto(url)
    sentences = re.split(r"(?<=[.!?])\s+|\n", (posting.description_text or "")[:MOST_TEXT])
    found = {one.lower() for text in sentences if ASKS.search(text) for one in ADDRESS.findall(text)}
    return found.pop() if len(found) == 1 else None


def _of_mailto(url: str) -> str | None:
    try:
        parts = urlsplit(url[:2000])
        given = unquote(parts.path) or parse_qs(parts.query, max_num_fields=20).get("to", [""])[0]
    except ValueError:
        return None
    first = given.split(",")[0].strip()
    return first.lower() if ADDRESS.fullmatch(first) else None
