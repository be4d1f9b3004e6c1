"""People and agents: accounts, logins, tokens, roles and permissions.

A *workspace* contains instances. A *person* has a role in each of their workspaces and logs in with a password or a
one-time link; a session cookie identifies them afterwards. A *token* gives access to the API. A person's token acts as
that person, in one workspace, with the person's current role. An agent's token has scopes in one workspace. Every
credential resolves to a `Principal`, which alone decides what is allowed.

Secrets are created here, shown once and stored as hashes: SHA-256 for secrets with 256 random bits, Argon2id for
passwords. Every change is recorded as an *action* in the same transaction. Changes to people and tokens first take one
lock (the row of the first workspace), so that checks such as "is this the last owner" stay valid until the commit.
"""

from interlock.machine import extras

extras.require("service", "argon2")

from interlock.people.accounts import Person
from interlock.people.actions import Action, ActionPage, record
from interlock.people.cleanup import clean_up
from interlock.people.errors import (
    LastOwner,
    NameTaken,
    NotAllowed,
    NotAuthenticated,
    TooManyAttempts,
    WeakPassword,
    WeakSecret,
    WrongName,
    WrongScope,
)
from interlock.people.people import People
from interlock.people.principal import OPERATORS, Principal, in_workspace, need, person_actor, require
from interlock.people.roles import PERMISSIONS, SCOPES, Role, parse_scopes, scope_meanings, scopes_with
from interlock.people.sessions import Login, LoginSession, link_address
from interlock.people.tokens import TokenRow
from interlock.people.workspaces import Workspace

__all__ = [
    "OPERATORS",
    "PERMISSIONS",
    "SCOPES",
    "Action",
    "ActionPage",
    "LastOwner",
    "Login",
    "LoginSession",
    "NameTaken",
    "NotAllowed",
    "NotAuthenticated",
    "People",
    "Person",
    "Principal",
    "Role",
    "TokenRow",
    "TooManyAttempts",
    "WeakPassword",
    "WeakSecret",
    "Workspace",
    "WrongName",
    "WrongScope",
    "clean_up",
    "in_workspace",
    "link_address",
    "need",
    "parse_scopes",
    "person_actor",
    "record",
    "require",
    "scope_meanings",
    "scopes_with",
]
