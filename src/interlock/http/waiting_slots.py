"""Slots for long-lived requests: live streams, and answers that are waited for. One caller cannot take all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from interlock.http.heavy import TooBusy
from interlock.people import Principal


def counted_for(who: Principal) -> str:
    """Whom a slot counts for: a person, whatever token or session they use, or an agent's token."""
    return f"person:{who.person_id}" if who.person_id is not None else f"token:{who.token_id}"


class WaitingSlots:
    """A limit per caller and in total. For use on one event loop."""

    def __init__(self, what: str, *, each: int, of_all: int, kind: str) -> None:
        self._what, self._each, self._most, self._kind = what, each, of_all, kind
        self._used: Counter[str] = Counter()

    @property
    def taken(self) -> int:
        return self._used.total()

    @contextmanager
    def occupy(self, who: Principal) -> Iterator[None]:
        """Occupy a slot for the duration of the block. Raises TooBusy if there is none."""
        mine = counted_for(who)
        if self._used[mine] >= self._each:
            detail = f"you have the maximum of {self._each} {self._what} open; close one"
            raise TooBusy(detail, of_all=False, retry_after=5, kind=self._kind)
        if self.taken >= self._most:
            detail = f"too many {self._what} are open; try again later"
            raise TooBusy(detail, of_all=True, retry_after=5, kind=self._kind)
        self._used[mine] += 1
        try:
            yield
        finally:
            self._used[mine] -= 1
            if self._used[mine] <= 0:
                del self._used[mine]
