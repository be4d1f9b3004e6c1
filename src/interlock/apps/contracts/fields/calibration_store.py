"""Providers and calibrations in the database, in addition to the shipped ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from pydantic import ValidationError

from interlock.apps.contracts.fields.calibration import (
    Calibration,
    Label,
    Table,
    features,
    refit,
    shipped_calibration,
)
from interlock.apps.contracts.fields.promise import Score, together
from interlock.apps.contracts.fields.providers import ListedProviders, Provider, shipped_providers
from interlock.apps.contracts.fields.signals import stored_signals
from interlock.apps.contracts.fields.vertical import Vertical, shipped
from interlock.apps.contracts.tables import contract_calibration as C
from interlock.apps.contracts.tables import contract_label as L
from interlock.apps.contracts.tables import contract_provider as P
from interlock.engine import Engine
from interlock.engine.application import Unit
from interlock.machine import Actor
from interlock.store import SECOND
from interlock.store.sql import upsert

DAY = 24 * 3600 * SECOND
MOST_READ = 16
_read: dict[tuple[str, str], Calibration] = {}
"""Versions that this process has read; a version never changes."""
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
    newest = sa.select(C.c.version).where(C.c.vertical == vertical).order_by(C.c.at.desc()).limit(1)
    version = conn.execute(newest).scalar()
    if version is None:
        return shipped_calibration(vertical)
    if (vertical, version) not in _read:
        kept = sa.select(C.c.counts).where(C.c.vertical == vertical, C.c.version == version)
        try:
            table = Table.model_validate_json(conn.execute(kept).scalar_one())
        except ValidationError:  # an earlier release's table, which counted other signals
            return shipped_calibration(vertical)
        if len(_read) >= MOST_READ:
            _read.clear()
        _read[vertical, version] = Calibration(table)
    return _read[vertical, version]


def learn(
    unit: Unit, instance_id: UUID, vertical: str, field: str, signals: Mapping[str, Any], right: bool, actor: Actor
) -> None:
    """Store a person's decision about a value with these signals."""
    seen = stored_signals(signals)
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
    """A duty: once a day, after enough decisions, learn from them as a new version."""
    known = sa.select(L.c.vertical, sa.func.count().label("n")).group_by(L.c.vertical)
    for vertical, count in engine.read(lambda conn: conn.execute(known).all()):
        now = engine.clock.now()
        rows = engine.read(partial(_new_labels, vertical=vertical, count=count, now=now))
        if rows:
            made = _learned(vertical, rows)  # takes seconds, so outside of any transaction
            engine.write(partial(_keep, made=made, labels=len(rows)), name="calibrate")
    return False


def _new_labels(conn: sa.Connection, vertical: str, count: int, now: int) -> Sequence[sa.Row[Any]]:
    """All labels of a vertical, if enough are new and the last version is a day old; else none."""
    last = conn.execute(
        sa.select(C.c.at, C.c.labels).where(C.c.vertical == vertical).order_by(C.c.at.desc()).limit(1)
    ).first()
    if count - (last.labels if last else 0) < FEWEST or (last is not None and now - last.at < DAY):
        return []
    return conn.execute(sa.select(L).where(L.c.vertical == vertical).order_by(L.c.id)).all()


def _learned(vertical: str, rows: Sequence[sa.Row[Any]]) -> Table:
    """The shipped calibration with the labels counted in."""
    shipped = shipped_calibration(vertical)
    labels: dict[UUID, list[Label]] = {}
    for row in rows:
        labels.setdefault(row.instance_id, []).append(Label(row.field, json.loads(row.features), bool(row.was_right)))
    scores = (_score(shipped, vertical, mine) for mine in labels.values())
    return refit(
        shipped.table,
        [label for mine in labels.values() for label in mine],
        version=f"{vertical}-{len(rows)}-reviewed",  # the same version for two concurrent processes
        documents=len(labels),
        scores=[score for score in scores if score is not None],
    ).learned()


def _score(calibration: Calibration, vertical: str, labels: Sequence[Label]) -> Score | None:
    """A document all of whose required fields were judged, by the weights of before."""
    kind = shipped().get(vertical)
    mine = {label.field: label for label in labels}
    required = [one.name for one in kind.required] if kind is not None else []
    if not required or any(name not in mine for name in required):
        return None
    likely = [calibration.likely(name, mine[name].signals) for name in required]
    return Score(together=round(together(likely)[0], 4), right=all(mine[name].right for name in required))


def _keep(unit: Unit, made: Table, labels: int) -> None:
    new = upsert(C).values(
        vertical=made.vertical,
        version=made.version,
        counts=made.model_dump_json(),
        documents=made.documents,
        labels=labels,
        at=unit.now,
    )
    unit.conn.execute(new.on_conflict_do_nothing())
