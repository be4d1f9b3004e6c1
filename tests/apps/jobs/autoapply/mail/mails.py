"""Mails of our own."""

from __future__ import annotations

from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime

from interlock.apps.jobs.autoapply.mail.message import Mail, read_mail

AT = datetime(2026, 11, 20, 9, tzinfo=UTC)
CONFIRMED = "Thank you for applying to Kind Boats. We have received your application for Cook."
REJECTED = "Unfortunately, we have decided to move forward with other candidates."
INVITED = "We would like to invite you to an interview next week. Please pick a time."
OFFERED = "We are pleased to offer you the position of Cook at Kind Boats."


def mail_bytes(
    text: str,
    *,
    sender: str = "Bo Sailor <bo@kind-boats.example>",
    subject: str = "Your application",
    ident: str = "<1@kind-boats.example>",
    answers: str = "",
    at: datetime = AT,
    html: str = "",
) -> bytes:
    made = EmailMessage()
    made["From"], made["Subject"], made["Message-ID"] = sender, subject, ident
    made["Date"] = format_datetime(at)
    if answers:
        made["In-Reply-To"] = answers
    made.set_content(text)
    if html:
        made.add_alternative(html, subtype="html")
    return made.as_bytes()


def mail(text: str, **more: object) -> Mail:
    found = read_mail(mail_bytes(text, **more))  # type: ignore[arg-type]
    assert found is not None
    return found
