"""What people may do by their role, and agents by the scopes of their token."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType

from interlock.people.errors import WrongScope


class Role(StrEnum):
    """What a person is in a workspace. Each role includes those before it."""

    VIEWER = "viewer"
    REVIEWER = "reviewer"
    MEMBER = "member"
    OWNER = "owner"

    def includes(self, other: Role) -> bool:
        """Whether whoever has this role may do all that the other may. (`<` would compare the words.)"""
        order = list(Role)
        return order.index(self) >= order.index(other)


_VIEWER = frozenset({"read"})
_REVIEWER = _VIEWER | {"review"}
_MEMBER = _REVIEWER | {"create", "fire", "operate", "claims"}
_OWNER = _MEMBER | {"manage", "force"}
PERMISSIONS: Mapping[Role, frozenset[str]] = MappingProxyType(
    {Role.VIEWER: _VIEWER, Role.REVIEWER: _REVIEWER, Role.MEMBER: _MEMBER, Role.OWNER: _OWNER}
)
"""`operate` is pause, resume, cancel, dead letters, bulk actions, a schedule run now, a message sent again;
`manage` is people, tokens, schedules and alert rules; `force` is the move outside the table of transitions."""

SCOPES = ("read", "create", "fire", "claims")
"""What an agent's token may be good for, everywhere in its workspace or, as `fire:parcel`, for one machine."""

_MACHINE = re.compile(r"[A-Za-z0-9._-]{1,64}")


def parse_scopes(scopes: Iterable[str]) -> frozenset[str]:
    """The scopes, if each of them is one."""
    found = frozenset(scopes)
    for scope in sorted(found):
        verb, colon, machine = scope.partition(":")
        if verb not in SCOPES or (colon and not _MACHINE.fullmatch(machine)):
            raise WrongScope(
                f"{scope[:80]!r} is no scope; there are {', '.join(SCOPES)}, "
                "each alone or for one machine, as fire:parcel"
            )
    return found
