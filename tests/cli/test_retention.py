"""`interlock retention`, `interlock erase`, `interlock audit verify --file`: an operator keeps and erases."""

from __future__ import annotations

import gzip
import json
import signal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from interlock.engine import Engine
from interlock.engine.retention import policies, removing
from interlock.machine import USER, Actor
from tests.support.commands import Done, command
from tests.support.letters import ANN, LongAgo, add_letters, letter

pytestmark = pytest.mark.soak("postgresql")


@pytest.fixture
def post(url: str, tmp_path: Path) -> tuple[str, Path, UUID, UUID]:
    return url, tmp_path, *add_letters(url)


Post = tuple[str, Path, UUID, UUID]


def call(post: Post, *arguments: str, **environment: str) -> Done:
    return command(*arguments, "--database", post[0], cwd=post[1], **environment)


AGE = {"INTERLOCK_RETENTION__DEFAULT": "90d"}


def test_a_dry_run_tells_and_a_run_does_it(post: Post) -> None:
    planned = call(post, "retention", "run", "--dry-run", **AGE)
    assert (planned.code, planned.err) == (0, "")
    assert "letter  would go  1" in planned.out
    assert not (post[1] / "data").exists()
    done = call(post, "retention", "run", "--json", "--as", "cleo", **AGE)
    output = json.loads(done.out)
    assert (output["instances"], len(output["files"])) == ({"letter": 1}, 1)
    assert (post[1] / output["files"][0]).exists()
    assert "nothing is old enough" in call(post, "retention", "run", **AGE).out
    status = json.loads(call(post, "retention", "status", "--json", **AGE).out)
    assert status["machines"] == {"default": "90d"}
    assert [(run["by"], run["instances"], run["error"]) for run in status["runs"]] == [("user:cleo", 1, None)]
    assert "user:cleo" in call(post, "retention", "status").out


def test_ctrl_c_ends_a_run_after_the_batch_at_hand(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    with Engine(post[0], [letter], clock=LongAgo()) as engine:
        made = [engine.create("letter", {"to": ANN}).id for _ in range(2)]
        for one in made:
            engine.fire(one, "tear", actor=Actor(USER, "bob"))
    monkeypatch.setattr(policies, "BATCH", 1)
    whole = removing.remove

    def pressed(*given: Any, **options: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return whole(*given, **options)

    monkeypatch.setattr(removing, "remove", pressed)
    done = call(post, "retention", "run", **AGE)
    assert (done.code, done.err) == (130, "stopping after this batch; Ctrl-C again stops at once\n")
    assert ["letter", "removed", "1"] in [line.split() for line in done.out.splitlines()]
    assert done.out.splitlines()[-1] == "stopped before the end; run it again to continue"
    monkeypatch.undo()
    output = json.loads(call(post, "retention", "run", "--json", **AGE).out)
    assert (output["instances"], output["stopped"]) == ({"letter": 2}, False)


def test_without_an_age_nothing_is_removed(post: Post) -> None:
    done = call(post, "retention", "run")
    assert done.code == 1
    assert 'such as default = "90d" under [retention]' in done.err


def test_an_age_that_is_none_is_refused(post: Post) -> None:
    done = call(post, "retention", "run", INTERLOCK_RETENTION__MACHINES__LETTER="soon")
    assert done.code == 1
    assert "retention.machines.letter" in done.err
    assert "such as 12h, 90d, 26w or 7y, or never, not 'soon'" in done.err


def test_the_ages_of_machines_are_read_from_the_file(post: Post) -> None:
    (post[1] / "interlock.toml").write_text('[retention]\nfolder = "kept"\n[retention.machines]\nletter = "1y"\n')
    done = call(post, "retention", "run", "--json")
    assert json.loads(done.out)["instances"] == {"letter": 1}
    assert len(list((post[1] / "kept").iterdir())) == 1


def test_an_archive_is_verified_alone_and_with_the_database(post: Post) -> None:
    [file] = json.loads(call(post, "retention", "run", "--json", **AGE).out)["files"]
    alone = command("audit", "verify", "--file", file, cwd=post[1])
    assert (alone.code, alone.out) == (0, "verified: 1 instance, 2 history rows; all hash chains and replays agree\n")
    assert call(post, "audit", "verify", "--file", file).code == 0
    path = post[1] / file
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(b"user:bob", b"user:eve")))
    broken = command("audit", "verify", "--file", file, cwd=post[1])
    assert broken.code == 1
    assert "seq 2 does not follow from the row before it" in broken.out
    missing = command("audit", "verify", "--file", "none.gz", cwd=post[1])
    assert (missing.code, "cannot read none.gz" in missing.err) == (1, True)


def test_erase_by_a_value(post: Post) -> None:
    planned = call(post, "erase", ANN, "--dry-run")
    assert (planned.code, f"{post[2]}  would be erased" in planned.out) == (0, True)
    output = json.loads(call(post, "erase", ANN, "--reason", "asked to", "--as", "cleo", "--json").out)
    assert (output["instances"], output["at_work"]) == ([str(post[2])], [])
    assert output["what"]["history"] == 2
    assert call(post, "audit", "verify").code == 0
    assert "0 erased, 0 left" in call(post, "erase", ANN, "--reason", "asked to").out


def test_what_is_under_way_is_left_and_the_exit_code_says_so(post: Post) -> None:
    done = call(post, "erase", "bob", "--reason", "asked to")
    assert done.code == 1
    assert f"{post[3]}  not erased: it has not finished" in done.out
    assert "still in the history, as the actor" in done.out


def test_erase_one_instance(post: Post) -> None:
    done = call(post, "erase", "--instance", str(post[2]), "--reason", "asked to")
    assert (done.code, f"{post[2]}  erased" in done.out) == (0, True)
    again = call(post, "erase", "--instance", str(post[3]), "--reason", "asked to")
    assert (again.code, "has not ended; cancel it or wait" in again.err) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name either a value to look for, or one instance"),
        ([ANN, "--instance", str(UUID(int=1))], "name either a value to look for, or one instance"),
        ([ANN], "say why with --reason"),
        (["x", "--reason", "y"], "too short to search for"),
    ],
)
def test_an_erasure_that_says_too_little_is_refused(
    tmp_path: Path, sqlite_url: str, arguments: list[str], message: str
) -> None:
    done = command("erase", *arguments, "--database", sqlite_url, cwd=tmp_path)
    assert (done.code, message in done.err) == (1, True)


def test_the_history_is_kept_by_months_on_postgresql(postgres_url: str, tmp_path: Path) -> None:
    add_letters(postgres_url)

    def partition(*arguments: str) -> Any:
        return command("db", "partition", *arguments, "--database", postgres_url, cwd=tmp_path)

    assert "the present history becomes the table history_before" in partition("--plan").out
    done = partition("--apply")
    assert (done.code, "4 tables" in done.out, "history_before" in done.out) == (0, True, True)
    assert "nothing to do" in partition("--apply").out
    assert json.loads(partition("--plan", "--json").out)["partitioned"] is True
    assert partition().code == 1
    assert command("audit", "verify", "--database", postgres_url, cwd=tmp_path).code == 0


def test_on_sqlite_months_are_refused_in_one_line(sqlite_url: str, tmp_path: Path) -> None:
    done = command("db", "partition", "--plan", "--database", sqlite_url, cwd=tmp_path)
    assert (done.code, done.err.count("\n")) == (1, 1)
