"""People have names, roles in workspaces, and always an owner among them."""

from __future__ import annotations

from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.engine import Engine, InvalidData, NotFound
from interlock.engine.unit import Unit
from interlock.people import (
    LastOwner,
    NameTaken,
    NotAllowed,
    NotAuthenticated,
    People,
    Person,
    Role,
    WeakSecret,
    WrongName,
    accounts,
)
from interlock.store.service_tables import membership as M
from interlock.store.service_tables import person as P
from tests.support.people import BY, PASSWORD, enter, newest, whats
from tests.support.racing import together

pytestmark = pytest.mark.soak("postgresql")

NOBODY = UUID(int=7)
SECRET = "sixteen-letters-"


@pytest.fixture
def ann(people: People, owner: Person) -> Person:
    return people.add("Ann", password=PASSWORD, role=Role.MEMBER, by=BY)


# -- the first start


def test_the_first_start_makes_a_workspace_and_its_owner(people: People) -> None:
    made = people.setup()
    assert (made.name, made.roles, made.has_password) == ("owner", {"default": Role.OWNER}, False)
    assert [(w.name, w.title) for w in people.workspaces()] == [("default", "Default")]
    assert people.tokens() == []


def test_the_first_start_takes_the_owners_token_as_it_is_given(people: People) -> None:
    made = people.setup(owner="boss", token=SECRET)
    who = people.by_token(SECRET)
    assert (who.name, who.person_id, who.roles) == ("boss", made.id, {"default": Role.OWNER})
    assert people.tokens()[0].hint == "ers-"


def test_later_starts_change_nothing(people: People) -> None:
    first = people.setup(token=SECRET)
    done = whats(people)
    assert people.setup(owner="other", token="another-secret-of-24-ch") == first
    assert (people.everyone(), whats(people)) == ([first], done)
    with pytest.raises(NotAuthenticated):
        people.by_token("another-secret-of-24-ch")


def test_a_weak_first_token_is_refused_and_nothing_is_made(people: People) -> None:
    for weak in ("", "fifteen-letters", "with a space in it", "nöt-only-ascii-letters", "x" * 201):
        with pytest.raises(WeakSecret) as refused:
            people.setup(token=weak)
        assert weak == "" or weak not in str(refused.value)
    assert people.everyone() == []
    assert people.workspaces() == []


def test_processes_that_start_at_once_make_one_owner(people: People) -> None:
    found = together(4, lambda _: people.setup())
    assert len({person.id for person in found if isinstance(person, Person)}) == 1
    assert not [error for error in found if isinstance(error, Exception)]
    assert len(people.everyone()) == 1


def test_the_first_person_of_all_has_to_own_the_installation(people: People) -> None:
    with pytest.raises(NotAllowed, match="add the owner first"):
        people.add("ann", role=Role.MEMBER, by=BY)
    first = people.add("ann", role=Role.OWNER, by=BY)
    assert people.setup(owner="other") == first


# -- adding


def test_a_person_is_added_with_a_role_in_a_workspace(people: People, owner: Person) -> None:
    people.add_workspace("red", "Red team", BY)
    made = people.add("ann", email="ann@example.org", workspace="red", role=Role.REVIEWER, by=BY)
    assert (made.name, made.email, made.roles) == ("ann", "ann@example.org", {"red": Role.REVIEWER})
    assert (made.has_password, made.disabled_at) == (False, None)
    assert people.get(made.id) == people.find("ann") == made
    assert newest(people).workspace == "red"
    assert (newest(people).what, newest(people).target, newest(people).actor) == ("user_added", "ann", "owner:owner")


def test_right_names_are_taken(people: People, owner: Person) -> None:
    for name in ("a", "Z" * 64, "ann.b_c-d@example.org", "7"):
        assert people.add(name, role=Role.VIEWER, by=BY).name == name


def test_a_wrong_name_is_refused_with_what_is_right(people: People, owner: Person) -> None:
    for name in ("", "a" * 65, "ann b", "ann/b", "änn", "ann\n", "a:b", "\x00"):
        with pytest.raises(WrongName, match="1 to 64 letters, digits and"):
            people.add(name, role=Role.VIEWER, by=BY)
        with pytest.raises(WrongName):
            people.add_workspace(name, "", BY)
        with pytest.raises(NotFound):
            people.find(name)


