"""`People`: the interface for authentication and for managing people and tokens."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from argon2 import PasswordHasher

from interlock.engine import Engine
from interlock.engine.text import shortened
from interlock.engine.unit import Unit
from interlock.machine import SYSTEM, Actor
from interlock.people import accounts, actions, attempts, cleanup, names, sessions, tokens, workspaces
from interlock.people.accounts import Person
from interlock.people.errors import NotAllowed, NotAuthenticated
from interlock.people.passwords import Passwords
from interlock.people.principal import OPERATORS, Kind, Principal
from interlock.people.roles import Role, scopes_with
from interlock.people.sessions import Login, LoginSession
from interlock.people.tokens import TokenRow
from interlock.people.workspaces import Workspace
from interlock.store import StoreError, micros

AT_START = Actor(SYSTEM, "setup")
AT_LOGIN = Actor(SYSTEM, "login")


class People:
    """The workspaces, people, tokens and sessions of an engine's database. Thread-safe."""

    def __init__(self, engine: Engine, *, hasher: PasswordHasher | None = None) -> None:
        scopes_with(engine.registry.scopes)  # refused at the start, not when the first token is made
        self._engine = engine
        self._passwords = Passwords(hasher)

    def setup(self, *, owner: str = "owner", token: str | None = None) -> Person:
        """Create the installation's owner at the first start; later calls change nothing. Returns the owner."""

        def first(unit: Unit) -> Person:
            workspaces.ensure_first(unit)
            there = accounts.first_owner(unit.conn)
            if there is not None:
                return there
            made = accounts.add(unit, owner, role=Role.OWNER, by=AT_START)
            if token is not None:
                tokens.create(unit, OPERATORS, "setup", kind="person", person_id=made.id, by=AT_START, secret=token)
            return made

        # Every start calls this; only the first one needs the writer.
        there = self._engine.read(accounts.first_owner)
        return there if there is not None else self._engine.write(first, name="people")

    # -- people

    def add(
        self,
        name: str,
        *,
        role: Role,
        by: Actor,
        password: str | None = None,
        email: str | None = None,
        workspace: str = OPERATORS,
    ) -> Person:
        """Add a person. Without a password they log in with a link."""
        names.checked(name, "person")
        hashed = self._passwords.hashed(password) if password is not None else None
        return self._engine.write(
            lambda unit: accounts.add(unit, name, role=role, by=by, password=hashed, email=email, workspace=workspace),
            name="people",
        )

    def get(self, person_id: UUID) -> Person:
        return self._engine.read(lambda conn: accounts.get(conn, person_id))

    def find(self, name: str) -> Person:
        """The person with this name, ignoring case. Raises NotFound."""
        return self._engine.read(lambda conn: accounts.find(conn, name))

    def first_owner(self) -> Person | None:
        """The oldest owner of the installation; None before the first start."""
        return self._engine.read(accounts.first_owner)

    def everyone(self, workspace: str | None = None) -> list[Person]:
        """All people, or the members of one workspace, by name."""
        return self._engine.read(lambda conn: accounts.everyone(conn, workspace))

    def set_role(self, person_id: UUID, role: Role, *, by: Actor, workspace: str = OPERATORS) -> Person:
        """Give a person a role in a workspace, replacing their previous role."""
        return self._engine.write(lambda unit: accounts.set_role(unit, person_id, role, workspace, by), name="people")

    def leave(self, person_id: UUID, workspace: str, *, by: Actor) -> Person:
        """Remove a person from a workspace and revoke their tokens for it."""
        return self._engine.write(lambda unit: accounts.leave(unit, person_id, workspace, by), name="people")

    def set_password(self, person_id: UUID, password: str, *, by: Actor, keep: str | None = None) -> Person:
        """Set a password. Earlier sessions and links end, except the session whose hash is `keep`."""
        hashed = self._passwords.hashed(password)
        return self._engine.write(
            lambda unit: accounts.set_password(unit, person_id, hashed, by, keep=keep), name="people"
        )

    def hashed(self, password: str) -> str:
        """Hash a password for `accounts.add` and `accounts.set_password`. Takes a tenth of a second."""
        return self._passwords.hashed(password)

    def confirm(self, person_id: UUID, password: str, *, address: str) -> None:
        """Check a person's current password; raises NotAllowed if it is wrong. Without a password there is nothing to
        check.

        Failures count as login attempts, so that an unattended browser cannot be used to guess the password.
        """
        person = self.get(person_id)
        if not person.has_password:
            return

        def begin(unit: Unit) -> tuple[UUID, str, str | None] | None:
            attempts.begin(unit, person.name, address)
            return accounts.kept_password(unit.conn, person.name)

        known = self._engine.write(begin, name="login")
        kept = known[2] if known is not None else None
        if not self._passwords.fits(kept, password) or kept is None:
            where = {"address": shortened(address, 100)}
            self._engine.write(
                lambda unit: actions.record(unit, AT_LOGIN, "old_password_wrong", person.name, details=where),
                name="login",
            )
            raise NotAllowed("the current password is wrong")
        self._engine.write(lambda unit: attempts.clear(unit, person.name), name="login")

    def disable(self, person_id: UUID, *, by: Actor) -> Person:
        """Disable a person: their sessions end and their tokens are revoked."""
        return self._engine.write(lambda unit: accounts.disable(unit, person_id, by), name="people")

    def enable(self, person_id: UUID, *, by: Actor) -> Person:
        """Enable a person again. Revoked tokens stay revoked."""
        return self._engine.write(lambda unit: accounts.enable(unit, person_id, by), name="people")

    # -- workspaces

    def add_workspace(self, name: str, title: str, by: Actor) -> Workspace:
        return self._engine.write(lambda unit: workspaces.add(unit, name, title, by), name="people")

    def workspaces(self) -> list[Workspace]:
        return self._engine.read(workspaces.every)

    # -- tokens

    def create_token(
        self,
        workspace: str,
        name: str,
        *,
        kind: Kind,
        by: Actor,
        person_id: UUID | None = None,
        scopes: Iterable[str] = (),
        until: datetime | None = None,
    ) -> tuple[TokenRow, str]:
        """Create a token. Its secret is returned only here."""
        end, given = micros(until) if until is not None else None, tuple(scopes)
        return self._engine.write(
            lambda unit: tokens.create(
                unit, workspace, name, kind=kind, by=by, person_id=person_id, scopes=given, until=end
            ),
            name="people",
        )

    def token(self, token_id: UUID) -> TokenRow:
        return self._engine.read(lambda conn: tokens.get(conn, token_id))

    def tokens(self, workspace: str | None = None) -> list[TokenRow]:
        """List tokens, newest first, including revoked ones."""
        return self._engine.read(lambda conn: tokens.every(conn, workspace))

    def revoke(self, token_id: UUID, by: Actor) -> TokenRow:
        return self._engine.write(lambda unit: tokens.revoke(unit, token_id, by), name="people")

    def by_token(self, secret: str) -> Principal:
        """Authenticate a token. Raises NotAuthenticated if it is invalid, expired or revoked."""
        now = self._engine.clock.now()
        return self._engine.read(lambda conn: tokens.by_secret(conn, secret, now))

    def note_use(self, token_ids: Iterable[UUID]) -> int:
        """Record that these tokens were used. Callers collect ids and call this from time to time."""
        used = frozenset(token_ids)
        return self._engine.write(lambda unit: tokens.note_use(unit, used), name="people") if used else 0

    # -- logging in and out

    def login(self, name: str, password: str, *, address: str, browser: str) -> Login:
        """Log in with a password. Raises NotAuthenticated if it is wrong, TooManyAttempts after several failures."""

        def begin(unit: Unit) -> tuple[UUID, str, str | None] | None:
            attempts.begin(unit, name, address)
            return accounts.kept_password(unit.conn, name)

        # Hashing takes a tenth of a second, so it runs between two transactions.
        known = self._engine.write(begin, name="login")
        kept = known[2] if known is not None else None
        if not self._passwords.fits(kept, password) or known is None or kept is None:
            raise self._failed(known[1] if known is not None else None, address, browser)
        renewed = self._passwords.renewed(kept, password)

        def succeed(unit: Unit) -> Login | None:
            workspaces.lock(unit)
            if accounts.kept_password(unit.conn, name) != known:
                return None  # disabled, or the password changed, while this one was being checked
            attempts.clear(unit, name)
            if renewed is not None:
                accounts.renew_password(unit, known[0], kept, renewed)
            return _begun(unit, known[0], address, browser, "password")

        done = self._engine.write(succeed, name="login")
        if done is None:
            raise self._failed(known[1], address, browser)
        return done

    def _failed(self, name: str | None, address: str, browser: str) -> NotAuthenticated:
        """Record a failed login. Unknown names are not recorded, because they may be mistyped passwords."""
        where = {"address": shortened(address, 100), "browser": shortened(browser, 200)}
        self._engine.write(
            lambda unit: actions.record(unit, AT_LOGIN, "login_failed", name or "", details=where), name="login"
        )
        return NotAuthenticated("the name or the password is wrong")

    def login_link(self, person_id: UUID, *, by: Actor = AT_START) -> str:
        """Create a link secret that logs this person in, once, within an hour."""

        def make(unit: Unit) -> str:
            workspaces.lock(unit)
            person = accounts.get(unit.conn, person_id)
            if person.disabled_at is not None:
                raise NotAllowed(f"{person.name} is disabled and cannot log in; enable them first")
            return sessions.make_link(unit, person_id, person.name, by)

        return self._engine.write(make, name="login")

    def login_by_link(self, secret: str, *, address: str, browser: str) -> Login:
        """Log in with a link, which then becomes invalid."""

        def use(unit: Unit) -> Login:
            workspaces.lock(unit)
            return _begun(unit, sessions.use_link(unit, secret), address, browser, "link")

        return self._engine.write(use, name="login")

    def by_session(self, secret: str) -> Principal:
        """Authenticate a session. Raises NotAuthenticated if it has ended."""
        now = self._engine.clock.now()
        found = self._engine.read(lambda conn: sessions.by_secret(conn, secret, now))
        hashed = found.principal.session
        if found.to_note and hashed is not None:
            # A full disk must not lock people out of the pages that report it.
            with contextlib.suppress(StoreError):
                self._engine.write(lambda unit: sessions.note_seen(unit, hashed), name="login")
        return found.principal

    def csrf(self, secret: str) -> str:
        """The CSRF value for the forms of this session."""
        return sessions.csrf_of(secret)

    def check_csrf(self, secret: str, given: str) -> bool:
        return sessions.check_csrf(secret, given)

    def end_session(self, secret: str) -> bool:
        """Log out. False if there was no session."""
        return self._engine.write(lambda unit: sessions.end(unit, secret), name="login")

    def sessions(self, person_id: UUID) -> list[LoginSession]:
        """A person's sessions, newest first."""
        now = self._engine.clock.now()
        return self._engine.read(lambda conn: sessions.of(conn, person_id, now))

    def end_all(self, person_id: UUID, *, by: Actor, keep: str | None = None) -> int:
        """Log a person out everywhere, except in the session whose hash is `keep`. Returns how many sessions ended."""
        return self._engine.write(lambda unit: sessions.end_all(unit, person_id, by, keep=keep), name="login")

    # -- action log and clean-up

    def actions(
        self,
        *,
        actor: str | None = None,
        what: str | None = None,
        workspace: str | None = None,
        after: UUID | None = None,
        limit: int = 50,
    ) -> actions.ActionPage:
        """List actions, newest first; `after` is the cursor of the previous page."""
        return self._engine.read(
            lambda conn: actions.page(conn, actor=actor, what=what, workspace=workspace, after=after, limit=limit)
        )

    def clean_up(self) -> int:
        """Delete expired rows, a bounded number at once. Repeat until it returns 0."""
        return self._engine.write(cleanup.clean_up, name="people")


def _begun(unit: Unit, person_id: UUID, address: str, browser: str, how: str) -> Login:
    person = accounts.get(unit.conn, person_id)
    secret, until = sessions.begin(unit, person_id, person.name, address=address, browser=browser, how=how)
    return Login(secret, sessions.csrf_of(secret), until, person)
