"""Erases personal data: the data of an instance is emptied, and its chain still verifies.

A history row is hashed with the digest of its payload, so the payload can go and the digest stays. A row of
the same history records who erased it, when and why; a row of `purge` permits it to the trigger. What cannot be erased
is reported: names of actors are part of the chain, and archives and backups lie elsewhere.

Only ended instances are erased: a running one needs its data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import actions, deadletters
from interlock.engine.audit import row_digests
from interlock.engine.audit.purges import permit
from interlock.engine.creating import identity
from interlock.engine.errors import InvalidData, NotFinished
from interlock.engine.instance import ERASED, Instance
from interlock.engine.retention import archive
from interlock.engine.retention.removing import keep_keys
from interlock.engine.text import canonical, erased_key, joined
from interlock.engine.unit import Unit, payload_text
from interlock.machine import Actor
from interlock.store import moment
from interlock.store import service_tables as s
from interlock.store import tables as t
from interlock.store.ai import ai_answer, ai_call
from interlock.store.application_tables import known

if TYPE_CHECKING:
    from interlock.engine.engine import Engine

H, I = t.history, t.instance  # noqa: E741
LOOK = 500
SHORTEST = 3
"""The minimum length of a value: shorter ones occur everywhere."""
TEXTS: Mapping[sa.Table, tuple[str, ...]] = {
    t.instance_data: ("data",),
    H: ("payload",),
    t.review: ("title", "evidence", "answer", "fallback"),
    t.dead_letter: ("error", "data", "note"),
    t.effect: ("key", "answer", "error"),
    t.outbox: ("recipient", "subject", "body", "last_error"),
    t.artifact_ref: ("name",),
    ai_call: ("for_user", "error"),
}
"""Texts of an instance in other tables, except those of applications."""
OWN = ("key", "data", "labels", "last_error")
ELSEWHERE: Mapping[sa.Table, tuple[str, ...]] = {
    s.person: ("name", "email"),
    s.action: ("actor", "target", "details"),
    s.idempotency: ("who", "key", "body"),
    s.schedule: ("name", "data", "labels"),
    s.bulk: ("filter", "arguments", "actor", "reason"),
    s.alert: ("sentence",),
    ai_answer: ("output",),
    t.outbox: ("recipient", "subject", "body"),
    t.lease: ("name", "holder"),
    t.limit_key: ("key",),
}
"""Texts that belong to no instance, except those of applications. A value in them is reported; stored answers of models
are deleted."""


@dataclass
class Erased:
    """What was erased, or would be."""

    instances: list[UUID] = field(default_factory=list)
    what: Counter[str] = field(default_factory=Counter)
    """Rows that were emptied or deleted, by table."""
    at_work: list[UUID] = field(default_factory=list)
    """Instances that have the value and have not ended."""
    shared: list[str] = field(default_factory=list)
    """Hashes of artifacts that other instances refer to as well; their contents stay."""
    stays: Counter[str] = field(default_factory=Counter)
    """Where the value remains, and how often."""
    archives: dict[str, list[str]] = field(default_factory=dict)
    """Archives that contain the value, with the instances of those lines."""


# -- finding


def spellings(value: str) -> list[str]:
    """The value as it may occur in a text: as it is, and as JSON."""
    if len(value.strip()) < SHORTEST:
        raise InvalidData(f"{value!r} is too short to search for: give at least {SHORTEST} characters")
    inside = canonical(value)[1:-1]
    return [value] if inside == value else [value, inside]


def _has(column: sa.ColumnElement[Any], wanted: Sequence[str]) -> sa.ColumnElement[bool]:
    return sa.or_(*(column.icontains(one, autoescape=True) for one in wanted))


def find(engine: Engine, value: str) -> Iterator[list[UUID]]:
    """Instances that contain the value anywhere, in any case; one list per part of the table."""
    wanted, after = spellings(value), None
    while True:
        last, found = engine.read(partial(_find, wanted=wanted, after=after))
        yield found
        if last is None:
            return
        after = last


def _find(conn: sa.Connection, wanted: Sequence[str], after: UUID | None) -> tuple[UUID | None, list[UUID]]:
    query = sa.select(I.c.id).order_by(I.c.id).limit(LOOK)
    ids = list(conn.execute(query.where(I.c.id > after) if after is not None else query).scalars())
    if not ids:
        return None, []
    own = [_has(I.c[name], wanted) for name in OWN]
    found = set(conn.execute(sa.select(I.c.id).where(I.c.id.in_(ids), sa.or_(*own))).scalars())
    for table, names in {**TEXTS, **_personal(conn)}.items():
        here = sa.or_(*(_has(table.c[name], wanted) for name in names))
        found |= set(conn.execute(sa.select(table.c.instance_id).where(table.c.instance_id.in_(ids), here)).scalars())
    found |= _in_artifacts(conn, ids, wanted)
    return (ids[-1] if len(ids) == LOOK else None), sorted(found)


def _personal(conn: sa.Connection) -> dict[sa.Table, Sequence[str]]:
    """Personal columns in tables of applications, also of those that are not loaded."""
    return {one.as_table(): one.personal.columns for one in known(conn) if one.personal and one.personal.columns}


def _in_artifacts(conn: sa.Connection, ids: Sequence[UUID], wanted: Sequence[str]) -> set[UUID]:
    """Instances whose artifacts contain the value. Only text is searched, not PDFs or pictures."""
    R, A = t.artifact_ref, t.artifact
    rows = conn.execute(
        sa.select(R.c.instance_id, A.c.content).join(A, A.c.hash == R.c.hash).where(R.c.instance_id.in_(ids))
    )
    low = [one.lower().encode("utf-8", "surrogatepass") for one in wanted]
    return {row.instance_id for row in rows if any(one in bytes(row.content).lower() for one in low)}


# -- erasing


def erase(unit: Unit, instance_id: UUID, actor: Actor, reason: str, *, value: str | None = None) -> Erased:
    """Empty all data of the instance; its key only if it contains the value. Raises NotFinished if it has not ended."""
    if not reason.strip():
        raise InvalidData("give a reason; the history records it")
    if value is not None and value.casefold() in reason.casefold():
        raise InvalidData("the reason contains the value that is to be erased; use other words")
    instance = unit.lock(instance_id)
    if instance.finished_at is None:
        raise NotFinished(
            f"instance {instance_id} is in {instance.state!r} and has not ended; cancel it or wait, then erase it"
        )
    report = Erased(instances=[instance_id])
    conn = unit.conn
    permit(unit, "payloads", [(instance_id, instance.seq, instance.head, None)], actor, reason)
    here = H.c.instance_id == instance_id
    report.what["history"] = conn.execute(
        sa.update(H).where(here, H.c.payload.is_not(None)).values(payload=None)
    ).rowcount
    note = f"{moment(unit.now):%Y-%m-%d} by {actor}: {reason}"
    _empty_beside(unit, instance_id, note, report)
    _artifacts(conn, instance_id, report)
    _effects(conn, instance_id, spellings(value) if value is not None else [])
    data = {ERASED: note}
    instance.set_data(data)
    instance.labels, instance.last_error = None, None
    if value is not None and instance.key is not None and _inside(instance.key, value):
        _hide_key(unit, instance)
    # The emptied rows are replaced by one that says what is true now: identity, data, and digests of other rows.
    text = payload_text({"reason": reason, "what": dict(report.what), "set": data})
    unit.record(instance, ERASED, actor, text=joined(identity(instance), text))
    for table in row_digests.TABLES:
        unit.vouch_for_stored(table, table.c.instance_id == instance_id)
    actions.record(unit, actor, "erase", str(instance_id), workspace=instance.workspace, details={"reason": reason})
    return report


def _inside(text: str, value: str) -> bool:
    return value.casefold() in text.casefold()


def _hide_key(unit: Unit, instance: Instance) -> None:
    """Remove the key. If it must stay taken forever, its hash is stored."""
    assert instance.key is not None
    if instance.unique_key is not None:
        keep_keys(unit, [(instance.workspace, instance.machine, erased_key(instance.key), instance.id)])
    instance.key, instance.unique_key = erased_key(instance.key), None
    unit.touch(instance)


def _empty_beside(unit: Unit, instance_id: UUID, note: str, report: Erased) -> None:
    conn = unit.conn
    O, D = t.outbox, t.dead_letter  # noqa: E741
    # The title of a question may contain data; other titles are declared with the machine.
    asked = sa.case((t.review.c.visit.is_not(None), ERASED), else_=t.review.c.title)
    emptied: list[tuple[sa.Table, dict[str, Any]]] = [
        (t.review, {"evidence": canonical({ERASED: note}), "answer": None, "title": asked, "fallback": None}),
        (D, {"error": canonical(deadletters.ERASED_ERROR), "data": "{}", "note": None}),
        (O, {"recipient": ERASED, "subject": ERASED, "body": "{}", "last_error": None}),
        (ai_call, {"for_user": None, "error": None}),
    ]
    messages = sa.select(O.c.id).where(O.c.instance_id == instance_id)
    conn.execute(sa.update(s.delivery).where(s.delivery.c.outbox_id.in_(messages)).values(detail=ERASED))
    conn.execute(
        sa.update(O)
        .where(O.c.instance_id == instance_id, O.c.status.in_(("waiting", "dead")))
        .values(status="discarded", settled_at=unit.now)
    )
    calls = sa.select(ai_call.c.id).where(ai_call.c.instance_id == instance_id)
    report.what["ai_answer"] = conn.execute(sa.delete(ai_answer).where(ai_answer.c.call_id.in_(calls))).rowcount
    for table, values in emptied:
        done = conn.execute(sa.update(table).where(table.c.instance_id == instance_id).values(values))
        report.what[table.name] = done.rowcount
    report.what["progress"] = conn.execute(
        sa.delete(t.progress).where(t.progress.c.instance_id == instance_id)
    ).rowcount
    for one in known(conn):
        if one.personal is not None:
            table = one.as_table()
            go: sa.Delete | sa.Update = sa.delete(table)
            if one.personal.erase == "empty":
                go = sa.update(table).values(dict.fromkeys(one.personal.columns, ""))
            report.what[one.name] = conn.execute(go.where(table.c.instance_id == instance_id)).rowcount
    report.what = +report.what


def _artifacts(conn: sa.Connection, instance_id: UUID, report: Erased) -> None:
    R, A = t.artifact_ref, t.artifact
    hashes = set(conn.execute(sa.select(R.c.hash).where(R.c.instance_id == instance_id)).scalars())
    if not hashes:
        return
    conn.execute(sa.select(A.c.hash).where(A.c.hash.in_(hashes)).order_by(A.c.hash).with_for_update()).all()
    report.what["artifact_ref"] = conn.execute(sa.delete(R).where(R.c.instance_id == instance_id)).rowcount
    used = set(conn.execute(sa.select(R.c.hash).where(R.c.hash.in_(hashes))).scalars())
    report.shared = sorted(used)
    if gone := hashes - used:
        report.what["artifact"] = conn.execute(sa.delete(A).where(A.c.hash.in_(gone))).rowcount


def _effects(conn: sa.Connection, instance_id: UUID, wanted: Sequence[str]) -> None:
    """Remove the answers and keep the keys, which prevent a repetition. A key with the value is stored as a hash."""
    E = t.effect
    conn.execute(sa.update(E).where(E.c.instance_id == instance_id).values(answer=None, error=None))
    for row in conn.execute(sa.select(E.c.id, E.c.key).where(E.c.instance_id == instance_id)).all():
        if any(_inside(row.key, one) for one in wanted):
            conn.execute(sa.update(E).where(E.c.id == row.id).values(key=erased_key(row.key)))


# -- all data of a person


class Erasing:
    """Finds and erases everything that contains a value, such as a mail address or a name."""

    def __init__(self, engine: Engine, actor: Actor, reason: str, *, archives: Path | None = None) -> None:
        self._engine, self._actor, self._reason, self._archives = engine, actor, reason, archives

    def one(self, instance_id: UUID, *, dry_run: bool = False) -> Erased:
        """Erase one instance."""
        if dry_run:
            self._engine.get(instance_id)
            return Erased(instances=[instance_id])
        return self._engine.write(lambda unit: erase(unit, instance_id, self._actor, self._reason), name="erase")

    def every(self, value: str, *, dry_run: bool = False) -> Iterator[Erased]:
        """Erase every instance that contains the value. Yields the report after each part."""
        report = Erased()
        for found in find(self._engine, value):
            for instance_id in found:
                self._take(instance_id, value, report, dry_run=dry_run)
            yield report
        wanted = spellings(value)
        if not dry_run:
            gone = sa.delete(ai_answer).where(_has(ai_answer.c.output, wanted))
            report.what["ai_answer"] += self._engine.store.write(lambda conn: conn.execute(gone).rowcount, name="erase")
            report.what = +report.what
        self._engine.read(partial(_left, wanted=wanted, report=report))
        if self._archives is not None:
            report.archives = in_archives(self._archives, wanted)
        yield report

    def _take(self, instance_id: UUID, value: str, report: Erased, *, dry_run: bool) -> None:
        if dry_run:
            ended = self._engine.get(instance_id).finished_at is not None
            (report.instances if ended else report.at_work).append(instance_id)
            return
        try:
            done = self._engine.write(
                lambda unit: erase(unit, instance_id, self._actor, self._reason, value=value), name="erase"
            )
        except NotFinished:
            report.at_work.append(instance_id)
            return
        report.instances.append(instance_id)
        report.what.update(done.what)
        report.shared += done.shared


def _left(conn: sa.Connection, wanted: Sequence[str], report: Erased) -> None:
    """Where the value remains, for a person to look at."""
    for table, names in {**ELSEWHERE, **_not_personal(conn)}.items():
        here = sa.or_(*(_has(table.c[name], wanted) for name in names))
        report.stays[table.name] = conn.execute(sa.select(sa.func.count()).select_from(table).where(here)).scalar_one()
    by = sa.select(sa.func.count()).select_from(H).where(_has(H.c.actor, wanted))
    report.stays["history.actor"] = conn.execute(by).scalar_one()
    report.stays = +report.stays
    # An artifact that only erased instances had is gone by now.
    contents = sa.select(t.artifact.c.hash).where(t.artifact.c.hash.in_(report.shared))
    report.shared = sorted(conn.execute(contents).scalars()) if report.shared else []


def _not_personal(conn: sa.Connection) -> dict[sa.Table, Sequence[str]]:
    """Text columns of applications that belong to no instance."""
    found = {one.as_table(): one.texts for one in known(conn) if not one.personal}
    return {table: names for table, names in found.items() if names}


def in_archives(folder: Path, wanted: Sequence[str]) -> dict[str, list[str]]:
    """Archives that contain the value. They are files, which their owner must handle."""
    found: dict[str, list[str]] = {}
    wanted = [*wanted, *(canonical(one)[1:-1] for one in wanted)]  # a payload is JSON inside of JSON
    for path in sorted(folder.glob("*.jsonl.gz")) if folder.is_dir() else ():
        for line in archive.lines(path):
            if archive.contains(line.text, wanted):
                found.setdefault(str(path), []).append(archive.owner_of(line.text))
    return found
