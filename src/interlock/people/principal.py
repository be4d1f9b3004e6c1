"""The authenticated caller: a person, directly or through a token, or an agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

from interlock.engine import NotFound
from interlock.machine import AGENT, OWNER, USER, Actor, Scope
from interlock.people.errors import NotAllowed
from interlock.people.roles import PERMISSIONS, Role

OPERATORS = "default"
"""The first workspace belongs to the installation.

Its members see workers, limits, leases and schedules of all workspaces; its owners manage workspaces and users.
"""

Kind = Literal["person", "agent"]


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller and their current permissions."""

    kind: Kind
    name: str
    person_id: UUID | None = None
    token_id: UUID | None = None
    roles: Mapping[str, Role] = field(default_factory=dict, hash=False)
    """A person's role by workspace; with a token only in the token's workspace. Empty for agents."""
    workspace: str | None = None
    """The workspace of an agent."""
    scopes: frozenset[str] = frozenset()
    session: str | None = None
    """The hash of the login session, if any."""
    through: str | None = None
    """The name of the person's token, if one is used."""

    @property
    def workspaces(self) -> frozenset[str]:
        return frozenset(self.roles) if self.workspace is None else frozenset({self.workspace})

    @property
    def who(self) -> str:
        """A unique, stable id: the same for all sessions of a person, different for each token."""
        return f"token:{self.token_id}" if self.token_id is not None else f"person:{self.person_id}"

    def role_in(self, workspace: str) -> Role | None:
        return self.roles.get(workspace)

    def may(self, permission: str | Scope, workspace: str, machine: str | None = None) -> bool:
        """Whether the permission, or the scope of an application, is granted.

        A scope limited to one machine grants nothing without that machine.
        """
        role = self.role_in(workspace)
        if isinstance(permission, Scope):
            if self.kind == "person":
                return role is not None and role.includes(Role(permission.role))
            permission = permission.name
        if self.kind == "agent":
            allowed = permission in self.scopes or (machine is not None and f"{permission}:{machine}" in self.scopes)
            return allowed and workspace == self.workspace
        return role is not None and permission in PERMISSIONS[role]

    def concerned_with(self, machine: str) -> bool:
        """Whether the caller may know about this machine: people always, agents if a scope covers it."""
        return self.kind == "person" or any(":" not in one or one.endswith(f":{machine}") for one in self.scopes)

    @property
    def readable_machines(self) -> frozenset[str] | None:
        """The machines whose instances the caller may read somewhere; None means all."""
        if self.kind == "person" or "read" in self.scopes:
            return None
        return frozenset(scope.removeprefix("read:") for scope in self.scopes if scope.startswith("read:"))

    def actor_in(self, workspace: str) -> Actor:
        """The caller as the history and the action log name them."""
        if self.kind == "agent":
            return Actor(AGENT, self.name, frozenset())
        name = self.name if self.through is None else f"{self.name}/{self.through}"
        return person_actor(name, self.role_in(workspace))


def person_actor(name: str, role: Role | None) -> Actor:
    """The engine's actor for a person with this role."""
    roles = frozenset(one.value for one in Role if role is not None and role.includes(one))
    return Actor(OWNER if role is Role.OWNER else USER, name, roles)


def require(who: Principal, permission: str | Scope, workspace: str, what: str, *, machine: str | None = None) -> None:
    """Raise NotFound for another workspace, NotAllowed if the role or scope does not cover the permission.

    `machine` is the machine of the object. An agent without any scope for that machine gets NotFound, and a caller who
    may not read it does not learn its name.
    """
    if workspace not in who.workspaces or (machine is not None and not who.concerned_with(machine)):
        raise NotFound(f"there is no {what}")
    named = machine is None or who.may("read", workspace, machine)
    need(who, permission, workspace, machine, named=named)


def in_workspace(who: Principal, workspace: str) -> None:
    """Raise NotFound unless the caller is a member of the workspace."""
    if workspace not in who.workspaces:
        raise NotFound(f"there is no workspace {workspace!r}")


def need(
    who: Principal, permission: str | Scope, workspace: str, machine: str | None = None, *, named: bool = True
) -> None:
    """Raise NotAllowed, naming the missing permission. The machine is only mentioned if `named`."""
    if who.may(permission, workspace, machine):
        return
    if who.kind == "agent":
        have = f"has the scopes {', '.join(sorted(who.scopes)) or 'none'} in {who.workspace!r}"
    else:
        role = who.role_in(workspace)
        have = f"has the role {role.value}" if role else "has no role there"
    of = f" for machine {machine!r}" if machine is not None and named else ""
    wanted = permission.name if isinstance(permission, Scope) else permission
    raise NotAllowed(f"this needs the permission {wanted!r}{of} in workspace {workspace!r}; {who.name} {have}")
