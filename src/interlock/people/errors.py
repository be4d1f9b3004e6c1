"""Errors of authentication and of changes to people and tokens. Nothing was changed."""

from __future__ import annotations

from interlock.engine import EngineError, InvalidData


class NotAuthenticated(EngineError):
    """The credentials are missing or invalid: log in, or use another token."""


class NotAllowed(EngineError):
    """The person or token is known but not permitted to do this."""


class LastOwner(NotAllowed):
    """The person is the last owner, without whom nobody could manage the installation."""


class TooManyAttempts(EngineError):
    """Too many failed logins. The password was not checked."""

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(f"too many failed logins; wait {retry_after} seconds and try again")


class NameTaken(EngineError):
    """The name is already in use."""


class WrongName(InvalidData):
    """The name contains characters that are not allowed, or is too long."""


class WeakPassword(InvalidData):
    """The password is too short or too long."""


class WeakSecret(InvalidData):
    """A token secret chosen by hand is guessable or cannot be sent in a header."""


class WrongScope(InvalidData):
    """The scope does not exist, or this kind of token takes no scopes."""
