"""Logging in: by password or by a link that works once; a session ends after 14 days, or a day without use."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Literal
from uuid import UUID

import pytest
import sqlalchemy as sa
from argon2 import PasswordHasher, extract_parameters

from interlock.engine import Engine, NotFound
from interlock.machine import USER, Actor
from interlock.people import NotAuthenticated, People, Person, Role, WeakPassword, link_address
from interlock.store import service_tables as s
from interlock.store.sqlite import SqliteStore
from interlock.testing import VirtualClock
from tests.people.conftest import QUICK
from tests.support.people import BY, PASSWORD, enter, newest, whats
from tests.support.racing import together

pytestmark = pytest.mark.soak("postgresql")

NOT_IN = "you are not logged in or your session has ended; log in again"
DAY = timedelta(days=1)


@pytest.fixture
def ann(people: People, owner: Person) -> Person:
    return people.add("Ann", password=PASSWORD, role=Role.MEMBER, by=BY)


def is_out(people: People, secret: str) -> bool:
    text = ""
    try:
        people.by_session(secret)
    except NotAuthenticated as refused:
        text = str(refused)
    assert text in {"", NOT_IN}
    return bool(text)


# -- in by password


def test_the_right_password_begins_a_session(people: People, ann: Person, clock: VirtualClock) -> None:
    people.add_workspace("red", "", BY)
    people.set_role(ann.id, Role.OWNER, workspace="red", by=BY)
    login = enter(people, "ann")
    assert login.person == people.get(ann.id)
    assert login.until == clock.now() + 14 * 86_400_000_000
    who = people.by_session(login.secret)
    assert (who.kind, who.name, who.person_id, who.token_id) == ("person", "Ann", ann.id, None)
    assert who.roles == {"default": Role.MEMBER, "red": Role.OWNER}
    assert who.actor_in("default") == Actor(USER, "Ann")
    assert [session.hash for session in people.sessions(ann.id)] == [who.session]


def test_a_login_is_written_down_with_from_where(people: People, ann: Person) -> None:
    people.login("ANN", PASSWORD, address="10.1.2.3", browser="Firefox \x00" + "x" * 5000)
    done = newest(people)
    assert (done.actor, done.what, done.target) == ("user:Ann", "login", "Ann")
    assert (done.details["address"], done.details["by"]) == ("10.1.2.3", "password")
    assert len(people.sessions(ann.id)[0].browser) < 300


def test_whatever_is_wrong_is_refused_with_one_sentence(people: People, ann: Person) -> None:
    for name, password, known in [
        ("ann", "another password", "Ann"),
        ("ann", "", "Ann"),
        ("ann", PASSWORD + " ", "Ann"),
        ("ann", "x" * 100_000, "Ann"),
        ("ANN", "\ud800" * 10, "Ann"),
        ("nobody", PASSWORD, ""),
        ("", PASSWORD, ""),
        ("a\x00b", PASSWORD, ""),
        ("owner", "", "owner"),  # has no password at all
    ]:
        with pytest.raises(NotAuthenticated) as refused:
            enter(people, name, password)
        assert str(refused.value) == "the name or the password is wrong"
        done = newest(people)
        assert (done.what, done.target, done.details["address"]) == ("login_failed", known, "10.0.0.1")


def test_passwords_have_10_to_200_characters(people: People, ann: Person) -> None:
    for weak in ("", "nine char", "x" * 201):
        with pytest.raises(WeakPassword, match=f"10 to 200 characters, this one has {len(weak)}"):
            people.add("bob", password=weak, role=Role.VIEWER, by=BY)
        with pytest.raises(WeakPassword):
            people.set_password(ann.id, weak, by=BY)
    assert people.by_session(enter(people, "ann").secret).name == "Ann"


def test_any_password_of_a_right_length_opens(people: People, ann: Person) -> None:
    for right in ("ten chars!", "x" * 200, "ünï cödé 🗝 wörds", "\ud800" * 10):
        people.set_password(ann.id, right, by=BY)
        assert enter(people, "ann", right).person.id == ann.id


def test_a_new_password_ends_sessions_and_links_but_the_one_that_is_kept(people: People, ann: Person) -> None:
    here, there = enter(people, "ann").secret, enter(people, "ann").secret
    link = people.login_link(ann.id)
    keep = people.by_session(here).session
    people.set_password(ann.id, "four other unrelated words", by=BY, keep=keep)
    assert (newest(people).what, newest(people).details) == ("password_set", {"sessions": 1})
    assert (is_out(people, here), is_out(people, there)) == (False, True)
    with pytest.raises(NotAuthenticated):
        people.login_by_link(link, address="", browser="")
    with pytest.raises(NotAuthenticated):
        enter(people, "ann")
    assert enter(people, "ann", "four other unrelated words").person.id == ann.id


def test_a_person_without_a_password_can_be_given_one(people: People, owner: Person) -> None:
    assert people.set_password(owner.id, PASSWORD, by=BY).has_password
    assert enter(people, "owner").person.id == owner.id
    with pytest.raises(NotFound):
        people.set_password(UUID(int=7), PASSWORD, by=BY)


# -- how passwords are kept


def kept(engine: Engine, person: Person) -> str:
    query = sa.select(s.person.c.password).where(s.person.c.id == person.id)
    return str(engine.read(lambda conn: conn.execute(query).scalar_one()))


def test_passwords_are_hashed_with_the_librarys_own_parameters(engine: Engine, people: People, owner: Person) -> None:
    ann = People(engine).add("ann", password=PASSWORD, role=Role.VIEWER, by=BY)
    standard = PasswordHasher()
    assert kept(engine, ann).startswith("$argon2id$")
    assert not standard.check_needs_rehash(kept(engine, ann))


def test_a_login_hashes_anew_when_the_parameters_have_changed(engine: Engine, people: People, ann: Person) -> None:
    before = kept(engine, ann)
    newer = PasswordHasher(time_cost=2, memory_cost=16, parallelism=1)
    assert enter(People(engine, hasher=newer), "ann").person.id == ann.id
    after = kept(engine, ann)
    assert (extract_parameters(before).time_cost, extract_parameters(after).time_cost) == (1, 2)
    assert enter(People(engine, hasher=newer), "ann").person.id == ann.id
    assert kept(engine, ann) == after


class Counting(PasswordHasher):
    """Counts its checks, with the parameters that decide how long each takes."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=16, parallelism=1)
        self.checks: list[object] = []
        self.longest = 0

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:
        self.checks.append(extract_parameters(str(hash)))
        self.longest = max(self.longest, len(password))
        return super().verify(hash, password)


