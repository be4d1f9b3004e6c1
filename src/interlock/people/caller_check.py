"""Re-checks the caller inside the transaction of a write.

The service caches callers for a moment. Meanwhile another process may revoke the token, end the session or remove the
role. A write that was already under way must then leave nothing behind, least of all a new token.
"""

from __future__ import annotations

from interlock.engine.unit import Unit
from interlock.people import sessions, tokens, workspaces
from interlock.people.errors import NotAllowed, NotAuthenticated
from interlock.people.principal import Principal


def confirm(unit: Unit, who: Principal, *, alone: bool = False) -> None:
    """Raise NotAuthenticated if the caller's token or session has ended, NotAllowed if they lost a permission.

    With `alone`, also take the lock on people and tokens, so that neither changes before the commit.
    """
    if alone:
        workspaces.lock(unit)
    if who.token_id is not None:
        now = tokens.by_id(unit.conn, who.token_id, unit.now)
    elif who.session is not None:
        now = sessions.by_hash(unit.conn, who.session, unit.now).principal
    else:
        raise NotAuthenticated("this needs a token or a session; log in or send a token")
    kept = all((role := now.role_in(w)) is not None and role.includes(had) for w, had in who.roles.items())
    if not kept or not who.scopes <= now.scopes:
        raise NotAllowed("your permissions changed during this request; try again")
