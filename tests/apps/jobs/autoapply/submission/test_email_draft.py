"""Postings that take applications by mail get a draft, which the person sends."""

from __future__ import annotations

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any, cast

import pytest

from interlock.apps.jobs.autoapply.submission import Blocked, BlockKind, EmailDraft, adapter_for, email_draft
from interlock.apps.jobs.autoapply.submission.email_draft import address_for
from interlock.apps.jobs.settings import JobsSettings

from .filled import EMAIL, FILES, filled, posting

ANSWERS = {"name": "Jördis Weiß", "email": EMAIL, "resume": "resume.pdf", "cover_letter": "letter.pdf"}


async def draft(**given: Any) -> EmailMessage:
    one = posting(apply_url="mailto:jobs@acme.example", title="Köchin", requisition_id="R-7", **given)
    adapter = adapter_for(one, JobsSettings())
    assert isinstance(adapter, EmailDraft)
    form = filled(one, await adapter.form(one), ANSWERS)
    assert adapter.validate(form) == ()
    return cast(EmailMessage, message_from_bytes(email_draft(form, adapter.to), policy=default))


async def test_a_draft_has_the_letter_and_the_files() -> None:
    mail = await draft()
    assert (mail["To"], mail["Subject"], mail["X-Unsent"]) == ("jobs@acme.example", "Application: Köchin (R-7)", "1")
    assert mail["From"].addresses[0].display_name == "Jördis Weiß"
    body = mail.get_body()
    assert body is not None
    assert body.get_content().strip() == "letter"
    assert {one.get_filename(): one.get_content() for one in mail.iter_attachments()} == FILES


async def test_it_is_in_the_postings_language_and_sends_nothing() -> None:
    assert (await draft(language="de"))["Subject"].startswith("Bewerbung: ")
    one = posting(apply_url="mailto:jobs@acme.example")
    adapter = adapter_for(one, JobsSettings())
    form = filled(one, await adapter.form(one), ANSWERS)
    outcome = await adapter.submit(form, "key")
    assert isinstance(outcome, Blocked)
    assert outcome.kind is BlockKind.PERSON
    handed = adapter.hand_over(form)
    assert (handed.url or "").startswith("mailto:jobs@acme.example?subject=Application")
    assert [item.file for item in handed.items if item.file] == ["resume.pdf", "letter.pdf"]


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ({"apply_url": "mailto:Jobs@Acme.example?subject=x"}, "jobs@acme.example"),
        ({"apply_url": "mailto:?to=jobs@acme.example"}, "jobs@acme.example"),
        ({"apply_url": "mailto:jobs@acme.example%0ABcc:all@acme.example"}, None),
        ({"apply_url": "mailto:nobody"}, None),
        (
            {"description_text": "We cook. Send your CV to jobs@acme.example. Questions: info@acme.example"},
            "jobs@acme.example",
        ),
        ({"description_text": "Bewerbungen bitte an jobs@acme.example oder cv@acme.example."}, None),
        ({"description_text": "Our press office is press@acme.example."}, None),
    ],
)
def test_the_address_is_the_one_that_the_posting_names(given: dict[str, Any], address: str | None) -> None:
    assert address_for(posting(**given)) == address
    assert adapter_for(posting(**given), JobsSettings()).name == ("email_draft" if address else "assisted")


async def test_headers_cannot_be_injected() -> None:
    one = posting(apply_url="mailto:jobs@acme.example", title="Cook\r\nBcc: all@acme.example")
    form = filled(one, (), {"name": "A\r\nBcc: x@y.example", "email": EMAIL})
    mail = message_from_bytes(email_draft(form, "jobs@acme.example"), policy=default)
    assert mail["Bcc"] is None
    for wrong in ("a@b.example\nBcc: c@d.example", "a@b.example, c@d.example", ""):
        with pytest.raises(ValueError, match="is not a mail address"):
            email_draft(form, wrong)
