"""What the engine and the model must agree on after every step, and the laws that must hold besides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import Engine, Instance
from interlock.engine.unit import load
from interlock.machine import Kind
from interlock.store import tables as t
from interlock.testing import broken_laws
from tests.engine.model.life import Row
from tests.engine.model.model import Model


def _everything(conn: sa.Connection) -> dict[str, Sequence[Any]]:
    """All that is compared, in one look."""
    orders: dict[sa.Table, Any] = {t.history: t.history.c.seq, t.effect: t.effect.c.id}
    orders |= {t.review: t.review.c.id, t.dead_letter: t.dead_letter.c.id}
    orders |= {t.limit_use: t.limit_use.c.at, t.limit_slot: t.limit_slot.c.at}
    found = {table.name: conn.execute(sa.select(table).order_by(order)).all() for table, order in orders.items()}
    return {**found, "instance": load(conn, conn.execute(sa.select(t.instance)).all())}


class Agreement:
    """Compares an engine with a model; `ids` gives the engine's names for the model's numbers."""

    def __init__(self, engine: Engine, model: Model, ids: Sequence[UUID], effect_ids: Sequence[UUID]) -> None:
        self.engine, self.model, self.ids, self.effect_ids = engine, model, ids, effect_ids
        self.explained: dict[int, int] = {}
        self.tables: dict[str, Sequence[Any]] = {}

    def check(self) -> None:
        before, self.tables = self.tables, self.engine.read(_everything)
        found = {instance.id: instance for instance in self.tables["instance"]}
        assert set(found) == set(self.ids), "the engine has other instances than the model"
        rows = defaultdict(list)
        for row in self.tables["history"]:
            rows[row.instance_id].append(row)
        for it, instance_id in zip(self.model.instances, self.ids, strict=True):
            self._instance(it, found[instance_id], rows[instance_id])
        self._effects()
        self._boxes()
        self._limits()
        if self.tables != before:
            assert broken_laws(self.engine) == []

    def _instance(self, it: Row, instance: Instance, history: list[Any]) -> None:
        actual = [(r.kind, r.from_state, r.to_state, r.event, r.actor.partition(":")[0]) for r in history]
        assert actual == it["rows"], f"{it['number']}: {actual[-4:]} is history, and ought to be {it['rows'][-4:]}"
        assert [r.seq for r in history] == list(range(1, len(history) + 1))
        assert [r.at for r in history] == sorted(r.at for r in history), "the past was turned around"
        wake, due = self.model.due(it)
        expected = {
            "state": it["state"],
            "data": it["data"],
            "seq": len(it["rows"]),
            "paused": it["paused"],
            "wake": wake,
            "due": due,
            "timer": self.model.timer_at(it),
            "holder": it["holder"],
            "fence": it["fence"],
            "failures": it["failures"],
            "failed step": it["failed_step"],
            "finished": it["finished"],
            "key": it["key"] if it["has_key"] else None,
            "entered": it["entered"],
        }
        real = {
            "state": instance.state,
            "data": instance.data,
            "seq": instance.seq,
            "paused": instance.paused_at is not None,
            "wake": instance.wake,
            "due": instance.due_at,
            "timer": instance.timer_at,
            "holder": instance.holder,
            "fence": instance.fence,
            "failures": instance.failures,
            "failed step": instance.failed_step,
            "finished": instance.finished_at is not None,
            "key": instance.unique_key,
            "entered": instance.entered_at,
        }
        differs = {name: (value, expected[name]) for name, value in real.items() if value != expected[name]}
        assert differs == {}, f"{it['number']}: the engine has, and the model expects: {differs}"
        assert (instance.holder is not None) == (instance.wake == "lease"), f"{it['number']}: held, or is it?"
        self._bounded(it, instance)
        self._explained(it, instance)

    def _bounded(self, it: Row, instance: Instance) -> None:
        """Law 6: no rule is followed more often than it says, but for what people asked for beyond it."""
        failures = self.model.machine.failures
        most = {rule.name: rule.retries for rule in (*failures.rules, failures.otherwise)}
        most |= {"crash": failures.crashes - 1, "EffectUnknown": 0}
        for name, count in instance.failures.items():
            allowed = most[name.partition("|")[2]]
            assert allowed is None or count <= allowed + 1 + it["helped"], f"{it['number']}: {name} {count} times"

    def _explained(self, it: Row, instance: Instance) -> None:
        """Law 4: what an instance waits for is known, and what happens by itself has its time."""
        if self.explained.get(it["number"]) == instance.seq:
            return
        self.explained[it["number"]] = instance.seq
        explanation = self.engine.explain(instance.id)
        assert explanation.waits_for == self._waits_for(it), explanation.sentence
        assert explanation.waits_for != "time" or explanation.upcoming, (
            f"it waits for a time, and none is named: {explanation.sentence}"
        )
        acts = explanation.next or self._letter(it) or self._asked(it)
        assert explanation.waits_for not in {"person", "event"} or acts, explanation.sentence

    def _waits_for(self, it: Row) -> str:
        if it["paused"]:
            return "person" if it["resume_at"] is None else "time"
        wake, due, _ = it["plan"]
        match wake:
            case "lease":
                return "worker"
            case "work":
                return "time" if due > self.model.now else "worker"
            case "resume":
                return "time"
            case "blocked":
                return "limit"
        machine = self.model.machine
        kind, starts = machine.states[it["state"]].kind, any(arm.state == it["state"] for arm in machine.arms)
        if kind is Kind.FINAL:
            return "person" if self._asked(it) else "nothing"
        acts = self._letter(it) or self._asked(it)
        return "event" if kind is Kind.WORK and starts and not acts else "person"

    def _asked(self, it: Row) -> bool:
        """Whether a person is asked about something that it sent."""
        mine = [r for r in self.model.reviews if (r["number"], r["status"]) == (it["number"], "open")]
        return any("effect" in review for review in mine)

    def _letter(self, it: Row) -> bool:
        return bool(self.model.letters_of(it))

    def _effects(self) -> None:
        real = self.tables["effect"]
        assert [e.id for e in real] == list(self.effect_ids)
        for effect, expected in zip(real, self.model.effects, strict=True):
            actual = (effect.status, effect.sends, effect.fence)
            assert actual == (expected["status"], expected["sends"], expected["fence"]), expected["key"]
            # Law 5: sent again only after somebody knew that it had not arrived.
            assert effect.sends <= 1 + expected["failures"], f"{expected['key']} was sent {effect.sends} times"

    def _limits(self) -> None:
        used = defaultdict(list)
        for use in self.tables["limit_use"]:
            used[use.key].append(use.at)
        assert used == {key: sorted(uses) for key, uses in self.model.uses.items()}, "limits are used otherwise"
        slots = {(slot.key, slot.instance_id) for slot in self.tables["limit_slot"]}
        assert slots == {(i["slot"], self.ids[i["number"]]) for i in self.model.instances if i["slot"] is not None}

    def _boxes(self) -> None:
        """Reviews and dead letters: for each instance the same, in the order in which they came."""
        self._same("review", self.model.reviews, lambda r: (r["name"], r["state"], r["status"]))
        self._same("dead_letter", self.model.letters, lambda x: (x["step"], x["status"]))

    def _same(self, table: str, rows: list[Row], view: Callable[[Any], tuple[Any, ...]]) -> None:
        real, expected = defaultdict(list), defaultdict(list)
        for row in self.tables[table]:
            real[row.instance_id].append(view(row._mapping))
        for one in rows:
            expected[self.ids[one["number"]]].append(view(one))
        assert real == expected, f"the rows of {table} differ"
