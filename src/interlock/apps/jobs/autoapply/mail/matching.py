"""Which application a mail is about: by its thread, the sender's domain, the company and the title.

A match needs the company, by name or domain, or the thread. Where several applications fit alike, none is chosen, and
all of them are named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from interlock.apps.jobs.autoapply.mail.message import Mail
from interlock.apps.jobs.finder.identity.keys import company_key, fold, title_key
from interlock.store import Micros, micros, span

SYSTEM_DOMAINS = frozenset(
    {
        *("greenhouse.io", "greenhouse-mail.io", "lever.co", "ashbyhq.com", "smartrecruiters.com", "workable.com"),
        *("workablemail.com", "recruitee.com", "personio.de", "personio.com", "teamtailor.com", "teamtailor-mail.com"),
        *("bamboohr.com", "jobvite.com", "myworkday.com", "myworkdayjobs.com", "icims.com", "breezy.hr"),
        *("gmail.com", "googlemail.com", "outlook.com", "hotmail.com", "yahoo.com", "gmx.de", "web.de", "icloud.com"),
        *("linkedin.com", "indeed.com", "xing.com", "stepstone.de"),
    }
)
"""Domains that many employers write from: they name none."""
THREAD, DOMAIN, COMPANY, TITLE = 100, 40, 35, 20
LEAST = 35
"""A company's name, its domain, or the thread."""
SLACK = span(timedelta(days=1))
"""A mail may be that much older than the time at which its application was recorded."""
MOST_CANDIDATES = 5
SHORTEST_NAME = 3


@dataclass(frozen=True, slots=True)
class Applied:
    """An application that a mail may be about."""

    id: UUID
    company: str
    title: str
    domains: frozenset[str]
    """Registered domains of its posting and its company."""
    submitted_at: Micros


@dataclass(frozen=True, slots=True)
class Match:
    """The application of a mail, or those that it may be."""

    application: UUID | None
    by: tuple[str, ...]
    candidates: tuple[UUID, ...]


def match(mail: Mail, applications: Iterable[Applied], threads: Mapping[str, UUID]) -> Match | None:
    """The application that a mail is about; None if there is none. `threads` is message id → application."""
    said = f" {' '.join(_words(f'{mail.sender_name} {mail.subject} {mail.text[:20_000]}'))} "
    domain = mail.domain if mail.domain and not _is_under(mail.domain, SYSTEM_DOMAINS) else None
    answered = {threads[one] for one in (*mail.thread, mail.message_id) if one in threads}
    at = micros(mail.sent_at) if mail.sent_at is not None else None
    rated: list[tuple[int, Applied, tuple[str, ...]]] = []
    for one in applications:
        if at is not None and at < one.submitted_at - SLACK:
            continue
        score, by = _rated(one, said, domain, answered)
        if score >= LEAST:
            rated.append((score, one, by))
    if not rated:
        return None
    rated.sort(key=lambda item: (-item[0], -item[1].submitted_at, str(item[1].id)))
    best, first, by = rated[0]
    alike = [one for score, one, _ in rated if score == best]
    candidates = tuple(one.id for _, one, _ in rated[:MOST_CANDIDATES])
    return Match(first.id if len(alike) == 1 else None, by, candidates)


def _rated(one: Applied, said: str, domain: str | None, answered: set[UUID]) -> tuple[int, tuple[str, ...]]:
    score, by = 0, []
    if one.id in answered:
        score += THREAD
        by.append("thread")
    if domain is not None and _is_under(domain, one.domains):
        score += DOMAIN
        by.append("domain")
    company = company_key(one.company) or ""
    if len(company) >= SHORTEST_NAME and f" {' '.join(_words(company))} " in said:
        score += COMPANY
        by.append("company")
    title = title_key(one.title)
    if title and f" {title} " in said:
        score += TITLE
        by.append("title")
    return score, tuple(by)


def _is_under(domain: str, known: Iterable[str]) -> bool:
    return any(domain == one or domain.endswith(f".{one}") for one in known)


def _words(text: str) -> list[str]:
    return title_key(fold(text, 40_000)).split()
