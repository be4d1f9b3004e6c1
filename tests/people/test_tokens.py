"""Tokens open the API: a person's as that person is now, an agent's within its scopes, until they end."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa

from interlock.engine import Engine, InvalidData, NotFound
from interlock.machine import AGENT, USER, Actor, Registry
from interlock.people import (
    NameTaken,
    NotAllowed,
    NotAuthenticated,
    People,
    Person,
    Role,
    WrongName,
    WrongScope,
    tokens,
)
from interlock.store import open_store
from interlock.store import service_tables as s
from interlock.testing import VirtualClock
from tests.support.counting import counted
from tests.support.notes import application as notes
from tests.support.people import BY, newest, whats
from tests.support.racing import DEADLINE, together

REFUSED = "this token is invalid: it is mistyped, expired or revoked; ask for a new one"


@pytest.fixture
def ann(people: People, owner: Person) -> Person:
    return people.add("ann", role=Role.MEMBER, by=BY)


def refusal(people: People, secret: str) -> str:
    with pytest.raises(NotAuthenticated) as refused:
        people.by_token(secret)
    return str(refused.value)


def test_a_secret_is_32_random_bytes_and_shown_once(people: People, owner: Person) -> None:
    made, secret = people.create_token("default", "bot", kind="agent", scopes=["read"], by=BY)
    _, other = people.create_token("default", "bot2", kind="agent", scopes=["read"], by=BY)
    assert re.fullmatch(r"il_[A-Za-z0-9_-]{43}", secret)
    assert secret != other
    assert made.hint == secret[-4:]
    assert secret not in repr(people.tokens("default"))


def test_an_agents_token_has_its_scopes_in_its_workspace(people: People, owner: Person) -> None:
    made, secret = people.create_token("default", "bot", kind="agent", scopes=["read", "fire:parcel"], by=BY)
    assert made.scopes == ("fire:parcel", "read")
    who = people.by_token(secret)
    assert (who.kind, who.name, who.token_id, who.person_id) == ("agent", "bot", made.id, None)
    assert (who.workspace, sorted(who.scopes)) == ("default", ["fire:parcel", "read"])
    assert who.may("fire", "default", "parcel")
    assert not who.may("fire", "default", "letter")
    assert who.actor_in("default") == Actor(AGENT, "bot")


def test_a_persons_token_acts_as_that_person_in_its_workspace_alone(people: People, ann: Person) -> None:
    people.add_workspace("red", "", BY)
    people.set_role(ann.id, Role.OWNER, workspace="red", by=BY)
    made, secret = people.create_token("default", "laptop", kind="person", person_id=ann.id, by=BY)
    who = people.by_token(secret)
    assert (who.kind, who.name, who.person_id, who.token_id) == ("person", "ann", ann.id, made.id)
    assert (who.roles, who.workspace, who.scopes) == ({"default": Role.MEMBER}, None, frozenset())
    assert who.actor_in("default") == Actor(USER, "ann/laptop")


def test_a_persons_token_follows_the_persons_present_role(people: People, ann: Person) -> None:
    _, secret = people.create_token("default", "laptop", kind="person", person_id=ann.id, by=BY)
    assert people.by_token(secret).may("fire", "default")
    people.set_role(ann.id, Role.VIEWER, by=BY)
    assert not people.by_token(secret).may("fire", "default")
    people.set_role(ann.id, Role.OWNER, by=BY)
    assert people.by_token(secret).may("force", "default")


def test_expired_revoked_disabled_and_unknown_ones_are_refused_alike(
    people: People, ann: Person, clock: VirtualClock
) -> None:
    def token(name: str, **how: object) -> tuple[UUID, str]:
        made, secret = people.create_token("default", name, by=BY, **how)  # type: ignore[arg-type]
        return made.id, secret

    _, expiring = token("expiring", kind="agent", scopes=["read"], until=clock.time + timedelta(days=1))
    revoked_id, revoked = token("revoked", kind="agent", scopes=["read"])
    _, anns = token("laptop", kind="person", person_id=ann.id)
    people.revoke(revoked_id, BY)
    people.disable(ann.id, by=BY)
    assert people.by_token(expiring).name == "expiring"
    clock.advance(timedelta(days=1))
    refusals = {
        refusal(people, secret) for secret in (expiring, revoked, anns, "il_" + "x" * 43, "", "\ud800", "ä\x00")
    }
    assert refusals == {REFUSED}


def test_a_token_is_good_until_its_last_microsecond(people: People, owner: Person, clock: VirtualClock) -> None:
    until = clock.time + timedelta(days=1)
    _, secret = people.create_token("default", "bot", kind="agent", scopes=["read"], until=until, by=BY)
    clock.advance(timedelta(days=1) - timedelta(microseconds=1))
    assert people.by_token(secret).name == "bot"
    clock.advance(timedelta(microseconds=1))
    assert refusal(people, secret) == REFUSED


def test_revoking_is_written_down_once_with_who_did_it(people: People, owner: Person, clock: VirtualClock) -> None:
    made, _ = people.create_token("default", "bot", kind="agent", scopes=["read"], by=BY)
    gone = people.revoke(made.id, Actor(USER, "cleo"))
    assert (gone.revoked_at, gone.revoked_by) == (clock.now(), "user:cleo")
    assert (newest(people).what, newest(people).target, newest(people).details) == (
        "token_revoked",
        "bot",
        {"id": str(made.id)},
    )
    assert people.revoke(made.id, BY) == gone
    assert whats(people).count("token_revoked") == 1
    with pytest.raises(NotFound):
        people.revoke(uuid4(), BY)


def test_tokens_are_listed_by_workspace_the_newest_first(people: People, owner: Person) -> None:
    people.add_workspace("red", "", BY)
    for workspace, name in (("default", "one"), ("red", "two"), ("default", "three")):
        people.create_token(workspace, name, kind="agent", scopes=["read"], by=BY)
    assert [token.name for token in people.tokens("default")] == ["three", "one"]
    assert [token.name for token in people.tokens()] == ["three", "two", "one"]
    assert people.token(people.tokens("red")[0].id).created_by == "owner:owner"


def test_live_tokens_of_one_owner_have_different_names(people: People, ann: Person, clock: VirtualClock) -> None:
    def agent(name: str, until: timedelta | None = None) -> UUID:
        end = clock.time + until if until is not None else None
        return people.create_token("default", name, kind="agent", scopes=["read"], until=end, by=BY)[0].id

    first = agent("bot", timedelta(hours=1))
    with pytest.raises(NameTaken, match=str(first)):
        agent("BOT")
    people.create_token("default", "bot", kind="person", person_id=ann.id, by=BY)
    with pytest.raises(NameTaken):
        people.create_token("default", "bot", kind="person", person_id=ann.id, by=BY)
    clock.advance(timedelta(hours=1))
    second = agent("bot")
    people.revoke(second, BY)
    agent("bot")


def test_of_many_who_make_a_token_of_one_name_at_once_one_does(people: People, owner: Person) -> None:
    found = together(4, lambda _: people.create_token("default", "bot", kind="agent", scopes=["read"], by=BY))
    assert sorted(type(one).__name__ for one in found) == ["NameTaken", "NameTaken", "NameTaken", "tuple"]


def test_a_token_that_makes_no_sense_is_refused(people: People, ann: Person, clock: VirtualClock) -> None:
    people.add_workspace("red", "", BY)
    with pytest.raises(WrongScope, match="has no scopes"):
        people.create_token("default", "bot", kind="agent", by=BY)
    with pytest.raises(WrongScope, match="'write' is not a scope"):
        people.create_token("default", "bot", kind="agent", scopes=["write"], by=BY)
    with pytest.raises(WrongScope, match="takes no scopes"):
        people.create_token("default", "bot", kind="person", person_id=ann.id, scopes=["read"], by=BY)
    with pytest.raises(InvalidData, match="name the person"):
        people.create_token("default", "bot", kind="person", by=BY)
    with pytest.raises(InvalidData, match="belongs to no person"):
        people.create_token("default", "bot", kind="agent", person_id=ann.id, scopes=["read"], by=BY)
    with pytest.raises(InvalidData, match="person or agent, not 'robot'"):
        people.create_token("default", "bot", kind="robot", scopes=["read"], by=BY)  # type: ignore[arg-type]
    with pytest.raises(InvalidData, match="give a later time"):
        people.create_token("default", "bot", kind="agent", scopes=["read"], until=clock.time, by=BY)
    with pytest.raises(NotAllowed, match="ann is not in workspace 'red'"):
        people.create_token("red", "bot", kind="person", person_id=ann.id, by=BY)
    with pytest.raises(NotFound, match="there is no person"):
        people.create_token("default", "bot", kind="person", person_id=uuid4(), by=BY)
    with pytest.raises(NotFound, match="there is no workspace 'blue'"):
        people.create_token("blue", "bot", kind="agent", scopes=["read"], by=BY)
    with pytest.raises(WrongName):
        people.create_token("default", "a bot", kind="agent", scopes=["read"], by=BY)
    assert people.tokens() == []


def test_uses_are_written_in_a_batch_and_are_no_actions(people: People, owner: Person, clock: VirtualClock) -> None:
    ids = [people.create_token("default", f"bot{n}", kind="agent", scopes=["read"], by=BY)[0].id for n in range(3)]
    done = whats(people)
    clock.advance(timedelta(hours=1))
    assert people.note_use([ids[0], ids[2], ids[0], uuid4()]) == 2
    assert people.note_use([]) == 0
    used = {token.id: token.used_at for token in people.tokens()}
    assert used == {ids[0]: clock.now(), ids[1]: None, ids[2]: clock.now()}
    assert whats(people) == done


def test_who_was_disabled_or_taken_out_in_the_database_itself_has_no_token_either(
    engine: Engine, people: People, ann: Person
) -> None:
    _, secret = people.create_token("default", "laptop", kind="person", person_id=ann.id, by=BY)
    change = sa.update(s.person).values(disabled_at=1)
    engine.store.write(lambda conn: conn.execute(change).rowcount)
    assert refusal(people, secret) == REFUSED
    engine.store.write(lambda conn: conn.execute(change.values(disabled_at=None)).rowcount)
    assert people.by_token(secret).name == "ann"
    engine.store.write(lambda conn: conn.execute(sa.delete(s.membership)).rowcount)
    assert refusal(people, secret) == REFUSED


def test_a_token_that_another_process_is_noting_is_left_to_it(postgres_url: str) -> None:
    with open_store(postgres_url, wakeup="poll") as store, ThreadPoolExecutor(1) as other:
        people = People(Engine(store, []))
        people.setup()
        ids = [people.create_token("default", name, kind="agent", scopes=["read"], by=BY)[0].id for name in "ab"]

        def meanwhile(conn: sa.Connection) -> int:
            conn.execute(sa.select(s.token.c.id).where(s.token.c.id == ids[0]).with_for_update())
            return other.submit(people.note_use, ids).result(DEADLINE)

        assert store.write(meanwhile) == 1


def test_whoever_the_token_stands_for_is_asked_of_the_database_in_one_statement(
    people: People, owner: Person, engine: Engine
) -> None:
    _, secret = people.create_token("default", "bot", kind="agent", scopes=["read"], by=BY)
    with counted() as asked:
        engine.read(lambda conn: tokens.by_secret(conn, secret, engine.clock.now()))
    assert len(asked) == 1


def test_a_token_keeps_the_scope_of_an_application_that_is_gone(people: People, owner: Person) -> None:
    engine = people._engine
    with pytest.raises(WrongScope):
        people.create_token("default", "bot", kind="agent", scopes=["read", "scribble"], by=BY)
    served = Engine(engine.store, Registry([notes]), clock=engine.clock)
    made, secret = People(served).create_token("default", "bot", kind="agent", scopes=["read", "scribble"], by=BY)
    who = people.by_token(secret)
    assert (made.scopes, sorted(who.scopes)) == (("read", "scribble"), ["read", "scribble"])
    assert who.may("read", "default")
    assert [token.scopes for token in people.tokens("default") if token.id == made.id] == [("read", "scribble")]
