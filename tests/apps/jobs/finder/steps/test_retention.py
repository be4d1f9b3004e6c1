"""Closed postings go after their time, unless somebody wants them or applied for them."""

from __future__ import annotations

import pytest

from interlock.apps.jobs.claims import steps as claims
from interlock.apps.jobs.finder import intake
from interlock.apps.jobs.finder.steps.retention import remove_old
from interlock.machine import AGENT, Actor
from interlock.testing import Trial

from .finding import HERE, ME, Acme, active, crawl, give_profile, items, rows

BOT = Actor(AGENT, "bot")


def closed(trial: Trial, board: Acme) -> dict[str, object]:
    """Matches 1 to 5 and the filtered 6, all closed by now: key → id."""
    give_profile(trial)
    board.show("1", "2", "3", "4", "5", "6")
    board.rows["6"]["title"] = "Unpaid Cook"
    source_id = active(trial, board)
    assert len(rows(trial, "matched")) == 5
    board.show()
    crawl(trial, source_id)
    trial.advance(hours=30)
    crawl(trial, source_id)
    assert {one.state for one in rows(trial)} == {"closed"}
    return {one.posting_key.rpartition(":")[2]: one.id for one in rows(trial)}


def left(trial: Trial) -> set[str]:
    for _ in range(3):
        remove_old(trial.engine)
    return {one.posting_key.rpartition(":")[2] for one in rows(trial)}


@pytest.mark.soak("postgresql")
def test_what_is_saved_claimed_or_applied_for_stays(trial: Trial, board: Acme) -> None:
    found = closed(trial, board)
    jobs = {one.data["job_id"]: one for one in items(trial, "job")}
    for key, decision in (("1", "saved"), ("2", "dismissed")):
        trial.engine.write(lambda unit, key=key, said=decision: intake.decide(unit, HERE, found[key], said, ME))
    wanted = claims.ClaimRequest(board=jobs["3"].data["board"], job_id="3", run_id="run-3")
    trial.engine.write(lambda unit: claims.claim(unit, HERE, wanted, BOT))
    trial.engine.write(lambda unit: claims.report(unit, HERE, "run-3", BOT, status="success"))
    trial.engine.fire(jobs["4"].id, "reject", actor=ME)
    trial.advance(days=100)
    assert left(trial) == set("123456")
    trial.advance(days=81)
    assert left(trial) == {"1", "3"}
    states = {one.data["job_id"]: one.state for one in items(trial, "job")}
    assert states == {"1": "discovered", "2": "expired", "3": "applied", "4": "rejected", "5": "expired"}


def test_never_removes_nothing(trial: Trial, board: Acme) -> None:
    closed(trial, board)
    settings = trial.engine.core.settings["jobs"]
    trial.engine.core.settings["jobs"] = settings.model_copy(update={"keep_closed": "never", "keep_answers": "never"})
    trial.advance(days=4000)
    assert left(trial) == set("123456")