def test_names_are_unique_regardless_of_case(people: People, ann: Person) -> None:
    with pytest.raises(NameTaken, match="'Ann'"):
        people.add("aNN", role=Role.VIEWER, by=BY)
    assert people.find("ANN").id == ann.id


def test_of_many_who_take_a_name_at_once_one_gets_it(people: People, owner: Person) -> None:
    spellings = ["cleo", "Cleo", "CLEO", "cLEO"]
    found = together(4, lambda n: people.add(spellings[n], role=Role.VIEWER, by=BY))
    assert sorted(type(one).__name__ for one in found) == ["NameTaken", "NameTaken", "NameTaken", "Person"]


def test_what_is_no_mail_address_is_refused(people: People, owner: Person) -> None:
    for email in ("", "ann", "@example.org", "ann@", "a b@example.org", "a@b\r\nBcc: c@d", "a@" + "b" * 254):
        with pytest.raises(InvalidData, match="is not a mail address"):
            people.add("ann", email=email, role=Role.VIEWER, by=BY)


def test_an_unknown_workspace_or_person_is_not_found(people: People, ann: Person) -> None:
    with pytest.raises(NotFound, match="there is no workspace 'blue'"):
        people.add("bob", workspace="blue", role=Role.VIEWER, by=BY)
    with pytest.raises(NotFound, match="there is no workspace 'blue'"):
        people.set_role(ann.id, Role.VIEWER, workspace="blue", by=BY)
    with pytest.raises(NotFound, match="Ann is not in workspace 'blue'"):
        people.leave(ann.id, "blue", by=BY)
    for change in (people.disable, people.enable):
        with pytest.raises(NotFound, match=str(NOBODY)):
            change(NOBODY, by=BY)
    with pytest.raises(NotFound, match=str(NOBODY)):
        people.get(NOBODY)


# -- workspaces and roles


def test_workspaces_have_unique_names_and_a_title(people: People, owner: Person) -> None:
    assert people.add_workspace("red", "Red team", BY).title == "Red team"
    assert people.add_workspace("blue", "", BY).title == "blue"
    with pytest.raises(NameTaken, match="'red'"):
        people.add_workspace("RED", "again", BY)
    with pytest.raises(InvalidData, match="printable"):
        people.add_workspace("green", "two\nlines", BY)
    assert [w.name for w in people.workspaces()] == ["blue", "default", "red"]


def test_everyone_is_listed_by_name_or_by_workspace(people: People, ann: Person) -> None:
    people.add_workspace("red", "", BY)
    people.add("bob", workspace="red", role=Role.OWNER, by=BY)
    people.set_role(ann.id, Role.VIEWER, workspace="red", by=BY)
    assert [p.name for p in people.everyone()] == ["Ann", "bob", "owner"]
    assert [p.name for p in people.everyone("red")] == ["Ann", "bob"]
    assert people.find("ann").roles == {"default": Role.MEMBER, "red": Role.VIEWER}


def test_people_are_listed_with_their_roles_however_many_they_are(
    people: People, owner: Person, engine: Engine
) -> None:
    def many(unit: Unit) -> None:
        one = accounts.add(unit, "p0", role=Role.VIEWER, by=BY)
        person = unit.conn.execute(sa.select(P).where(P.c.id == one.id)).mappings().one()
        member = unit.conn.execute(sa.select(M).where(M.c.person_id == one.id)).mappings().one()
        ids = [UUID(int=n) for n in range(1, 501)]
        unit.conn.execute(sa.insert(P), [{**person, "id": it, "name": f"p{it.int}"} for it in ids])
        unit.conn.execute(sa.insert(M), [{**member, "person_id": it} for it in ids])

    engine.write(many)
    assert len([p for p in people.everyone() if p.roles == {"default": Role.VIEWER}]) == 501


def test_a_role_is_changed_and_written_down_once(people: People, ann: Person) -> None:
    assert people.set_role(ann.id, Role.OWNER, by=BY).roles == {"default": Role.OWNER}
    assert newest(people).details == {"role": "owner", "before": "member"}
    done = whats(people)
    people.set_role(ann.id, Role.OWNER, by=BY)
    assert whats(people) == done


