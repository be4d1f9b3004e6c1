"""An alert opens once, is reported again now and then, and closes when its rule has not held twice in a row."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa

from interlock.apps.sample import parcel as sample
from interlock.engine import InvalidData, NotFound, Refused, workers
from interlock.machine import Fail, Go
from interlock.store import Store, open_store
from interlock.store import service_tables as s
from interlock.store import tables as t
from interlock.testing import Trial
from interlock.watch import alerts, rules
from interlock.watch.alerts import Changes
from interlock.watch.rules import Rule
from tests.support.machines import ANN, PARCEL, Unreachable, do, pass_time
from tests.support.racing import DEADLINE
from tests.support.rollups import JOB, STUBBORN, roll_all

LAG = Rule(name="lag", metric="queue_lag", threshold=60, machine="each")
MAIL = ("mail:ops@example.org",)


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with Trial([PARCEL, JOB], store=store) as made:
        yield made


def evaluate(trial: Trial, *chosen: Rule, notify: tuple[str, ...] = MAIL) -> Changes:
    """Fifteen seconds later, like the loop."""
    trial.clock.advance(timedelta(seconds=15))
    return trial.engine.write(lambda unit: alerts.evaluate(unit, trial.engine.registry, chosen, notify))


def names(changes: Changes) -> tuple[list[str], list[str], list[str]]:
    return tuple([a.rule for a in some] for some in (changes.opened, changes.repeated, changes.closed))  # type: ignore[return-value]


def sent(trial: Trial) -> list[tuple[str, str, str]]:
    query = sa.select(t.outbox.c.channel, t.outbox.c.recipient, t.outbox.c.subject).order_by(t.outbox.c.id)
    return [tuple(row) for row in trial.engine.read(lambda conn: conn.execute(query).all())]


def late(trial: Trial, minutes: int = 2) -> Any:
    it = trial.create("parcel")
    trial.clock.advance(timedelta(minutes=minutes))
    return it


def test_while_all_is_well_nothing_opens(trial: Trial) -> None:
    trial.create("parcel")
    assert evaluate(trial, *rules.built_in()) == Changes()
    findings = trial.engine.read(
        lambda conn: alerts.evaluate_rules(conn, trial.engine.registry, rules.built_in(), trial.clock.now())
    )
    assert not trial.engine.read(lambda conn: alerts.has_changes(conn, findings))


def test_an_alert_opens_once_and_is_kept_fresh(trial: Trial) -> None:
    late(trial)
    [alert] = evaluate(trial, LAG).opened
    assert (alert.rule, alert.machine, alert.workspace, alert.value, alert.threshold) == (
        "lag",
        "parcel",
        None,
        135,
        60,
    )
    assert alert.sentence == "parcel: queue lag is 2.25 minutes, more than 60 seconds"
    assert evaluate(trial, LAG) == Changes()
    [fresh] = trial.engine.read(alerts.open_alerts)
    assert (fresh.id, fresh.value, fresh.seen_at) == (alert.id, 150, trial.clock.now())
    assert sent(trial) == [("mail", "ops@example.org", f"Alert opened: {alert.sentence}")]


def test_each_machine_has_an_alert_of_its_own(trial: Trial) -> None:
    late(trial)
    trial.create("job")
    trial.clock.advance(timedelta(minutes=2))
    assert {alert.machine for alert in evaluate(trial, LAG).opened} == {"parcel", "job"}


def test_a_rule_about_all_machines_opens_one_alert(trial: Trial) -> None:
    late(trial)
    trial.create("job")
    trial.clock.advance(timedelta(minutes=2))
    [alert] = evaluate(trial, LAG.model_copy(update={"machine": None})).opened
    assert (alert.machine, alert.value) == (None, 255)


def test_it_is_notified_again_every_four_hours_while_it_is_open(trial: Trial) -> None:
    late(trial)
    seen = [names(evaluate(trial, LAG))]
    trial.clock.advance(timedelta(hours=3, minutes=59))
    seen.append(names(evaluate(trial, LAG)))
    trial.clock.advance(timedelta(minutes=1))
    seen += [names(evaluate(trial, LAG)) for _ in range(2)]
    assert seen == [(["lag"], [], []), ([], [], []), ([], ["lag"], []), ([], [], [])]
    assert [subject.partition(":")[0] for _, _, subject in sent(trial)] == ["Alert opened", "Alert still open"]
    assert trial.engine.read(alerts.open_alerts)[0].notices == 2


def test_it_closes_when_its_rule_did_not_hold_twice_in_a_row(trial: Trial) -> None:
    it = late(trial)
    evaluate(trial, LAG)
    trial.engine.fire(it, "cancel", actor=ANN)
    assert evaluate(trial, LAG) == Changes()
    assert len(trial.engine.read(alerts.open_alerts)) == 1, "once may be chance"
    [closed] = evaluate(trial, LAG).closed
    assert (closed.status, closed.closed_at) == ("closed", trial.clock.now())
    assert trial.engine.read(alerts.open_alerts) == []
    assert sent(trial)[-1][2].startswith("Alert closed: parcel: queue lag")


def test_a_rule_that_holds_again_in_between_keeps_it_open(trial: Trial) -> None:
    it = late(trial)
    evaluate(trial, LAG)
    trial.engine.pause(it)
    evaluate(trial, LAG)
    trial.engine.resume(it)
    evaluate(trial, LAG)
    trial.engine.pause(it)
    assert evaluate(trial, LAG) == Changes()
    assert len(trial.engine.read(alerts.open_alerts)) == 1


def test_what_comes_back_after_it_closed_opens_a_new_one(trial: Trial) -> None:
    it = late(trial)
    [first] = evaluate(trial, LAG).opened
    trial.engine.pause(it)
    for _ in range(2):
        evaluate(trial, LAG)
    trial.engine.resume(it)
    [second] = evaluate(trial, LAG).opened
    assert first.id != second.id


def test_an_alert_whose_rule_is_gone_closes(trial: Trial) -> None:
    late(trial)
    evaluate(trial, LAG)
    assert [names(evaluate(trial)) for _ in range(2)] == [([], [], []), ([], [], ["lag"])]


def test_a_rule_with_for_opens_only_after_so_long(trial: Trial) -> None:
    patient = LAG.model_copy(update={"for_": timedelta(seconds=40)})
    it = late(trial)
    assert [len(evaluate(trial, patient).opened) for _ in range(3)] == [0, 0, 0]
    assert trial.engine.read(alerts.page).alerts == [], "nobody sees it yet"
    [alert] = evaluate(trial, patient).opened
    assert trial.clock.now() - alert.opened_at == 45_000_000
    trial.engine.pause(it)
    for _ in range(2):
        evaluate(trial, patient)
    trial.engine.resume(it)
    evaluate(trial, patient)
    trial.engine.pause(it)
    evaluate(trial, patient)
    trial.engine.resume(it)
    assert [len(evaluate(trial, patient).opened) for _ in range(4)] == [0, 0, 0, 1], "it began anew"


def test_somebody_who_acknowledges_it_is_not_notified_again(trial: Trial) -> None:
    late(trial)
    [alert] = evaluate(trial, LAG).opened
    taken = trial.engine.write(lambda unit: alerts.acknowledge(unit, alert.id, ANN))
    assert (taken.acknowledged_by, taken.acknowledged_at) == ("user:ann", trial.clock.now())
    trial.clock.advance(timedelta(hours=9))
    assert evaluate(trial, LAG) == Changes()
    again = trial.engine.write(lambda unit: alerts.acknowledge(unit, alert.id, ANN))
    assert again.acknowledged_at == taken.acknowledged_at
    what = sa.select(s.action.c.what, s.action.c.target)
    assert [tuple(row) for row in trial.engine.read(lambda conn: conn.execute(what).all())] == [
        ("alert.acknowledge", str(alert.id))
    ]


def test_only_an_open_alert_can_be_acknowledged(trial: Trial) -> None:
    it = late(trial)
    [alert] = evaluate(trial, LAG).opened
    trial.engine.pause(it)
    for _ in range(2):
        evaluate(trial, LAG)
    with pytest.raises(Refused, match="is closed"):
        trial.engine.write(lambda unit: alerts.acknowledge(unit, alert.id, ANN))
    with pytest.raises(NotFound, match="there is no alert"):
        trial.engine.write(lambda unit: alerts.acknowledge(unit, uuid4(), ANN))


def test_a_rules_own_recipients_come_before_the_configured_ones(trial: Trial) -> None:
    late(trial)
    evaluate(trial, LAG.model_copy(update={"notify": ("webhook:chat", "mail:ann@example.org", "webhook:chat")}))
    assert [(channel, whom) for channel, whom, _ in sent(trial)] == [("webhook", "chat"), ("mail", "ann@example.org")]


def test_it_says_whom_it_notified_also_after_its_rule_names_others(trial: Trial) -> None:
    late(trial)
    [made] = evaluate(trial, LAG.model_copy(update={"notify": ("webhook:chat",)})).opened
    assert made.recipients == ["webhook:chat"]
    trial.clock.advance(timedelta(hours=4))
    [again] = evaluate(trial, LAG.model_copy(update={"notify": ("mail:ann@example.org",)})).repeated
    assert again.recipients == ["webhook:chat", "mail:ann@example.org"]


def test_a_message_says_what_when_and_how_much(trial: Trial) -> None:
    late(trial)
    [alert] = evaluate(trial, LAG).opened
    body = trial.engine.read(lambda conn: json.loads(conn.execute(sa.select(t.outbox.c.body)).scalar_one()))
    assert body == {
        "alert": str(alert.id),
        "rule": "lag",
        "machine": "parcel",
        "status": "open",
        "sentence": alert.sentence,
        "value": 135.0,
        "threshold": 60.0,
        "since": trial.clock.time.isoformat(),
        "what": "opened",
    }


def test_without_anybody_to_tell_it_opens_all_the_same(trial: Trial) -> None:
    late(trial)
    [made] = evaluate(trial, LAG, notify=()).opened
    assert made.recipients == []
    assert sent(trial) == []


def test_while_one_process_looks_another_does_nothing(postgres_url: str) -> None:
    with open_store(postgres_url, wakeup="poll") as store, Trial([PARCEL], store=store) as trial:
        evaluate(trial, LAG)
        late(trial)
        inside, go_on = threading.Event(), threading.Event()

        def slowly() -> None:
            def job(unit: Any) -> None:
                assert alerts.evaluate(unit, trial.engine.registry, [LAG]).opened
                inside.set()
                assert go_on.wait(DEADLINE)

            trial.engine.write(job)

        thread = threading.Thread(target=slowly)
        thread.start()
        assert inside.wait(DEADLINE)
        assert evaluate(trial, LAG) == Changes()
        go_on.set()
        thread.join(DEADLINE)
        assert len(trial.engine.read(alerts.open_alerts)) == 1


# -- the rules that are built in


def built_in(trial: Trial) -> list[tuple[str, str]]:
    roll_all(trial.engine)
    return [(alert.rule, alert.sentence) for alert in evaluate(trial, *rules.built_in()).opened]


def test_queue_lag_over_half_an_hour(trial: Trial) -> None:
    late(trial, 29)
    assert built_in(trial) == []
    trial.clock.advance(timedelta(minutes=2))
    assert built_in(trial) == [("queue_lag", "parcel: queue lag is 31.5 minutes, more than 30 minutes")]


def fail_and_pass(trial: Trial, failed: int, passed: int) -> None:
    for number in range(failed + passed):
        trial.create("job")
        do(trial, Fail(Unreachable("no answer")) if number < failed else Go("second"))
        for instance in trial.engine.page().instances:
            if instance.state == "second":
                trial.engine.cancel(instance.id, actor=ANN)


@pytest.mark.parametrize(("failed", "passed", "opens"), [(3, 8, True), (2, 8, False), (9, 0, False), (10, 0, True)])
def test_a_failure_rate_over_a_fifth_of_at_least_ten(trial: Trial, failed: int, passed: int, opens: bool) -> None:
    fail_and_pass(trial, failed, passed)
    assert ("failure_rate" in dict(built_in(trial))) is opens


def test_a_review_that_is_open_for_over_two_days(store: Store) -> None:
    with Trial([sample], store=store) as trial:
        trial.create("parcel", {"content": "a whole piano"})
        do(trial, Go("labelling"))
        do(trial, Go("customs"))
        trial.clock.advance(timedelta(hours=47))
        assert built_in(trial) == []
        trial.clock.advance(timedelta(hours=1))
        assert built_in(trial) == [("review_age", "parcel: review age is 2 days, more than 2 days")]


def test_no_worker_alive_for_a_minute(trial: Trial) -> None:
    trial.engine.store.write(lambda conn: workers.mark(conn, trial.worker, "stopped"))
    opened = [built_in(trial) for _ in range(5)]
    assert opened == [[], [], [], [], [("no_worker", "no worker is alive")]]


def test_nobody_misses_a_worker_where_there_is_nothing_to_do(store: Store) -> None:
    with Trial([PARCEL.with_handlers({})], store=store) as trial:
        trial.engine.store.write(lambda conn: workers.mark(conn, trial.worker, "stopped"))
        assert [built_in(trial) for _ in range(6)] == [[]] * 6
        trial.create("parcel")
        assert [("no_worker", "no worker is alive")] in [built_in(trial) for _ in range(6)]


def test_a_dead_letter(store: Store) -> None:
    with Trial([STUBBORN], store=store) as trial:
        trial.create("job")
        do(trial, Fail(Unreachable("no answer")))
        assert built_in(trial) == [("dead_letters", "job: 1 dead letter is open")]


# -- every metric that a rule can look at


def test_every_metric_can_be_watched(store: Store) -> None:
    with Trial([STUBBORN], store=store) as trial:
        for _ in range(3):
            trial.create("job")
        do(trial, Fail(Unreachable("no answer")))
        pass_time(trial, minutes=1)
        roll_all(trial.engine)
        expected = {
            "queue_lag": 75.0,
            "failure_rate": 1.0,
            "success_rate": 0.0,
            "retry_rate": 1.0,
            "review_backlog": 0.0,
            "dead_letters": 1.0,
            "workers_alive": 1.0,
            "state_count": 2.0,
            "throughput": 1.0,
        }
        chosen = [
            Rule(name=metric, metric=metric, op=">=", threshold=0, state="first" if metric == "state_count" else None)
            for metric in rules.METRICS
        ]
        assert {alert.rule: alert.value for alert in evaluate(trial, *chosen).opened} == expected


def test_a_rule_can_be_about_too_little(trial: Trial) -> None:
    quiet = Rule(name="quiet", metric="throughput", op="<", threshold=1, machine="parcel")
    [alert] = evaluate(trial, quiet).opened
    assert alert.sentence == "parcel: throughput is 0, less than 1"


def test_each_means_the_machines_that_have_the_state(trial: Trial) -> None:
    rule = Rule(name="none", metric="state_count", op="<=", threshold=0, machine="each", state="packing")
    assert [alert.machine for alert in evaluate(trial, rule).opened] == ["parcel"]


# -- reading


def test_alerts_are_listed_in_pages_the_newest_first(trial: Trial) -> None:
    many = [Rule(name=f"r{n}", metric="throughput", op="<=", threshold=0) for n in range(5)]
    evaluate(trial, *many)
    for _ in range(2):
        evaluate(trial, *many[3:])
    first = trial.engine.read(lambda conn: alerts.page(conn, limit=3))
    rest = trial.engine.read(lambda conn: alerts.page(conn, limit=3, after=first.next))
    assert ([a.rule for a in first.alerts], [a.rule for a in rest.alerts]) == (["r4", "r3", "r2"], ["r1", "r0"])
    assert rest.next is None
    for status, found in (("open", ["r4", "r3"]), ("closed", ["r2", "r1", "r0"])):
        listed = trial.engine.read(lambda conn, status=status: alerts.page(conn, status=status))
        assert [alert.rule for alert in listed.alerts] == found
    assert [alert.rule for alert in trial.engine.read(alerts.open_alerts)] == ["r4", "r3"]


@pytest.mark.parametrize("asked", [{"status": "pending"}, {"limit": 0}, {"limit": 501}])
def test_a_page_that_makes_no_sense_is_refused(trial: Trial, asked: dict[str, Any]) -> None:
    with pytest.raises(InvalidData):
        trial.engine.read(lambda conn: alerts.page(conn, **asked))