def test_who_is_not_there_costs_as_much_as_who_is(engine: Engine, people: People, owner: Person) -> None:
    hasher = Counting()
    careful = People(engine, hasher=hasher)
    careful.add("ann", password=PASSWORD, role=Role.MEMBER, by=BY)
    careful.disable(careful.add("bob", password=PASSWORD, role=Role.MEMBER, by=BY).id, by=BY)
    enter(careful, "ann")
    [right] = hasher.checks
    for name, password in [
        ("ann", "another password"),
        ("nobody", PASSWORD),
        ("owner", PASSWORD),
        ("bob", PASSWORD),
        ("a/b", PASSWORD),
        ("nobody", "x" * 100_000),
    ]:
        hasher.checks.clear()
        with pytest.raises(NotAuthenticated):
            enter(careful, name, password)
        assert hasher.checks == [right]
    assert hasher.longest <= 200


# -- the session's life


def test_a_session_ends_after_14_days_however_much_it_is_used(people: People, ann: Person, clock: VirtualClock) -> None:
    secret = enter(people, "ann").secret
    for _ in range(27):
        clock.advance(DAY / 2)
        assert not is_out(people, secret)
    clock.advance(DAY / 2 - timedelta(microseconds=1))
    assert not is_out(people, secret)
    clock.advance(timedelta(microseconds=1))
    assert is_out(people, secret)
    assert people.sessions(ann.id) == []


def test_a_session_ends_after_24_hours_without_use(people: People, ann: Person, clock: VirtualClock) -> None:
    secret = enter(people, "ann").secret
    clock.advance(DAY - timedelta(microseconds=1))
    assert not is_out(people, secret)
    clock.advance(DAY)
    assert people.sessions(ann.id) == []
    assert is_out(people, secret)


def test_the_last_use_is_written_at_most_once_a_minute(people: People, ann: Person, clock: VirtualClock) -> None:
    secret = enter(people, "ann").secret
    begun = clock.now()
    clock.advance(timedelta(seconds=59))
    people.by_session(secret)
    assert people.sessions(ann.id)[0].seen_at == begun
    clock.advance(timedelta(seconds=1))
    people.by_session(secret)
    assert people.sessions(ann.id)[0].seen_at == clock.now()


