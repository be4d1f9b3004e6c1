"""Roles include each other in one order; scopes are four words, each alone or for one machine."""

from __future__ import annotations

from typing import get_args
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.cli.users import RoleName
from interlock.machine import AGENT, OWNER, USER, Actor, Application, InterlockError, Registry, Scope
from interlock.machine.transitions import ROLES
from interlock.people import PERMISSIONS, SCOPES, Principal, Role, WrongScope, parse_scopes
from interlock.people.principal import Kind
from tests.support.notes.application import SCRIBBLE

roles = st.sampled_from(Role)
permissions = st.sampled_from(sorted(PERMISSIONS[Role.OWNER] | set(SCOPES)))
machines = st.from_regex(r"[A-Za-z0-9._-]{1,64}", fullmatch=True)
scopes = st.sampled_from(SCOPES) | st.builds("{}:{}".format, st.sampled_from(SCOPES), machines)


def ann(**roles_: Role) -> Principal:
    return Principal("person", "ann", UUID(int=1), roles=roles_)


def bot(*scopes_: str) -> Principal:
    return Principal("agent", "bot", token_id=UUID(int=2), workspace="red", scopes=parse_scopes(scopes_))


def test_each_role_may_what_the_specification_says() -> None:
    assert dict(PERMISSIONS) == {
        Role.VIEWER: {"read"},
        Role.REVIEWER: {"read", "review"},
        Role.MEMBER: {"read", "review", "create", "fire", "operate"},
        Role.OWNER: {"read", "review", "create", "fire", "operate", "manage", "force"},
    }


@given(roles, roles)
def test_a_role_includes_another_exactly_when_it_may_all_that_the_other_may(one: Role, other: Role) -> None:
    assert one.includes(other) == (PERMISSIONS[one] >= PERMISSIONS[other])
    assert one.includes(other) or other.includes(one)


def test_the_command_line_and_machines_know_the_same_roles() -> None:
    assert [role.value for role in RoleName] == [role.value for role in Role]
    assert [role.value for role in Role] == list(ROLES)


@given(st.lists(scopes, max_size=5))
def test_right_scopes_are_taken_as_they_are(given_: list[str]) -> None:
    assert parse_scopes(given_) == set(given_)


@pytest.mark.parametrize("wrong", ["", "write", "manage", "Read", "fire:", "fire:a b", "fire:a:b", ":parcel", "read\n"])
def test_a_wrong_scope_is_refused_by_name_with_the_right_ones(wrong: str) -> None:
    with pytest.raises(WrongScope) as refused:
        parse_scopes(["read", wrong])
    assert repr(wrong) in str(refused.value)
    assert "read, create, fire, each" in str(refused.value)


@given(st.text(max_size=30).filter(lambda text: text.partition(":")[0] not in SCOPES))
def test_whatever_else_is_given_as_a_scope_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(WrongScope, match="is not a scope"):
        parse_scopes([text])


@given(roles, permissions)
def test_a_person_may_what_their_role_there_says_and_nothing_elsewhere(role: Role, permission: str) -> None:
    who = ann(red=role)
    assert who.may(permission, "red") == (permission in PERMISSIONS[role])
    assert who.may(permission, "red", "parcel") == who.may(permission, "red")
    assert not who.may(permission, "blue")
    assert (who.role_in("red"), who.role_in("blue")) == (role, None)
    assert who.workspaces == {"red"}


@given(scopes, permissions, machines)
def test_an_agent_may_what_its_scopes_say_and_nothing_elsewhere(scope: str, permission: str, machine: str) -> None:
    who = bot(scope)
    assert who.may(permission, "red", machine) == (scope in {permission, f"{permission}:{machine}"})
    assert who.may(permission, "red") == (scope == permission)
    assert not who.may(permission, "blue", machine)
    assert who.workspaces == {"red"}
    assert who.role_in("red") is None


def test_the_history_names_people_their_tokens_and_agents() -> None:
    who = Principal("person", "ann", UUID(int=1), roles={"red": Role.OWNER, "blue": Role.REVIEWER})
    assert who.actor_in("red") == Actor(OWNER, "ann")
    assert who.actor_in("blue") == Actor(USER, "ann")
    assert who.actor_in("green") == Actor(USER, "ann")
    through = Principal("person", "ann", UUID(int=1), UUID(int=3), {"red": Role.MEMBER}, through="laptop")
    assert through.actor_in("red") == Actor(USER, "ann/laptop")
    assert bot("read").actor_in("red") == Actor(AGENT, "bot")


def test_the_longest_names_still_make_an_actor() -> None:
    through = Principal("person", "a" * 64, UUID(int=1), UUID(int=3), {"red": Role.MEMBER}, through="t" * 64)
    assert str(through.actor_in("red")) == f"user:{'a' * 64}/{'t' * 64}"


def test_who_is_the_same_for_a_person_and_another_for_each_token() -> None:
    everyone = [
        ann(red=Role.OWNER),
        Principal("person", "ann", UUID(int=1), UUID(int=3)),
        Principal("person", "ann", UUID(int=1), UUID(int=4)),
        Principal("person", "bob", UUID(int=2)),
        bot("read"),
    ]
    assert len({who.who for who in everyone}) == len(everyone)
    assert ann(red=Role.OWNER).who == ann(blue=Role.VIEWER).who
    assert {who.kind for who in everyone} == set(get_args(Kind))


def test_a_scope_of_an_application_is_had_by_its_role_and_by_tokens_that_name_it() -> None:
    assert SCRIBBLE.role == "reviewer"
    may = {role: ann(red=role).may(SCRIBBLE, "red") for role in Role}
    assert may == {Role.VIEWER: False, Role.REVIEWER: True, Role.MEMBER: True, Role.OWNER: True}
    assert not ann(red=Role.OWNER).may(SCRIBBLE, "blue")
    named = Principal("agent", "bot", workspace="red", scopes=parse_scopes(["scribble"], [SCRIBBLE]))
    assert (named.may(SCRIBBLE, "red"), named.may(SCRIBBLE, "blue"), bot("read").may(SCRIBBLE, "red")) == (
        True,
        False,
        False,
    )
    with pytest.raises(WrongScope, match="read, create, fire, scribble, each"):
        parse_scopes(["claims"], [SCRIBBLE])


@pytest.mark.parametrize("name", ["read", "manage", "force"])
def test_an_application_cannot_bring_a_scope_that_is_ours(name: str) -> None:
    with pytest.raises(InterlockError, match="which is taken"):
        parse_scopes([], [Scope(name, "anything")])


@pytest.mark.parametrize(("name", "role"), [("Big", "member"), ("a:b", "member"), ("good", "boss")])
def test_a_scope_that_cannot_be_is_refused(name: str, role: str) -> None:
    with pytest.raises(InterlockError, match="cannot be"):
        Scope(name, "anything", role=role)


def test_two_applications_do_not_bring_the_same_scope() -> None:
    with pytest.raises(InterlockError, match="two applications bring the scope 'a'"):
        _ = Registry([Application("x", scopes=[Scope("a", "x")]), Application("y", scopes=[Scope("a", "y")])]).scopes
