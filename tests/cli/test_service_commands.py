"""What the pages do, commands do: schedules, messages, alerts, halts and bulk actions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from interlock.ai.calls import Ended, Question, note
from interlock.engine import Engine, Result
from interlock.engine.application import send
from interlock.machine import Ask, Fail, Go, Message, Outcome, Review
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
        (
            ("set", "x", "letter", "0 0 * * *", "--data", "[1]"),
            "--data must be a JSON object, such as '{\"name\": 1}', not '[1]'",
        ),
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


def test_costs_are_summed_with_what_is_used_of_budgets(post: Path) -> None:
    settings = post / "interlock.toml"
    settings.write_text("[ai.budgets.all]\nday = 2\n", encoding="utf-8")
    with opened(post) as engine:
        for workspace, task, cost in (("default", "read", 1_500_000_000), ("north", "write", 250_000_000)):
            asked = Question(None, workspace, None, None, task, "v1", "cheap", "openai", "m", 1, "h", None, "letter")
            engine.write(lambda unit, asked=asked, cost=cost: note(unit, None, asked, Ended("m", cost=cost)))  # type: ignore[misc]
    shown = call(post, "costs", "--config", str(settings)).out
    assert [line.split() for line in shown.splitlines() if line.startswith(("letter", "total", "all"))] == [
        ["letter", "2", "0", "0", "0", "0", "1.7500", "0"],
        ["total", "2", "0", "0", "0", "0", "1.7500", "0"],
        ["all", "day", "$1.75", "of", "$2.00", "88%", *shown.splitlines()[-1].split()[-2:]],
    ]
    assert [line.split()[0] for line in call(post, "costs", "--by", "task").out.splitlines()[2:4]] == ["read", "write"]
    found = given(post, "costs", "--workspace", "north", "--config", str(settings))
    assert [(one["task"], one["machine"], one["application"], one["cost"]) for one in found["costs"]] == [
        ("write", "letter", None, 0.25)
    ]
    assert [(one["of"], one["period"], one["share"]) for one in found["budgets"]] == [("all", "day", 0.875)]


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


def finished(post: Path, outcome: Outcome) -> None:
    """A worker finishes the step of the oldest letter so."""
    with opened(post) as engine:
        [claim] = engine.claim(UUID(int=1), ["letter"], 1)
        engine.finish([Result(claim, outcome)])


def test_an_instance_is_created_with_key_and_labels_and_forced_with_a_reason(post: Path) -> None:
    made = given(
        post,
        "instance",
        "create",
        "letter",
        "--data",
        '{"to": "dan"}',
        "--key",
        "dan",
        "--label",
        "city=Oslo",
        "--as",
        "ann",
    )
    assert (made["key"], made["data"], made["state"]) == ("dan", {"to": "dan"}, "writing")
    for filters in (("--label", "city=Oslo"), ("--text", "dan"), ("--workspace", "default", "--key", "dan")):
        assert [one["id"] for one in given(post, "instance", "list", *filters)["instances"]] == [made["id"]]
    assert given(post, "instance", "list", "--in-state-for", "1")["instances"] == []
    forced = given(post, "instance", "force", made["id"][-8:], "torn", "--reason", "sent by hand", "--as", "ann")
    assert forced["state"] == "torn"
    last = given(post, "instance", "history", made["id"])[-1]
    assert (last["kind"], last["actor"], last["payload"]["reason"]) == ("forced", "owner:ann", "sent by hand")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("instance", "create", "lettre"), "lettre"),
        (("instance", "create", "letter", "--data", "to=dan"), "given: 'to=dan'"),
        (("instance", "create", "letter", "--label", "Oslo"), "'Oslo' is not a label"),
        (("instance", "create", "letter", "--workspace", "nope"), "there is no workspace 'nope'"),
        (("schedule", "set", "x", "letter", "0 0 * * *", "--workspace", "nope"), "there is no workspace 'nope'"),
        (("review", "show", "nope"), "'nope' is not a review id"),
        (("dead-letter", "show", "nope"), "'nope' is not a dead letter id"),
        (("bulk", "stop", "nope"), "'nope' is not a bulk action id"),
        (("alert", "set", "slow", "lag", "> 1"), "lag"),
        (("alert", "set", "slow", "queue_lag", "60"), "'60' is not a condition"),
        (("alert", "remove", "dead_letters"), "it is built in"),
    ],
)
def test_what_is_wrong_is_named(post: Path, arguments: tuple[str, ...], words: str) -> None:
    done = call(post, *arguments)
    assert done.code in {1, 2}
    assert words in done.err


def test_a_review_is_shown_with_its_evidence_and_claimed(post: Path) -> None:
    shown = Review("Is it polite?", {"yes": "", "no": ""})
    finished(post, Go("signing", asks=(Ask("polite", shown, {"text": "Dear Ann,\x1b[31m\nyours"}),)))
    [question, review] = sorted(given(post, "review", "list"), key=lambda one: str(one["title"]))
    evidence = call(post, "review", "show", question["id"][-8:]).out
    assert evidence.startswith("Is it polite?\n")
    assert "text:\n  Dear Ann,·[31m\n  yours\n" in evidence
    assert "decisions   sign, tear\n" in call(post, "review", "show", review["id"]).out
    assert call(post, "review", "claim", review["id"], "--as", "ann").out.startswith("claimed by user:ann until ")
    refused = call(post, "review", "decide", review["id"], "sign", "--as", "bob")
    assert (refused.code, "is being worked on by user:ann" in refused.err) == (1, True)
    assert "claimed by  user:ann until" in call(post, "review", "show", review["id"]).out
    assert call(post, "review", "release", review["id"], "--as", "ann").out == "released: Sign it?\n"
    assert call(post, "review", "decide", review["id"], "sign", "--as", "bob").code == 0
    assert "decided     sign by user:bob" in call(post, "review", "show", review["id"]).out


def test_a_dead_letter_is_shown_with_its_error_and_data(post: Path) -> None:
    finished(post, Fail(ValueError("no ink\x1b[31m left")))
    [dead] = given(post, "dead-letter", "list")
    shown = call(post, "dead-letter", "show", dead["id"][-8:]).out
    assert shown.startswith("ValueError: no ink·[31m left\n")
    assert f"step      writing of letter {dead['instance_id']}, after 1 attempts" in shown
    assert given(post, "dead-letter", "show", dead["id"])["error"]["type"] == "ValueError"


def test_a_rule_of_ones_own_is_set_and_removed(post: Path) -> None:
    made = given(post, "alert", "set", "slow", "queue_lag", ">= 60", "--machine", "letter", "--for", "2")
    assert (made["op"], made["threshold"], made["machine"], made["for"]) == (">=", 60, "letter", "PT2M")
    assert "slow" in call(post, "alert", "rules").out
    assert call(post, "alert", "remove", "slow").out == "rule slow is removed\n"
    assert "slow " not in call(post, "alert", "rules").out


def test_the_action_log_is_listed_by_person_action_and_day(post: Path) -> None:
    call(post, "halt", "start", "letter", "--reason", "no ink", "--as", "ann")
    call(post, "halt", "end", "letter", "--as", "bob")
    everything = given(post, "audit", "actions")["actions"]
    assert [one["actor"] for one in everything] == ["owner:bob", "owner:ann"]
    [one] = given(post, "audit", "actions", "--actor", "ann", "--what", everything[1]["what"])["actions"]
    assert (one["target"], one["details"]["reason"]) == ("letter", "no ink")
    assert given(post, "audit", "actions", "--from", "2001-01-01", "--to", "2001-01-02")["actions"] == []
    page = call(post, "audit", "actions", "--limit", "1").out
    assert "owner:bob" in page
    assert "continue with --after" in page
    assert "'yesterday'" in call(post, "audit", "actions", "--from", "yesterday").err
