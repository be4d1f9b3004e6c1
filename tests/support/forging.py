"""A small world to forge in, and what somebody who owns the database, but not the audit key, can do to it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import actions
from interlock.engine.audit import chain, purges, row_digests
from interlock.engine.audit.checkpoints import digest
from interlock.engine.audit.signing import Keys
from interlock.machine import (
    FINAL,
    OWNER,
    USER,
    WAITING,
    Actor,
    Failures,
    Go,
    Machine,
    Message,
    Outcome,
    Review,
    Rule,
    Spawn,
    State,
    Transition,
    WorkError,
)
from interlock.store import Store
from interlock.store import tables as t
from interlock.store.retention_tables import checkpoint as C
from interlock.testing import Trial
from interlock.worker import Task

H, I, P = t.history, t.instance, t.purge  # noqa: E741
ANN, CHIEF = Actor(USER, "ann"), Actor(OWNER, "chief")
KEYS = Keys([bytes(range(32))])


class Broken(WorkError):
    """No retry helps."""


def read(task: Task[Any]) -> Outcome:
    if task.data.get("broken"):
        raise Broken("nobody can read this")
    task.keep("scan", b"120 Euro", media_type="text/plain")
    said = (Message("mail", "ann@example.org", "An invoice", {"total": 120}),)
    return Go("approval", data={"total": 120}, messages=said, spawn=(Spawn("note", {"about": "it"}),))


def pay(task: Task[Any]) -> Outcome:
    return Go("paid", data={"receipt": task.once("payment", dict(task.data), lambda effect: f"paid as {effect.key}")})


invoice = Machine(
    "invoice",
    initial="reading",
    states=[
        State("reading"),
        State("paying"),
        State("paid", FINAL),
        State("refused", FINAL),
        State("approval", WAITING, waits_for="a person", review=Review("Pay it?", {"pay": "approve", "no": "refuse"})),
    ],
    transitions=[
        Transition("reading", "approval", on="read"),
        Transition("approval", "paying", on="approve", by=USER, accepts=("limit",)),
        Transition("approval", "refused", on="refuse", by=USER),
        Transition("paying", "paid", on="pay"),
    ],
    failures=Failures(rules=[Rule((Broken,), retries=0, dead_letter=True)]),
).with_handlers({"reading": read, "paying": pay})
note = Machine(
    "note",
    initial="open",
    states=[State("open", WAITING, waits_for="a person"), State("done", FINAL)],
    transitions=[Transition("open", "done", on="done", by=USER)],
)


@dataclass
class World:
    """What is there to be changed."""

    trial: Trial
    paid: UUID
    """Ended, with an artifact, a message, a decided review and a confirmed effect."""
    waits: UUID
    """Asks a person."""
    child: UUID
    broken: UUID
    """Has a dead letter that was resolved, and one that is open."""

    def run(self, *statements: Any) -> None:
        self.trial.engine.store.write(lambda conn: [conn.execute(one) for one in statements] and None)


def world(store: Store) -> World:
    trial = Trial([invoice, note], store=store)
    trial.engine.core.audit_keys = KEYS
    paid = trial.create("invoice", {"file": "march.pdf"}, key="march", labels={"for": "ann"})
    waits = trial.create("invoice", {"file": "april.pdf"}, key="april", workspace="books")
    broken = trial.create("invoice", {"broken": True})
    trial.run_until_idle()
    [asked] = trial.engine.reviews.waiting(instance_id=paid)
    trial.advance(minutes=5)
    trial.engine.reviews.decide(asked.id, "pay", actor=ANN, answer={"limit": 200})
    trial.run_until_idle()
    [child] = trial.engine.children(paid)
    [letter] = trial.engine.dead_letters.find()
    trial.engine.dead_letters.resolve(letter.id, actor=ANN, note="by hand")
    trial.write(lambda unit: actions.record(unit, CHIEF, "token.make", "robot"))
    assert trial.state(paid) == "paid"
    return World(trial, paid, waits, child.id, broken)


def again(built: World, store: Store) -> World:
    """The same world in a copy of its database."""
    trial = Trial([invoice, note], store=store, start=built.trial.clock.time)
    trial.engine.core.audit_keys = KEYS
    return replace(built, trial=trial)


# -- what an administrator of the database can do


def take_triggers_off(conn: sa.Connection) -> None:
    if conn.dialect.name == "sqlite":
        names = conn.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'trigger'").scalars().all()
        for name in names:
            conn.exec_driver_sql(f"DROP TRIGGER {name}")
    else:
        for table in ("history", "purge", "checkpoint"):
            conn.exec_driver_sql(f"ALTER TABLE {table} DISABLE TRIGGER ALL")


def rechain(conn: sa.Connection, it: UUID) -> None:
    """Compute an instance's whole chain anew, after its rows were changed."""
    before = chain.START
    for row in conn.execute(sa.select(H).where(H.c.instance_id == it).order_by(H.c.seq)).all():
        said = chain.digest(row.payload) if row.payload is not None else row.digest
        before = chain.link(
            before,
            it,
            row.seq,
            row.kind,
            row.from_state,
            row.to_state,
            row.event,
            row.actor,
            row.at,
            bytes(said) if said is not None else None,
        )
        conn.execute(sa.update(H).where(H.c.pos == row.pos).values(digest=said, hash=before))
    conn.execute(sa.update(I).where(I.c.id == it).values(head=before))


