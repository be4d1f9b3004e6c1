"""What the pages do, commands do: schedules, messages, alerts, halts and bulk actions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from interlock.engine import Engine
from interlock.engine.application import send
from interlock.machine import Message
from interlock.watch import alerts
from interlock.watch.rule_values import RuleResult
from interlock.watch.rules import Rule
from tests.support.commands import Done, command
from tests.support.letters import PROGRAM, letter


@pytest.fixture
def post(tmp_path: Path) -> Path:
    """A folder with a database of three letters."""
    with Engine(f"sqlite:///{tmp_path}/post.db", [letter]) as engine:
        for name in ("ann", "bob", "cleo"):
            engine.create("letter", {"to": name}, key=name)
    return tmp_path


def call(post: Path, *arguments: str) -> Done:
    return command(*arguments, "--database", f"sqlite:///{post}/post.db", "--app", PROGRAM, cwd=Path.cwd())


def given(post: Path, *arguments: str, code: int = 0) -> Any:
    done = call(post, *arguments, "--json")
    assert done.code == code, done
    return json.loads(done.out)


def opened(post: Path) -> Engine:
    return Engine(f"sqlite:///{post}/post.db", [letter])


def test_a_schedule_is_set_paused_resumed_run_and_removed(post: Path) -> None:
    made = given(post, "schedule", "set", "nightly", "letter", "30 2 * * *", "--zone", "Europe/Berlin", "--as", "ann")
    assert (made["cron"], made["zone"], made["created_by"]) == ("30 2 * * *", "Europe/Berlin", "owner:ann")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:30:00", made["next_at"])
    assert given(post, "schedule", "pause", "nightly")["paused_at"] is not None
    assert "paused" in call(post, "schedule", "list").out
    assert given(post, "schedule", "resume", "nightly")["paused_at"] is None
    started = call(post, "schedule", "run", "nightly").out.strip()
    assert given(post, "instance", "show", started[-8:])["machine"] == "letter"
    assert call(post, "schedule", "remove", "nightly").out == "schedule nightly of default is removed\n"
    assert given(post, "schedule", "list") == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("set", "x", "letter", "every day"), "'every day'"),
        (("set", "x", "lettre", "0 0 * * *"), "lettre"),
        (("set", "x", "letter", "0 0 * * *", "--data", "[1]"), "--data must be a JSON object, not [1]"),
        (("run", "nope"), "there is no schedule 'nope' in workspace 'default'"),
    ],
)
def test_a_wrong_schedule_is_refused_by_name(post: Path, arguments: tuple[str, ...], words: str) -> None:
    done = call(post, "schedule", *arguments)
    assert done.code == 1
    assert words in done.err


def test_messages_are_listed_shown_and_discarded(post: Path) -> None:
    with opened(post) as engine:
        it = engine.page(limit=1).instances[0]
        message = Message(channel="mail", to="ann@example.org", subject="Your letter\x1b[31m", body={"text": "it left"})
        engine.write(lambda unit: send(unit, unit.lock(it.id), (message,)))
    [listed] = given(post, "outbox", "list", "--status", "waiting")["messages"]
    assert (listed["recipient"], listed["attempts"]) == ("ann@example.org", 0)
    assert "\x1b" not in call(post, "outbox", "list").out
    assert given(post, "outbox", "show", listed["id"][-8:])["deliveries"] == []
    refused = call(post, "outbox", "discard", listed["id"])
    assert refused.code == 1
    assert "waiting" in refused.err


def test_an_open_alert_is_exit_code_1_until_somebody_acknowledges_it(post: Path) -> None:
    assert call(post, "alert", "list").code == 0
    rule = Rule(name="slow", metric="queue_lag", threshold=60)
    with opened(post) as engine:
        result = RuleResult(rule, None, 90.0, True, "work waits for 90 s")
        engine.write(lambda unit: alerts.apply(unit, [result]))
    [found] = given(post, "alert", "list", code=1)
    assert (found["rule"], found["acknowledged_by"]) == ("slow", None)
    assert call(post, "alert", "acknowledge", found["id"][-8:], "--as", "ann").out.startswith("slow: acknowledged by")
    assert [one["rule"] for one in given(post, "alert", "list")] == ["slow"]
    assert "dead_letters" in call(post, "alert", "rules").out


def test_a_machine_is_halted_and_goes_on(post: Path) -> None:
    done = call(post, "halt", "start", "letter", "--reason", "no ink", "--as", "ann")
    assert "letter is halted since" in done.out
    assert [(h["machine"], h["reason"]) for h in given(post, "halt", "list")] == [("letter", "no ink")]
    assert call(post, "halt", "end", "letter").out == "letter is no longer halted\n"
    assert given(post, "halt", "list") == []
    assert "all machines are halted" in call(post, "halt", "start", "*").out


def test_a_bulk_action_pauses_what_matches(post: Path) -> None:
    done = given(post, "bulk", "run", "pause", "--filter", "machine=letter", "--reason", "no ink", "--yes")
    assert (done["status"], done["done"], done["refused"]) == ("done", 3, 0)
    assert all(one["paused"] for one in given(post, "instance", "list")["instances"])
    again = call(post, "bulk", "run", "fire", "--event", "nonsense", "--filter", "machine=letter", "--yes")
    assert again.code == 1
    assert "3 refused" in again.out
    assert [one["action"] for one in given(post, "bulk", "list")] == ["fire", "pause"]


def test_a_bulk_action_asks_first_and_refuses_an_empty_filter(post: Path) -> None:
    unanswered = call(post, "bulk", "run", "cancel", "--filter", "machine=letter")
    assert unanswered.code == 1
    assert "give --yes" in unanswered.err
    assert "3 match" in unanswered.err
    assert not any(one["finished_at"] for one in given(post, "instance", "list")["instances"])
    assert "is not a filter" in call(post, "bulk", "run", "pause", "--filter", "letter", "--yes").err
    assert "is not a filter" in call(post, "bulk", "run", "pause", "--filter", "machine=", "--yes").err
