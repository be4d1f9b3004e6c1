"""Who is asking: a person, directly or through a token of theirs, or an agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

from interlock.engine import NotFound
from interlock.machine import AGENT, OWNER, USER, Actor
from interlock.people.errors import NotAllowed
from interlock.people.roles import PERMISSIONS, Role

OPERATORS = "default"
"""The first workspace is the installation's own. Its members see workers, limits, leases and schedules of all;
its owners manage workspaces and users."""

Kind = Literal["person", "agent"]


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody who has shown who they are, and what they may do at this moment."""

    kind: Kind
    name: str
    person_id: UUID | None = None
    token_id: UUID | None = None
    roles: Mapping[str, Role] = field(default_factory=dict, hash=False)
    """A person's role in each workspace; through a token only in the token's. Empty for agents."""
    workspace: str | None = None
    """An agent's only workspace."""
    scopes: frozenset[str] = frozenset()
    session: str | None = None
    """The hash of the login session, if there is one."""
    through: str | None = None
    """The name of the token that a person uses."""

    @property
    def workspaces(self) -> frozenset[str]:
        return frozenset(self.roles) if self.workspace is None else frozenset({self.workspace})

    @property
    def who(self) -> str:
        """Unique and stable: the same for a person in each session, another for each token."""
        return f"token:{self.token_id}" if self.token_id is not None else f"person:{self.person_id}"

    def role_in(self, workspace: str) -> Role | None:
        return self.roles.get(workspace)

    def may(self, permission: str, workspace: str, machine: str | None = None) -> bool:
        """Whether this is allowed there; a scope that is narrowed to a machine allows nothing without it."""
        if self.kind == "agent":
            allowed = permission in self.scopes or (machine is not None and f"{permission}:{machine}" in self.scopes)
            return allowed and workspace == self.workspace
        role = self.role_in(workspace)
        return role is not None and permission in PERMISSIONS[role]

    def concerned_with(self, machine: str) -> bool:
        """Whether anything of this machine is theirs: a person's is all of it, an agent's what a scope is for."""
        return self.kind == "person" or any(":" not in one or one.endswith(f":{machine}") for one in self.scopes)

    @property
    def readable_machines(self) -> frozenset[str] | None:
        """The machines whose instances they may read somewhere; None: all of them, where they may read at all."""
        if self.kind == "person" or "read" in self.scopes:
            return None
        return frozenset(scope.removeprefix("read:") for scope in self.scopes if scope.startswith("read:"))

    def actor_in(self, workspace: str) -> Actor:
        """As the history and the list of actions name them."""
        if self.kind == "agent":
            return Actor(AGENT, self.name, frozenset())
        name = self.name if self.through is None else f"{self.name}/{self.through}"
        return person_actor(name, self.role_in(workspace))


def person_actor(name: str, role: Role | None) -> Actor:
    """A person with this role, as the engine judges them."""
    held = frozenset(one.value for one in Role if role is not None and role.includes(one))
    return Actor(OWNER if role is Role.OWNER else USER, name, held)


def require(who: Principal, permission: str, workspace: str, what: str, *, machine: str | None = None) -> None:
    """404 for what is in another workspace, 403 for what the caller's role or scope does not cover.

    `machine` is that of what is there: to an agent without any scope for it, it is not there either, and who may not
    read it is not told which it is.
    """
    if workspace not in who.workspaces or (machine is not None and not who.concerned_with(machine)):
        raise NotFound(f"there is no {what}")
    named = machine is None or who.may("read", workspace, machine)
    need(who, permission, workspace, machine, named=named)


def in_workspace(who: Principal, workspace: str) -> None:
    """NotFound for a workspace that they are not in."""
    if workspace not in who.workspaces:
        raise NotFound(f"there is no workspace {workspace!r}")


def need(who: Principal, permission: str, workspace: str, machine: str | None = None, *, named: bool = True) -> None:
    """NotAllowed, with what would be needed; the machine only where it is `named` already."""
    if who.may(permission, workspace, machine):
        return
    if who.kind == "agent":
        have = f"has the scopes {', '.join(sorted(who.scopes)) or 'none'} in {who.workspace!r}"
    else:
        role = who.role_in(workspace)
        have = f"has the role {role.value}" if role else "has no role there"
    of = f" for machine {machine!r}" if machine is not None and named else ""
    raise NotAllowed(f"this needs the permission {permission!r}{of} in workspace {workspace!r}; {who.name} {have}")
