"""`interlock machine migrate`: the plan is read first, then done, and can be taken back."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from interlock.console.printing import until_interrupted
from interlock.engine import Engine, Result
from interlock.engine.versions import migrating
from interlock.machine import FINAL, USER, WAITING, Go, Machine, Review, State, Transition
from tests.support.commands import Done, command

PROGRAM = "tests.cli.test_migrating:letter"


def made(waiting: str) -> Machine:
    machine = Machine(
        "letter",
        initial="writing",
        states=[
            State("writing"),
            State(waiting, WAITING, waits_for="a signature", review=Review("Sign it?", {"sign": "sign"})),
            State("sent", FINAL),
        ],
        transitions=[Transition("writing", waiting, on="write"), Transition(waiting, "sent", on="sign", by=USER)],
    )
    return machine.with_handlers({"writing": lambda task: Go(waiting)})


first, letter = made("signing"), made("approving")


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Three letters of the first version: one to sign, one that a worker holds, one not yet begun."""
    where = f"sqlite:///{tmp_path}/post.db"
    with Engine(where, [first]) as engine:
        for name in ("a", "b", "c"):
            engine.create("letter", {"to": name}, key=name)
        one, _held = engine.claim(UUID(int=1), ["letter"], 2)
        engine.finish([Result(one, Go("signing"))])
    return where


def migrate(url: str, *arguments: str) -> Done:
    call = ("machine", "migrate", "letter", *arguments, "--wait", "0", "--database", url, "--app", PROGRAM)
    return command(*call, cwd=Path.cwd())


def report_of(url: str, *arguments: str) -> Any:
    return json.loads(migrate(url, *arguments, "--json").out)


def versions(url: str) -> dict[str, int]:
    with Engine(url, [letter]) as engine:
        return {i.key: i.version for i in engine.page().instances if i.key}


def test_a_plan_says_where_everything_goes_and_what_stands_in_the_way(url: str) -> None:
    done = migrate(url, "--plan")
    assert done.code == 1
    assert "state 'signing' is gone" in done.out
    assert "signing: 1: state 'signing' is gone; say where its instances go with --map signing=…" in done.out
    assert "1 would be moved, 1 claimed by workers, 1 would be refused" in done.out
    done = migrate(url, "--plan", "--map", "signing=approving")
    assert (done.code, done.err) == (0, "")
    lines = [line.split() for line in done.out.splitlines()]
    assert ["1", "signing", "2", "approving", "1"] in lines
    assert ["1", "writing", "2", "writing", "1"] in lines
    assert ["approving", "changed", "1"] in lines
    assert "2 would be moved, 1 claimed by workers, 0 would be refused" in done.out


def test_a_plan_writes_nothing(url: str) -> None:
    path = Path(url.removeprefix("sqlite:///"))
    before = path.read_bytes()
    migrate(url, "--plan", "--map", "signing=approving")
    assert path.read_bytes() == before


def test_what_is_applied_can_be_taken_back(url: str) -> None:
    done = migrate(url, "--apply", "--map", "signing=approving", "--reason", "release 2", "--as", "ann")
    assert (done.code, done.out.splitlines()[-2:]) == (
        1,
        ["2 moved, 1 claimed by workers, 0 refused", "run it again when the workers have finished them"],
    )
    assert sorted(versions(url).values()) == [1, 2, 2]
    with Engine(url, [letter]) as engine:
        instance = engine.find("letter", "a")
        assert instance is not None
        last = engine.history(instance.id)[-1]
        assert (last.kind, last.actor, last.payload["reason"]) == ("migrated", "user:ann", "release 2")
    assert [m["count"] for m in report_of(url, "--back", "--plan")["moved"]] == [1, 1]
    assert migrate(url, "--back", "--apply", "--since", "2100-01-01T00:00Z").out.splitlines()[-1].startswith("0 moved")
    done = migrate(url, "--back", "--apply")
    assert (done.code, done.out.splitlines()[-1]) == (0, "2 moved, 0 claimed by workers, 0 refused")
    assert sorted(versions(url).values()) == [1, 1, 1]


def test_ctrl_c_ends_it_after_the_batch_at_hand(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = migrating._move_some

    def pressed(*given: Any, **options: Any) -> UUID | None:
        following = whole(*given, **options)
        signal.raise_signal(signal.SIGINT)
        return following

    monkeypatch.setattr(migrating, "_move_some", pressed)
    done = migrate(url, "--apply", "--map", "signing=approving", "--batch", "2")
    assert (done.code, done.err) == (130, "stopping after this batch; Ctrl-C again stops at once\n")
    assert done.out.splitlines()[-2:] == [
        "1 moved, 1 claimed by workers, 0 refused",
        "stopped before the end; run it again to continue",
    ]
    assert sorted(versions(url).values()) == [1, 1, 2]
    monkeypatch.undo()
    assert migrate(url, "--apply", "--map", "signing=approving").out.splitlines()[-2].startswith("1 moved, 1 claimed")
    assert sorted(versions(url).values()) == [1, 2, 2]


def test_a_second_ctrl_c_ends_it_at_once() -> None:
    before = signal.getsignal(signal.SIGINT)
    with until_interrupted() as stopping:
        assert not stopping()
        signal.raise_signal(signal.SIGINT)
        assert stopping()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_scripts_get_the_same_as_json(url: str) -> None:
    report = report_of(url, "--plan")
    assert (report["applied"], report["stopped"]) == (False, False)
    assert [(v["version"], v["goal"], v["served"]) for v in report["versions"]] == [(1, False, False), (2, True, True)]
    assert report["versions"][0]["problems"][0] == "state 'signing' is gone"
    assert report["moved"] == [{"from_version": 1, "from": "writing", "to_version": 2, "to": "writing", "count": 1}]
    assert report["busy"] == [{"version": 1, "state": "writing", "count": 1}]
    [refused] = report["refused"]
    assert (refused["state"], refused["count"], len(refused["examples"])) == ("signing", 1, 1)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 2, "say either --plan or --apply"),
        (("--plan", "--apply"), 2, "say either --plan or --apply"),
        (("--plan", "--map", "signing"), 2, "'signing' is not a mapping"),
        (("--plan", "--map", "a=b", "--map", "a=c"), 2, "mapped twice"),
        (("--plan", "--map", "signing=moon"), 1, "version 2 has no state 'moon'"),
        (("--plan", "--to", "1"), 1, "this process has no code for letter version 1: state 'signing' is gone"),
        (("--plan", "--from", "9"), 1, "letter has no version 9"),
        (("--plan", "--since", "2026-01-01"), 2, "--since is for --back"),
        (("--plan", "--back", "--to", "1"), 2, "leave out --to and --map"),
        (("--plan", "--back", "--since", "soon"), 2, "'soon' is not a time"),
    ],
)
def test_a_wrong_command_is_explained_in_words(url: str, arguments: tuple[str, ...], code: int, said: str) -> None:
    done = migrate(url, *arguments)
    assert done.code == code
    assert said in " ".join(done.err.replace("│", " ").split())


def test_an_unknown_machine_is_refused_with_the_known_ones(url: str) -> None:
    done = command("machine", "migrate", "moon", "--plan", "--database", url, "--app", PROGRAM, cwd=Path.cwd())
    assert (done.code, "there is no machine 'moon'; there are:" in done.err) == (1, True)
