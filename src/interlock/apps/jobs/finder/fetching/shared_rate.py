"""The rate per host for all processes together, in the table `jobs_host`."""

from __future__ import annotations

import math

import sqlalchemy as sa

from interlock.apps.jobs.tables import host as H
from interlock.store import SECOND, Micros
from interlock.store.sql import upsert


def reserve(conn: sa.Connection, host: str, interval: float, most: float, now: Micros) -> float:
    """Seconds to wait; when they are more than `most`, nothing was reserved."""
    step = round(interval * SECOND)
    free = sa.case((H.c.next_at > now, H.c.next_at), else_=now)
    statement = (
        upsert(H)
        .values(host=host, next_at=now + step)
        .on_conflict_do_update(
            index_elements=[H.c.host],
            set_={"next_at": free + step},
            where=H.c.next_at <= now + round(most * SECOND) if math.isfinite(most) else None,
        )
        .returning(H.c.next_at)
    )
    found = conn.execute(statement).scalar_one_or_none()
    return remaining(conn, host, now) if found is None else (found - step - now) / SECOND


def remaining(conn: sa.Connection, host: str, now: Micros) -> float:
    """Seconds until a request may go to the host."""
    found = conn.execute(sa.select(H.c.next_at).where(H.c.host == host)).scalar_one_or_none()
    return 0.0 if found is None else max(0, found - now) / SECOND


def block(conn: sa.Connection, host: str, seconds: float, now: Micros) -> None:
    """Let nobody send a request to the host for so long. A longer pause stays."""
    until = now + round(seconds * SECOND)
    conn.execute(
        upsert(H)
        .values(host=host, next_at=until)
        .on_conflict_do_update(index_elements=[H.c.host], set_={"next_at": until}, where=H.c.next_at < until)
    )


def remove_free(conn: sa.Connection, now: Micros) -> int:
    """Remove the rows of hosts that nobody has to wait for."""
    return conn.execute(sa.delete(H).where(H.c.next_at < now)).rowcount
