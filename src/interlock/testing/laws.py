"""The laws as checks on a database. They hold whatever was done to it."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa

from interlock.engine import Engine, Instance
from interlock.engine.unit import load
from interlock.machine import FAILED, FINAL, WAITING, WORK, Machine
from interlock.store import tables as t


def broken_laws(engine: Engine) -> list[str]:
    """Every violation found in the database; empty if there is none."""
    problems = list(engine.verify().problems)
    for instance in _all(engine):
        machine = engine.core.machine(instance.machine, instance.version)
        problems += _moves(engine, instance, machine)
        problems += _silence(engine, instance, machine)
        problems += _held(instance)
    return problems


def _all(engine: Engine) -> Iterator[Instance]:
    rows = engine.read(lambda conn: load(conn, conn.execute(sa.select(t.instance).order_by(t.instance.c.id)).all()))
    yield from rows


def _moves(engine: Engine, instance: Instance, machine: Machine) -> list[str]:
    """Laws 1 and 7: only declared transitions, and out of a final state only by people."""
    problems = []
    rows = engine.history(instance.id, limit=1_000_000)
    # Before its migration it moved along another version's transitions.
    since = max((number for number, row in enumerate(rows) if row.kind == "migrated"), default=0)
    rows = rows[since:]
    for before, row in zip([None, *rows], rows, strict=False):
        if row.kind != "moved":
            continue
        edge = next(
            (e for e in machine.edges if (e.source, e.to, e.on) == (row.from_state, row.to_state, row.event)), None
        )
        if edge is None:
            problems.append(f"{instance.id}: {row.from_state} → {row.to_state} on {row.event} is not declared")
            continue
        kind = row.actor.partition(":")[0]
        system = {"system", "worker"}
        allowed = {by.value for by in edge.by} | ({"owner"} if "user" in {by.value for by in edge.by} else set())
        if kind not in allowed and not (kind in system and allowed & system):
            problems.append(f"{instance.id}: {kind} took {row.from_state} → {row.to_state}, which is for {allowed}")
        at_rest = before is not None and (before.at, before.actor) != (row.at, row.actor)
        if at_rest and machine.states[edge.source].kind is FINAL and kind not in {"user", "owner"}:
            problems.append(f"{instance.id}: {kind} took it out of {edge.source}, where it rested")
    return problems


def _held(instance: Instance) -> list[str]:
    """Law 3: a claimed instance has a lease, or nobody would find it when its worker is lost."""
    if (instance.holder is not None) == (instance.wake == "lease"):
        return []
    return [f"{instance.id}: its holder is {instance.holder}, and its wake {instance.wake!r}"]


def _silence(engine: Engine, instance: Instance, machine: Machine) -> list[str]:
    """Law 4: an unfinished instance has a due time, a person, or a named event."""
    state = machine.states[instance.state]
    if instance.finished_at is not None or instance.due_at is not None or instance.timer_at is not None:
        return []
    if instance.paused_at is not None or instance.wake == "blocked":
        return []
    if state.kind is WAITING and state.waits_for:
        return []
    if state.kind in {WORK, FAILED}:
        letter = engine.read(
            lambda conn: conn.execute(
                sa.select(t.dead_letter.c.id).where(t.dead_letter.c.instance_id == instance.id)
            ).first()
        )
        # Open or closed: what stays in its step waits for a person, and explain says so.
        armed = any(arm.state == instance.state for arm in machine.arms)
        if letter is not None or armed:
            return []
    return [f"{instance.id}: it is in {instance.state!r} and waits in silence"]
