"""A machine that only its application creates: every other door refuses, and names the one that is open."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.apps.contracts.machine import contract
from interlock.apps.jobs.claims import job, run
from interlock.engine import CreatedElsewhere, Engine, schedules
from interlock.engine.schedules import ScheduleSpec
from interlock.machine import (
    FINAL,
    SYSTEM,
    WORKER,
    Fail,
    Failures,
    Go,
    Machine,
    MachineError,
    Rule,
    Spawn,
    State,
    Transition,
    as_json,
    as_table,
)
from interlock.store import Store, open_store
from interlock.store.service_tables import schedule as S
from interlock.store.tables import instance as I
from interlock.testing import Trial
from tests.support.api import APPLICATIONS, BY, Api, open_api

pytestmark = pytest.mark.soak("postgresql")

INGEST = "POST /workflows/ingest"
OURS = {
    "contract": {"filename": "mine.pdf", "pdf": hashlib.sha256(b"theirs").hexdigest(), "text": "0" * 64},
    "job": {"board": "acme", "job_id": "1"},
    "run": {"run_id": "r1", "board": "acme", "job_id": "1", "agent": "kit"},
}
"""Each would be a lie: a text that is not of that file, a second job for the same opening, a run without a lock."""


@pytest.fixture
def api(sqlite_url: str) -> Iterator[Api]:
    with open_store(sqlite_url, durability="normal") as store, open_api(store, applications=APPLICATIONS) as made:
        yield made


def count(engine: Engine, machine: str) -> int:
    query = sa.select(sa.func.count()).select_from(I).where(I.c.machine == machine)
    return engine.read(lambda conn: int(conn.execute(query).scalar_one()))


@pytest.mark.parametrize("machine", OURS)
@pytest.mark.parametrize("who", ["owner", "member", "agent"])
def test_the_generic_endpoint_creates_none_and_names_the_one_that_does(api: Api, machine: str, who: str) -> None:
    for more in ({}, {"key": "k", "on_taken": "return"}, {"unstarted": True}):
        response = api.post("/api/instances", {"machine": machine, "data": OURS[machine], **more}, who)
        assert (response.status_code, response.json()["type"]) == (403, "created-elsewhere"), response.text
        through = api.engine.registry[machine].created_through
        assert through is not None
        assert through in response.json()["detail"]
        assert api.get(f"/api/machines/{machine}", who).json()["created_through"] == through
    assert count(api.engine, machine) == 0


@pytest.mark.parametrize("machine", OURS)
def test_nor_does_a_schedule(api: Api, machine: str) -> None:
    body = {"machine": machine, "cron": "* * * * *", "data": OURS[machine]}
    response = api.call("owner", "PUT", "/api/schedules/default/mine", body)
    assert (response.status_code, response.json()["type"]) == (403, "created-elsewhere")
    assert api.get("/api/schedules").json()["schedules"] == []


def test_a_schedule_from_before_starts_nothing_and_says_why(api: Api) -> None:
    api.engine.schedules.put(ScheduleSpec("old", "order", "* * * * *"), actor=BY)
    api.engine.store.write(lambda conn: conn.execute(sa.update(S).values(machine="contract")))
    response = api.post("/api/schedules/default/old/run")
    assert (response.status_code, response.json()["type"]) == (403, "created-elsewhere")
    api.clock.advance(timedelta(minutes=2))
    api.engine.schedules.due()
    assert INGEST in str(api.engine.schedules.get("old").last_error)
    assert count(api.engine, "contract") == 0


def test_what_callers_send_to_the_application_is_derived_by_it(api: Api) -> None:
    request = api.post("/workflows/ingest", {"pdfBase64": "aGVsbG8=", "text": "0" * 64, "pdf": "0" * 64})
    assert request.status_code == 422, "no field of the body is one that is worked out"


# -- the engine's own ways, on both databases


def machine(name: str, **more: Any) -> Machine:
    return Machine(
        name,
        initial="new",
        states=[State("new"), State("done", FINAL), State("broken", FINAL, good=False)],
        transitions=[
            Transition("new", "done", on="go"),
            Transition("new", "broken", on="fail", by=(WORKER, SYSTEM)),
        ],
        failures=Failures(otherwise=Rule((Exception,), retries=0, then="broken")),
        **more,
    )


kept, outside = machine("kept", created_through="POST /kept"), machine("outside")


def nothing(_: Any) -> Go:
    return Go("done")


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    machines = [one.with_handlers({"new": nothing}) for one in (kept, outside)]
    with Trial(machines, store=store) as trial:
        yield trial
        assert trial.engine.verify().problems == ()


def test_the_engine_refuses_whoever_does_not_say_that_it_is_the_application(trial: Trial) -> None:
    for ask in (
        lambda: trial.engine.create("kept"),
        lambda: trial.engine.create_or_get("kept", key="k"),
        lambda: trial.engine.create_many("kept", [{}, {}]),
    ):
        with pytest.raises(CreatedElsewhere, match="created only by its application; use POST /kept"):
            ask()
    assert count(trial.engine, "kept") == 0
    assert trial.engine.create("kept", by_application=True).state == "new"


def test_another_machines_handler_spawns_none(trial: Trial) -> None:
    parent = trial.create("outside")
    claim = next(c for c in trial.claim(10) if c.id == parent)
    trial.finish(claim, Go("done", spawn=[Spawn("kept", {}, "k")]))
    assert count(trial.engine, "kept") == 0
    refused = [row.payload for row in trial.engine.history(parent) if row.kind == "spawn_refused"]
    assert [one["machine"] for one in refused] == ["kept"]
    assert "POST /kept" in refused[0]["reason"]


def test_its_own_handler_does_and_a_dead_letter_is_retried(trial: Trial) -> None:
    first = trial.create("kept", key="a")
    (claim,) = trial.claim(10)
    trial.finish(claim, Go("done", spawn=[Spawn("kept", {}, "b")]))
    (child,) = [c for c in trial.claim(10) if c.id != first]
    trial.finish(child, Fail(ValueError("it broke")))
    (letter,) = trial.engine.dead_letters.find()
    trial.engine.dead_letters.retry(letter.id, actor=BY)
    assert count(trial.engine, "kept") == 3, "the retry is a new one that begins where it failed"


def test_schedules_of_the_engine_are_refused(trial: Trial) -> None:
    with pytest.raises(CreatedElsewhere):
        trial.write(lambda unit: schedules.put(unit, ScheduleSpec("mine", "kept", "* * * * *"), BY))
    spec = ScheduleSpec("mine", "outside", "* * * * *")
    assert trial.write(lambda unit: schedules.put(unit, spec, BY)).machine == "outside"


# -- the declaration


def test_the_declaration_is_shown_and_does_not_change_the_version() -> None:
    assert as_json(kept)["created_through"] == "POST /kept"
    assert "created through POST /kept only" in as_table(kept)
    assert [m.created_through is not None for m in (contract, job, run, outside)] == [True, True, True, False]
    assert kept.digest() == machine("kept").digest()


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(MachineError, match="created_through is empty"):
        machine("kept", created_through=" ")
