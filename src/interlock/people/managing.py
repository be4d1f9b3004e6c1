"""Changes to people and tokens on behalf of a caller. Every interface uses these functions, so all share the same
checks.

An owner of a workspace manages its members. People outside the owner's workspaces cannot be changed and are reported
as not found. A token cannot create a token that may do more, lives longer, or belongs to somebody else.
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


def require_login(who: Principal, what: str) -> None:
    """Raise NotAllowed for a caller with a token. Otherwise a stolen token could give lasting access after its
    revocation.
    """
    if who.token_id is not None:
        raise NotAllowed(f"{what} needs a login; a token cannot do it")


def change_role(unit: Unit, who: Principal, person_id: UUID, role: Role | None, workspace: str) -> Person:
    """Give a person a role in a workspace; None removes them from it."""
    person = accounts.get(unit.conn, person_id)
    if not who.may("manage", OPERATORS):
        if not who.may("read", OPERATORS) and not who.workspaces & set(person.roles):
            raise NotFound(f"there is no person {person_id}")
        require(who, "manage", workspace, f"workspace {workspace!r}")
        if not any(who.may("manage", theirs) for theirs in person.roles):
            raise NotAllowed(
                f"{person.name} is in no workspace that {who.name} owns; ask an owner of {OPERATORS!r} to add them"
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
    """Create a token that acts as the caller; owners may also create tokens for agents and for other people."""
    own = kind == "person" and person is None
    require(who, "read" if own else "manage", workspace, f"workspace {workspace!r}")
    person_id = accounts.find(unit.conn, person).id if person is not None else None
    if own:
        if who.person_id is None:
            raise InvalidData("an agent has no person; name one, or create an agent's token")
        person_id = who.person_id
    if who.token_id is not None:
        if kind == "person" and person_id != who.person_id:
            raise NotAllowed("a token cannot create a token for another person; log in to do that")
        until = _no_longer_than(tokens.get(unit.conn, who.token_id), until)
    by = who.actor_in(workspace)
    return tokens.create(unit, workspace, name, kind=kind, by=by, person_id=person_id, scopes=scopes, until=until)


def _no_longer_than(maker: TokenRow, until: Micros | None) -> Micros | None:
    """The expiry of a token created with another token: at most, and by default, the expiry of that token."""
    if maker.until is None or (until is not None and until <= maker.until):
        return until
    if until is None:
        return maker.until
    end = moment(maker.until).isoformat()
    raise NotAllowed(f"a token cannot create one that outlives it; this one expires {end}, so give an earlier time")


def revoke_token(unit: Unit, who: Principal, token_id: UUID) -> TokenRow:
    """Revoke a token of your own or, as an owner, any token of the workspace, with all tokens created with it."""
    found = tokens.get(unit.conn, token_id)
    mine = found.person_id is not None and found.person_id == who.person_id
    if not mine:
        require(who, "manage", found.workspace, f"token {token_id}")
    elif found.workspace not in who.workspaces:
        raise NotAllowed(f"this token is not valid for the workspace {found.workspace!r}")
    return tokens.revoke(unit, token_id, who.actor_in(found.workspace))
