"""Permissions of roles and scopes of tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType

from interlock.machine import InterlockError, Scope
from interlock.people.errors import WrongScope


class Role(StrEnum):
    """A person's role in a workspace. Each role includes the ones before it."""

    VIEWER = "viewer"
    REVIEWER = "reviewer"
    MEMBER = "member"
    OWNER = "owner"

    def includes(self, other: Role) -> bool:
        """Whether this role has all permissions of the other. (`<` would compare the words.)"""
        order = list(Role)
        return order.index(self) >= order.index(other)


_VIEWER = frozenset({"read"})
_REVIEWER = _VIEWER | {"review"}
_MEMBER = _REVIEWER | {"create", "fire", "operate"}
_OWNER = _MEMBER | {"manage", "force"}
PERMISSIONS: Mapping[Role, frozenset[str]] = MappingProxyType(
    {Role.VIEWER: _VIEWER, Role.REVIEWER: _REVIEWER, Role.MEMBER: _MEMBER, Role.OWNER: _OWNER}
)
"""Permissions by role.

`operate`: pause, resume, cancel, dead letters, bulk actions, run a schedule now, resend a message. `manage`: people,
tokens, schedules and alert rules. `force`: moves outside the declared transitions.
"""

MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "read": "read instances, histories, reviews and events",
        "create": "create instances",
        "fire": "fire events of instances",
    }
)
SCOPES = tuple(MEANINGS)
"""The scopes of agents' tokens, for all machines of the workspace or, as in `fire:parcel`, for one."""

_MACHINE = re.compile(r"[A-Za-z0-9._-]{1,64}")


def scopes_with(brought: Iterable[Scope]) -> tuple[str, ...]:
    """Ours, and those of the applications."""
    names = [scope.name for scope in brought]
    taken = PERMISSIONS[Role.OWNER] | set(SCOPES)
    for name in names:
        if name in taken:
            raise InterlockError(f"an application brings the scope {name!r}, which is taken; give it another name")
    return (*SCOPES, *names)


def scope_meanings(brought: Iterable[Scope]) -> dict[str, str]:
    """Every scope, ours and those of the applications, with what its holder may do."""
    brought = list(brought)
    scopes_with(brought)
    return {**MEANINGS, **{scope.name: scope.meaning for scope in brought}}


def parse_scopes(scopes: Iterable[str], brought: Iterable[Scope] = ()) -> frozenset[str]:
    """Validate scopes."""
    found, known = frozenset(scopes), scopes_with(brought)
    for scope in sorted(found):
        verb, colon, machine = scope.partition(":")
        if verb not in known or (colon and not _MACHINE.fullmatch(machine)):
            raise WrongScope(
                f"{scope[:80]!r} is not a scope; there are {', '.join(known)}, "
                "each for all machines or for one, as in fire:parcel"
            )
    return found
