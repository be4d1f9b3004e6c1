"""`interlock user`, `workspace`, `token` and `login-link`, as an operator with the database at hand uses them."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from interlock.cli import tokens, users
from interlock.engine import Engine, InvalidData, NotFound
from interlock.machine import InterlockError
from interlock.people import LastOwner, NameTaken, NotAuthenticated, People, Role, WeakPassword, WrongScope
from tests.support.people import PASSWORD
from tests.support.racing import DEADLINE

pytestmark = pytest.mark.slow

app = typer.Typer()
app.add_typer(users.app, name="user")
app.add_typer(users.workspaces, name="workspace")
app.add_typer(tokens.app, name="token")
app.command("login-link")(users.login_link)


class Terminal:
    """Runs commands on one database."""

    def __init__(self, url: str) -> None:
        self.url = url

    def run(self, *arguments: str, typed: str = "") -> Any:
        runner = CliRunner(env={"INTERLOCK_DATABASE": self.url, "INTERLOCK_USER": "operator"})
        done = runner.invoke(app, list(arguments), input=typed)
        if isinstance(done.exception, InterlockError):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done

    def says(self, *arguments: str, typed: str = "") -> str:
        return str(self.run(*arguments, typed=typed).stdout)

    def gives(self, *arguments: str, typed: str = "") -> Any:
        return json.loads(self.says(*arguments, "--json", typed=typed))


@pytest.fixture
def terminal(sqlite_url: str) -> Terminal:
    """On SQLite: commands only call what the tests beside this one try on both databases."""
    return Terminal(sqlite_url)


@pytest.fixture
def people(terminal: Terminal) -> Iterator[People]:
    """What the service sees of the same database; it has been started once."""
    with Engine(terminal.url, []) as engine:
        found = People(engine)
        found.setup()
        yield found


def test_a_person_is_added_with_a_password_from_the_input(terminal: Terminal, people: People) -> None:
    made = terminal.gives(
        "user",
        "add",
        "ann",
        "--role",
        "reviewer",
        "--email",
        "ann@example.org",
        "--password-stdin",
        typed=PASSWORD + "\n",
    )
    assert (made["name"], made["roles"], made["has_password"]) == ("ann", {"default": "reviewer"}, True)
    assert people.login("ann", PASSWORD, address="", browser="").person.email == "ann@example.org"
    assert people.actions(what="user_added", actor="owner:operator").actions[0].target == "ann"


def test_without_a_terminal_and_without_a_password_a_person_logs_in_by_link(terminal: Terminal, people: People) -> None:
    said = terminal.says("user", "add", "ann")
    assert said == "ann is member of default, and logs in by link: interlock login-link ann\n"
    assert not people.find("ann").has_password


def test_at_a_terminal_the_password_is_asked_for_twice_and_not_shown(terminal: Terminal, people: People) -> None:
    code = "from interlock.cli.users import app; app()"
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", code, "add", "ann", "--database", terminal.url]
    with subprocess.Popen(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as asking:
        os.close(theirs)
        assert asking.stdout is not None
        said = b""
        for question in (b"Password: ", b"Repeat for confirmation: "):
            said += until(asking.stdout.fileno(), question)
            os.write(ours, PASSWORD.encode() + b"\n")
        said += until(asking.stdout.fileno(), b"logs in by password")
        echoed, _, _ = select.select([ours], [], [], 0)
        typed = os.read(ours, 10_000) if echoed else b""
        assert asking.wait(DEADLINE) == 0
        os.close(ours)
    assert PASSWORD.encode() not in said + typed
    assert people.login("ann", PASSWORD, address="", browser="").person.name == "ann"


def until(pipe: int, text: bytes) -> bytes:
    """What a program says, up to this text."""
    said = b""
    deadline = time.monotonic() + DEADLINE
    while text not in said:
        ready, _, _ = select.select([pipe], [], [], max(0, deadline - time.monotonic()))
        more = os.read(pipe, 1000) if ready else b""
        assert more, f"it did not say {text!r}, but {said!r}"
        said += more
    return said


def test_people_are_listed_with_their_roles(terminal: Terminal, people: People) -> None:
    terminal.says("workspace", "add", "red")
    terminal.says("user", "add", "ann", "--role", "viewer", "--workspace", "red")
    terminal.says("user", "role", "ann", "member")
    listed = terminal.gives("user", "list")
    assert [(p["name"], p["roles"]) for p in listed] == [
        ("ann", {"default": "member", "red": "viewer"}),
        ("owner", {"default": "owner"}),
    ]
    assert [p["name"] for p in terminal.gives("user", "list", "--workspace", "red")] == ["ann"]
    assert "member of default, viewer of red" in terminal.says("user", "list")


def test_a_role_is_set_in_a_workspace(terminal: Terminal, people: People) -> None:
    terminal.says("user", "add", "ann")
    terminal.says("workspace", "add", "red", "--title", "Red team")
    assert terminal.says("user", "role", "ANN", "owner", "--workspace", "red") == "ann is owner of red\n"
    assert people.find("ann").roles == {"default": Role.MEMBER, "red": Role.OWNER}
    with pytest.raises(LastOwner):
        terminal.run("user", "role", "owner", "viewer")


def test_a_password_is_changed_and_needs_a_source(terminal: Terminal, people: People) -> None:
    terminal.says("user", "add", "ann")
    terminal.gives("user", "password", "ann", "--password-stdin", typed=PASSWORD + "\r\n")
    assert people.login("ann", PASSWORD, address="", browser="").person.name == "ann"
    with pytest.raises(WeakPassword):
        terminal.run("user", "password", "ann", "--password-stdin", typed="short\n")
    with pytest.raises(InvalidData, match="--password-stdin"):
        terminal.run("user", "password", "ann")
    with pytest.raises(NotFound, match="'bob'"):
        terminal.run("user", "password", "bob", "--password-stdin", typed=PASSWORD)


def test_a_person_is_shut_out_and_let_in(terminal: Terminal, people: People) -> None:
    terminal.says("user", "add", "ann")
    assert terminal.gives("user", "disable", "ann")["disabled_at"] is not None
    assert people.find("ann").disabled_at is not None
    assert terminal.says("user", "enable", "ann") == "ann is enabled\n"
    assert people.find("ann").disabled_at is None


def test_workspaces_are_added_and_listed(terminal: Terminal, people: People) -> None:
    assert terminal.gives("workspace", "add", "red", "--title", "Red team")["title"] == "Red team"
    assert [w["name"] for w in terminal.gives("workspace", "list")] == ["default", "red"]
    assert "Red team" in terminal.says("workspace", "list")
    with pytest.raises(NameTaken):
        terminal.run("workspace", "add", "Red")


def test_an_agents_token_is_printed_alone_so_that_a_script_can_take_it(terminal: Terminal, people: People) -> None:
    done = terminal.run("token", "create", "bot", "--scope", "read", "--scope", "fire:parcel")
    who = people.by_token(done.stdout.removesuffix("\n"))
    assert (who.kind, who.name, sorted(who.scopes)) == ("agent", "bot", ["fire:parcel", "read"])
    assert "it is not shown again" in done.stderr


def test_a_persons_token_ends_after_so_many_days(terminal: Terminal, people: People) -> None:
    made = terminal.gives("token", "create", "laptop", "--user", "owner", "--days", "30")
    assert people.by_token(made["secret"]).through == "laptop"
    [token] = people.tokens()
    assert token.until is not None
    assert (token.until - token.created_at) / 86_400_000_000 == pytest.approx(30, abs=0.01)


def test_a_token_is_a_persons_or_an_agents(terminal: Terminal, people: People) -> None:
    for wrong in ([], ["--user", "owner", "--scope", "read"]):
        with pytest.raises(InvalidData, match="give one of the two"):
            terminal.run("token", "create", "bot", *wrong)
    with pytest.raises(WrongScope, match="'write'"):
        terminal.run("token", "create", "bot", "--scope", "write")


def test_tokens_are_listed_without_their_secrets_and_revoked(terminal: Terminal, people: People) -> None:
    secret = terminal.gives("token", "create", "bot", "--scope", "read")["secret"]
    terminal.says("token", "create", "laptop", "--user", "owner")
    listed = terminal.gives("token", "list")
    assert [(t["name"], t["hint"] == secret[-4:]) for t in listed] == [("laptop", False), ("bot", True)]
    assert secret not in terminal.says("token", "list") + json.dumps(listed)
    assert "agent: read" in terminal.says("token", "list", "--workspace", "default")
    assert terminal.gives("token", "revoke", listed[1]["id"])["revoked_by"] == "owner:operator"
    with pytest.raises(NotAuthenticated):
        people.by_token(secret)
    assert terminal.says("token", "revoke", listed[1]["id"][-8:]) == "token bot of default is revoked\n"


def test_a_link_logs_the_owner_or_somebody_else_in(terminal: Terminal, people: People) -> None:
    terminal.says("user", "add", "ann")
    link = terminal.says("login-link").strip()
    assert link.startswith("http://127.0.0.1:8420/login?link=")
    assert people.login_by_link(link.partition("link=")[2], address="", browser="").person.name == "owner"
    given = terminal.gives("login-link", "ann", "--url", "https://interlock.example.org/")
    assert given["name"] == "ann"
    assert given["link"].startswith("https://interlock.example.org/login?link=")
    with pytest.raises(NotFound, match="'bob'"):
        terminal.run("login-link", "bob")


def test_before_the_first_start_there_is_nobody_to_log_in(terminal: Terminal) -> None:
    with pytest.raises(NotFound, match="interlock up"):
        terminal.run("login-link")


def test_the_modules_load_nothing_heavy() -> None:
    code = "import sys, interlock.cli.users, interlock.cli.tokens; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "typer" in loaded
    assert not loaded & {"sqlalchemy", "pydantic", "argon2", "interlock.people", "interlock.engine"}
