"""Who may come in, from the command line: what one command makes, the next one finds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interlock.engine import Engine
from interlock.people import NotAuthenticated, People
from tests.support.commands import command, process


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An installation that was started once; its configuration says where the database is."""
    (tmp_path / "interlock.toml").write_text('database = "sqlite:///mine.db"\n')
    with Engine(f"sqlite:///{tmp_path}/mine.db", []) as engine:
        People(engine).setup()
    return tmp_path


def call(home: Path, *arguments: str) -> Any:
    done = command(*arguments, "--json", cwd=home, INTERLOCK_USER="operator")
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_a_person_in_a_workspace_with_a_token_comes_in_until_it_is_revoked(home: Path) -> None:
    assert call(home, "workspace", "add", "north", "--title", "The north")["title"] == "The north"
    assert call(home, "user", "add", "ann", "--role", "viewer")["roles"] == {"default": "viewer"}
    both = call(home, "user", "role", "ann", "member", "--workspace", "north")
    assert both["roles"] == {"default": "viewer", "north": "member"}
    made = call(home, "token", "create", "laptop", "--user", "ann", "--workspace", "north", "--days", "3")
    with Engine(f"sqlite:///{home}/mine.db", []) as engine:
        people = People(engine)
        assert people.by_token(made["secret"]).roles == {"north": "member"}
        [added] = people.actions(what="user_added", actor="owner:operator").actions
        assert added.target == "ann"
        assert call(home, "token", "revoke", made["id"])["revoked_at"] is not None
        with pytest.raises(NotAuthenticated):
            people.by_token(made["secret"])


def test_the_secret_alone_goes_to_the_output_so_that_a_script_can_keep_it(home: Path) -> None:
    done = process("token", "create", "robot", "--scope", "read", cwd=home)
    [secret] = done.out.splitlines()
    assert secret.startswith("il_")
    assert "not shown again" in done.err
    listed = command("token", "list", cwd=home).out
    assert "robot" in listed
    assert secret not in listed


def test_a_login_link_is_for_the_owner_unless_somebody_is_named(home: Path) -> None:
    link = call(home, "login-link", "--url", "https://interlock.example.org")
    assert (link["name"], link["link"].startswith("https://interlock.example.org/login?link=")) == ("owner", True)
    secret = link["link"].partition("link=")[2]
    with Engine(f"sqlite:///{home}/mine.db", []) as engine:
        assert People(engine).login_by_link(secret, address="", browser="").person.name == "owner"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("user", "add", "owner"), 1, "there is a person 'owner' already"),
        (("user", "disable", "owner"), 1, "is the last owner"),
        (("user", "add", "ann", "--role", "king"), 2, "king"),
        (("token", "create", "x", "--scope", "rule"), 1, "'rule' is not a scope"),
        (("token", "revoke", "7"), 1, "'7' is not a token id"),
        (("user", "list", "--wide", "--nothing"), 2, "--nothing"),
        (("login-link", "nobody"), 1, "there is nobody called 'nobody'"),
    ],
)
def test_a_mistake_has_its_exit_code_and_its_reason(
    home: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = command(*arguments, cwd=home)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert "Traceback" not in done.err
