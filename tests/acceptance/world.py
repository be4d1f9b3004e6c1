"""A small world to kill workers in: parcels and their labels, people who decide, and a ledger of all that really left.

The ledger lies outside the engine, like a carrier's books: whatever was really sent is a line in it, with its
idempotency key. A parcel uses everything that a handler can do; at its end there is exactly one line for each effect.

Of three parcels, the first tears once and is called for by a person; the second needs a signature, and its door is
stuck until somebody repairs it; the third waits for its truck, which comes by a timer.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import Effect, Engine, EngineError, Instance
from interlock.engine.unit import load
from interlock.machine import (
    FAILED,
    FINAL,
    SYSTEM,
    USER,
    WAITING,
    WORKER,
    Actor,
    Failures,
    Go,
    KeyScope,
    Machine,
    Message,
    Review,
    Rule,
    Spawn,
    State,
    Timer,
    Transition,
    WorkError,
    failed_at,
    fixed,
)
from interlock.store import StoreError, tables
from interlock.testing import broken_laws
from interlock.worker import AsyncTask, Task

ADA = Actor(USER, "ada")
BATCH = 3
STEPS = ("packing", "shipping", "delivering")
AFTER_SHIPPING = ("counter", "approval", "resting")
SOON = fixed(timedelta(milliseconds=20))


class Torn(WorkError):
    """A box tore; it is packed again."""


class Broken(WorkError):
    """Something that a person has to repair first."""


class Ledger:
    """What really left the house, and what people did, in files that only ever grow."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _append(self, name: str, line: str) -> None:
        handle = os.open(self.folder / name, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)
        try:
            os.write(handle, f"{line}\n".encode())
        finally:
            os.close(handle)

    def lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def send(self, effect: Effect) -> dict[str, Any]:
        """The real thing: from here on it cannot be undone."""
        self._append("sent", effect.key)
        return {"receipt": effect.key}

    def verify(self, effect: Effect) -> Mapping[str, Any] | None:
        return {"receipt": effect.key} if effect.key in self.lines("sent") else None

    def acknowledge(self, key: str) -> None:
        self._append("created", key)

    def repair(self, parcel: UUID) -> None:
        self._append("repaired", str(parcel))


def machines(ledger: Ledger) -> list[Machine]:
    """The two life cycles, with handlers that write into this ledger."""

    def pack(task: Task[dict[str, Any]]) -> Go:
        task.progress(0.1, "finding a box")
        task.save({"box": task.data["n"] % 7})
        task.keep("list", f"contents of {task.data['n']}".encode(), media_type="text/plain")
        task.heartbeat()
        task.send(Message("log", "desk", f"packing {task.data['n']}"))
        if task.data["n"] % BATCH == 0 and task.attempt == 1:
            raise Torn(f"the box of {task.data['n']} tore")
        task.move("shipping", reason="packed")
        return ship(task)

    def ship(task: Task[dict[str, Any]]) -> Go:
        answer = task.once("ship", {"n": task.data["n"]}, ledger.send, verify=ledger.verify)
        return Go(AFTER_SHIPPING[task.data["n"] % BATCH], {"receipt": answer["receipt"]})

    def deliver(task: Task[dict[str, Any]]) -> Go:
        n = task.data["n"]
        if n % BATCH == 1 and str(task.id) not in ledger.lines("repaired"):
            raise Broken(f"the door of {n} is stuck")
        task.once("notify", {"n": n}, ledger.send)  # nobody can be asked about this one
        mail = Message("mail", f"customer {n}", "it is there")
        return Go("delivered", spawn=(Spawn("label", {"n": n}, key=f"label-{n}"),), messages=(mail,))

    async def print_label(task: AsyncTask[dict[str, Any]]) -> Go:
        async def send(effect: Effect) -> dict[str, Any]:
            return ledger.send(effect)

        async def verify(effect: Effect) -> Mapping[str, Any] | None:
            return ledger.verify(effect)

        await task.once("print", {"n": task.data["n"]}, send, verify=verify)
        return Go("printed")

    parcel = Machine(
        "parcel",
        initial="packing",
        states=[
            *(State(step) for step in STEPS),
            State("resting", WAITING, waits_for="the truck", timers=(Timer(timedelta(milliseconds=150), "arrive"),)),
            State("counter", WAITING, waits_for="whoever calls for it"),
            State("approval", WAITING, waits_for="a signature", review=Review("Sign?", {"sign": "arrive"})),
            State("failed", FAILED),
            State("delivered", FINAL),
        ],
        transitions=[
            Transition("packing", "shipping", on="packed"),
            Transition("shipping", "resting", on="shipped"),
            Transition("shipping", "counter", on="shelve"),
            Transition("shipping", "approval", on="ask"),
            Transition("resting", "delivering", on="arrive", by=SYSTEM),
            Transition("counter", "delivering", on="arrive", by=USER),
            Transition("approval", "delivering", on="arrive", by=USER),
            Transition("delivering", "delivered", on="deliver"),
            Transition(STEPS, "failed", on="fail", by=(SYSTEM, WORKER)),
            *(Transition("failed", s, on="retry", by=(SYSTEM, USER), guard=failed_at(s)) for s in STEPS),
        ],
        failures=Failures(
            state="failed",
            rules=(Rule((Torn,), retries=2, backoff=SOON), Rule((Broken,), retries=0)),
            otherwise=Rule((Exception,), retries=50, backoff=SOON),
            crashes=50,
        ),
        key=KeyScope.FOREVER,
    )
    label = Machine(
        "label",
        initial="printing",
        states=[State("printing"), State("printed", FINAL)],
        transitions=[Transition("printing", "printed", on="print")],
        failures=Failures(otherwise=Rule((Exception,), retries=50, backoff=SOON), crashes=50),
        key=KeyScope.FOREVER,
    )
    return [
        parcel.with_handlers({"packing": pack, "shipping": ship, "delivering": deliver}),
        label.with_handlers({"printing": print_label}),
    ]


