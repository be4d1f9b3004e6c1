"""`interlock session list|start|prompt|watch|cancel|diff` on the database of a service, with the scripted agent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from interlock.apps.sessions.commands.watching import CODES
from interlock.apps.sessions.demo.surroundings import set_up
from interlock.demo import mark
from interlock.engine import Engine
from interlock.machine import installed
from interlock.store import migrate, open_store
from interlock.store.clock import SystemClock
from tests.support.commands import Done, command
from tests.support.sessions import REPO, Sessions, git, open_sessions

ASKED = "Write about tea"
LATER = timedelta(hours=1)


class Here:
    """A folder with a configuration and a database, and the sessions in it."""

    def __init__(self, folder: Path, sessions: Sessions) -> None:
        self.folder, self.sessions = folder, sessions

    def say(self, *arguments: str) -> Done:
        return command("session", *arguments, cwd=self.folder)

    def start(self, text: str = ASKED) -> str:
        done = self.say("start", text, "--as", "otto", "--json")
        assert done.code == 0, done.err
        found: str = json.loads(done.out)["session"]
        return found

    def run(self, text: str = ASKED) -> str:
        made = self.start(text)
        self.sessions.go_on(10)
        return made


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Here]:
    database = tmp_path / "interlock.db"
    (tmp_path / "interlock.toml").write_text(
        f'database = "sqlite:///{database}"\n[sessions]\nfolder = "{tmp_path / "sessions" / "files"}"\n'
        f'[sessions.repos]\n"{REPO}" = "{tmp_path / "sessions" / "source"}"\n'
    )
    with (
        open_store(f"sqlite:///{database}", durability="normal", wakeup="poll") as store,
        open_sessions(store, tmp_path / "sessions") as sessions,
    ):
        # Commands use the host's clock, and what they make due has to be due in the trial.
        sessions.trial.advance(
            timedelta(microseconds=max(0, SystemClock().now() - sessions.engine.clock.now())) + LATER
        )
        yield Here(tmp_path, sessions)


def test_a_session_is_started_watched_and_asked_for_more(here: Here) -> None:
    (here.folder / "plan.txt").write_text("Tea first")
    done = here.say("start", ASKED, "--repo", REPO, "--as", "otto", "--file", "plan.txt")
    assert done.code == 0, done.err
    made = done.out.split()[1]
    shown = here.sessions.look(made)
    assert (shown["user_id"], shown["ui_status"], shown["repo"]) == ("otto", "pending", REPO)
    assert here.sessions.prompts(made)[0]["attachments"][0]["name"] == "plan.txt"
    more = here.say("prompt", made, "And coffee")
    assert "it waits until the agent is free" in more.out
    with here.sessions.working():
        watched = here.say("watch", made, "--all")
    assert watched.code == 0
    lines = watched.out.splitlines()
    assert lines[0] == f"> 1. {ASKED}"
    assert "> 2. And coffee" in lines
    for line in ("I write down what is to be done.", "… write_file  notes/and-coffee.md"):
        assert line in lines
    assert sum(line.startswith("done: The agent finished") for line in lines) == 2
    assert lines[-1].startswith("done: ")


@pytest.mark.parametrize(
    ("text", "code", "said"), [("Look. demo: fail", 1, "failed: "), ("Look. demo: crash", 1, "failed: ")]
)
def test_the_outcome_is_the_exit_code(here: Here, text: str, code: int, said: str) -> None:
    made = here.run(text)
    done = here.say("watch", made[-8:])
    assert (done.code, done.out.splitlines()[-1].startswith(said)) == (code, True)


def test_a_cancelled_prompt_has_an_exit_code_of_its_own(here: Here) -> None:
    made = here.start()
    assert here.say("cancel", made[-8:]).out == "1 waiting prompt cancelled\n"
    assert here.say("watch", made).code == CODES["cancelled"]
    assert here.say("cancel", made, "--prompt", "7").code == 1


def test_one_prompt_is_cancelled_and_the_others_stay(here: Here) -> None:
    made = here.start()
    here.say("prompt", made, "Two")
    done = here.say("cancel", made, "--prompt", "2", "--json")
    assert json.loads(done.out) == {"session": made, "waiting": 1, "running": False}
    assert [one["inbox_status"] for one in here.sessions.prompts(made)] == ["pending", "cancelled"]


def test_the_difference_is_a_patch_that_git_applies(here: Here) -> None:
    made = here.run()
    assert "+- Write about tea" in here.say("diff", made[-8:]).out
    assert ["CHANGELOG.md", "1", "0"] in [line.split() for line in here.say("diff", made, "--stat").out.splitlines()]
    described = json.loads(here.say("diff", made, "--json").out)
    assert [one["path"] for one in described["files"]] == ["CHANGELOG.md", "notes/write-about-tea.md"]
    clone = here.folder / "clone"
    git("clone", "--quiet", here.folder / "sessions" / "source", clone, cwd=here.folder)
    (here.folder / "one.patch").write_text(here.say("diff", made).out)
    git("apply", here.folder / "one.patch", cwd=clone)
    assert (clone / "notes" / "write-about-tea.md").exists()


def test_what_is_wrong_is_one_line(here: Here) -> None:
    unknown = "00000000-0000-7000-8000-000000000000"
    for arguments, said in (
        (("watch", "nonsense"), "'nonsense' is not an instance id; give the whole id, or at least its last 4"),
        (("watch", unknown), "there is no session"),
        (("diff", unknown), "there is no session"),
        (("prompt", unknown, "Do it"), "there is no session"),
        (("start", "Do it", "--repo", "harbour/none"), "there is no repository"),
        (("start", "Do it", "--file", "absent.txt"), "absent.txt cannot be read"),
        (("start", " "), "the prompt has no text"),
    ):
        done = here.say(*arguments)
        assert done.code == 1
        assert said in done.err
        assert "Traceback" not in done.err


def test_in_the_demo_commands_know_its_repositories(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with open_store(f"sqlite:///{tmp_path / 'data' / 'interlock.db'}", durability="normal", wakeup="poll") as store:
        migrate.upgrade(store, installed().applications.values())
        mark.claim_untouched(store, installed())
        with Engine(store, installed()) as engine:
            engine.core.settings["data"] = tmp_path / "data"
            set_up(engine)
    started = command("session", "start", ASKED, "--repo", "harbour/shop", "--json", cwd=tmp_path)
    assert started.code == 0, started.err
    made = json.loads(started.out)["session"]
    done = command("session", "diff", made, cwd=tmp_path)
    assert f"the session's branch {json.loads(started.out)['branch']!r} is not in harbour/shop" in done.err


def test_the_group_is_listed(here: Here) -> None:
    assert "Agent sessions: list them, start one" in command("--help", cwd=here.folder).out
    out = here.say("--help").out
    assert all(name in out for name in ("start", "prompt", "watch", "cancel", "diff"))


def test_sessions_are_listed_newest_first(here: Here) -> None:
    first, second = here.start(), here.start("Write about coffee")
    listed = json.loads(here.say("list", "--json").out)
    assert [one["id"] for one in listed] == [second, first]
    assert json.loads(here.say("list", "--state", "archived", "--json").out) == []
    assert json.loads(here.say("list", "--person", "nobody", "--json").out) == []
    assert REPO in here.say("list", "--repo", REPO).out
