"""Values from outside: kept exactly, or refused at the door by name, place and remedy; never half of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa

from interlock.engine import InvalidData, Result, Unreadable, secrets, values
from interlock.engine.text import canonical
from interlock.machine import (
    FINAL,
    USER,
    WAITING,
    Actor,
    Again,
    Ask,
    Fail,
    Failures,
    Go,
    Machine,
    Message,
    Outcome,
    Review,
    Rule,
    Spawn,
    State,
    Transition,
)
from interlock.store import Store, moment, open_store
from interlock.store import tables as t
from interlock.testing import Trial
from tests.support.forging import rechain, take_triggers_off
from tests.support.machines import trial_of

U = Actor(USER, "ann")
note = Machine(
    "note",
    initial="work",
    states=[
        State("work"),
        State("asked", WAITING, waits_for="ann", review=Review("Good?", decisions={"yes": "accept"})),
        State("done", FINAL),
    ],
    transitions=[
        Transition("work", "asked", on="ask"),
        Transition("asked", "asked", on="set", by=USER, accepts=("x", "y")),
        Transition("asked", "done", on="accept", by=USER, accepts=("x", "y")),
    ],
    failures=Failures(otherwise=Rule((Exception,), retries=0)),
).with_handlers({"work": lambda task: Go("asked")})
ODD = {"a NUL": "a\x00b", "half of a pair": "a\ud800b"}


@pytest.fixture
def trial(store: Store) -> Any:
    with trial_of(store, note) as made:
        yield made


def asked(trial: Trial, data: dict[str, Any] | None = None) -> Any:
    it = trial.create("note", data or {})
    [claim] = [one for one in trial.engine.claim(uuid4(), ["note"], 100) if one.id == it]
    assert trial.engine.finish([Result(claim, Go("asked"))]) == [True]
    return it


# -- to Python equal, to a reader not


PAIRS: list[tuple[Any, Any]] = [
    (1, True),
    (0, False),
    (1, 1.0),
    (0.0, -0.0),
    (True, 1),
    ([1, [0]], [1, [False]]),
    (2**70, float(2**70)),
    ({"a": {"b": 1}}, {"a": {"b": 1.0}}),
]


@pytest.mark.parametrize(("before", "after"), PAIRS, ids=[f"{a!r} to {b!r}" for a, b in PAIRS])
def test_a_value_that_only_python_takes_for_the_same_is_written(trial: Trial, before: Any, after: Any) -> None:
    it = asked(trial, {"x": before, "y": 1})
    trial.engine.fire(it, "set", actor=U, data={"x": after})
    found = trial.get(it).data["x"]
    assert repr(found) == repr(after)
    assert repr(trial.engine.history(it)[-1].payload["set"]) == repr({"x": after})
    assert repr(trial.engine.at(it, moment(trial.clock.now()) + timedelta(hours=1)).data["x"]) == repr(after)
    assert trial.engine.verify(it).problems == ()


def test_the_same_answer_again_is_the_same_only_if_json_says_so(trial: Trial) -> None:
    it = asked(trial)
    [review] = trial.engine.reviews.waiting(instance_id=it)
    trial.engine.reviews.decide(review.id, "yes", actor=U, answer={"x": 1})
    trial.engine.reviews.decide(review.id, "yes", actor=U, answer={"x": 1})
    with pytest.raises(Exception, match="was decided"):
        trial.engine.reviews.decide(review.id, "yes", actor=U, answer={"x": True})


KEPT = {
    "big": 2**70,
    "low": -(2**63) - 1,
    "2^53": 2**53 + 1,
    "f": 1e308,
    "tiny": 5e-324,
    "-0": -0.0,
    "e": 1e22,
    "t": "🦄é\u2028\x01",
}


def test_numbers_and_text_at_the_edge_are_kept_exactly(trial: Trial) -> None:
    it = trial.create("note", KEPT)
    assert {name: repr(value) for name, value in trial.get(it).data.items()} == {n: repr(v) for n, v in KEPT.items()}


# -- the doors


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_the_error_names_the_place_the_value_and_the_remedy(trial: Trial) -> None:
    with pytest.raises(InvalidData) as refusal:
        trial.create("note", {"tags": ["a", "b", {"odd name": "x" * 50 + "\x00" + "y" * 50}]})
    said = str(refusal.value)
    assert said.startswith("data.tags[2]['odd name'] has a NUL character at position 50")
    assert "remove it" in said
    assert len(said) < 300
    assert trial.engine.count().n == 0


def test_nesting_is_taken_up_to_its_limit_and_no_further(trial: Trial) -> None:
    it = trial.create("note", {"v": nested(values.DEEPEST - 1)})
    assert trial.get(it).data == {"v": nested(values.DEEPEST - 1)}
    with pytest.raises(InvalidData, match=f"is nested more than {values.DEEPEST} levels deep"):
        trial.create("note", {"v": nested(values.DEEPEST)})


Door = Callable[[Trial, str, Any], object]
DOORS: dict[str, Door] = {
    "key": lambda t, s, _: t.engine.create("note", {}, key=s),
    "workspace": lambda t, s, _: t.engine.create("note", {}, workspace=s),
    "queue": lambda t, s, _: t.engine.create("note", {}, queue=s),
    "host": lambda t, s, _: t.engine.create("note", {}, host=s),
    "label": lambda t, s, _: t.engine.create("note", {}, labels={"a": s}),
    "label's name": lambda t, s, _: t.engine.create("note", {}, labels={s: "a"}),
    "find": lambda t, s, _: t.engine.find("note", s),
    "event": lambda t, s, it: t.engine.fire(it, s, actor=U),
    "reason": lambda t, s, it: t.engine.pause(it, actor=U, reason=s),
    "force": lambda t, s, it: t.engine.fire(it, "set", actor=U, reason=s),
    "halt": lambda t, s, _: t.engine.halts.halt("note", actor=U, reason=s),
    "lease": lambda t, s, _: t.engine.leases.take(s, "me", timedelta(1)),
    "holder": lambda t, s, _: t.engine.leases.take("it", s, timedelta(1)),
    "lease to find": lambda t, s, _: t.engine.leases.find(s),
    "artifact": lambda t, s, it: t.engine.keep_artifact(it, s, b"x", media_type="a/b"),
    "media type": lambda t, s, it: t.engine.keep_artifact(it, "x", b"x", media_type=s),
    "channel": lambda t, s, _: t.engine.outbox.put(s, "a", "b"),
    "recipient": lambda t, s, _: t.engine.outbox.put("a", s, "b"),
    "subject": lambda t, s, _: t.engine.outbox.put("a", "b", s),
    "message's workspace": lambda t, s, _: t.engine.outbox.put("a", "b", workspace=s),
    "decision": lambda t, s, it: t.engine.reviews.decide(_review(t, it), s, actor=U),
    "reason of a decision": lambda t, s, it: t.engine.reviews.decide(_review(t, it), "yes", actor=U, reason=s),
    "bulk": lambda t, s, _: t.engine.bulk.start("instances", "pause", {"machine": "note"}, actor=U, reason=s),
}
DATA_DOORS: dict[str, Door] = {
    "data": lambda t, s, _: t.engine.create("note", {"x": [s]}),
    "name of a field": lambda t, s, _: t.engine.create("note", {"x": {s: 1}}),
    "data of an event": lambda t, s, it: t.engine.fire(it, "set", actor=U, data={"x": s}),
    "body": lambda t, s, _: t.engine.outbox.put("a", "b", "c", {"x": s}),
    "answer": lambda t, s, it: t.engine.reviews.decide(_review(t, it), "yes", actor=U, answer={"x": s}),
    "filter": lambda t, s, _: t.engine.bulk.start("instances", "pause", {"machine": s}, actor=U),
}


def _review(trial: Trial, it: Any) -> Any:
    return trial.engine.reviews.waiting(instance_id=it)[0].id


def counted(trial: Trial) -> tuple[int, int]:
    return trial.engine.count().n, sum(len(trial.engine.history(i.id)) for i in trial.engine.page().instances)


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("door", [*DOORS, *DATA_DOORS])
def test_no_door_lets_through_what_no_database_keeps(trial: Trial, door: str) -> None:
    it = asked(trial)
    before = counted(trial)
    for odd in ODD.values():
        with pytest.raises(InvalidData):
            {**DOORS, **DATA_DOORS}[door](trial, odd, it)
    if door in DOORS:
        for long in ("x" * 100_000, "é" * 12_000):
            with pytest.raises(InvalidData):
                DOORS[door](trial, long, it)
    assert counted(trial) == before


def test_a_key_as_long_as_is_allowed_fits_into_every_index(trial: Trial) -> None:
    import random

    letters = [chr(n) for n in range(0x4E00, 0x9FFF)]
    key = "".join(random.Random(1).choices(letters, k=values.KEY // 3))  # what no database can compress
    it = trial.create("note", key=key, workspace="w" * values.NAME)
    assert trial.engine.find("note", key, workspace="w" * values.NAME).id == it  # type: ignore[union-attr]
    trial.engine.leases.take(key, key, timedelta(1))


OUTCOMES: dict[str, Callable[[str], Outcome]] = {
    "data": lambda s: Go("asked", data={"x": s}),
    "a field": lambda s: Go("asked", data={s: 1}),
    "a reason": lambda s: Go("asked", reason=s),
    "a message": lambda s: Go("asked", messages=(Message("a", "b", "c", {"x": s}),)),
    "a channel": lambda s: Go("asked", messages=(Message(s, "b"),)),
    "a child": lambda s: Go("asked", spawn=(Spawn("note", {"x": s}),)),
    "a child's key": lambda s: Go("asked", spawn=(Spawn("note", key=s),)),
    "a question": lambda s: Go("asked", asks=(Ask(s, Review("Well?", decisions={"ok": ""})),)),
    "a title": lambda s: Go("asked", asks=(Ask("q", Review(s, decisions={"ok": ""})),)),
    "evidence": lambda s: Go("asked", asks=(Ask("q", Review("Well?", decisions={"ok": ""}), {"x": s}),)),
    "again": lambda s: Again(timedelta(0), data={"x": s}, reason=s),
    "a state": lambda s: Go(s),
    "an error": lambda s: Fail(RuntimeError(s)),
}


@pytest.mark.parametrize("what", OUTCOMES)
def test_an_outcome_that_cannot_be_kept_fails_its_step_and_nothing_beside_it(trial: Trial, what: str) -> None:
    for odd in ODD.values():
        fails(trial, OUTCOMES[what](odd))


def fails(trial: Trial, outcome: Outcome) -> None:
    bad, good = trial.create("note"), trial.create("note")
    claims = {claim.id: claim for claim in trial.engine.claim(uuid4(), ["note"], 2)}
    assert trial.engine.finish([Result(claims[bad], outcome), Result(claims[good], Go("asked"))]) == [True, True]
    assert (trial.state(bad), trial.state(good)) == ("work", "asked")
    [letter] = trial.engine.dead_letters.find()
    assert letter.instance_id == bad
    trial.engine.dead_letters.resolve(letter.id, actor=U)
    assert trial.engine.verify().problems == ()


# -- secrets


def test_a_secret_is_hidden_in_values_and_never_in_their_json(trial: Trial) -> None:
    secrets.learn(["t0psecret", "123456789"])
    try:
        it = trial.create(
            "note", {"note": "column\t0psecret", "n": 123456789, "own": "it is t0psecret.", "t": "123456789"}
        )
        assert trial.engine.verify(it).problems == ()
        found = trial.engine.get(it).data
        assert found == {"note": "column\t0psecret", "n": 123456789, "own": "it is [hidden].", "t": "[hidden]"}
        assert canonical({"t0psecret": 1, "123456789": 2}) == '{"[hidden]":2,"[hidden]*":1}'
    finally:
        secrets.forget()


# -- reading


@pytest.mark.parametrize("stored", ["", "{", "null", "[1]", "7", '"x"', None, '{"a":' * 500 + "1" + "}" * 500])
def test_what_cannot_be_read_says_so(stored: str | None) -> None:
    assert isinstance(values.readable(stored), values.Unreadable)


def test_what_cannot_be_shown_is_spelled_out() -> None:
    assert values.readable('{"a":"\\ud800","b":NaN,"c":-1e999}') == {"a": "\\ud800", "b": "nan", "c": "-inf"}


def test_data_that_cannot_be_read_is_used_for_nothing_and_replaced_by_nothing(trial: Trial) -> None:
    it = asked(trial, {"x": 1})
    trial.engine.store.write(lambda conn: conn.execute(sa.text("UPDATE instance SET data = '{broken'")))
    with pytest.raises(Unreadable, match="mend its row"):
        trial.engine.fire(it, "set", actor=U, data={"x": 2})
    assert trial.engine.page().instances[0].shown_data["unreadable"]
    trial.engine.store.write(lambda conn: conn.execute(sa.text("UPDATE instance SET data = '{\"x\"\\:1}'")))


@pytest.mark.parametrize(
    "old", ['{"x":"\\ud800"}', '{"x":' * 150 + "1" + "}" * 150, '{"x":NaN}'], ids=["half of a pair", "deep", "NaN"]
)
def test_what_older_versions_have_kept_is_no_change_to_the_audit(store: Store, old: str) -> None:
    trial = Trial([note], store=store)
    it = trial.create("note", {"x": "here"})

    def as_then(conn: sa.Connection) -> None:
        take_triggers_off(conn)
        H, I = t.history, t.instance  # noqa: E741
        said = conn.execute(sa.select(H.c.payload).where(H.c.instance_id == it)).scalar_one()
        for table, column, text in ((H, "payload", said.replace('{"x":"here"}', old)), (I, "data", old)):
            whose = table.c.instance_id if table is H else table.c.id
            conn.execute(sa.update(table).where(whose == it).values({column: text}))
        rechain(conn, it)

    trial.engine.store.schema(as_then)
    assert trial.engine.verify().problems == ()
    changed = sa.update(t.instance).values(data=old.replace("x", "y", 1))
    trial.engine.store.write(lambda conn: conn.execute(changed) and None)
    assert trial.engine.verify().problems


# -- bytes that are no text


@pytest.fixture
def on_sqlite(sqlite_url: str) -> Iterator[Trial]:
    with open_store(sqlite_url) as store, Trial([note], store=store) as made:
        yield made


BYTES = b'{"x":"\xff"}'
COLUMNS = ("data", "labels", "key", "last_error", "failures", "holder", "state", "queue", "trace_id", "blocked_on")


@pytest.mark.parametrize("column", COLUMNS)
def test_bytes_that_are_no_text_hold_up_no_row_beside_them(on_sqlite: Trial, column: str) -> None:
    trial = on_sqlite
    bad, good = trial.create("note", {"x": 1}), trial.create("note", {"x": 2})
    value = sa.cast(sa.literal(BYTES, sa.LargeBinary), sa.Text)
    wrong = sa.update(t.instance).where(t.instance.c.id == bad)
    trial.engine.store.write(
        lambda conn: conn.execute(wrong.values({sa.literal_column(column): sa.type_coerce(value, sa.Text)})) and None
    )
    shown = {one.id: one for one in trial.engine.page().instances}
    assert shown.keys() == {bad, good}
    assert shown[good].shown_data == {"x": 2}
    if column == "data":
        assert "unreadable" in shown[bad].shown_data
        with pytest.raises(Unreadable):
            _ = shown[bad].data
    trial.run_until_idle()
    assert trial.state(good) == "asked"
    assert trial.engine.store.read(lambda conn: conn.connection.dbapi_connection.text_factory) is str  # type: ignore[union-attr]
