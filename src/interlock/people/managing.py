"""Changes to people and tokens as somebody asks for them: every door takes these, so each has the same checks.

Whoever owns a workspace manages those who are in it. Who is in none of their workspaces is not theirs to change, and
to them not there. A token makes no token that can do more or lives longer than itself, nor one in another's name.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from interlock.engine import InvalidData, NotFound
from interlock.engine.unit import Unit
from interlock.people import accounts, tokens
from interlock.people.accounts import Person
from interlock.people.errors import NotAllowed
from interlock.people.principal import OPERATORS, Kind, Principal, require
from interlock.people.roles import Role
from interlock.people.tokens import TokenRow
from interlock.store import Micros, moment


def in_a_login(who: Principal, what: str) -> None:
    """NotAllowed through a token: whoever has stolen one must not come in by another way once it is revoked."""
    if who.token_id is not None:
        raise NotAllowed(f"{what} in a login, not through a token")


def change_role(unit: Unit, who: Principal, person_id: UUID, role: Role | None, workspace: str) -> Person:
    """Give somebody a role in a workspace; None takes them out of it."""
    person = accounts.get(unit.conn, person_id)
    if not who.may("manage", OPERATORS):
        if not who.may("read", OPERATORS) and not who.workspaces & set(person.roles):
            raise NotFound(f"there is no person {person_id}")
        require(who, "manage", workspace, f"workspace {workspace!r}")
        if not any(who.may("manage", theirs) for theirs in person.roles):
            raise NotAllowed(
                f"{person.name} is in no workspace that {who.name} owns; an owner of {OPERATORS!r} can let them in"
            )
    by = who.actor_in(workspace)
    if role is None:
        return accounts.leave(unit, person_id, workspace, by)
    return accounts.set_role(unit, person_id, role, workspace, by)


def issue_token(
    unit: Unit,
    who: Principal,
    workspace: str,
    name: str,
    *,
    kind: Kind,
    person: str | None = None,
    scopes: Iterable[str] = (),
    until: Micros | None = None,
) -> tuple[TokenRow, str]:
    """A token and its secret: one that acts as whoever asks, or for owners an agent's, or another person's."""
    own = kind == "person" and person is None
    require(who, "read" if own else "manage", workspace, f"workspace {workspace!r}")
    person_id = accounts.find(unit.conn, person).id if person is not None else None
    if own:
        if who.person_id is None:
            raise InvalidData("an agent has no person to make a token for; name one, or make an agent's token")
        person_id = who.person_id
    if who.token_id is not None:
        if kind == "person" and person_id != who.person_id:
            raise NotAllowed("a token makes no token in another person's name; log in to do that")
        until = _no_longer_than(tokens.get(unit.conn, who.token_id), until)
    by = who.actor_in(workspace)
    return tokens.create(unit, workspace, name, kind=kind, by=by, person_id=person_id, scopes=scopes, until=until)


def _no_longer_than(maker: TokenRow, until: Micros | None) -> Micros | None:
    """When a token ends that was made with another; the maker's end where nothing is said."""
    if maker.until is None or (until is not None and until <= maker.until):
        return until
    if until is None:
        return maker.until
    end = moment(maker.until).isoformat()
    raise NotAllowed(f"a token makes none that outlives it; this one ends {end}, so give that or an earlier time")


def revoke_token(unit: Unit, who: Principal, token_id: UUID) -> TokenRow:
    """Revoke one's own token, or as an owner any of the workspace; what it made is revoked with it."""
    found = tokens.get(unit.conn, token_id)
    mine = found.person_id is not None and found.person_id == who.person_id
    if not mine:
        require(who, "manage", found.workspace, f"token {token_id}")
    elif found.workspace not in who.workspaces:
        raise NotAllowed(f"this session is not for the workspace {found.workspace!r}")
    return tokens.revoke(unit, token_id, who.actor_in(found.workspace))
