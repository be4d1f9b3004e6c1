"""Login attempts: after a few failures for a name or an address, further attempts are refused for a while.

An attempt is recorded before the password is checked, and removed when the password was right. So a hundred
simultaneous attempts count as a hundred.
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
    """Record an attempt. Raises TooManyAttempts, without recording, if the limit is reached."""
    workspaces.lock(unit)
    who, where = _hidden(name), _net(address)
    wait = max(_wait(unit, L.c.name == who, MOST_BY_NAME), _wait(unit, L.c.address == where, MOST_BY_ADDRESS))
    if wait > 0:
        raise TooManyAttempts(-(-wait // SECOND))
    unit.conn.execute(sa.insert(L).values(id=uuid7(), name=who, address=where, at=unit.now))


def clear(unit: Unit, name: str) -> None:
    """Delete the recorded attempts for this name after a successful login."""
    unit.conn.execute(sa.delete(L).where(L.c.name == _hidden(name)))


def _wait(unit: Unit, same: sa.ColumnElement[Any], most: int) -> Micros:
    """The time until one of the last `most` attempts expires."""
    query = sa.select(L.c.at).where(same, L.c.at > unit.now - WINDOW).order_by(L.c.at.desc()).limit(most)
    times = list(unit.conn.execute(query).scalars())
    return min(times[-1] + WINDOW - unit.now, WINDOW) if len(times) == most else 0


def _hidden(name: str) -> str:
    """Hash the name: it is only compared, and people sometimes type their password into the name field."""
    return digest(name.lower())


def _net(address: str) -> str:
    """Reduce an IPv6 address to its /64 network, because one subscriber controls all 2^64 addresses of it."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return digest(address)
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((int(found), 64), strict=False))
    return str(found)