@contextlib.contextmanager
def regardless() -> Iterator[None]:
    """What a person tries may be refused, or the database may be away: they try again later."""
    with contextlib.suppress(EngineError, StoreError):
        yield


class People:
    """Those who create, sign, repair, pause and look things up. All they do may be done again after a crash."""

    def __init__(self, engine: Engine, ledger: Ledger) -> None:
        self.engine, self.ledger = engine, ledger

    def create(self, batch: int) -> None:
        """As often as it takes, until all of the batch were acknowledged."""
        there = set(self.ledger.lines("created"))
        for key in (f"parcel-{n}" for n in range(batch * BATCH, (batch + 1) * BATCH)):
            if key not in there:
                with regardless():
                    self.engine.create_or_get("parcel", {"n": int(key.removeprefix("parcel-"))}, key=key, actor=ADA)
                    self.ledger.acknowledge(key)

    def pause_one(self, batch: int) -> None:
        with regardless():
            found = self.engine.find("parcel", f"parcel-{batch * BATCH}")
            if found is not None:
                self.engine.pause(found.id, actor=ADA, reason="a break")

    def borrow_dock(self) -> None:
        with regardless():
            self.engine.leases.release(self.engine.leases.take("dock", f"process {os.getpid()}", timedelta(seconds=5)))

    def take_by_hand(self, worker: UUID) -> None:
        with regardless():
            self.engine.give_back(self.engine.claim(worker, ["parcel"], 1))

    def look_after(self) -> None:
        """One round of everything that waits for a person."""
        with regardless():
            for parcel in self.of_parcels(tables.instance.c.paused_at.is_not(None)):
                self.engine.resume(parcel.id, actor=ADA)
        with regardless():
            for parcel in self.of_parcels(tables.instance.c.state == "counter"):
                self.engine.fire(parcel.id, "arrive", actor=ADA)
        with regardless():
            for review in self.engine.reviews.waiting():
                self.engine.reviews.decide(review.id, self._decision(review.name, review.instance_id), actor=ADA)
        with regardless():
            for letter in self.engine.dead_letters.find():
                if letter.error_type != "EffectUnknown":  # a review asks about those
                    self.ledger.repair(letter.instance_id)
                    self.engine.dead_letters.retry(letter.id, actor=ADA)

    def _decision(self, name: str, instance_id: UUID) -> str:
        if name != "verify_effect":
            return "sign" if name == "approval" else "noted"
        unknown = [one for one in self.engine.effects(instance_id) if one.status in {"sent", "unknown"}]
        return "arrived" if all(self.ledger.verify(one) for one in unknown) else "did_not_arrive"

    def of_parcels(self, where: Any) -> list[Instance]:
        query = sa.select(tables.instance).where(tables.instance.c.machine == "parcel", where).limit(100)
        return self.engine.read(lambda conn: load(conn, conn.execute(query).all()))


def unfinished(engine: Engine) -> int:
    query = sa.select(sa.func.count()).select_from(tables.instance).where(tables.instance.c.finished_at.is_(None))
    return engine.read(lambda conn: int(conn.execute(query).scalar_one()))


def nothing_lost(engine: Engine, ledger: Ledger) -> None:
    """Whatever was acknowledged is there."""
    for key in set(ledger.lines("created")):
        assert engine.find("parcel", key) is not None, f"{key} was acknowledged and is gone"


def all_is_well(engine: Engine, ledger: Ledger, parcels: int) -> None:
    """Everything ended where it should, each effect left once, each child is there once, and the laws hold."""
    rows = engine.read(lambda conn: load(conn, conn.execute(sa.select(tables.instance)).all()))
    states = Counter((row.machine, row.state) for row in rows)
    assert states == {("parcel", "delivered"): parcels, ("label", "printed"): parcels}
    effects = engine.read(lambda conn: conn.execute(sa.select(tables.effect)).all())
    assert Counter((one.kind, one.status) for one in effects) == {
        (kind, "confirmed"): parcels for kind in ("ship", "notify", "print")
    }
    assert Counter(ledger.lines("sent")) == {one.key: 1 for one in effects}, "something was sent twice, or never"
    for row in rows:
        if row.machine == "parcel":
            assert [child.key for child in engine.children(row.id)] == [f"label-{row.data['n']}"]
    mails = engine.read(lambda conn: conn.execute(sa.select(tables.outbox.c.recipient).filter_by(channel="mail")).all())
    assert Counter(mails) == {(f"customer {n}",): 1 for n in range(parcels)}
    assert engine.dead_letters.find() == []
    assert engine.reviews.waiting() == []
    assert engine.verify().problems == ()
    assert broken_laws(engine) == []