def redigest(conn: sa.Connection, it: UUID, table: sa.Table) -> None:
    """Let the history say what the rows beside the instance say now, and chain it anew."""
    for row in conn.execute(sa.select(table).where(table.c.instance_id == it)).all():
        said = row_digests.digest(table.name, row._mapping)
        for step in conn.execute(sa.select(H).where(H.c.instance_id == it)).all():
            payload = json.loads(step.payload or "{}")
            if str(row.id) in payload.get("digests", {}):
                payload["digests"][str(row.id)] = said
                conn.execute(sa.update(H).where(H.c.pos == step.pos).values(payload=json.dumps(payload)))
    rechain(conn, it)


def delete_whole(conn: sa.Connection, it: UUID) -> None:
    for table in (*row_digests.TABLES, H, t.instance_data):
        conn.execute(sa.delete(table).where(table.c.instance_id == it))
    conn.execute(sa.delete(I).where(I.c.id == it))


def forge_purge(conn: sa.Connection, it: UUID, kind: str, *, chained: bool) -> None:
    """A row of purge without the key; with its place in the chain, or simply put there."""
    seq, head = conn.execute(sa.select(I.c.seq, I.c.head).where(I.c.id == it)).one()
    end = purges.last(conn)
    made = purges.Row(end.no + 1, kind, it, seq, bytes(head), None, "system:retention", "it was old", 1)
    hashed = purges.link(end.hash, made) if chained else hashlib.sha256(b"?").digest()
    conn.execute(sa.insert(P).values(**{name: getattr(made, name) for name in purges.Row.__slots__}, hash=hashed))


def forge_erasure(conn: sa.Connection, it: UUID) -> None:
    """All that an erasure does, with other data, but without the key."""
    forge_purge(conn, it, "payloads", chained=True)
    conn.execute(sa.update(H).where(H.c.instance_id == it).values(payload=None))
    for table in row_digests.TABLES:
        conn.execute(sa.delete(table).where(table.c.instance_id == it))
    row = conn.execute(sa.select(I).where(I.c.id == it)).one()
    data = {"erased": "2026-01-01 by owner:chief: asked to"}
    payload = json.dumps(
        {
            "machine": row.machine,
            "version": row.version,
            "key": row.key,
            "workspace": row.workspace,
            "set": data,
            **({"labels": json.loads(row.labels)} if row.labels else {}),
        }
    )
    head = chain.link(
        bytes(row.head),
        it,
        row.seq + 1,
        "erased",
        None,
        None,
        None,
        "owner:chief",
        row.updated_at,
        chain.digest(payload),
    )
    conn.execute(
        sa.insert(H).values(
            instance_id=it,
            seq=row.seq + 1,
            kind="erased",
            actor="owner:chief",
            at=row.updated_at,
            payload=payload,
            digest=chain.digest(payload),
            hash=head,
        )
    )
    conn.execute(sa.update(I).where(I.c.id == it).values(seq=row.seq + 1, head=head, data=json.dumps(data)))


def cut_last(conn: sa.Connection, it: UUID) -> None:
    """The last row goes, and the instance is as it was before it."""
    rows = conn.execute(sa.select(H).where(H.c.instance_id == it).order_by(H.c.seq)).all()
    *kept, gone = rows
    data: dict[str, Any] = {}
    for row in kept:
        payload = json.loads(row.payload or "{}")
        data = {k: v for k, v in data.items() if k not in payload.get("unset", ())} | payload.get("set", {})
    state = next(row.to_state for row in reversed(kept) if row.to_state)
    conn.execute(sa.delete(H).where(H.c.pos == gone.pos))
    names = json.loads(gone.payload or "{}").get("digests", {})
    for table in row_digests.TABLES:
        conn.execute(sa.delete(table).where(table.c.id.in_([UUID(name) for name in names])))
    conn.execute(
        sa.update(I)
        .where(I.c.id == it)
        .values(
            seq=kept[-1].seq,
            head=kept[-1].hash,
            state=state,
            data=json.dumps(data),
            finished_at=None,
        )
    )


def rehash_checkpoint(conn: sa.Connection, no: int, **values: Any) -> None:
    """A checkpoint with other contents and the hash that they have; the signature stays, for want of the key."""
    row = conn.execute(sa.select(C).where(C.c.no == no)).one()
    made = SimpleNamespace(**{**row._mapping, **values})
    conn.execute(sa.update(C).where(C.c.no == no).values(**values, hash=digest(made)))
