"""Login attempts: a few failures a name and an address, then nobody looks at the password for a while.

An attempt is written down before the password is checked, and taken away when it was right. So a hundred attempts
at the same moment count as a hundred, not as none yet.
"""

from __future__ import annotations

import ipaddress
from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.engine.unit import Unit
from interlock.people import workspaces
from interlock.people.errors import TooManyAttempts
from interlock.people.hashing import digest
from interlock.store import SECOND, Micros, span
from interlock.store.service_tables import login_attempt as L

WINDOW = span(timedelta(minutes=15))
MOST_BY_NAME = 5
MOST_BY_ADDRESS = 20


def begin(unit: Unit, name: str, address: str) -> None:
    """Count one more; TooManyAttempts, and nothing is counted, when there were enough."""
    workspaces.lock(unit)
    who, where = _hidden(name), _net(address)
    wait = max(_wait(unit, L.c.name == who, MOST_BY_NAME), _wait(unit, L.c.address == where, MOST_BY_ADDRESS))
    if wait > 0:
        raise TooManyAttempts(-(-wait // SECOND))
    unit.conn.execute(sa.insert(L).values(id=uuid7(), name=who, address=where, at=unit.now))


def clear(unit: Unit, name: str) -> None:
    """The password was right: what failed under this name before does not count any more."""
    unit.conn.execute(sa.delete(L).where(L.c.name == _hidden(name)))


def _wait(unit: Unit, same: sa.ColumnElement[Any], most: int) -> Micros:
    """How long until one of the last `most` is old enough not to count."""
    query = sa.select(L.c.at).where(same, L.c.at > unit.now - WINDOW).order_by(L.c.at.desc()).limit(most)
    times = list(unit.conn.execute(query).scalars())
    return min(times[-1] + WINDOW - unit.now, WINDOW) if len(times) == most else 0


def _hidden(name: str) -> str:
    """Names are only compared here, and now and then somebody types a password where the name belongs."""
    return digest(name.lower())


def _net(address: str) -> str:
    """Whoever has one address of IPv6 has 2^64 of them, so these count together."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return digest(address)
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((int(found), 64), strict=False))
    return str(found)
