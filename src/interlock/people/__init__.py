"""People and agents: who they are, how they show it, and what they may do.

A *workspace* is a room with instances of its own. A *person* has a role in each workspace that they are in, and comes
in by a password, or by a link that works once; from then on a cookie stands for their session. A *token* opens the API:
a person's acts as that person, in one workspace, with the role that the person has at that moment; an agent's may do
what its scopes say, in one workspace. Whatever was shown becomes a `Principal`, and that alone says what is allowed.

Secrets are made here, shown once and kept as hashes: SHA-256 for those with 256 random bits, Argon2id for passwords.
What is changed here is written down as an *action*, in the same transaction. Changes to people and tokens take one lock
first (the row of the first workspace), so that "the last owner" and "this name is free" stay true until the commit.
"""

from interlock.people.accounts import Person
from interlock.people.actions import Action, ActionPage, record
from interlock.people.cleaning import clean_up
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
from interlock.people.roles import PERMISSIONS, SCOPES, Role, parse_scopes
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
]
