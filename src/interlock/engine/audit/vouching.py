"""Adds digests of rows of other tables to the last history row that the instance gets in the same transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from interlock.engine.audit import chain
from interlock.engine.audit.row_digests import DIGESTS
from interlock.engine.instance import POSITIONS
from interlock.engine.text import canonical, joined
from interlock.machine import SYSTEM, Actor

if TYPE_CHECKING:
    from interlock.engine.unit import Unit

NOTED = "noted"
"""The kind of a history row that has only digests."""
TEXT, HASH = 8, 10
"""The positions of the payload and the hash in `unit.HISTORY`."""


def vouch(unit: Unit) -> None:
    """Add the digests of all rows that the unit vouches for, before it is written."""
    wanted: dict[UUID, dict[str, str]] = {}
    for instance_id, name, digest in unit.vouched:
        wanted.setdefault(instance_id, {})[name] = digest
    places: dict[UUID, list[int]] = {}
    for number, row in enumerate(unit.history):
        if row[0] in wanted:
            places.setdefault(row[0], []).append(number)
    for instance_id, digests in wanted.items():
        said = f'"{DIGESTS}":{canonical(digests)}'
        if instance_id in places:
            _append(unit, places[instance_id], said)
        elif (instance := unit.lock_many([instance_id]).get(instance_id)) is not None:
            unit.record(instance, NOTED, Actor(SYSTEM), text=joined(said, None))


def _append(unit: Unit, places: list[int], said: str) -> None:
    """Add to the payload of the instance's last history row, and hash it again."""
    row = unit.history[places[-1]]
    instance_id, seq, kind, from_state, to_state, event, who, at, text, *_ = row
    instance = unit.known[instance_id]
    if len(places) > 1:
        before: bytes = unit.history[places[-2]][HASH]
    else:
        before = chain.START if instance.loaded is None else bytes(instance.loaded[POSITIONS["head"]])
    text = joined(said, text)
    digest = chain.digest(text)
    head = chain.link(before, instance_id, seq, kind, from_state, to_state, event, who, at, digest)
    unit.history[places[-1]] = (*row[:TEXT], text, digest, head, *row[HASH + 1 :])
    instance.head = head
    unit.touch(instance)
