"""Reply rates count what could be answered, and say how little a few applications prove."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from interlock.apps.jobs.autoapply.board import rates
from interlock.apps.jobs.autoapply.board.rates import Rate, interval
from interlock.apps.jobs.autoapply.board.stages import Ending, Stage
from interlock.store import span
from tests.apps.jobs.autoapply.applicant import HERE, Applicant

from .carded import move, sent


def rates_by(applicant: Applicant, by: Any) -> dict[str, Rate]:
    now = applicant.engine.clock.now()
    return {one.key: one for one in applicant.engine.read(lambda conn: rates.reply_rates(conn, HERE, by, now))}


def test_fresh_applications_lower_no_rate(applicant: Applicant) -> None:
    old = applicant.engine.clock.now() - span(timedelta(days=20))
    for number in range(3):
        sent(applicant.engine, f"Old {number}", source="lever", at=old)
    answered = sent(applicant.engine, "Answered", source="lever")
    sent(applicant.engine, "Fresh", source="lever")
    move(applicant.engine, answered, Stage.INTERVIEW)
    found = rates_by(applicant, "source")["lever"]
    assert (found.sent, found.fresh, found.counted, found.replies, found.interviews) == (5, 1, 4, 1, 1)
    assert found.rate == 0.25
    assert found.small


@pytest.mark.parametrize(
    ("stage", "ending", "replies"),
    [
        (Stage.SCREENING, None, 1),
        (Stage.OFFER, None, 1),
        (Stage.CLOSED, Ending.REJECTED, 1),
        (Stage.CLOSED, Ending.ACCEPTED, 1),
        (Stage.CLOSED, Ending.NO_ANSWER, 0),
        (Stage.CLOSED, Ending.JOB_CLOSED, 0),
        (Stage.CLOSED, None, 0),
    ],
)
def test_what_counts_as_a_reply(applicant: Applicant, stage: Stage, ending: Ending | None, replies: int) -> None:
    move(applicant.engine, sent(applicant.engine), stage, ending=ending)
    assert rates_by(applicant, "source")[""].replies == replies


def test_a_reply_stays_one_whatever_comes_after_it(applicant: Applicant) -> None:
    it = sent(applicant.engine)
    move(applicant.engine, it, Stage.INTERVIEW)
    move(applicant.engine, it, Stage.CLOSED, ending=Ending.NO_ANSWER)
    found = rates_by(applicant, "tier")[""]
    assert (found.replies, found.interviews) == (1, 1)


def test_groups_by_source_tier_variant_and_score(applicant: Applicant) -> None:
    sent(applicant.engine, source="lever", tier="S", score=91, variant="Cook")
    sent(applicant.engine, source="lever", tier="A", score=80, variant="Cook")
    sent(applicant.engine, source=None, tier=None, score=None)
    assert {key: one.sent for key, one in rates_by(applicant, "source").items()} == {"lever": 2, "unknown": 1, "": 3}
    assert set(rates_by(applicant, "tier")) == {"S", "A", "unknown", ""}
    assert rates_by(applicant, "variant")["Cook"].sent == 2
    assert set(rates_by(applicant, "score")) == {"90 to 100", "80 to 89", "unknown", ""}
    assert rates_by(applicant, "source")["lever"].rate is None


@pytest.mark.parametrize(("hits", "of"), [(0, 1), (1, 1), (3, 10), (0, 100), (100, 100), (500, 1000)])
def test_an_interval_holds_the_rate_and_narrows_with_the_sample(hits: int, of: int) -> None:
    low, high = interval(hits, of)
    assert low is not None
    assert high is not None
    assert 0 <= low <= hits / of <= high <= 1
    wider = interval(hits * 10, of * 10)
    assert wider[1] - wider[0] < high - low  # type: ignore[operator]
    assert interval(0, 0) == (None, None)