def test_a_database_that_takes_no_writes_keeps_nobody_out(sqlite_url: str, tmp_path: Path) -> None:
    clock = VirtualClock()
    with Engine(SqliteStore(tmp_path / "interlock.db", patience=0.05), [], clock=clock) as engine:
        people = People(engine, hasher=QUICK)
        secret = people.login_by_link(people.login_link(people.setup().id), address="", browser="").secret
        clock.advance(timedelta(hours=1))
        other = sqlite3.connect(tmp_path / "interlock.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert people.by_session(secret).name == "owner"
        other.close()


def test_roles_count_as_they_are_at_this_moment(people: People, ann: Person) -> None:
    secret = enter(people, "ann").secret
    people.set_role(ann.id, Role.VIEWER, by=BY)
    assert people.by_session(secret).roles == {"default": Role.VIEWER}
    people.leave(ann.id, "default", by=BY)
    assert people.by_session(secret).workspaces == frozenset()


def test_who_was_disabled_in_the_database_itself_is_out_too(engine: Engine, people: People, ann: Person) -> None:
    secret = enter(people, "ann").secret
    engine.store.write(lambda conn: conn.execute(sa.update(s.person).values(disabled_at=1)).rowcount)
    assert is_out(people, secret)


def test_logging_out_ends_one_session_once(people: People, ann: Person) -> None:
    here, there = enter(people, "ann").secret, enter(people, "ann").secret
    assert people.end_session(here) is True
    assert newest(people).what == "logout"
    assert people.end_session(here) is False
    assert whats(people).count("logout") == 1
    assert (is_out(people, here), is_out(people, there)) == (True, False)
    assert is_out(people, "")
    assert is_out(people, "\ud800")


def test_all_sessions_of_a_person_end_but_the_one_that_is_kept(people: People, ann: Person, owner: Person) -> None:
    people.set_password(owner.id, PASSWORD, by=BY)
    others = enter(people, "owner").secret
    here, *there = [enter(people, "ann").secret for _ in range(3)]
    assert people.end_all(ann.id, by=BY, keep=people.by_session(here).session) == 2
    assert [is_out(people, secret) for secret in (here, *there, others)] == [False, True, True, False]
    assert people.end_all(ann.id, by=BY) == 1
    assert is_out(people, here)
    done = whats(people)
    assert people.end_all(ann.id, by=BY) == 0
    assert whats(people) == done


def test_sessions_are_listed_with_from_where_the_newest_first(people: People, ann: Person, clock: VirtualClock) -> None:
    enter(people, "ann", address="10.0.0.1")
    clock.advance(timedelta(minutes=1))
    enter(people, "ann", address="10.0.0.2")
    assert [(session.address, session.browser) for session in people.sessions(ann.id)] == [
        ("10.0.0.2", "Firefox"),
        ("10.0.0.1", "Firefox"),
    ]


# -- requests that another site makes the browser send


def test_the_csrf_value_belongs_to_one_session_and_is_not_its_secret(people: People, ann: Person) -> None:
    one, other = enter(people, "ann"), enter(people, "ann")
    assert people.check_csrf(one.secret, one.csrf)
    assert people.csrf(one.secret) == one.csrf
    assert one.secret not in one.csrf
    for wrong in ("", "x", other.csrf, one.csrf[:-1], one.csrf + "0", one.secret, "ä", "\ud800"):
        assert not people.check_csrf(one.secret, wrong)


# -- in by link


def test_a_link_logs_in_once(people: People, ann: Person) -> None:
    secret = people.login_link(ann.id, by=BY)
    assert (newest(people).what, newest(people).target) == ("login_link_made", "Ann")
    login = people.login_by_link(secret, address="10.0.0.9", browser="Firefox")
    assert people.by_session(login.secret).name == "Ann"
    assert (newest(people).what, newest(people).details["by"]) == ("login", "link")
    with pytest.raises(NotAuthenticated, match="interlock login-link"):
        people.login_by_link(secret, address="10.0.0.9", browser="Firefox")


def test_a_link_is_good_for_an_hour(people: People, ann: Person, clock: VirtualClock) -> None:
    early, late = people.login_link(ann.id), people.login_link(ann.id)
    clock.advance(timedelta(hours=1) - timedelta(microseconds=1))
    assert people.login_by_link(early, address="", browser="").person.id == ann.id
    clock.advance(timedelta(microseconds=1))
    with pytest.raises(NotAuthenticated):
        people.login_by_link(late, address="", browser="")


def test_of_many_who_open_a_link_at_once_one_is_in(people: People, ann: Person) -> None:
    secret = people.login_link(ann.id)
    found = together(4, lambda _: people.login_by_link(secret, address="", browser=""))
    assert sorted(type(one).__name__ for one in found) == ["Login", *["NotAuthenticated"] * 3]
    assert len(people.sessions(ann.id)) == 1


def test_a_link_has_an_address(people: People, ann: Person) -> None:
    assert link_address("http://127.0.0.1:8420/", "a_b-c") == "http://127.0.0.1:8420/login?link=a_b-c"


def test_a_password_that_is_changed_while_it_is_checked_opens_nothing(
    engine: Engine, people: People, ann: Person
) -> None:
    """The hasher stands in for the time between the two transactions of a login."""

    class Slow(PasswordHasher):
        def check_needs_rehash(self, hash: str | bytes) -> bool:
            people.set_password(ann.id, "four other unrelated words", by=BY)
            return super().check_needs_rehash(hash)

    slow = People(engine, hasher=Slow(time_cost=1, memory_cost=8, parallelism=1))
    with pytest.raises(NotAuthenticated):
        enter(slow, "ann")
    assert people.sessions(ann.id) == []
