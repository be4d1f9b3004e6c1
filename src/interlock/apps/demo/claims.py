"""Claims: agents that take a job under a lease, apply for it, and report."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any
from uuid import UUID

from interlock.apps.demo.names import PLACES, company_name, slug, title
from interlock.apps.demo.part import MARA, Part, Scene
from interlock.apps.jobs.claims.machine import DISCOVERED, PENDING, QUEUED, SUBMITTED, job, run
from interlock.engine import Engine, Instance, firing, leases, lineage
from interlock.engine.unit import Unit
from interlock.machine import AGENT, SYSTEM, Actor, Spawn

AGENTS = tuple(Actor(AGENT, name) for name in ("apply-bot", "night-owl", "second-wind"))
CLEANER = Actor(SYSTEM, "cleaner")
FOR = timedelta(minutes=15)
ERRORS = ("the form has a question that nobody can answer", "the site asked for a phone call", "a captcha was shown")


def begin(engine: Engine, luck: random.Random, fate: str) -> UUID:
    company, number = company_name(luck), str(luck.randrange(10**8))
    board = slug(company)
    data = {
        "board": board,
        "job_id": number,
        "url": f"https://{board}.example/jobs/{number}",
        "title": title(luck),
        "company": company,
        "location": luck.choice(PLACES),
        "match_score": luck.randrange(60, 99),
    }
    return engine.create(job.name, data, key=f"{board}/{number}", labels={"board": board}, actor=CLEANER).id


def lease_name(data: dict[str, Any]) -> str:
    return f"job:{data['board']}:{data['job_id']}"


def react(engine: Engine, instance: Instance, luck: random.Random) -> None:
    if instance.machine == job.name:
        _about_job(engine, instance, luck)
    else:
        _about_run(engine, instance, luck)


def _about_job(engine: Engine, found: Instance, luck: random.Random) -> None:
    fortune = luck.random()
    if fortune < 0.05:
        engine.fire(found.id, "expire", actor=CLEANER, reason="it is older than 30 days")
    elif fortune < 0.1:
        engine.fire(found.id, "reject", actor=MARA, reason="not what I look for")
    else:
        claim(engine, found, luck.choice(AGENTS), f"r{luck.randrange(36**6):010}")


def claim(engine: Engine, found: Instance, agent: Actor, run_id: str) -> None:
    """The agent takes the lease, begins its run, and the job is queued: all of it or nothing."""

    def take(unit: Unit) -> None:
        held = unit.lock(found.id)
        data = {"run_id": run_id, "board": held.data["board"], "job_id": held.data["job_id"], "agent": agent.name}
        begun = lineage.spawn(unit, held, Spawn(run.name, data, key=run_id), agent)
        firing.fire(unit, held.id, "claim", agent, data={"run_id": run_id})
        leases.take(unit.conn, unit.now, lease_name(held.data), agent.name, FOR, begun)

    engine.write(take, name="claim_job")


def _about_run(engine: Engine, found: Instance, luck: random.Random) -> None:
    agent = Actor(AGENT, found.data["agent"])
    held = engine.read(lambda conn: leases.find(conn, engine.clock.now(), lease_name(found.data)))
    if found.state == PENDING and (held is None or held.holder != agent.name):
        _end(engine, found, "lose", CLEANER, {}, "its lease ran out")
    elif found.state == PENDING and luck.random() < 0.75:
        answers = {"resume_url": "https://demo.invalid/resume.pdf", "answers": {"notice": "4 weeks"}}
        engine.fire(found.id, "submit", actor=agent, data={"artifacts": answers})
    elif luck.random() < (0.4 if found.state == PENDING else 0.12):
        _end(engine, found, "fail", agent, {"error": luck.choice(ERRORS)}, "")
    else:
        shown = {**found.data["artifacts"], "confirmation_url": f"https://demo.invalid/received/{found.key}"}
        _end(engine, found, "succeed", agent, {"artifacts": shown}, "")


def _end(engine: Engine, found: Instance, event: str, actor: Actor, data: dict[str, Any], reason: str) -> None:
    """The run ends, its job goes on, and the lease is free again."""
    assert found.parent is not None
    applied_for = found.parent

    def end(unit: Unit) -> None:
        unit.lock_many([found.id, applied_for])
        firing.fire(unit, found.id, event, actor, data=data or None, reason=reason)
        if unit.lock(applied_for).state == QUEUED:
            firing.fire(unit, applied_for, "apply" if event == "succeed" else "release", actor)
        held = leases.find(unit.conn, unit.now, lease_name(found.data))
        if held is not None and held.holder == found.data["agent"]:
            leases.release(unit.conn, held)

    engine.write(end, name="end_run")


CLAIMS = Part(
    "claims",
    acts={job.name: {}, run.name: {}},
    begin=begin,
    react=react,
    waiting={(job.name, DISCOVERED): 8, (run.name, PENDING): 3, (run.name, SUBMITTED): 2},
    share=14,
    minutes=3,
    scenes=(*(Scene("", hours, left=True) for hours in (11, 7, 4, 2, 1)), Scene("", 9), Scene("", 5), Scene("", 3)),
)
