"""Erasing: a person's data goes from everywhere, the chain still verifies, and the report says what could not go."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.engine import InvalidData, KeyTaken, NotFinished, NotFound, effects
from interlock.engine.retention.erasing import Erased, Erasing, find
from interlock.engine.retention.policies import Policy, Retention
from interlock.machine import OWNER, Actor, Ask, EffectKeyReused, Fail, Go, KeyScope, Message, Review
from interlock.store import Store, span
from interlock.store import service_tables as s
from interlock.store import tables as t
from interlock.testing import Trial
from tests.support.databases import all_tables
from tests.support.effects_and_reviews import parcel
from tests.support.machines import ask_a_model, by_hand, claim_one, do, page, trial_of

CHIEF = Actor(OWNER, "chief")
ANN = "ann@example.org"
PAGE = page(key=KeyScope.FOREVER)
H, I, P = t.history, t.instance, t.purge  # noqa: E741


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, PAGE, by_hand(parcel)) as trial:
        yield trial


def anns(trial: Trial, **options: Any) -> UUID:
    """A page with Ann's address wherever one can be, that has ended."""
    it = trial.create("page", {"from": ANN, "text": "x" * 2000}, labels={"for": ANN}, **options)
    claim = claim_one(trial)
    made = trial.write(lambda unit: effects.intend(unit, claim, "post", {}, key=f"to-{ANN}-{it}"))
    trial.write(lambda unit: effects.sent(unit, claim, made.id))
    trial.write(lambda unit: effects.settle(unit, made.id, "confirmed", answer={"to": ANN}, actor=CHIEF))
    trial.engine.keep_artifact(it, "letter", f"Dear {ANN} {it}".encode(), media_type="text/plain")
    asks = (Ask("odd", Review("Odd?", {"noted": ""}), {"who": ANN}),)
    said = (Message("mail", ANN, "hello", {"to": ANN}),)
    trial.finish(claim, Go("read", data={"who": ANN}, reason=f"asked by {ANN}", messages=said, asks=asks))

    trial.write(partial(ask_a_model, it=it, about=ANN))
    return it


def everything(trial: Trial) -> dict[str, str]:
    """All that is in the database, by table, as one text."""

    def read(conn: sa.Connection) -> dict[str, str]:
        return {
            table.name: "\n".join(
                str(bytes(value) if isinstance(value, memoryview) else value)
                for row in conn.execute(sa.select(table))
                for value in row
            )
            for table in all_tables()
        }

    return trial.engine.read(read)


def places(trial: Trial, value: str = ANN) -> set[str]:
    return {name for name, text in everything(trial).items() if value in text}


def erase(trial: Trial, value: str = ANN, **options: Any) -> Erased:
    *_, report = Erasing(trial.engine, CHIEF, "asked to be forgotten", **options).every(value)
    return report


def test_a_value_is_gone_from_every_table_and_the_chain_still_verifies(trial: Trial) -> None:
    it = anns(trial, key=f"page of {ANN}")
    assert places(trial) >= {
        "instance",
        "instance_data",
        "history",
        "review",
        "outbox",
        "effect",
        "ai_call",
        "artifact",
    }
    report = erase(trial)
    assert places(trial) == set()
    assert report.instances == [it]
    assert (report.at_work, report.shared, report.stays) == ([], [], {})
    assert set(report.what) == {"history", "review", "outbox", "ai_call", "ai_answer", "artifact_ref", "artifact"}
    assert trial.engine.verify().problems == ()


def test_the_history_says_who_erased_and_why_and_keeps_what_happened(trial: Trial) -> None:
    it = anns(trial)
    before = [(row.kind, row.from_state, row.to_state, row.actor, row.at) for row in trial.engine.history(it)]
    erase(trial)
    *rows, last = trial.engine.history(it)
    assert [(row.kind, row.from_state, row.to_state, row.actor, row.at) for row in rows] == before
    assert all(row.erased for row in rows)
    assert (last.kind, last.actor, last.payload["reason"]) == ("erased", "owner:chief", "asked to be forgotten")
    assert "owner:chief: asked to be forgotten" in trial.get(it).data["erased"]
    [row] = trial.engine.read(lambda conn: conn.execute(sa.select(P).where(P.c.instance_id == it)).all())
    assert (row.kind, row.upto_seq, row.actor) == ("payloads", last.seq - 1, "owner:chief")
    assert "erase" in everything(trial)["action"]


