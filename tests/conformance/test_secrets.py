"""What is secret appears neither in the database nor in an error, and what looks like a secret is not shown."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from interlock.apps.sample import parcel
from interlock.engine import Engine, secrets
from interlock.machine import FINAL, USER, Actor, Go, Machine, Message, Outcome, State, Transition
from interlock.store import Store, service
from interlock.testing import Trial
from interlock.worker.task import Task

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
        lambda conn: "\n".join(
            str(tuple(row)) for table in service.metadata.sorted_tables for row in conn.execute(sa.select(table))
        )
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
    ],
)
def test_what_looks_like_a_secret_is_hidden_and_what_does_not_stays(text: str, clean: str) -> None:
    assert secrets.hide(text) == clean


def test_fields_that_are_named_like_secrets_are_not_shown() -> None:
    assert secrets.shown(
        {"api_key": "x1", "password": "", "user_token": "t", "tokens": 3, "list": [{"secret": "s"}], "keyboard": "k"}
    ) == {
        "api_key": "[hidden]", "password": "", "user_token": "[hidden]", "tokens": 3, "list": [{"secret": "[hidden]"}],
        "keyboard": "k",
    }  # fmt: skip
