"""Artifacts: big values by content hash, stored once, and proven to be what was kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.engine import Engine, Fenced, InvalidData, NotFound, artifacts
from interlock.engine.artifacts import Artifact
from interlock.machine import Go
from interlock.store import Store, open_store
from interlock.store import tables as t
from interlock.testing import Trial
from tests.support.effects_and_reviews import ANN, at_work, parcel
from tests.support.racing import together

PAGE = b"<html>a posting</html>"


def _packed(_: Any) -> Go:
    return Go("posting")


MACHINE = parcel.with_handlers({"packing": _packed, "posting": _packed})


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with Trial([MACHINE], store=store) as trial:
        yield trial
        # Some forget and change artifacts behind the engine's back, and verifying says so.
        assert [
            answer for answer in trial.engine.verify().problems if "artifact" not in answer and "is gone" not in answer
        ] == []


def kept(trial: Trial, instance_id: UUID, content: bytes, name: str = "page") -> str:
    return trial.engine.keep_artifact(instance_id, name, content, media_type="text/html", actor=ANN)


def contents(engine: Engine) -> int:
    return engine.read(lambda conn: conn.execute(sa.select(sa.func.count()).select_from(t.artifact)).scalar_one())


def forget(trial: Trial, instance_id: UUID) -> None:
    """The instance no longer refers to what it kept, as after retention."""
    gone = sa.delete(t.artifact_ref).where(t.artifact_ref.c.instance_id == instance_id)
    trial.engine.store.write(lambda conn: conn.execute(gone))


def test_content_is_kept_and_read_by_its_hash(trial: Trial) -> None:
    it = trial.create("parcel")
    digest = kept(trial, it, PAGE)
    assert digest == hashlib.sha256(PAGE).hexdigest()
    assert trial.engine.artifact(it, digest) == PAGE


def test_one_instance_does_not_read_what_another_keeps(trial: Trial) -> None:
    first, second = trial.create("parcel"), trial.create("parcel", workspace="north")
    digest = kept(trial, first, PAGE)
    with pytest.raises(NotFound, match=f"instance {second} has no artifact {digest}"):
        trial.engine.artifact(second, digest)
    kept(trial, second, PAGE)  # it has the content itself now
    assert trial.engine.artifact(second, digest) == PAGE


def test_an_instance_lists_what_it_kept_with_a_history_row_each(trial: Trial) -> None:
    it = trial.create("parcel")
    digest = kept(trial, it, PAGE)
    assert trial.engine.artifacts(it) == [
        Artifact("page", "text/html", digest, "", trial.clock.now(), len(PAGE)),
    ]
    row = trial.engine.history(it)[-1]
    assert (row.kind, row.actor) == ("artifact", "user:ann")
    [digest_of_row] = row.payload.pop("digests").values()
    assert len(digest_of_row) == 64
    assert row.payload == {"name": "page", "hash": digest, "size": len(PAGE), "type": "text/html"}


def test_a_handler_keeps_under_its_step_and_reads_the_newest_of_a_name(trial: Trial) -> None:
    it = trial.create("parcel")
    task = at_work(trial, trial.claim()[0])
    assert task.artifact("page") is None
    for number in range(20):
        task.keep("page", b"version %d" % number)
    assert task.artifact("page") == b"version 19"
    assert {one.step for one in trial.engine.artifacts(it)} == {"packing"}


def test_the_same_content_is_stored_once_whoever_keeps_it(trial: Trial) -> None:
    first, second = trial.create("parcel"), trial.create("parcel")
    assert kept(trial, first, PAGE) == kept(trial, second, PAGE, name="copy") == kept(trial, second, PAGE)
    assert contents(trial.engine) == 1
    assert [one.name for one in trial.engine.artifacts(second)] == ["copy", "page"]


def test_the_same_content_is_stored_once_though_many_keep_it_at_the_same_moment(trial: Trial) -> None:
    ids = [trial.create("parcel") for _ in range(8)]
    digest = hashlib.sha256(PAGE).hexdigest()
    assert together(8, lambda number: kept(trial, ids[number], PAGE)) == [digest] * 8
    assert contents(trial.engine) == 1
    assert all(trial.engine.artifacts(it)[0].hash == digest for it in ids)


def test_any_bytes_are_kept_as_they_are(trial: Trial) -> None:
    it = trial.create("parcel")
    for content in (b"", bytes(range(256)), b"\x00" * 100_000):
        assert trial.engine.artifact(it, kept(trial, it, content)) == content


def test_content_that_was_changed_in_the_database_is_not_given_out(trial: Trial) -> None:
    it = trial.create("parcel")
    digest = kept(trial, it, PAGE)
    trial.engine.store.write(lambda conn: conn.execute(sa.update(t.artifact).values(content=b"<html>forged</html>")))
    with pytest.raises(InvalidData, match=f"artifact {digest} was changed in the database"):
        trial.engine.artifact(it, digest)


def test_content_that_nobody_kept_is_not_found(trial: Trial) -> None:
    with pytest.raises(NotFound, match="has no artifact"):
        trial.engine.artifact(trial.create("parcel"), "0" * 64)


def test_an_artifact_of_no_instance_is_refused_and_nothing_is_stored(trial: Trial) -> None:
    with pytest.raises(NotFound, match="there is no instance"):
        kept(trial, UUID(int=1), PAGE)
    assert contents(trial.engine) == 0


def test_content_that_is_too_big_is_refused_with_its_size(trial: Trial) -> None:
    it = trial.create("parcel")
    with pytest.raises(InvalidData, match=r"'page' has 67,108,865 bytes, at most 67,108,864 fit"):
        kept(trial, it, bytes(artifacts.BIGGEST + 1))
    assert contents(trial.engine) == 0


def test_a_worker_that_lost_the_instance_keeps_nothing(trial: Trial) -> None:
    it = trial.create("parcel")
    task = at_work(trial, trial.claim()[0])
    trial.engine.pause(it, actor=ANN)
    with pytest.raises(Fenced):
        task.keep("page", PAGE)
    assert (contents(trial.engine), trial.engine.artifacts(it)) == (0, [])


def test_an_instance_that_takes_over_gets_the_same_artifacts_without_a_copy(trial: Trial) -> None:
    first, second = trial.create("parcel"), trial.create("parcel")
    kept(trial, first, PAGE)
    trial.write(lambda unit: artifacts.link_all(unit, first, second))
    assert trial.engine.artifacts(second) == trial.engine.artifacts(first)
    assert contents(trial.engine) == 1


def test_collecting_removes_what_no_instance_refers_to_and_nothing_else(trial: Trial) -> None:
    first, second = trial.create("parcel"), trial.create("parcel")
    shared, own = kept(trial, first, PAGE), kept(trial, first, b"only here")
    kept(trial, second, PAGE)
    assert trial.write(artifacts.collect) == 0
    forget(trial, first)
    assert trial.write(artifacts.collect) == 1
    assert trial.engine.artifact(second, shared) == PAGE
    assert contents(trial.engine) == 1
    with pytest.raises(NotFound):
        trial.engine.artifact(first, own)


def test_collecting_takes_no_more_at_once_than_its_batch(trial: Trial) -> None:
    it = trial.create("parcel")
    for number in range(5):
        kept(trial, it, b"%d" % number)
    forget(trial, it)
    assert [trial.write(lambda unit: artifacts.collect(unit, limit=3)) for _ in range(3)] == [3, 2, 0]


def test_content_that_was_collected_can_be_kept_again(trial: Trial) -> None:
    it = trial.create("parcel")
    kept(trial, it, PAGE)
    forget(trial, it)
    trial.write(artifacts.collect)
    assert trial.engine.artifact(it, kept(trial, it, PAGE)) == PAGE


def test_collecting_leaves_alone_what_somebody_is_keeping_at_this_moment(postgres_url: str) -> None:
    """Only where two can write at once: the new reference is not committed yet, so the collector cannot see it."""
    with Trial([MACHINE], store=open_store(postgres_url, wakeup="poll")) as trial:
        first, second = trial.create("parcel"), trial.create("parcel")
        digest = kept(trial, first, PAGE)
        forget(trial, first)
        users_engine = sa.create_engine(postgres_url)
        with users_engine.begin() as conn:
            trial.engine.within(conn).keep_artifact(second, "page", PAGE, media_type="text/html")
            assert trial.write(artifacts.collect) == 0
        users_engine.dispose()
        assert trial.engine.artifact(second, digest) == PAGE
