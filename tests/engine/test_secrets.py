"""What is secret appears neither in the database nor in an error, and what looks like a secret is not shown."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from interlock.apps.sample import parcel
from interlock.engine import Engine, secrets, values
from interlock.engine.audit import replaying
from interlock.machine import FINAL, USER, WAITING, Actor, Go, Machine, Message, Outcome, State, Transition
from interlock.store import Store
from interlock.testing import Trial
from interlock.worker.task import Task
from tests.support.databases import all_tables

VALUE = 'sec"ret-Wert-äöü'


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    yield
    secrets.forget()


def leaky() -> Machine:
    machine = Machine(
        "leaky",
        initial="working",
        states=[State("working"), State("done", FINAL)],
        transitions=[Transition("working", "done", on="finish")],
    )

    @machine.work("working")
    def work(task: Task[dict[str, object]]) -> Outcome:
        value = task.secret("key")
        if task.attempt == 1:
            raise RuntimeError(f"the server did not like {value}")
        task.once("call", {"with": value}, lambda effect: f"echo {value}")
        task.progress(0.5, f"used {value}")
        return Go("done", data={"note": value}, reason=value, messages=(Message("mail", "a@b.c", value, {"a": value}),))

    return machine


def dump(store: Store) -> str:
    """Everything that the database has, as one text."""
    return store.read(
        lambda conn: "\n".join(str(tuple(row)) for table in all_tables() for row in conn.execute(sa.select(table)))
    )


def test_a_secret_that_a_handler_got_by_name_is_stored_nowhere(store: Store) -> None:
    with Trial([leaky()], store=store) as trial:
        trial.engine.core.secrets = {"key": VALUE}
        secrets.learn([VALUE])
        it = trial.create("leaky")
        trial.run_until_idle()
        trial.advance(hours=1)
        trial.run_until_idle()
        assert trial.state(it) == "done"
        assert trial.engine.get(it).data == {"note": "[hidden]"}
        everything = dump(store)
        assert "[hidden]" in everything
        assert "sec" + '"ret-Wert' not in everything
        assert 'sec\\\\"ret-Wert' not in everything
        assert trial.engine.verify().problems == ()


def test_an_engine_learns_the_secrets_that_it_is_given(store: Store) -> None:
    engine = Engine(store, [parcel], secrets={"key": VALUE})
    it = engine.create("parcel", {"content": VALUE}, actor=Actor(USER, "ann"))
    assert engine.get(it.id).data["content"] == "[hidden]"


def test_a_secret_that_is_not_there_is_asked_for_by_name(store: Store) -> None:
    with Trial([leaky()], store=store) as trial:
        it = trial.create("leaky")
        trial.run_until_idle()
        error = trial.engine.get(it).error
        assert error is not None
        assert error["type"] == "MissingSecret"
        assert "'key'" in error["message"]


def test_a_secret_of_digits_does_not_tear_a_number_out_of_the_data(store: Store) -> None:
    machine = Machine("plain", initial="done", states=[State("done", FINAL)], transitions=[])
    engine = Engine(store, [machine], secrets={"pin": "123456"})
    it = engine.create("plain", {"n": 91234567})
    assert engine.get(it.id).data == {"n": 91234567}
    assert secrets.hide("the pin is 123456") == "the pin is [hidden]"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Authorization: Bearer abcdefghijklmnop", "Authorization: Bearer [hidden]"),
        ("postgresql://ann:pass@db/x failed", "postgresql://ann:[hidden]@db/x failed"),
        ("got il_0123456789abcdefghij0123", "got [hidden]"),
        ("key sk-abcdefghijklmnopqrst!", "key [hidden]!"),
        ("ghp_abcdefghijklmnopqrstuvwx", "[hidden]"),
        ("password=hunter22&x=1", "password=[hidden]&x=1"),
        ("the token was refused", "the token was refused"),
        ("see https://example.org/a:b@c", "see https://example.org/a:b@c"),
        ("Basic training", "Basic training"),
        ("db_password=hunter2222", "db_password=[hidden]"),
        ("client_secret: abcdefgh1234", "client_secret: [hidden]"),
        ("accessToken=abcdefgh1234", "accessToken=[hidden]"),
        ("AWS_SECRET_ACCESS_KEY=abcd/efgh", "AWS_SECRET_ACCESS_KEY=[hidden]"),
        ("my_sk-abcdefghijklmnopqrst", "my_[hidden]"),
        ("x_Bearer abcdefghijklmnop", "x_Bearer [hidden]"),
        ("postgres://u:p/w0rd@h/x", "postgres://u:[hidden]@h/x"),
        ("redis://:p/w/0rd@h/x", "redis://:[hidden]@h/x"),
        ("http://localhost:4873/@scope/name", "http://localhost:4873/@scope/name"),
        ("task-abcdefghijklmnopqrst", "task-abcdefghijklmnopqrst"),
    ],
)
def test_what_looks_like_a_secret_is_hidden_and_what_does_not_stays(text: str, clean: str) -> None:
    assert secrets.hide(text) == clean


def test_fields_that_are_named_like_secrets_are_not_shown() -> None:
    assert secrets.shown(
        {"api_key": "x1", "password": "", "user_token": "t", "tokens": 3, "list": [{"secret": "s"}], "keyboard": "k"}
    ) == {
        "api_key": "[hidden]",
        "password": "",
        "user_token": "[hidden]",
        "tokens": 3,
        "list": [{"secret": "[hidden]"}],
        "keyboard": "k",
    }


# -- learnt later

LATER = "hunter2hunter2"
open_book = Machine(
    "book",
    initial="open",
    states=[State("open", WAITING, waits_for="ann"), State("done", FINAL)],
    transitions=[
        Transition("open", "open", on="set", by=USER, accepts=("x", "notes"), merges=("notes",)),
        Transition("open", "done", on="close", by=USER),
    ],
)
ANN = Actor(USER, "ann")


@pytest.mark.parametrize(
    "data",
    [
        {"password": f"is {LATER}"},
        {"deep": [{"a": {LATER: LATER}}]},
        {LATER: 1, "other": 2},
        {"x": LATER},
        {"notes": {"a": LATER, LATER: "b"}},
        {LATER: {}, f"{LATER}-2": LATER, "[hidden]": "was there"},
    ],
    ids=["in a text", "deep", "as a field", "where it is set", "where it is added", "as fields that become alike"],
)
def test_a_secret_that_is_learnt_later_is_hidden_in_the_history_too(store: Store, data: dict[str, object]) -> None:
    with Trial([open_book], store=store) as trial:
        it = trial.create("book", data)
        secrets.learn([LATER])
        trial.engine.fire(it, "set", actor=ANN, data={"x": 1})
        assert LATER not in str(trial.engine.get(it).data)
        assert trial.engine.verify().problems == ()
        trial.engine.fire(it, "set", actor=ANN, data={"x": LATER, "notes": {"c": f"of {LATER}"}})
        trial.engine.fire(it, "set", actor=ANN, data={"x": 3, "notes": {"d": 1}})
        assert trial.engine.verify().problems == ()
        rows = trial.engine.history(it)
        assert LATER not in str([row.payload for row in rows[1:]])
        assert replaying.replay(rows).data == trial.engine.get(it).data  # type: ignore[union-attr]


def test_what_is_hidden_is_not_hidden_again(store: Store) -> None:
    with Trial([open_book], store=store) as trial:
        it = trial.create("book", {"note": "well hidden"})
        secrets.learn(["hidden"])
        for number in range(3):
            trial.engine.fire(it, "set", actor=ANN, data={"x": number})
        assert trial.engine.get(it).data == {"note": "well [hidden]", "x": 2}
        assert trial.engine.verify().problems == ()


# -- in messages

LONG = "S3CRET-abcdefghijklmnopqrstuvwxyz0123456789-TAIL-0987654321"


@pytest.mark.parametrize("before", range(0, 90, 7))
@pytest.mark.parametrize("shape", [LONG, f"password={LONG}", f"{LONG}{LONG}"])
def test_a_message_has_no_piece_of_a_secret(before: int, shape: str) -> None:
    if not shape.startswith("password"):
        secrets.learn([LONG])
    text = "." * before + shape + "." * (90 - before)
    said = [values.excerpt(text, at) for at in range(len(text))] + [values.brief([text]), values.brief(text, 80)]
    pieces = [LONG[n : n + 4] for n in range(len(LONG) - 3)]
    assert [one for one in said if any(piece in one for piece in pieces)] == []
    assert any("[hidden]" in one for one in said)
    assert secrets.hidden_part(text, 0, len(text)) == secrets.hide(text)


def test_a_secret_is_known_however_python_spells_it() -> None:
    value = "tab\tquote'\"äöü"
    secrets.learn([value])
    assert values.brief({"a": value}) == "{'a': '[hidden]'}"
    assert values.brief([value, "'"]) == "['[hidden]', \"'\"]"
