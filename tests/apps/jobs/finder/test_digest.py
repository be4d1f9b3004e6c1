"""The daily digest of new matches."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.apps.jobs import registry
from interlock.apps.jobs.finder import intake
from interlock.apps.jobs.finder.profiles.profile import Profile
from interlock.apps.jobs.finder.records import postings
from interlock.apps.jobs.finder.steps.digest import send_digest
from interlock.apps.jobs.settings import JobsSettings
from interlock.engine.application import Unit
from interlock.engine.outbox import OutboxMessage
from interlock.machine import USER, Actor
from interlock.store import Store
from interlock.testing import Trial

ME = Actor(USER, "lena")


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    settings = JobsSettings(digest_to=["lena@example.org"], digest_hour=8)
    with Trial(registry, store=store, settings={"jobs": settings}) as made:
        profile = Profile(time_zone="America/Los_Angeles")
        made.engine.write(lambda unit: intake.set_profile(unit, "default", profile, ME))
        yield made


def add(trial: Trial, number: int, score: int, **values: object) -> None:
    def job(unit: Unit) -> None:
        said = {"title": f"Engineer {number}", "company": "Acme", "description": "Python. " * 30}
        posting = intake.posting_from(f"https://acme.example/jobs/{number}", said, unit)
        seen = postings.take(unit, "default", [posting], source_id=None, company_id=None)[0]
        result = {"matched_skills": ["Python"]}
        postings.update(unit, seen.id, outcome="matched", score=score, match_result=result, **values)

    trial.engine.write(job)


def mails(trial: Trial) -> list[OutboxMessage]:
    send_digest(trial.engine)
    return list(trial.engine.outbox.page(status="waiting", limit=50).messages)


def test_new_matches_come_by_mail_once_a_day_at_the_seekers_hour(trial: Trial) -> None:
    add(trial, 1, 82)
    add(trial, 2, 95)
    add(trial, 3, 99, decision="dismissed")
    here = trial.engine.clock.now() // 3_600_000_000 % 24
    trial.advance(hours=(15 - here) % 24)  # seven in Los Angeles
    assert mails(trial) == []
    trial.advance(hours=1)
    [mail] = mails(trial)
    assert (mail.channel, mail.recipient, mail.subject) == ("mail", "lena@example.org", "2 new matches")
    text = mail.body["text"]
    assert text.index("95  Engineer 2, Acme") < text.index("82  Engineer 1, Acme")
    assert "you have Python" in text
    assert "https://acme.example/jobs/2" in text
    assert "Engineer 3" not in text
    add(trial, 4, 90)
    trial.advance(hours=2)
    assert len(mails(trial)) == 1, "one a day"
    trial.advance(hours=24)
    _, second = sorted(mails(trial), key=lambda one: one.at)
    assert second.subject == "1 new match"
    assert "Engineer 4" in second.body["text"]
    assert "Engineer 1" not in second.body["text"]
    trial.advance(hours=24)
    assert len(mails(trial)) == 2, "nothing new, no mail"


def test_nobody_who_did_not_ask_gets_a_digest(trial: Trial) -> None:
    trial.engine.core.settings["jobs"] = JobsSettings()
    add(trial, 1, 99)
    trial.advance(hours=48)
    assert mails(trial) == []
