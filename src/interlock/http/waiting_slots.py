"""Places for requests that stay: live streams, and answers that are waited for. One caller cannot have them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from interlock.http.heavy import TooBusy
from interlock.people import Principal


def counted_for(who: Principal) -> str:
    """Whom a place counts for: a person, through whichever of their tokens and logins, or an agent's token."""
    return f"person:{who.person_id}" if who.person_id is not None else f"token:{who.token_id}"


class Places:
    """So many of each caller and so many of all. For one event loop."""

    def __init__(self, what: str, *, each: int, of_all: int, kind: str) -> None:
        self._what, self._each, self._most, self._kind = what, each, of_all, kind
        self._held: Counter[str] = Counter()

    @property
    def taken(self) -> int:
        return self._held.total()

    @contextmanager
    def held(self, who: Principal) -> Iterator[None]:
        """Have a place for as long as this lasts; TooBusy when there is none."""
        mine = counted_for(who)
        if self._held[mine] >= self._each:
            told = f"{self._each} {self._what} of yours are open here, and that is the most; close one"
            raise TooBusy(told, of_all=False, retry_after=5, kind=self._kind)
        if self.taken >= self._most:
            told = f"too many {self._what} are open here; try again later"
            raise TooBusy(told, of_all=True, retry_after=5, kind=self._kind)
        self._held[mine] += 1
        try:
            yield
        finally:
            self._held[mine] -= 1
            if self._held[mine] <= 0:
                del self._held[mine]
