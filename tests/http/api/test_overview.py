"""The overview against what was really done; workers, leases, limits, metrics and readiness."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from prometheus_client.parser import text_string_to_metric_families

from interlock.engine import workers
from interlock.machine import Fail, Go
from interlock.store import migrate, open_store
from interlock.store import tables as t
from tests.support.api import Api, Broken, open_api
from tests.support.rollups import roll_all
from tests.support.servers import Postgres

EMPTY = {"open": 0, "late": 0, "oldest_at": None}


def look(api: Api, query: str = "", who: str = "owner") -> tuple[Any, Any]:
    """The only machine, and all together."""
    roll_all(api.engine)
    body = api.get(f"/api/overview?{query}", who).json()
    [machine] = body["machines"]
    return machine, body["totals"]


def test_an_installation_where_nothing_happened_has_no_rates(api: Api) -> None:
    machine, totals = look(api)
    assert (machine["machine"], machine["title"], machine["states"], machine["live"]) == ("order", "order", {}, 0)
    for figures in (machine, totals):
        assert [figures[rate] for rate in ("success_rate", "failure_rate", "retry_rate", "average_lag_seconds")] == [
            None,
            None,
            None,
            None,
        ]
        assert (figures["queue_lag_seconds"], figures["reviews"], figures["dead_letters"]) == (0, EMPTY, 0)
    assert (totals["instances"], totals["workers_alive"]) == (0, 0)


def test_it_counts_what_was_really_done(both: Api) -> None:
    sent, refused, open_ = both.asked(), both.asked(), both.asked()
    both.post(f"/api/instances/{sent.id}/events", {"event": "approve", "data": {"note": "n"}})
    both.post(f"/api/instances/{refused.id}/events", {"event": "refuse"})
    both.post(f"/api/instances/{both.new()}/cancel")
    waiting = both.new()
    both._work(waiting, Fail(Broken("once")))
    machine, totals = look(both)
    assert machine["states"] == {"sent": 1, "refused": 1, "cancelled": 1, "asked": 1, "new": 1}
    for figures in (machine, totals):
        assert (figures["live"], figures["created"], figures["failures"]) == (2, 5, 1)
        assert figures["ends"] == {"good": 1, "bad": 1, "neither": 1}
        assert (figures["success_rate"], figures["failure_rate"]) == (0.5, 0.25)
        assert figures["reviews"]["open"] == 1
    assert totals["instances"] == 5
    assert (
        machine["reviews"]["oldest_at"]
        == both.get(f"/api/reviews?instance={open_.id}").json()["reviews"][0]["opened_at"]
    )


def test_lag_late_reviews_and_dead_letters_are_as_they_are_now(api: Api) -> None:
    api.dead()
    api.asked()
    api.clock.advance(timedelta(hours=25))
    api.new()
    api.clock.advance(timedelta(minutes=10))
    machine, totals = look(api)
    for figures in (machine, totals):
        assert figures["queue_lag_seconds"] == 600
        assert (figures["reviews"]["open"], figures["reviews"]["late"], figures["dead_letters"]) == (1, 1, 1)


def test_rates_look_at_their_window_only(api: Api) -> None:
    api.new()
    api.clock.advance(timedelta(hours=30))
    api.new()
    assert look(api)[0]["created"] == 1
    assert look(api, "hours=48")[0]["created"] == 2
    assert api.get("/api/overview?hours=48").json()["window_seconds"] == 172_800
    for hours in ("0", "-1", "1441", "nan", "inf", "x"):
        assert api.get(f"/api/overview?hours={hours}").status_code == 422, hours


def test_a_series_has_a_point_for_every_hour_with_zeros(both: Api) -> None:
    both.new()
    both.clock.advance(timedelta(hours=2))
    both.new()
    both.asked()
    roll_all(both.engine)
    body = both.get("/api/overview/series/created?hours=4").json()
    assert (body["measure"], body["by"]) == ("created", "hour")
    assert [(p["at"], p["n"]) for p in body["points"]] == [
        ("2026-01-05T08:00:00Z", 0),
        ("2026-01-05T09:00:00Z", 1),
        ("2026-01-05T10:00:00Z", 0),
        ("2026-01-05T11:00:00Z", 2),
    ]
    by_minute = both.get("/api/overview/series/passed?by=minute&hours=0.05&state=new&machine=order").json()["points"]
    assert [p["n"] for p in by_minute] == [0, 0, 1]
    for query in ("machine=other", "state=asked"):
        points = both.get(f"/api/overview/series/passed?{query}").json()["points"]
        assert {p["n"] for p in points} == {0}


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("series/mood", 422, "path.measure"),
        ("series/created?by=day", 422, "query.by"),
        ("series/created?hours=0", 422, "query.hours"),
        ("series/created?by=minute&hours=700", 422, "at most 3000 points, not 42000"),
        ("dwell/nothing", 404, "there is no machine 'nothing'"),
        ("dwell/order?days=0", 422, "query.days"),
        ("dwell/order?days=401", 422, "query.days"),
    ],
)
def test_what_cannot_be_plotted_is_refused_with_why(shared: Api, path: str, status: int, said: str) -> None:
    refused = shared.get(f"/api/overview/{path}")
    assert refused.status_code == status
    assert said in refused.json()["detail"]


def test_dwell_says_how_long_they_stayed_in_each_state_that_they_left(both: Api) -> None:
    for hours in (1, 1, 9):
        made = both.new()
        both.clock.advance(timedelta(minutes=1))
        both._work(made, Go("asked"))
        it = both.engine.get(made)
        both.clock.advance(timedelta(hours=hours))
        both.post(f"/api/instances/{it.id}/events", {"event": "refuse"})
    roll_all(both.engine)
    body = {s["state"]: s for s in both.get("/api/overview/dwell/order").json()["states"]}
    assert set(body) == {"new", "asked"}
    asked = body["asked"]
    assert (asked["n"], asked["worst_seconds"]) == (3, 9 * 3600)
    assert 3000 < asked["median_seconds"] < 4200
    assert asked["median_seconds"] < asked["p90_seconds"] <= asked["worst_seconds"]
    assert both.get("/api/overview/dwell/order", "north-owner").json()["states"] == []


def test_each_sees_the_numbers_of_their_own_workspaces(api: Api) -> None:
    api.new()
    api.asked(workspace="north")
    api.asked(workspace="north")
    mine, theirs = look(api)[1], look(api, who="north-viewer")[1]
    assert (mine["instances"], mine["created"], mine["reviews"]["open"]) == (1, 1, 0)
    assert (theirs["instances"], theirs["created"], theirs["reviews"]["open"]) == (2, 2, 2)
    series = api.get("/api/overview/series/created?hours=1", "north-viewer").json()["points"]
    assert sum(p["n"] for p in series) == 2


def test_workers_say_who_lives_and_what_they_take(api: Api) -> None:
    first, second = uuid4(), uuid4()
    for worker, queues in ((first, ["order"]), (second, ["a", "b"])):
        api.engine.store.write(
            lambda conn, w=worker, q=queues: workers.start(
                conn, api.clock.now(), w, host="h", pid=7, queues=q, lock_file=None
            )
        )
        api.clock.advance(timedelta(hours=1))
    api.engine.store.write(lambda conn: workers.beat(conn, api.clock.now(), first, offset=1_500_000))
    body = api.get("/api/workers", "viewer").json()["workers"]
    assert [(w["id"], w["alive"], w["queues"], w["beats"], w["clock_offset_seconds"]) for w in body] == [
        (str(second), False, ["a", "b"], 0, 0.0),
        (str(first), True, ["order"], 1, 1.5),
    ]
    assert look(api)[1]["workers_alive"] == 1


def test_leases_are_listed_with_their_holder_while_they_last(api: Api) -> None:
    it = api.asked(workspace="north").id
    api.engine.leases.take("printer", "ann", timedelta(minutes=5))
    api.engine.leases.take("sandbox", "loan", timedelta(minutes=1), instance_id=it)
    body = api.get("/api/leases").json()["leases"]
    assert [(one["name"], one["holder"], one["instance_id"]) for one in body] == [
        ("sandbox", "loan", str(it)),
        ("printer", "ann", None),
    ]
    assert [one["name"] for one in api.get("/api/leases", "north-viewer").json()["leases"]] == ["sandbox"]
    api.clock.advance(timedelta(minutes=2))
    assert [one["name"] for one in api.get("/api/leases").json()["leases"]] == ["printer"]


def test_limits_say_how_much_of_them_is_used(api: Api) -> None:
    it = api.new()

    def use(unit: Any) -> None:
        for _ in range(2):
            unit.insert(t.limit_use, key="mails", at=unit.now, instance_id=it)

    api.engine.write(use)
    [body] = api.get("/api/limits").json()["limits"]
    assert (body["key"], body["kind"], body["used"]) == ("mails", "window", 2)


# -- metrics and readiness


@pytest.fixture
def open_desk(sqlite_url: str) -> Iterator[Api]:
    """Whose metrics anybody may read."""
    with open_store(sqlite_url, durability="normal") as store, open_api(store, http={"open_metrics": True}) as made:
        yield made


def test_metrics_are_in_the_format_that_their_type_names(api: Api) -> None:
    api.asked()
    roll_all(api.engine)
    answer = api.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = {
        s.name: (s.labels, s.value) for family in text_string_to_metric_families(answer.text) for s in family.samples
    }
    assert found["interlock_reviews_open"] == ({"machine": "order"}, 1)
    assert found["interlock_instances"] == ({"machine": "order", "state": "asked"}, 1)
    assert "interlock_http_requests_total" in found


def test_metrics_are_open_to_all_only_where_the_configuration_says_so(shared: Api, open_desk: Api) -> None:
    assert shared.get("/metrics", None).status_code == 401
    assert shared.get("/metrics", "north-owner").status_code == 403
    assert open_desk.get("/metrics", None).status_code == 200
    assert open_desk.get("/api/overview", None).status_code == 401


def test_a_service_that_stops_is_not_ready_but_lives(api: Api) -> None:
    ready = api.get("/readyz", None)
    assert (ready.status_code, ready.json()) == (
        200,
        {"ready": True, "database": "ok", "schema_version": migrate.revisions()[-1], "draining": False},
    )
    api.service.stopping = True
    draining = api.get("/readyz", None)
    assert (draining.status_code, draining.json()["ready"], draining.json()["draining"]) == (503, False, True)
    assert api.get("/healthz", None).json()["status"] == "ok"


def test_a_schema_that_does_not_fit_is_not_ready(api: Api) -> None:
    api.engine.store.write(lambda conn: conn.exec_driver_sql("UPDATE alembic_version SET version_num = '0001'"))
    response = api.get("/readyz", None)
    assert (response.status_code, response.json()["schema_version"], response.json()["database"]) == (503, "0001", "ok")


def test_while_the_database_is_away_it_is_not_ready_and_comes_back_by_itself(server_folder: Path) -> None:
    server = Postgres(server_folder / f"away-{uuid4().hex[:8]}", options="-c fsync=off")
    server.start()
    with open_store(server.url(), wakeup="poll") as store:
        migrate.upgrade(store)
        with open_api(store) as api:
            assert api.get("/readyz", None).status_code == 200
            server.stop("immediate")
            away = api.get("/readyz", None)
            assert (away.status_code, away.json()["ready"], away.json()["database"]) == (503, False, "away")
            assert api.get("/healthz", None).status_code == 200
            api.service.callers.forget()
            refused = api.get("/api/overview")
            assert (refused.status_code, refused.json()["type"], refused.headers["retry-after"]) == (
                503,
                "database",
                "1",
            )
            server.start()
            assert api.get("/readyz", None).status_code == 200
            assert api.get("/api/overview").status_code == 200
    server.stop("immediate")


def test_moments_are_in_utc(api: Api) -> None:
    assert api.get("/api/overview").json()["at"] == datetime(2026, 1, 5, 9, tzinfo=UTC).isoformat().replace(
        "+00:00", "Z"
    )
