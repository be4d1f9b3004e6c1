"""An operator's commands: look at instances, move them, decide, deal with dead letters."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from interlock.engine import Engine, Result
from interlock.machine import SYSTEM, Actor, Fail, Go
from interlock.people import People, Role
from tests.cli.test_commands import interlock
from tests.support.letters import PROGRAM, letter


@pytest.fixture
def post(tmp_path: Path) -> tuple[Path, str]:
    """A folder and an address with three letters: one to sign, one that failed, one not yet begun."""
    url = f"sqlite:///{tmp_path}/post.db"
    with Engine(url, [letter]) as engine:
        for outcome in (Go("signing"), Fail(ValueError("no ink\x1b[31m left"))):
            engine.create("letter", {"to": "ann"}, key=str(type(outcome).__name__))
            [claim] = engine.claim(UUID(int=1), ["letter"], 1)
            engine.finish([Result(claim, outcome)])
        engine.create("letter", {"to": "bob"}, key="new")
    return tmp_path, url


def call(post: tuple[Path, str], *arguments: str, apart: bool = False) -> Any:
    done = interlock(*arguments, "--json", "--database", post[1], "--app", PROGRAM, cwd=Path.cwd(), apart=apart)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def said(post: tuple[Path, str], *arguments: str) -> tuple[int, str]:
    done = interlock(*arguments, "--database", post[1], "--app", PROGRAM, cwd=Path.cwd())
    return done.returncode, done.stdout + done.stderr


def only(post: tuple[Path, str], key: str) -> dict[str, Any]:
    [found] = call(post, "instance", "list", "--key", key)["instances"]
    assert isinstance(found, dict)
    return found


def test_list_filters_and_counts(post: tuple[Path, str]) -> None:
    everything = call(post, "instance", "list", apart=True)
    assert everything["count"] == 3
    assert [i["key"] for i in everything["instances"]] == ["new", "Fail", "Go"]
    assert call(post, "instance", "list", "--state", "signing")["count"] == 1
    assert call(post, "instance", "list", "--error", "ValueError")["count"] == 1
    first = call(post, "instance", "list", "--limit", "2")
    rest = call(post, "instance", "list", "--limit", "2", "--after", first["next"])
    assert ([i["key"] for i in rest["instances"]], rest["next"]) == (["Go"], None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("instance", "list", "--machine", "nope"), "there is no machine 'nope'; there are: application, company"),
        (("instance", "list", "--machine", "letter", "--state", "x"), "letter has no state 'x'; there are: writing"),
        (("review", "list", "--machine", "nope"), "there is no machine 'nope'"),
        (("dead-letter", "list", "--machine", "nope"), "there is no machine 'nope'"),
        (("export", "--machine", "nope"), "there is no machine 'nope'"),
        (("outbox", "list", "--status", "lost"), "'lost' is not a status of messages; there are waiting"),
        (("audit", "actions", "--from", "nope"), "'nope' is not a day; write it as 2026-01-31"),
        (("instance", "list", "--in-state-for", "1e999"), "is too large; use 876000 or less"),
    ],
)
def test_a_filter_that_cannot_match_is_named(post: tuple[Path, str], arguments: tuple[str, ...], message: str) -> None:
    code, text = said(post, *arguments)
    assert (code > 0, message in text) == (True, True), text


def test_the_table_keeps_ids_whole_and_control_characters_out(post: tuple[Path, str]) -> None:
    code, text = said(post, "instance", "list")
    assert code == 0
    assert only(post, "Go")["id"] in text
    assert "3 of 3" in text
    code, text = said(post, "dead-letter", "list")
    assert "ValueError: no ink" in text
    assert "\x1b" not in text


def test_show_explain_and_history(post: tuple[Path, str]) -> None:
    waiting = only(post, "Go")["id"]
    shown = call(post, "instance", "show", waiting)
    assert "waits for a signature" in shown["explanation"]
    assert sorted(shown["allowed"]) == ["sign", "tear"]
    explained = call(post, "instance", "explain", waiting)
    assert (explained["waits_for"], explained["state"]) == ("person", "signing")
    assert [row["kind"] for row in call(post, "instance", "history", waiting)] == ["created", "moved"]
    assert "moved writing → signing by 'write', worker" in said(post, "instance", "history", waiting)[1]


def test_fire_moves_as_the_person_named(post: tuple[Path, str]) -> None:
    waiting = only(post, "Go")["id"]
    moved = call(
        post, "instance", "fire", waiting, "sign", "--as", "cleo", "--reason", "agreed", "--data", '{"by": "cleo"}'
    )
    assert (moved["state"], moved["data"]["by"]) == ("sent", "cleo")
    last = call(post, "instance", "history", waiting)[-1]
    assert (last["actor"], last["payload"]["reason"]) == ("user:cleo", "agreed")


def test_a_wrong_event_is_answered_with_what_is_allowed(post: tuple[Path, str]) -> None:
    code, text = said(post, "instance", "fire", only(post, "Go")["id"], "send")
    assert code == 1
    assert "'send' is not declared; allowed now: sign (user), tear (user)" in text
    assert said(post, "instance", "fire", only(post, "Go")["id"], "sign", "--data", "[1]")[0] == 1
    assert said(post, "instance", "show", str(UUID(int=7)))[0] == 1


def test_pause_resume_and_cancel(post: tuple[Path, str]) -> None:
    new = only(post, "new")["id"]
    assert call(post, "instance", "pause", new)["paused"] is True
    assert call(post, "instance", "resume", new)["paused"] is False
    assert call(post, "instance", "cancel", new)["state"] == "torn"


def test_reviews_are_listed_and_decided_once(post: tuple[Path, str]) -> None:
    [review] = call(post, "review", "list")
    assert (review["title"], sorted(review["decisions"])) == ("Sign it?", ["sign", "tear"])
    assert call(post, "review", "decide", review["id"], "sign", "--as", "cleo")["decided_by"] == "user:cleo"
    code, text = said(post, "review", "decide", review["id"], "tear", "--as", "dan")
    assert code == 1
    assert "was decided: sign by user:cleo" in text


def test_dead_letters_are_retried_one_by_one_or_by_filter(post: tuple[Path, str]) -> None:
    [dead] = call(post, "dead-letter", "list")
    assert (dead["step"], dead["error_type"], dead["attempts"]) == ("writing", "ValueError", 1)
    code, text = said(post, "dead-letter", "retry")
    assert code == 1
    assert "an empty filter would select every dead letter" in text
    assert said(post, "dead-letter", "retry", "--machine", "letter", "--as", "cleo") == (0, "1 retried\n")
    assert call(post, "dead-letter", "list") == []
    assert only(post, "Fail")["waits_for"] == "work"


def test_looking_writes_nothing(post: tuple[Path, str]) -> None:
    before = (post[0] / "post.db").read_bytes()
    said(post, "instance", "list")
    said(post, "worker", "list")
    assert (post[0] / "post.db").read_bytes() == before
    assert said(("", f"sqlite:///{post[0]}/none.db"), "instance", "list")[0] == 1  # type: ignore[arg-type]
    assert not (post[0] / "none.db").exists()


def test_a_review_is_assigned_and_snoozed(post: tuple[Path, str]) -> None:
    with Engine(post[1], [letter]) as engine:
        people = People(engine)
        for name, role in (("chief", Role.OWNER), ("vera", Role.VIEWER)):
            people.add(name, role=role, by=Actor(SYSTEM))
    [review] = call(post, "review", "list")
    code, text = said(post, "review", "assign", review["id"], "chief")
    assert (code, "assigned to chief" in text) == (0, True)
    assert len(call(post, "review", "list", "--person", "chief")) == 1
    assert call(post, "review", "list", "--unassigned") == []
    code, text = said(post, "review", "assign", review["id"], "vera")
    assert (code, "vera may not decide review" in text) == (1, True)
    assert said(post, "review", "snooze", review["id"], "2")[0] == 0
    assert call(post, "review", "list")[0]["snoozed_until"] is not None
    assert said(post, "review", "snooze", review["id"], "0")[0] == 0
    assert call(post, "review", "list")[0]["snoozed_until"] is None


def test_the_overview_has_a_line_for_each_machine_and_one_for_all(post: tuple[Path, str]) -> None:
    found = call(post, "overview")
    assert found["totals"]["open_reviews"] == 1
    assert next(one for one in found["machines"] if one["machine"] == "letter")["dead_letters"] == 1
    code, text = said(post, "overview", "--hours", "2")
    assert code == 0
    assert text.splitlines()[-1] == "sums and rates over 2 h; 0 workers alive"


def test_what_belongs_to_an_instance_is_listed(post: tuple[Path, str]) -> None:
    new = only(post, "new")["id"]
    with Engine(post[1], [letter]) as engine:
        engine.keep_artifact(UUID(new), "note.txt", b"ink!", media_type="text/plain", actor=Actor(SYSTEM))
    assert [one["name"] for one in call(post, "instance", "artifacts", new)] == ["note.txt"]
    target = post[0] / "copy.txt"
    assert said(post, "instance", "artifacts", new, "note.txt", "--to", str(target))[0] == 0
    assert target.read_bytes() == b"ink!"
    code, text = said(post, "instance", "artifacts", new, "nope")
    assert (code, "has no artifact 'nope'; there are: note.txt" in text) == (1, True)
    assert call(post, "instance", "effects", new) == []
    assert [one["id"] for one in call(post, "instance", "family", new)] == [new]


def test_leases_and_limits_are_listed(post: tuple[Path, str]) -> None:
    with Engine(post[1], [letter]) as engine:
        engine.leases.take("printer", "ann", timedelta(days=1))
    [lease] = call(post, "worker", "leases")
    assert (lease["name"], lease["holder"]) == ("printer", "ann")
    assert call(post, "worker", "limits") == []
