"""Retention: what ended long ago is archived and removed; what must outlive it stays, and the proof is whole."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.config import RetentionSettings, Settings
from interlock.config.settings import length
from interlock.engine import Engine, KeyTaken, NotFound
from interlock.engine.retention import archive
from interlock.engine.retention.policies import ACTOR, LEASE, Policy, Report, Retention, find_candidates, scopes
from interlock.engine.unit import Unit
from interlock.machine import (
    FINAL,
    USER,
    WAITING,
    Actor,
    Ask,
    EffectKeyReused,
    Fail,
    Go,
    KeyScope,
    Machine,
    Message,
    Review,
    Spawn,
    State,
    Transition,
)
from interlock.machine import OWNER as BY_OWNER
from interlock.store import Store, failpoints, open_store, retention_tables, span
from interlock.store import service_tables as s
from interlock.store import tables as t
from interlock.testing import Trial, VirtualClock
from interlock.watch import rollups
from interlock.worker.duties import working
from interlock.worker.keeper import Keeper
from tests.support.effects_and_reviews import parcel
from tests.support.machines import by_hand, claim_one, do, page, trial_of

pytestmark = pytest.mark.slow

DAY = timedelta(days=1)
OWNER = Actor(BY_OWNER, "chief")
PAGE = page(key=KeyScope.FOREVER)
PARCEL = by_hand(parcel)
H, I, P = t.history, t.instance, t.purge  # noqa: E741


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, PAGE, PARCEL) as trial:
        yield trial


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    return Policy(tmp_path / "archive", span(90 * DAY))


def read_page(trial: Trial, **options: Any) -> UUID:
    """A page that was created, and read."""
    it = trial.create("page", {"title": "Zoë \u2028 \x01"}, **options)
    do(trial, Go("read", data={"words": 12}))
    return it


def run(trial: Trial, policy: Policy) -> Report:
    return Retention(trial.engine, policy).run()


def archived(report: Report) -> list[dict[str, Any]]:
    return [json.loads(line.text) for path in report.files for line in archive.lines(path)]


def count(trial: Trial, table: sa.Table) -> int:
    query = sa.select(sa.func.count()).select_from(table)
    return trial.engine.read(lambda conn: conn.execute(query).scalar_one())


# -- what goes, and what stays


def test_what_ended_long_ago_goes_and_the_rest_stays(trial: Trial, policy: Policy) -> None:
    old = read_page(trial)
    trial.clock.advance(90 * DAY)
    young, waiting = read_page(trial), trial.create("page")
    report = run(trial, policy)
    assert report.instances == {"page": 1}
    with pytest.raises(NotFound, match=r"was removed on 2026-04-05 by system:retention: .* archived in page-2026"):
        trial.get(old)
    assert trial.state(young) == "read"
    assert trial.state(waiting) == "open"
    assert trial.engine.history(old) == []
    assert trial.engine.verify().problems == ()
    assert run(trial, policy).total == 0


def test_nothing_goes_where_nothing_is_said(trial: Trial, tmp_path: Path) -> None:
    read_page(trial)
    trial.clock.advance(9999 * DAY)
    policy = Policy.of(Settings(data=tmp_path))
    assert not policy.wanted
    assert run(trial, policy).total == 0
    assert not (tmp_path / "retention").exists()


def test_each_machine_has_an_age_of_its_own(trial: Trial, tmp_path: Path) -> None:
    read_page(trial)
    trial.create("parcel")
    do(trial, Go("dropped"))
    trial.clock.advance(10 * DAY)
    wanted = RetentionSettings(default="20d", machines={"parcel": "1w", "page": "never"})
    policy = Policy.of(Settings(data=tmp_path, retention=wanted))
    assert run(trial, policy).instances == {"parcel": 1}
    trial.clock.advance(3650 * DAY)
    assert run(trial, policy).instances == {}


def test_a_plan_says_what_would_go_and_writes_nothing(trial: Trial, policy: Policy) -> None:
    read_page(trial)
    trial.clock.advance(91 * DAY)
    assert Retention(trial.engine, policy).plan().instances == {"page": 1}
    assert not policy.folder.exists()
    assert count(trial, I) == 1


def test_more_than_a_look_and_a_batch_go_in_one_run(trial: Trial, policy: Policy) -> None:
    trial.engine.create_many("page", [{} for _ in range(620)])
    for claim in trial.claim(700):
        trial.finish(claim, Go("read" if claim.fence % 2 else "skipped"))
    trial.clock.advance(91 * DAY)
    report = run(trial, policy)
    assert report.instances == {"page": 620}
    assert (count(trial, I), count(trial, H), len(archived(report))) == (0, 0, 620)


def holding(trial: Trial, what: str) -> UUID:
    """An instance that has ended, and that something holds back."""
    match what:
        case "review":
            trial.create("page")
            asks = (Ask("odd", Review("Odd?", {"noted": ""})),)
            return do(trial, Go("read", asks=asks)).id
        case "message":
            trial.create("page")
            return do(trial, Go("read", messages=(Message("mail", "ann@example.org", "read"),))).id
        case "lineage":
            trial.create("page")
            return do(trial, Go("read", spawn=(Spawn("page", {}, key="child"),))).id
        case "lease":
            it = read_page(trial)
            trial.engine.leases.take("dock", "ann", 999 * DAY, instance_id=it)
            return it
        case "dead letter":
            trial.create("parcel")
            for _ in range(4):
                trial.clock.advance(timedelta(minutes=2))
                trial.engine.tick()
                found = do(trial, Fail(ValueError("no"))).id
            trial.engine.force(found, "dropped", actor=OWNER, reason="enough")
            return found
        case "effect":
            it = read_page(trial)
            values = {
                "instance_id": it,
                "kind": "post",
                "key": "k",
                "request_hash": "",
                "status": "unknown",
                "step": "open",
                "fence": 1,
                "intended_at": 1,
            }
            trial.write(lambda unit: unit.insert(t.effect, **values))
            return it
    raise AssertionError(what)


HELD = {
    "review": "a review is open",
    "message": "a message is not settled",
    "lineage": "something of its lineage is under way",
    "lease": "it holds a lease",
    "dead letter": "a dead letter is open",
    "effect": "the outcome of an effect is unknown",
}


@pytest.mark.parametrize("what", HELD)
def test_nothing_goes_that_somebody_still_needs(store: Store, policy: Policy, what: str) -> None:
    with Trial([PAGE, PARCEL], store=store) as trial:
        it = holding(trial, what)
        trial.clock.advance(91 * DAY)
        report = run(trial, policy)
        assert report.instances == {}
        assert report.held_back == {HELD[what]: 1}
        assert trial.get(it).finished_at is not None
        assert Retention(trial.engine, policy).plan().held_back == {HELD[what]: 1}


def test_a_lineage_goes_once_all_of_it_has_ended(trial: Trial, policy: Policy) -> None:
    holding(trial, "lineage")
    do(trial, Go("skipped"))
    trial.clock.advance(91 * DAY)
    assert run(trial, policy).instances == {"page": 2}


def test_whatever_changes_between_the_archive_and_the_removal_stays(trial: Trial, policy: Policy) -> None:
    it = read_page(trial)
    trial.clock.advance(91 * DAY)

    def touch(reached: str) -> None:
        if reached == "retain:archived":
            failpoints.hook = None
            trial.engine.keep_artifact(it, "late", b"x", media_type="text/plain")

    failpoints.hook = touch
    try:
        report = run(trial, policy)
    finally:
        failpoints.hook = None
    assert (report.total, len(report.files)) == (0, 1)
    assert trial.get(it).seq == 3


def test_an_instance_whose_chain_is_broken_is_evidence_and_stays(store: Store, policy: Policy) -> None:
    with Trial([PAGE], store=store) as trial:
        it = read_page(trial)
        trial.clock.advance(91 * DAY)
        trial.engine.store.write(lambda conn: conn.execute(sa.update(I).where(I.c.id == it).values(seq=7)))
        report = run(trial, policy)
        assert (report.total, report.held_back) == (0, {"its chain does not verify: look into it first": 1})


# -- what must outlive it


def test_a_key_that_is_unique_for_ever_stays_taken(trial: Trial, policy: Policy) -> None:
    it = read_page(trial, key="a")
    trial.clock.advance(91 * DAY)
    assert run(trial, policy).total == 1
    with pytest.raises(KeyTaken) as refusal:
        trial.create("page", key="a")
    assert refusal.value.existing == it
    trial.create("page", key="a", workspace="another")
    with pytest.raises(NotFound, match="was removed on"):
        trial.engine.create_or_get("page", key="a")


def test_a_key_that_is_unique_among_the_living_is_free(trial: Trial, policy: Policy) -> None:
    trial.create("parcel", key="a")
    do(trial, Go("dropped"))
    trial.clock.advance(91 * DAY)
    assert run(trial, policy).total == 1
    trial.create("parcel", key="a")


def test_what_was_done_once_is_not_done_again_for_another(trial: Trial, policy: Policy) -> None:
    from interlock.engine import effects

    def post(key: str | None) -> None:
        claim = claim_one(trial)
        made = trial.write(lambda unit: effects.intend(unit, claim, "post", {}, key=key))
        trial.write(lambda unit: effects.sent(unit, claim, made.id))
        trial.write(lambda unit: effects.settle(unit, made.id, "confirmed", answer={"to": "ann"}, actor=ACTOR))
        trial.finish(claim, Go("dropped"))

    for key in ("order-7", None):
        trial.create("parcel")
        post(key)
    trial.clock.advance(91 * DAY)
    report = run(trial, policy)
    assert report.total == 2
    assert [line["effect"][0]["answer"] for line in archived(report)] == ['{"to":"ann"}'] * 2
    trial.create("parcel")
    with pytest.raises(EffectKeyReused, match="'order-7' belongs to another instance"):
        post("order-7")
    left = trial.engine.read(lambda conn: conn.execute(sa.select(t.effect.c.key, t.effect.c.answer)).all())
    assert [tuple(row) for row in left] == [("order-7", None)]


def test_the_counts_by_state_stay_right(trial: Trial, policy: Policy) -> None:
    def counts() -> dict[str, int]:
        while trial.write(rollups.roll):
            pass
        C = s.state_count
        rows = trial.engine.read(lambda conn: conn.execute(sa.select(C.c.machine, C.c.state, C.c.n)).all())
        return {f"{row.machine}/{row.state}": row.n for row in rows if row.n}

    for _ in range(3):
        read_page(trial)
    assert counts() == {"page/read": 3}
    trial.clock.advance(91 * DAY)
    read_page(trial)
    report = run(trial, policy)
    assert report.instances == {"page": 3}
    assert counts() == {"page/read": 1}


def test_what_is_not_added_up_yet_waits_for_it(trial: Trial, policy: Policy) -> None:
    read_page(trial)
    trial.write(rollups.roll)
    read_page(trial)
    trial.clock.advance(91 * DAY)
    report = run(trial, policy)
    assert (report.total, report.held_back) == (1, {"its history is not added up yet": 1})
    trial.write(rollups.roll)
    assert run(trial, policy).total == 1


def test_contents_that_nobody_refers_to_any_more_go_too(trial: Trial, policy: Policy) -> None:
    it = read_page(trial)
    trial.engine.keep_artifact(it, "scan", b"the scan", media_type="text/plain")
    trial.clock.advance(91 * DAY)
    report = run(trial, policy)
    [line] = archived(report)
    assert [(one["name"], one["size"]) for one in line["artifact"]] == [("scan", 8)]
    assert count(trial, t.artifact) == 0


# -- the proof


def test_the_archive_has_all_and_proves_itself(trial: Trial, policy: Policy) -> None:
    it = read_page(trial)
    before = trial.get(it)
    trial.clock.advance(91 * DAY)
    report = run(trial, policy)
    [path] = report.files
    [line] = archived(report)
    assert (line["instance"]["id"], line["instance"]["data"]) == (str(it), before.stored_data)
    assert [row["kind"] for row in line["history"]] == ["created", "moved"]
    assert path.stat().st_mode & 0o777 == 0o600
    verdicts = list(archive.verify(path, trial.engine.store))
    assert [(one.instances, one.rows, one.problems) for one in verdicts] == [(1, 2, ())]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b'"state":"read"', b'"state":"open"', "replayed it is in 'read'"),
        (b'\\"words\\":12', b'\\"words\\":13', "the payload of seq 2 was changed"),
        (b'"kind":"moved"', b'"kind":"saved"', "does not follow from the row before it"),
        (b'"depth":0', b'"depth":1', "remembers another line"),
    ],
)
def test_a_line_that_was_changed_is_found(
    trial: Trial, policy: Policy, tmp_path: Path, old: bytes, new: bytes, problem: str
) -> None:
    read_page(trial)
    trial.clock.advance(91 * DAY)
    [path] = run(trial, policy).files
    text = gzip.decompress(path.read_bytes())
    assert text.count(old) >= 1
    (tmp_path / "changed.jsonl.gz").write_bytes(gzip.compress(text.replace(old, new)))
    found = list(archive.verify(tmp_path / "changed.jsonl.gz", trial.engine.store))
    assert problem in str(found[0].problems)


def test_a_file_that_was_cut_off_is_found(trial: Trial, policy: Policy) -> None:
    read_page(trial)
    trial.clock.advance(91 * DAY)
    [path] = run(trial, policy).files
    path.write_bytes(path.read_bytes()[:-9])
    assert "damaged or was cut off" in str([one.problems for one in archive.verify(path)])


def test_a_folder_that_cannot_be_written_to_keeps_everything(trial: Trial, tmp_path: Path) -> None:
    it = read_page(trial)
    trial.clock.advance(91 * DAY)
    (tmp_path / "file").touch()
    with pytest.raises(archive.CannotArchive, match="nothing was removed"):
        run(trial, Policy(tmp_path / "file" / "folder", span(DAY)))
    assert trial.state(it) == "read"
    [row] = trial.engine.read(lambda conn: conn.execute(sa.select(retention_tables.retention_run)).all())
    assert "cannot write" in row.error


def test_a_run_is_written_down(trial: Trial, policy: Policy) -> None:
    read_page(trial)
    trial.clock.advance(91 * DAY)
    report = run(trial, policy)
    [row] = trial.engine.read(lambda conn: conn.execute(sa.select(retention_tables.retention_run)).all())
    assert (row.instances, json.loads(row.files)) == (1, [path.name for path in report.files])


def test_one_process_does_it_at_a_time(trial: Trial, policy: Policy) -> None:
    read_page(trial)
    trial.clock.advance(91 * DAY)
    held = trial.engine.leases.take(LEASE, "another", DAY)
    assert "held by another" in run(trial, policy).busy
    trial.engine.leases.release(held)
    assert run(trial, policy).total == 1


# -- rows that are kept by their age alone


def test_rows_of_other_tables_go_by_age(trial: Trial, tmp_path: Path) -> None:
    def fill(unit: Unit) -> None:
        sent = unit.insert(
            t.outbox,
            channel="mail",
            recipient="ann",
            subject="",
            body="",
            status="delivered",
            at=unit.now,
            settled_at=unit.now,
        )
        unit.insert(s.delivery, outbox_id=sent, at=unit.now, took=1, outcome="delivered", detail="")
        unit.insert(t.outbox, channel="mail", recipient="bob", subject="", body="", status="waiting", at=unit.now)
        unit.insert(s.action, actor="user:ann", what="login", target="ann", at=unit.now)
        for status, closed in (("closed", unit.now), ("open", None)):
            unit.insert(
                s.alert,
                rule="r",
                status=status,
                sentence="",
                value=1.0,
                threshold=1.0,
                opened_at=unit.now,
                seen_at=unit.now,
                closed_at=closed,
            )

    trial.write(fill)
    wanted = RetentionSettings(messages="30d", alerts="30d", actions="30d", answers="30d")
    policy = Policy.of(Settings(data=tmp_path, retention=wanted))
    trial.clock.advance(29 * DAY)
    assert run(trial, policy).total == 0
    trial.clock.advance(2 * DAY)
    plan = Retention(trial.engine, policy).plan().rows
    report = run(trial, policy)
    assert report.rows == {"delivery": 1, "outbox": 1, "alert": 1, "action": 1}
    assert +plan == report.rows
    assert (count(trial, t.outbox), count(trial, s.alert), count(trial, s.action)) == (1, 1, 0)
    assert sorted(line["table"] for line in archived(report)) == ["action", "alert", "delivery", "outbox"]


@pytest.mark.parametrize("age", ["90", "d", "0d", "-1d", "90 d", "1m", ""])
def test_an_age_is_a_number_and_a_unit(age: str) -> None:
    with pytest.raises(ValueError, match="such as 12h, 90d, 26w or 7y, or never"):
        length(age)


def test_ages_are_read() -> None:
    assert [length(age) for age in ("12h", "2w", "1y", "never")] == [DAY / 2, 14 * DAY, 365 * DAY, None]


# -- beside the load


def test_a_worker_does_it_by_itself(trial: Trial, tmp_path: Path) -> None:
    old = read_page(trial)
    trial.clock.advance(91 * DAY)
    settings = Settings(data=tmp_path, retention=RetentionSettings(default="90d", every=5))
    keeper = Keeper(trial.engine, settings)
    assert (keeper.pause, keeper.once()) == (300, False)
    with pytest.raises(NotFound, match="was removed"):
        trial.get(old)
    assert "keeper" in [loop.name for loop in working(trial.engine, settings)]


def test_a_run_that_is_asked_to_stop_stops_after_a_batch(trial: Trial, policy: Policy) -> None:
    trial.engine.create_many("page", [{} for _ in range(250)])
    for claim in trial.claim(250):
        trial.finish(claim, Go("read"))
    trial.clock.advance(91 * DAY)
    rests: list[float] = []
    report = Retention(trial.engine, policy).run(stopping=lambda: len(rests) > 0, rest=rests.append)
    assert (report.instances, len(rests)) == ({"page": 200}, 1)
    assert trial.engine.leases.find(LEASE) is None


def test_a_look_reads_by_an_index_and_stops_where_all_is_young(trial: Trial, policy: Policy) -> None:
    for _ in range(3):
        read_page(trial)
    trial.clock.advance(89 * DAY)
    now = trial.clock.now()
    [scope] = trial.engine.read(lambda conn: scopes(conn, policy, now))
    assert (scope.machine, scope.state) == ("page", "read")
    found = trial.engine.read(lambda conn: find_candidates(conn, scope, None, limit=2))
    assert (found.ready, found.last) == ((), None)
    seen: list[str] = []
    how = "EXPLAIN" if trial.engine.store.dialect == "postgresql" else "EXPLAIN QUERY PLAN"

    def explain(conn: sa.Connection) -> None:
        if conn.dialect.name == "postgresql":
            conn.exec_driver_sql("SET LOCAL enable_seqscan = off")
            conn.exec_driver_sql("SET LOCAL enable_sort = off")

        @sa.event.listens_for(conn, "before_cursor_execute", retval=True)
        def prefix(_c: Any, _cur: Any, statement: str, parameters: Any, *_: Any) -> Any:
            if "FROM instance" in statement and "ORDER BY instance.state" in statement:
                raw = conn.connection.cursor()
                raw.execute(f"{how} {statement}", parameters)
                seen.append(str(raw.fetchall()))
            return statement, parameters

        find_candidates(conn, scope, None)

    trial.engine.read(explain)
    assert "ix_instance_state" in seen[0]


def test_what_works_or_waits_is_not_looked_through(trial: Trial, policy: Policy) -> None:
    read_page(trial)
    for name in ("page", "parcel"):
        trial.create(name)
    trial.clock.advance(91 * DAY)
    found = trial.engine.read(lambda conn: scopes(conn, policy, trial.clock.now()))
    assert [(scope.machine, scope.state) for scope in found] == [("page", "read")]


def test_what_ended_where_others_go_on_by_now_goes_too(store: Store, policy: Policy) -> None:
    """A later version waits in the state in which the one before it ended."""

    def leaf(brown: State, *more: Transition) -> Machine:
        return Machine(
            "leaf",
            initial="green",
            states=[State("green", WAITING, waits_for="autumn"), brown, State("gone", FINAL)],
            transitions=[
                Transition("green", "brown", on="turn", by=USER),
                Transition("green", "gone", on="eat", by=USER),
                *more,
            ],
        )

    first = leaf(State("brown", FINAL))
    second = leaf(State("brown", WAITING, waits_for="a wind"), Transition("brown", "gone", on="blow", by=USER))
    clock = VirtualClock()
    earlier = Engine(store, [first], clock=clock)
    ended = earlier.create("leaf").id
    earlier.fire(ended, "turn", actor=OWNER)
    with Trial([second], store=store, start=clock.time) as later:
        waits = later.create("leaf")
        later.engine.fire(waits, "turn", actor=OWNER)
        later.clock.advance(91 * DAY)
        assert run(later, policy).instances == {"leaf": 1}
        assert later.state(waits) == "brown"
        with pytest.raises(NotFound):
            later.get(ended)


# -- a crash


def victim(url: str, folder: str, now: int, point: str) -> None:
    def die(reached: str) -> None:
        if reached == point:
            os.kill(os.getpid(), signal.SIGKILL)

    failpoints.hook = die
    clock = VirtualClock()
    clock.set(now)
    with open_store(url, wakeup="poll") as store:
        Retention(Engine(store, [PAGE], clock=clock), Policy(Path(folder), span(90 * DAY))).run()


@pytest.mark.soak  # the acceptance tests kill a process at the same points
@pytest.mark.parametrize("point", ["retain:archived", "retain:before", "retain:after"])
def test_a_crash_at_any_point_loses_nothing(url: str, tmp_path: Path, point: str) -> None:
    folder = tmp_path / "archive"
    with open_store(url, wakeup="poll") as store, Trial([PAGE], store=store) as trial:
        ids = {str(read_page(trial, key=str(n))) for n in range(3)}
        trial.clock.advance(91 * DAY)
        process = multiprocessing.get_context("spawn").Process(
            target=victim, args=(url, str(folder), trial.clock.now(), point)
        )
        process.start()
        process.join(60)
        assert process.exitcode == -signal.SIGKILL
        assert (count(trial, I) == 0) == (point == "retain:after")
        assert trial.engine.verify().problems == ()
        trial.clock.advance(timedelta(minutes=6))  # the lease of the dead runs out
        run(trial, Policy(folder, span(90 * DAY)))
        assert count(trial, I) == 0
        found = [json.loads(line.text) for path in folder.iterdir() for line in archive.lines(path)]
        assert {line["instance"]["id"] for line in found} == ids
        removed = trial.engine.read(lambda conn: conn.execute(sa.select(P.c.export_digest)).scalars().all())
        lines = {
            archive.Record(UUID(int=1), 0, b"", line.text).digest
            for path in folder.iterdir()
            for line in archive.lines(path)
        }
        assert {bytes(one) for one in removed} <= lines
        with pytest.raises(KeyTaken):
            trial.create("page", key="1")