def test_who_leaves_a_workspace_has_no_role_and_no_token_there(people: People, ann: Person) -> None:
    people.add_workspace("red", "", BY)
    people.set_role(ann.id, Role.MEMBER, workspace="red", by=BY)
    secrets = {
        where: people.create_token(where, "laptop", kind="person", person_id=ann.id, by=BY)[1]
        for where in ("default", "red")
    }
    assert people.leave(ann.id, "red", by=BY).roles == {"default": Role.MEMBER}
    assert people.by_token(secrets["default"]).name == "Ann"
    people.set_role(ann.id, Role.MEMBER, workspace="red", by=BY)
    with pytest.raises(NotAuthenticated):
        people.by_token(secrets["red"])


# -- the last owner


def test_the_last_owner_can_be_neither_disabled_nor_demoted_nor_taken_out(people: People, owner: Person) -> None:
    with pytest.raises(LastOwner, match="cannot be disabled; make somebody else an owner first"):
        people.disable(owner.id, by=BY)
    with pytest.raises(LastOwner, match="cannot be made a member; make somebody else"):
        people.set_role(owner.id, Role.MEMBER, by=BY)
    with pytest.raises(LastOwner, match="cannot be taken out; make somebody else"):
        people.leave(owner.id, "default", by=BY)
    assert people.get(owner.id) == owner


def test_a_disabled_owner_does_not_count(people: People, owner: Person, ann: Person) -> None:
    people.set_role(ann.id, Role.OWNER, by=BY)
    people.disable(ann.id, by=BY)
    with pytest.raises(LastOwner):
        people.disable(owner.id, by=BY)
    assert people.set_role(ann.id, Role.VIEWER, by=BY).roles == {"default": Role.VIEWER}
    people.set_role(ann.id, Role.OWNER, by=BY)
    people.enable(ann.id, by=BY)
    assert people.disable(owner.id, by=BY).disabled_at is not None
    assert people.first_owner() == people.get(ann.id)


def test_other_workspaces_may_be_without_an_owner(people: People, owner: Person) -> None:
    people.add_workspace("red", "", BY)
    bob = people.add("bob", workspace="red", role=Role.OWNER, by=BY)
    assert people.set_role(bob.id, Role.VIEWER, workspace="red", by=BY).roles == {"red": Role.VIEWER}


def test_two_owners_who_demote_each_other_at_once_leave_one(people: People, owner: Person, ann: Person) -> None:
    for _ in range(5):
        for person in (owner, ann):
            people.set_role(person.id, Role.OWNER, by=BY)
        found = together(2, lambda n: people.set_role((owner, ann)[n].id, Role.VIEWER, by=BY))
        assert sorted(type(one).__name__ for one in found) == ["LastOwner", "Person"]


# -- shutting out


def test_who_is_disabled_is_out_at_once_and_everywhere(people: People, ann: Person) -> None:
    session = enter(people, "ann").secret
    link = people.login_link(ann.id)
    _, secret = people.create_token("default", "laptop", kind="person", person_id=ann.id, by=BY)
    assert people.disable(ann.id, by=BY).disabled_at is not None
    assert newest(people).details == {"sessions": 1, "tokens": 1}
    with pytest.raises(NotAuthenticated):
        people.by_session(session)
    with pytest.raises(NotAuthenticated):
        people.by_token(secret)
    with pytest.raises(NotAuthenticated, match="the name or the password is wrong"):
        enter(people, "ann")
    with pytest.raises(NotAuthenticated):
        people.login_by_link(link, address="", browser="")
    with pytest.raises(NotAllowed, match="Ann is disabled"):
        people.login_link(ann.id)
    with pytest.raises(NotAllowed, match="Ann is disabled"):
        people.create_token("default", "other", kind="person", person_id=ann.id, by=BY)


def test_who_is_enabled_again_logs_in_anew(people: People, ann: Person) -> None:
    session = enter(people, "ann").secret
    _, secret = people.create_token("default", "laptop", kind="person", person_id=ann.id, by=BY)
    people.disable(ann.id, by=BY)
    people.disable(ann.id, by=BY)
    assert people.enable(ann.id, by=BY).disabled_at is None
    people.enable(ann.id, by=BY)
    assert whats(people)[-2:] == ["user_disabled", "user_enabled"]
    with pytest.raises(NotAuthenticated):
        people.by_session(session)
    with pytest.raises(NotAuthenticated):
        people.by_token(secret)
    assert people.by_session(enter(people, "ann").secret).name == "Ann"
