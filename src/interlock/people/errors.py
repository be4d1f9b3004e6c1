"""Why somebody was not let in, or a change to people and tokens was refused. Nothing was changed."""

from __future__ import annotations

from interlock.engine import EngineError, InvalidData


class NotAuthenticated(EngineError):
    """Nobody is known by what was shown: log in, or use another token."""


class NotAllowed(EngineError):
    """The person or token is known, and may not do this."""


class LastOwner(NotAllowed):
    """Without this person nobody could manage the installation any more."""


class TooManyAttempts(EngineError):
    """Too many failed logins; the password was not even looked at."""

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(f"too many failed logins; wait {retry_after} seconds and try again")


class NameTaken(EngineError):
    """Something of this kind has the name already."""


class WrongName(InvalidData):
    """The name has characters that names do not have, or too many."""


class WeakPassword(InvalidData):
    """The password is too short, or longer than any that is typed."""


class WeakSecret(InvalidData):
    """A token's secret that was chosen by hand could be guessed, or cannot be sent."""


class WrongScope(InvalidData):
    """There is no such scope, or a token of this kind does not take any."""
