"""No secret is in the database: not a password, not a token, not a session, not a link, wherever it was typed."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.engine import Engine, EngineError
from interlock.people import People, Person, Role
from interlock.testing import VirtualClock
from tests.support.databases import all_tables
from tests.support.people import BY, PASSWORD, enter

NEW_PASSWORD = "four other unrelated words"
AS_NAME = "correct-horse-battery"
FIRST = "a-token-that-the-operator-chose"


def dump(engine: Engine) -> str:
    """Every value of every table, as text."""

    def read(conn: sa.Connection) -> str:
        rows = (row for table in all_tables() for row in conn.execute(sa.select(table)))
        return "\n".join(str(value) for row in rows for value in row)

    return engine.read(read)


def test_none_is_in_any_table_after_all_that_can_be_done(engine: Engine, people: People, clock: VirtualClock) -> None:
    secrets = [FIRST, PASSWORD, NEW_PASSWORD, AS_NAME, "wrong password"]
    people.setup(token=FIRST)
    ann = people.add("ann", password=PASSWORD, email="ann@example.org", role=Role.MEMBER, by=BY)
    _, agents = people.create_token("default", "bot", kind="agent", scopes=["read"], by=BY)
    made, anns = people.create_token("default", "laptop", kind="person", person_id=ann.id, by=BY)
    link, unused = people.login_link(ann.id), people.login_link(ann.id)
    logins = [enter(people, "ann"), people.login_by_link(link, address="", browser="")]
    secrets += [agents, anns, link, unused, *(login.secret for login in logins), *(login.csrf for login in logins)]
    for name, password in (("ann", "wrong password"), (AS_NAME, "x"), ("nobody", NEW_PASSWORD)):
        with suppress(EngineError):
            enter(people, name, password)
    for secret in secrets:
        for attempt in (people.by_token, people.by_session, people.end_session, people.find):
            with suppress(EngineError):
                attempt(secret)
        with suppress(EngineError):
            people.login_by_link(secret, address="", browser="")
    people.by_token(agents)
    people.note_use([made.id])
    people.set_password(ann.id, NEW_PASSWORD, by=BY)
    clock.advance(timedelta(minutes=20))
    enter(people, "ann", NEW_PASSWORD)
    people.revoke(made.id, BY)
    people.disable(ann.id, by=BY)
    held = dump(engine)
    assert "ann@example.org" in held
    assert [secret for secret in secrets if secret in held] == []


def test_none_is_in_what_is_shown_of_people_tokens_and_sessions(people: People) -> None:
    owner = people.setup(token=FIRST)
    people.set_password(owner.id, PASSWORD, by=BY)
    login = enter(people, "owner")
    shown = repr((people.everyone(), people.tokens(), people.sessions(owner.id), people.by_token(FIRST)))
    shown += repr((people.actions(), people.by_session(login.secret)))
    assert [secret for secret in (FIRST, PASSWORD, "$argon2", login.secret, login.csrf) if secret in shown] == []


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.text(st.characters(exclude_categories=[]), max_size=40).map("secret-name-".__add__),
    password=st.text(st.characters(exclude_categories=[]), max_size=40).map("secret-word-".__add__),
)
def test_whatever_strangers_type_is_refused_and_not_kept(
    engine: Engine, people: People, clock: VirtualClock, owner: Person, name: str, password: str
) -> None:
    clock.advance(timedelta(hours=1))
    with suppress(EngineError):
        enter(people, name, password)
        raise AssertionError("a stranger was let in")
    held = dump(engine)
    assert name not in held
    assert password not in held
