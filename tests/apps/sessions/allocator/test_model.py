"""Random calls, compared after each with a model that is too simple to be wrong."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from interlock.apps.sessions.allocator import lending
from interlock.apps.sessions.allocator.lender import AllocatorRefused, KeyUsed, Lent, PoolEmpty, WrongToken
from interlock.engine import NotFound
from tests.apps.sessions.allocator.world import Allocator

HOUR = 3600


@dataclass
class Model:
    """What each item is, and which key has it."""

    state: dict[str, str] = field(default_factory=dict)
    holder: dict[str, str] = field(default_factory=dict)
    """Item → the key that has it."""
    until: dict[str, int] = field(default_factory=dict)
    """Key → the hour in which its time is over; withdrawn ones have none."""
    lent: dict[str, Lent] = field(default_factory=dict)
    """Every borrow that ever was, by key."""
    hour: int = 0

    def counts(self) -> tuple[int, ...]:
        found = Counter(self.state.values())
        return (*(found[name] for name in ("free", "borrowed", "in_return", "quarantined")), len(self.state))

    def key_of(self, item: str) -> str | None:
        return self.holder.get(item)

    def end(self, key: str) -> None:
        item = self.lent[key].item_id
        if self.holder.get(item) == key:
            del self.holder[item]
            self.state[item] = "free"

    def has(self, key: str) -> bool:
        return key in self.lent and self.holder.get(self.lent[key].item_id) == key


class Calls:
    """One random call after the other, on the allocator and on the model."""

    def __init__(self, allocator: Allocator, seed: int) -> None:
        self.allocator, self.model, self.random = allocator, Model(), random.Random(seed)
        self.number = 0

    def step(self) -> str:
        names = ["add", "borrow", "borrow", "borrow", "again", "give_back", "give_back", "renew", "pass_time"]
        name = self.random.choice([*names, "release", "quarantine", "remove", "guess"])
        getattr(self, name)()
        return name

    def add(self) -> None:
        if len(self.model.state) < 5:
            (item,) = self.allocator.add({"kind": self.random.randrange(2)})
            self.model.state[str(item)] = "free"

    def borrow(self) -> None:
        self.number += 1
        key = f"k{self.number}"
        try:
            lent = self.allocator.lender().borrow(key)
        except PoolEmpty:
            assert "free" not in self.model.state.values()
            return
        assert self.model.state[lent.item_id] == "free", "it was lent twice"
        self.model.state[lent.item_id], self.model.holder[lent.item_id] = "borrowed", key
        self.model.lent[key], self.model.until[key] = lent, self.model.hour + 24

    def again(self) -> None:
        """The same key once more."""
        if not self.model.lent:
            return
        key = self.random.choice(list(self.model.lent))
        if self.model.has(key) and key in self.model.until:
            assert self.allocator.lender().borrow(key) == self.model.lent[key]
            self._renewed(key)
        else:
            with pytest.raises(KeyUsed):
                self.allocator.lender().borrow(key)

    def _renewed(self, key: str) -> None:
        self.model.until[key] = self.model.hour + 24
        self.model.state[self.model.lent[key].item_id] = "borrowed"

    def give_back(self) -> None:
        """Any token that was ever given, also one that was returned."""
        if self.model.lent:
            key = self.random.choice(list(self.model.lent))
            assert self.allocator.lender().give_back(self.model.lent[key]).status == "succeeded"
            self.model.end(key)

    def renew(self) -> None:
        if not self.model.lent:
            return
        key = self.random.choice(list(self.model.lent))
        try:
            self.allocator.lender().renew(self.model.lent[key])
        except AllocatorRefused:
            assert not self.model.has(key)
            return
        assert self.model.has(key)
        if key in self.model.until:
            self._renewed(key)

    def pass_time(self) -> None:
        hours = self.random.randrange(1, 20)
        self.model.hour += hours
        self.allocator.wait(hours=hours)
        for key, until in self.model.until.items():
            item = self.model.lent[key].item_id
            if self.model.has(key) and self.model.hour > until:
                self.model.state[item] = "quarantined"

    def _item(self) -> str | None:
        return self.random.choice(list(self.model.state)) if self.model.state else None

    def release(self) -> None:
        item = self._item()
        if item is None:
            return
        key = self.random.choice([None, *self.model.lent])
        try:
            self.allocator.db.write(lending.release, UUID(item), key)
        except WrongToken:
            assert key is not None
            assert self.model.key_of(item) != key
            return
        self.model.holder.pop(item, None)
        self.model.state[item] = "free"

    def quarantine(self) -> None:
        item = self._item()
        if item is not None:
            self.allocator.lender().quarantine(item, "broken")
            self.model.state[item] = "quarantined"
            holder = self.model.key_of(item)
            if holder is not None:
                self.model.until.pop(holder, None)

    def remove(self) -> None:
        item = self._item()
        if item is not None and self.random.random() < 0.3:
            self.allocator.db.write(lending.remove, UUID(item))
            self.model.holder.pop(item, None)
            del self.model.state[item]
            with pytest.raises(NotFound):
                self.allocator.db.write(lending.remove, UUID(item))

    def guess(self) -> None:
        with pytest.raises(AllocatorRefused):
            self.allocator.lender().give_back(Lent("x", {}, f"guess-{self.random.random()}"))


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("seed", range(3))
def test_random_calls_conserve_every_item(allocator: Allocator, seed: int) -> None:
    calls = Calls(allocator, seed)
    for _ in range(150):
        name = calls.step()
        assert allocator.counts() == calls.model.counts(), f"after {name}"
