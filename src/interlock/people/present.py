"""Whoever asks, once more inside the transaction: what was true when the request came may be over when it is done.

A caller is remembered for a moment, and another process may revoke the token, end the login or take the role meanwhile.
A write that was begun by then must leave nothing behind, least of all a token that outlives its maker.
"""

from __future__ import annotations

from interlock.engine.unit import Unit
from interlock.people import sessions, tokens, workspaces
from interlock.people.errors import NotAllowed, NotAuthenticated
from interlock.people.principal import Principal


def confirm(unit: Unit, who: Principal, *, alone: bool = False) -> None:
    """NotAuthenticated where the token or the login is over by now, NotAllowed where a right of theirs was taken away.

    `alone` is for changes to people and tokens: none of those comes between this and the commit.
    """
    if alone:
        workspaces.lock(unit)
    if who.token_id is not None:
        now = tokens.by_id(unit.conn, who.token_id, unit.now)
    elif who.session is not None:
        now = sessions.by_hash(unit.conn, who.session, unit.now).principal
    else:
        raise NotAuthenticated("this needs a token or a login")
    kept = all((role := now.role_in(w)) is not None and role.includes(had) for w, had in who.roles.items())
    if not kept or not who.scopes <= now.scopes:
        raise NotAllowed("your rights were changed while this was under way; ask again")
