"""Schedules over HTTP: made, changed, looked at, paused, run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.store.service_tables import schedule as S
from tests.support.api import Api

PATH = "/api/schedules/default/nightly"
NIGHTLY = {"machine": "order", "cron": "30 2 * * *", "zone": "Europe/Berlin", "data": {"item": "bread"}}


def put(api: Api, path: str = PATH, **changes: Any) -> Any:
    return api.call("owner", "PUT", path, {**NIGHTLY, **changes})


def test_a_schedule_says_what_it_starts_and_when(both: Api) -> None:
    made = put(both, labels={"a": "b"}, priority=1, overlap="skip", missed="all")
    assert made.status_code == 200
    body = made.json()
    assert {name: body[name] for name in ("workspace", "name", "machine", "cron", "zone", "data", "labels")} == {
        "workspace": "default",
        "name": "nightly",
        "machine": "order",
        "cron": "30 2 * * *",
        "zone": "Europe/Berlin",
        "data": {"item": "bread"},
        "labels": {"a": "b"},
    }
    assert (body["priority"], body["overlap"], body["missed"], body["runs"], body["paused"]) == (
        1,
        "skip",
        "all",
        0,
        False,
    )
    assert (body["created_by"], body["last_at"], body["last_instance"]) == ("owner:owner/setup", None, None)
    assert body["next_at"] == "2026-01-06T01:30:00Z"
    assert body["upcoming"] == [f"2026-01-{day:02}T02:30:00+01:00" for day in (6, 7, 8, 9)]
    assert both.get(PATH, "viewer").json() == body
    assert both.get("/api/schedules").json() == {"schedules": [body]}


def test_a_list_has_the_schedules_of_the_workspaces_that_one_is_in(api: Api) -> None:
    put(api)
    put(api, "/api/schedules/default/daily")
    api.call("north-owner", "PUT", "/api/schedules/north/other", NIGHTLY)

    def names(who: str, query: str = "") -> list[str]:
        return [s["name"] for s in api.get(f"/api/schedules{query}", who).json()["schedules"]]

    assert names("viewer") == ["daily", "nightly"]
    assert names("north-viewer") == ["other"]
    assert names("owner", "?workspace=default") == ["daily", "nightly"]
    assert names("owner", "?workspace=north") == []


def test_the_same_again_changes_nothing_and_something_else_changes_only_that(both: Api) -> None:
    first = put(both).json()
    both.clock.advance(timedelta(hours=1))
    assert put(both).json() == first
    both.post(f"{PATH}/pause")
    changed = put(both, cron="0 5 * * *").json()
    assert (changed["cron"], changed["paused"], changed["created_by"]) == ("0 5 * * *", True, first["created_by"])
    assert changed["next_at"] == "2026-01-06T04:00:00Z"
    assert len([a for a in both.get("/api/actions").json()["actions"] if a["what"] == "schedule.put"]) == 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"cron": "61 * * * *"}, "'61 * * * *' is not a cron expression"),
        ({"cron": "hourly"}, "'hourly' is not a cron expression"),
        ({"cron": "0 0 31 2 *"}, "0 0 31 2 *"),
        ({"cron": ""}, "body.cron"),
        ({"zone": "Mars/Olympus"}, "there is no time zone 'Mars/Olympus'"),
        ({"zone": "../../etc/passwd"}, "there is no time zone '../../etc/passwd'"),
        ({"zone": ""}, "there is no time zone ''"),
        ({"machine": "nothing"}, "there is no machine 'nothing'"),
        ({"data": {"item": 7}}, "item"),
        ({"priority": 9}, "body.priority"),
        ({"overlap": "queue"}, "body.overlap"),
        ({"missed": "later"}, "body.missed"),
        ({"labels": {"a": 7}}, "body.labels.a"),
        ({"every": "day"}, "body.every"),
    ],
)
def test_what_cannot_be_scheduled_is_refused_with_the_value(shared: Api, changes: dict[str, Any], said: str) -> None:
    refused = put(shared, **changes)
    assert (refused.status_code, refused.json()["type"]) == (422, "invalid")
    assert said in refused.json()["detail"]
    assert shared.get("/api/schedules").json()["schedules"] == []


def test_a_name_that_is_too_long_or_not_printable_is_refused(shared: Api) -> None:
    for name in ("x" * 101, "a%07b"):
        assert put(shared, f"/api/schedules/default/{name}").status_code == 422


def test_a_paused_one_starts_nothing_and_has_nothing_ahead_until_it_is_resumed(both: Api) -> None:
    put(both)
    stopped = both.post(f"{PATH}/pause", who="member").json()
    assert (stopped["paused"], stopped["paused_by"], stopped["upcoming"]) == (True, "user:member/t", [])
    both.clock.advance(timedelta(days=3))
    both.engine.schedules.due()
    assert both.get("/api/instances").json()["instances"] == []
    going = both.post(f"{PATH}/resume", who="member").json()
    assert (going["paused"], going["paused_by"], going["next_at"]) == (False, None, "2026-01-09T01:30:00Z")
    assert len(going["upcoming"]) == 4


def test_run_starts_one_now_beside_the_calendar(both: Api) -> None:
    before = put(both).json()
    started = both.post(f"{PATH}/run", who="member")
    assert started.status_code == 201
    it = started.json()
    assert (it["machine"], it["data"]["item"], it["labels"]["schedule"]) == ("order", "bread", "nightly")
    body = both.get(PATH).json()
    assert (body["runs"], body["last_instance"], body["next_at"]) == (1, it["id"], before["next_at"])
    created = both.get(f"/api/instances/{it['id']}/history").json()["rows"][0]
    assert created["actor"] == "user:member/t"


def test_what_the_clock_started_is_listed_with_its_next_time(api: Api) -> None:
    put(api)
    api.clock.set(int(datetime(2026, 1, 6, 1, 30, 1, tzinfo=UTC).timestamp()) * 1_000_000)
    api.engine.schedules.due()
    body = api.get(PATH).json()
    assert (body["runs"], body["last_at"], body["next_at"]) == (1, "2026-01-06T01:30:00Z", "2026-01-07T01:30:00Z")
    assert api.get(f"/api/instances/{body['last_instance']}").json()["labels"]["schedule"] == "nightly"


def test_a_removed_one_is_gone_and_can_be_made_anew(api: Api) -> None:
    put(api)
    gone = api.call("owner", "DELETE", PATH)
    assert (gone.status_code, gone.json()) == (200, {"workspace": "default", "name": "nightly"})
    assert api.get(PATH).status_code == 404
    assert api.call("owner", "DELETE", PATH).status_code == 404
    for action in ("pause", "resume", "run"):
        refused = api.post(f"{PATH}/{action}")
        assert (refused.status_code, "'nightly'" in refused.json()["detail"]) == (404, True)
    assert put(api).json()["runs"] == 0


def test_a_time_zone_that_only_another_host_knows_hides_no_schedule(api: Api) -> None:
    put(api)
    put(api, "/api/schedules/default/other")
    strange = sa.update(S).where(S.c.name == "nightly").values(zone="Mars/Olympus")
    api.engine.write(lambda unit: unit.conn.execute(strange))
    body = {s["name"]: s for s in api.get("/api/schedules").json()["schedules"]}
    assert (body["nightly"]["zone"], body["nightly"]["upcoming"]) == ("Mars/Olympus", [])
    assert len(body["other"]["upcoming"]) == 4


def test_a_secret_in_the_data_is_hidden(api: Api) -> None:
    assert put(api, data={"api_key": "sesame-sesame"}).status_code == 200
    assert "sesame" not in api.get("/api/schedules").text