def test_others_are_left_alone(trial: Trial) -> None:
    anns(trial)
    other = trial.create("page", {"from": "bob@example.org"})
    do(trial, Go("read"))
    before = trial.get(other)
    erase(trial)
    assert trial.get(other) == before


@pytest.mark.parametrize("value", ["ANN@Example.ORG", "ann@ex"])
def test_letters_may_be_of_another_case_and_a_part_will_do(trial: Trial, value: str) -> None:
    it = anns(trial)
    assert [one for part in find(trial.engine, value) for one in part] == [it]


@pytest.mark.parametrize("value", ['Ann "the\\pen" O%_Neil', "Zoë Übermut"])
def test_a_value_is_found_as_json_writes_it(trial: Trial, value: str) -> None:
    it = trial.create("page", {"from": value})
    trial.create("page", {"from": "Ann the pen O'Neil"})
    assert [one for part in find(trial.engine, value) for one in part] == [it]


def test_a_value_that_would_be_found_everywhere_is_refused(trial: Trial) -> None:
    with pytest.raises(InvalidData, match="too short to search for"):
        list(find(trial.engine, "an "))


def test_what_is_under_way_keeps_its_data_and_is_named(trial: Trial) -> None:
    it = trial.create("page", {"from": ANN})
    report = erase(trial)
    assert (report.instances, report.at_work) == ([], [it])
    assert trial.data(it) == {"from": ANN}
    with pytest.raises(NotFinished, match="is in 'open' and has not ended"):
        Erasing(trial.engine, CHIEF, "asked").one(it)


def test_a_dry_run_says_the_same_and_writes_nothing(trial: Trial) -> None:
    it, working = anns(trial), trial.create("page", {"from": ANN})
    before = everything(trial)
    *_, report = Erasing(trial.engine, CHIEF, "asked").every(ANN, dry_run=True)
    assert (report.instances, report.at_work) == ([it], [working])
    assert everything(trial) == before


def test_one_instance_is_erased_by_its_id_and_keeps_its_key(trial: Trial) -> None:
    it = anns(trial, key="page 7")
    Erasing(trial.engine, CHIEF, "asked").one(it)
    assert trial.get(it).key == "page 7"
    assert places(trial) == {"effect"}  # its key, which keeps the thing from being done twice
    with pytest.raises(NotFound):
        Erasing(trial.engine, CHIEF, "asked").one(UUID(int=7))


def test_it_can_be_erased_again_after_more_has_happened(trial: Trial) -> None:
    it = anns(trial)
    erase(trial)
    trial.engine.keep_artifact(it, "late", f"to {ANN}".encode(), media_type="text/plain")
    assert erase(trial).instances == [it]
    assert places(trial) == set()
    assert trial.engine.verify().problems == ()


def test_a_key_that_was_erased_stays_taken(trial: Trial) -> None:
    it = anns(trial, key=ANN)
    erase(trial)
    with pytest.raises(KeyTaken) as refusal:
        trial.create("page", key=ANN)
    assert refusal.value.existing == it
    trial.create("page", key="bob@example.org")


def test_an_effect_whose_key_was_erased_is_not_done_again(trial: Trial) -> None:
    it = anns(trial)
    erase(trial)
    trial.create("parcel")
    claim = claim_one(trial)
    with pytest.raises(EffectKeyReused, match=f"belongs to another instance, {it}"):
        trial.write(lambda unit: effects.intend(unit, claim, "post", {}, key=f"to-{ANN}-{it}"))
    trial.finish(claim, Go("dropped"))


