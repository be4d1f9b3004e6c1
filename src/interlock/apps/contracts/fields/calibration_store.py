"""Providers and calibrations in the database, in addition to the shipped ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.contracts.fields.calibration import (
    Calibration,
    Label,
    Table,
    features,
    refit,
    shipped_calibration,
    shipped_table,
)
from interlock.apps.contracts.fields.providers import ListedProviders, Provider, shipped_providers
from interlock.apps.contracts.fields.signals import Signals
from interlock.apps.contracts.fields.vertical import Vertical
from interlock.apps.contracts.tables import contract_calibration as C
from interlock.apps.contracts.tables import contract_label as L
from interlock.apps.contracts.tables import contract_provider as P
from interlock.engine import Engine
from interlock.engine.application import Unit
from interlock.machine import Actor
from interlock.store import SECOND
from interlock.store.sql import upsert

DAY = 24 * 3600 * SECOND
FEWEST = 10
"""The number of new decisions after which the counts are recomputed."""


def providers(conn: sa.Connection, vertical: Vertical) -> ListedProviders | None:
    """The providers of a vertical: the shipped list, overridden by the database."""
    if vertical.providers is None:
        return None
    rows = conn.execute(sa.select(P).where(P.c.list == vertical.providers)).all()
    mine = [
        Provider(name=row.name, aliases=tuple(json.loads(row.aliases)), ranges=json.loads(row.ranges)) for row in rows
    ]
    named = {one.name for one in mine}
    shipped = shipped_providers(vertical.providers).providers
    # The last to claim an alias has it.
    return ListedProviders([*(one for one in shipped if one.name not in named), *mine])


def put_provider(unit: Unit, list_name: str, provider: Provider, actor: Actor) -> None:
    """Add or replace a provider."""
    columns = provider.model_dump(mode="json")
    values = {
        "aliases": json.dumps(columns["aliases"]),
        "ranges": json.dumps(columns["ranges"]),
        "changed_by": str(actor),
        "changed_at": unit.now,
    }
    new = upsert(P).values(list=list_name, name=provider.name, **values)
    unit.conn.execute(new.on_conflict_do_update(index_elements=[P.c.list, P.c.name], set_=values))


def calibration(conn: sa.Connection, vertical: str) -> Calibration:
    """The newest table for the vertical."""
    row = conn.execute(sa.select(C.c.counts).where(C.c.vertical == vertical).order_by(C.c.at.desc()).limit(1)).first()
    return Calibration(Table.model_validate_json(row.counts)) if row is not None else shipped_calibration(vertical)


def learn(
    unit: Unit, instance_id: UUID, vertical: str, field: str, signals: Mapping[str, Any], right: bool, actor: Actor
) -> None:
    """Store a person's decision about a value with these signals."""
    seen = Signals(**{**signals, "extractors": tuple(signals["extractors"])})
    unit.insert(
        L,
        instance_id=instance_id,
        vertical=vertical,
        field=field,
        features=json.dumps(features(seen)),
        was_right=int(right),
        actor=str(actor),
        at=unit.now,
    )


def recount(engine: Engine) -> bool:
    """A duty: once a day, after enough decisions, recompute the counts as a new version."""
    known = sa.select(L.c.vertical, sa.func.count().label("n")).group_by(L.c.vertical)
    for vertical, count in engine.read(lambda conn: conn.execute(known).all()):
        engine.write(partial(_recount, vertical=vertical, count=count), name="calibrate")
    return False


def _recount(unit: Unit, vertical: str, count: int) -> None:
    last = unit.conn.execute(
        sa.select(C.c.at, C.c.labels).where(C.c.vertical == vertical).order_by(C.c.at.desc()).limit(1)
    ).first()
    if count - (last.labels if last else 0) < FEWEST or (last is not None and unit.now - last.at < DAY):
        return
    rows = unit.conn.execute(sa.select(L).where(L.c.vertical == vertical).order_by(L.c.id)).all()
    labels = [Label(row.field, json.loads(row.features), bool(row.was_right)) for row in rows]
    shipped = shipped_table(vertical)
    documents = len({row.instance_id for row in rows})
    version = f"{vertical}-{len(rows)}-reviewed"  # the same version for two concurrent processes
    made = refit(shipped, labels, version=version, documents=documents)
    new = upsert(C).values(
        vertical=vertical,
        version=version,
        counts=made.model_dump_json(),
        documents=made.documents,
        labels=len(rows),
        at=unit.now,
    )
    unit.conn.execute(new.on_conflict_do_nothing())
