"""A mail is matched by thread, domain, company and title; where several fit alike, none is chosen."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from interlock.apps.jobs.autoapply.mail.matching import Applied, match
from interlock.store import micros

from .mails import AT, CONFIRMED, mail

DAY = 86_400_000_000


def applied(company: str = "Kind Boats GmbH", title: str = "Cook", *, domain: str = "", days: int = 5) -> Applied:
    return Applied(uuid4(), company, title, frozenset({domain} - {""}), micros(AT) - days * DAY)


def found(text: str, known: list[Applied], threads: dict[str, UUID] | None = None, **more: Any) -> tuple[Any, Any]:
    made = match(mail(text, **more), known, threads or {})
    return (None, None) if made is None else (made.application, made.by)


ELSEWHERE = {"sender": "No Reply <no-reply@greenhouse-mail.io>", "subject": "News"}


def test_by_domain_of_the_sender() -> None:
    one = applied(domain="kind-boats.example")
    assert found("Hello", [one, applied("Grim Corp")], subject="x") == (one.id, ("domain",))


def test_by_company_in_the_text_and_title_among_several() -> None:
    cook, baker = applied(title="Cook"), applied(title="Baker")
    assert found(CONFIRMED, [cook, baker], **ELSEWHERE) == (cook.id, ("company", "title"))


def test_by_the_thread_whatever_the_words() -> None:
    cook, baker = applied(title="Cook"), applied(title="Baker")
    answer = {"answers": "<a@x.example>", **ELSEWHERE}
    assert found("See you!", [cook, baker], {"<a@x.example>": baker.id}, **answer)[0] == baker.id


def test_several_that_fit_alike_are_all_named() -> None:
    two = [applied(title="Cook"), applied(title="Cook")]
    made = match(mail(CONFIRMED, **ELSEWHERE), two, {})  # type: ignore[arg-type]
    assert made is not None
    assert made.application is None
    assert set(made.candidates) == {one.id for one in two}


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("Thank you for applying as Cook.", applied("Other Ships")),
        ("Kindness on boats is our way.", applied()),
        ("Kind Boats", applied(days=-10)),
        ("We go to work.", applied("Go")),
    ],
)
def test_what_names_no_application_matches_none(text: str, known: Applied) -> None:
    assert found(text, [known], **ELSEWHERE) == (None, None)


def test_a_domain_of_a_system_names_no_employer() -> None:
    one = applied("Grim Corp", domain="greenhouse-mail.io")
    assert found("Hello", [one], **ELSEWHERE) == (None, None)


def test_a_subdomain_of_the_company_is_the_company() -> None:
    one = applied(domain="kind-boats.example")
    assert found("Hello", [one], sender="HR <hr@mail.kind-boats.example>", subject="x")[0] == one.id
    assert found("Hello", [one], sender="HR <hr@kind-boats.example.evil.example>", subject="x")[0] is None