def test_a_message_that_waits_is_not_sent_any_more(trial: Trial) -> None:
    anns(trial)
    erase(trial)
    status = trial.engine.read(lambda conn: conn.execute(sa.select(t.outbox.c.status)).scalars().all())
    assert status == ["discarded"]


def test_an_artifact_that_others_have_too_stays_for_them_and_is_named(trial: Trial) -> None:
    first, second = anns(trial), trial.create("page")
    kept = [trial.engine.keep_artifact(one, "same", b"the same", media_type="text/plain") for one in (first, second)]
    report = erase(trial)
    assert report.shared == [kept[0]]
    assert [one.name for one in trial.engine.artifacts(second)] == ["same"]
    assert trial.engine.artifact(second, kept[0]) == b"the same"


def test_an_artifact_that_only_the_erased_had_is_gone_and_not_named(trial: Trial) -> None:
    both = [anns(trial), anns(trial)]
    digests = {trial.engine.keep_artifact(one, "same", b"the same", media_type="text/plain") for one in both}
    assert erase(trial).shared == []
    with pytest.raises(NotFound, match="has no artifact"):
        trial.engine.artifact(both[0], digests.pop())
    left = sa.select(sa.func.count()).select_from(t.artifact)
    assert trial.engine.read(lambda conn: conn.execute(left).scalar_one()) == 0


def test_what_lies_in_dead_letters_goes_too(trial: Trial) -> None:
    trial.create("parcel", {"to": ANN})
    for _ in range(4):
        trial.clock.advance(timedelta(minutes=2))
        trial.engine.tick()
        it = do(trial, Fail(ValueError(f"{ANN} is unknown"))).id
    trial.engine.force(it, "dropped", actor=CHIEF, reason="enough")
    assert "dead_letter" in places(trial)
    erase(trial)
    assert places(trial) == set()
    [letter] = trial.engine.dead_letters.find()
    assert (letter.error["message"], letter.data) == ("its message was erased", {})


@pytest.mark.parametrize(("reason", "refused"), [("", "give a reason"), (f"{ANN} asked", "contains the value")])
def test_a_reason_is_needed_and_must_not_have_the_value_in_it(trial: Trial, reason: str, refused: str) -> None:
    anns(trial)
    with pytest.raises(InvalidData, match=refused):
        list(Erasing(trial.engine, CHIEF, reason).every(ANN))


def test_where_it_still_is_is_reported(trial: Trial, tmp_path: Path) -> None:
    it = anns(trial)
    trial.engine.keep_artifact(it, "by", b"", media_type="text/plain", actor=Actor(OWNER, ANN))
    trial.write(lambda unit: unit.insert(s.person, name="ann", email=ANN, created_at=unit.now))
    gone = trial.create("page", {"from": ANN})
    do(trial, Go("read"))
    trial.clock.advance(timedelta(days=91))
    folder = tmp_path / "archives"
    [path] = Retention(trial.engine, Policy(folder, span(timedelta(days=90)))).run().files
    report = erase(trial, archives=folder)
    assert report.stays == {"person": 1, "history.actor": 1}
    assert report.archives == {str(path): [str(gone)]}


def test_an_erased_instance_is_archived_and_removed_like_any_other(trial: Trial, tmp_path: Path) -> None:
    it = anns(trial)
    for review in trial.engine.reviews.waiting():
        trial.engine.reviews.decide(review.id, "noted", actor=CHIEF)
    erase(trial)
    trial.clock.advance(timedelta(days=91))
    report = Retention(trial.engine, Policy(tmp_path, span(timedelta(days=90)))).run()
    assert report.instances == {"page": 1}
    from interlock.engine.retention import archive

    [path] = report.files
    assert [one.problems for one in archive.verify(path, trial.engine.store)] == [()]
    [line] = archive.lines(path)
    assert (json.loads(line.text)["instance"]["id"], ANN in line.text.decode()) == (str(it), False)
