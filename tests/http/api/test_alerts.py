"""Alerts and their rules over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from interlock.store import open_store
from interlock.watch import alerts, rules
from tests.support.api import Api, open_api

RULE = {"metric": "state_count", "state": "asked", "machine": "order", "threshold": 1}


def put(api: Api, name: str = "crowd", **changes: Any) -> Any:
    return api.call("owner", "PUT", f"/api/alert-rules/{name}", {**RULE, **changes})


def look(api: Api) -> None:
    """What the alerter does every few seconds."""
    api.clock.advance(timedelta(seconds=15))

    def once(unit: Any) -> None:
        found = rules.every(unit.conn, api.service.settings.alerts)
        alerts.evaluate(unit, api.engine.registry, found, ["mail:ops@example.org"])

    api.engine.write(once)


def late(api: Api) -> str:
    """An order that nobody takes, and the alert that it opens."""
    api.new()
    api.clock.advance(timedelta(minutes=31))
    look(api)
    [found] = [a for a in api.get("/api/alerts?status=open").json()["alerts"] if a["rule"] == "queue_lag"]
    return str(found["id"])


def test_the_built_in_rules_are_listed_with_their_thresholds(shared: Api) -> None:
    body = shared.get("/api/alert-rules", "viewer").json()["rules"]
    assert {r["name"]: (r["metric"], r["op"], r["threshold"], r["machine"]) for r in body} == {
        "queue_lag": ("queue_lag", ">", 1800, "each"),
        "failure_rate": ("failure_rate", ">", 0.2, "each"),
        "review_age": ("review_age", ">", 172_800, "each"),
        "no_worker": ("workers_alive", "<", 1, None),
        "dead_letters": ("dead_letters", ">", 0, "each"),
        "model_budget": ("model_budget", ">=", 0.8, None),
    }
    assert all(r["built_in"] for r in body)


@pytest.fixture
def tuned(sqlite_url: str) -> Iterator[Api]:
    wanted = {"queue_lag_minutes": 5, "repeat_hours": 1 / 60, "off": ["no_worker", "failure_rate"]}
    with open_store(sqlite_url, durability="normal") as store, open_api(store, alerts=wanted) as made:
        yield made


def test_the_configuration_sets_thresholds_and_switches_rules_off(tuned: Api) -> None:
    body = {r["name"]: r for r in tuned.get("/api/alert-rules").json()["rules"]}
    assert set(body) == {"queue_lag", "review_age", "dead_letters", "model_budget"}
    assert (body["queue_lag"]["threshold"], body["queue_lag"]["repeat_every"]) == (300, 60)


def test_a_rule_of_ones_own_is_kept_changed_and_removed(both: Api) -> None:
    made = put(both, notify=["mail:ann@example.org", "webhook:shop"], for_seconds=60, window=120, min_count=3, op=">=")
    assert made.status_code == 200
    assert made.json() == {
        "name": "crowd",
        "built_in": False,
        "metric": "state_count",
        "op": ">=",
        "threshold": 1,
        "machine": "order",
        "state": "asked",
        "window": 120,
        "for_seconds": 60,
        "min_count": 3,
        "notify": ["mail:ann@example.org", "webhook:shop"],
        "repeat_every": 14_400,
    }
    assert both.get("/api/alert-rules").json()["rules"][-1] == made.json()
    assert put(both, threshold=9).json()["threshold"] == 9
    own = [r for r in both.get("/api/alert-rules").json()["rules"] if not r["built_in"]]
    assert [(r["name"], r["threshold"], r["for_seconds"]) for r in own] == [("crowd", 9, 0)]
    gone = both.call("owner", "DELETE", "/api/alert-rules/crowd")
    assert (gone.status_code, gone.json()) == (200, {"name": "crowd"})
    assert both.call("owner", "DELETE", "/api/alert-rules/crowd").status_code == 404
    assert [a["what"] for a in both.get("/api/actions").json()["actions"][:3]] == [
        "alert_rule.remove",
        "alert_rule.change",
        "alert_rule.add",
    ]


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("crowd", {"metric": "mood"}, "there is no metric 'mood'; there are queue_lag"),
        ("crowd", {"machine": "nothing"}, "there is no machine 'nothing'; there are: order"),
        ("crowd", {"state": "nowhere"}, "there is no state 'nowhere'; there are: asked"),
        ("crowd", {"state": None}, "state_count needs a state"),
        ("crowd", {"metric": "dead_letters"}, "no other metric takes one"),
        (
            "crowd",
            {"metric": "failure_rate", "state": None, "threshold": 20},
            "is a ratio between 0 and 1: 0.2",
        ),
        ("crowd", {"metric": "workers_alive", "state": None}, "workers_alive is about all machines"),
        ("crowd", {"notify": ["ann"]}, "'ann' is neither mail:ADDRESS nor webhook:NAME"),
        ("crowd", {"notify": ["mail:"]}, "'mail:' is neither"),
        ("crowd", {"op": "="}, "body.op"),
        ("crowd", {"threshold": "many"}, "body.threshold"),
        ("crowd", {"window": 59}, "body.window"),
        ("crowd", {"repeat_every": 1}, "body.repeat_every"),
        ("crowd", {"for_seconds": -1}, "body.for_seconds"),
        ("crowd", {"min_count": -1}, "body.min_count"),
        ("crowd", {"colour": "red"}, "body.colour"),
        ("queue_lag", {}, "the rule 'queue_lag' is built in; change it in the configuration"),
        ("Crowd", {}, "name: use up to 60 lower-case letters"),
        ("x" * 61, {}, "path.name"),
    ],
)
def test_a_rule_that_does_not_fit_is_refused_with_what_would(
    shared: Api, name: str, changes: dict[str, Any], said: str
) -> None:
    refused = put(shared, name, **changes)
    assert (refused.status_code, refused.json()["type"]) == (422, "invalid")
    assert said in refused.json()["detail"]
    assert all(r["built_in"] for r in shared.get("/api/alert-rules").json()["rules"])


def test_a_threshold_without_end_is_refused(shared: Api) -> None:
    body = '{"metric": "dead_letters", "threshold": Infinity}'
    headers = {"Content-Type": "application/json"}
    refused = shared.call("owner", "PUT", "/api/alert-rules/crowd", content=body, headers=headers)
    assert refused.status_code == 422


def test_a_built_in_rule_is_not_removed_but_switched_off_elsewhere(shared: Api) -> None:
    refused = shared.call("owner", "DELETE", "/api/alert-rules/queue_lag")
    assert refused.status_code == 404
    assert "switch it off in the configuration" in refused.json()["detail"]


def test_an_alert_says_what_is_wrong_since_when_and_closes_by_itself(both: Api) -> None:
    api = both
    opened_id = late(api)
    [body] = [a for a in api.get("/api/alerts", "viewer").json()["alerts"] if a["id"] == opened_id]
    assert (body["rule"], body["machine"], body["status"], body["notices"]) == ("queue_lag", "order", "open", 1)
    assert body["value"] > body["threshold"] == 1800
    assert "order" in body["sentence"]
    assert (body["acknowledged_at"], body["closed_at"]) == (None, None)
    api.engine.claim(uuid4(), ["order"], 9)
    look(api)
    look(api)
    [over] = [a for a in api.get("/api/alerts?status=closed").json()["alerts"] if a["id"] == opened_id]
    assert (over["status"], over["closed_at"] is not None) == ("closed", True)
    assert opened_id not in api.get("/api/alerts?status=open").text


def test_an_acknowledged_alert_is_not_notified_again_and_the_first_name_stays(api: Api) -> None:
    path = f"/api/alerts/{late(api)}/acknowledge"
    first = api.post(path, who="member").json()
    assert (first["acknowledged_by"], first["acknowledged_at"] is not None) == ("user:member/t", True)
    assert api.post(path).json() == first
    api.clock.advance(timedelta(hours=5))
    look(api)
    [body] = [a for a in api.get("/api/alerts").json()["alerts"] if a["id"] == first["id"]]
    assert (body["status"], body["notices"]) == ("open", 1)


def test_what_is_closed_or_not_there_cannot_be_acknowledged(api: Api) -> None:
    opened_id = late(api)
    api.engine.claim(uuid4(), ["order"], 9)
    look(api)
    look(api)
    refused = api.post(f"/api/alerts/{opened_id}/acknowledge")
    assert (refused.status_code, refused.json()["type"]) == (409, "refused")
    assert "is closed" in refused.json()["detail"]
    assert api.post(f"/api/alerts/{uuid4()}/acknowledge").status_code == 404


def test_a_rule_of_ones_own_opens_an_alert_for_whom_it_names(api: Api) -> None:
    put(api, metric="review_backlog", state=None, notify=["mail:ann@example.org"])
    api.asked()
    api.asked()
    api.clock.advance(timedelta(hours=25))
    look(api)
    [body] = [a for a in api.get("/api/alerts").json()["alerts"] if a["rule"] == "crowd"]
    assert (body["value"], body["threshold"]) == (2, 1)
    [mail] = [m for m in api.get("/api/outbox").json()["messages"] if m["body"]["rule"] == "crowd"]
    assert (mail["recipient"], mail["body"]["alert"]) == ("ann@example.org", body["id"])


def test_the_newest_come_first_in_pages(api: Api) -> None:
    for name in ("one", "two", "three"):
        put(api, name, metric="dead_letters", state=None, machine=None, threshold=0)
        api.dead()
        look(api)
    everything = [a["id"] for a in api.get("/api/alerts").json()["alerts"]]
    assert everything == sorted(everything, reverse=True)
    assert len(everything) >= 4
    first = api.get("/api/alerts?limit=2").json()
    rest = api.get(f"/api/alerts?limit=500&after={first['next']}").json()
    assert [a["id"] for a in first["alerts"] + rest["alerts"]] == everything
    assert rest["next"] is None
    for query in ("limit=0", "limit=501", "status=pending", "after=x"):
        assert api.get(f"/api/alerts?{query}").status_code == 422, query
