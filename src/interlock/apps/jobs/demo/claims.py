"""Claims of the demo: agents take a job under a lease, apply for it, and report."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.autoapply.records.applications import ENDED
from interlock.apps.jobs.claims import followers, steps
from interlock.apps.jobs.claims.machine import DISCOVERED, FAILED, PENDING, SUBMITTED, SUCCESS, job, run
from interlock.apps.jobs.demo.postings import PLACES, title
from interlock.apps.jobs.tables import applied
from interlock.demo import MARA, Part, Scene, oldest
from interlock.demo.names import company_name, slug
from interlock.demo.surroundings import BY_DEMO
from interlock.engine import Engine, EngineError, Instance, leases
from interlock.machine import AGENT, SYSTEM, Actor
from interlock.people import People
from interlock.store import SECOND

AGENTS = tuple(Actor(AGENT, name) for name in ("apply-bot", "night-owl", "second-wind"))
TOKEN = "apply-bot"  # noqa: S105 - a name
CLEANER = Actor(SYSTEM, "cleaner")
ERRORS = ("the form has a question that nobody can answer", "the site asked for a phone call", "a captcha was shown")


def begin(engine: Engine, rng: random.Random, fate: str) -> UUID:
    company, number = company_name(rng), str(rng.randrange(10**8))
    board = slug(company)
    data = {
        "board": board,
        "job_id": number,
        "url": f"https://{board}.example/jobs/{number}",
        "title": title(rng),
        "company": company,
        "location": rng.choice(PLACES),
        "match_score": rng.randrange(60, 99),
    }
    return engine.create(
        job.name, data, key=steps.job_key(board, number), labels={"board": board}, actor=CLEANER, by_application=True
    ).id


def react(engine: Engine, instance: Instance, rng: random.Random) -> None:
    if instance.machine == job.name:
        _about_job(engine, instance, rng)
    else:
        _about_run(engine, instance, rng)


def _about_job(engine: Engine, found: Instance, rng: random.Random) -> None:
    free = found if _is_free(engine, found) else next(_free(engine), None)
    if free is None:
        return
    fortune = rng.random()
    if fortune < 0.05:
        engine.fire(free.id, "expire", actor=CLEANER, reason="it is older than 30 days")
    elif fortune < 0.1:
        engine.fire(free.id, "reject", actor=MARA, reason="not what I look for")
    else:
        claim(engine, free, rng.choice(AGENTS), f"r{rng.randrange(36**6):010}")


def _free(engine: Engine) -> Iterator[Instance]:
    """The oldest jobs without an application under way, which the demo's agents leave to its user."""
    return (one for one in oldest(engine, job.name, DISCOVERED, 40) if _is_free(engine, one))


def _is_free(engine: Engine, found: Instance) -> bool:
    mine = (applied.c.board == found.data["board"], applied.c.job_id == found.data["job_id"])
    query = sa.select(applied.c.id).where(*mine, applied.c.status.not_in(ENDED)).limit(1)
    return engine.read(lambda conn: conn.execute(query).first()) is None


def claim(engine: Engine, found: Instance, agent: Actor, run_id: str) -> None:
    """Claim a job as the agents' endpoint does."""
    request = steps.ClaimRequest(run_id, found.data["board"], found.data["job_id"], "resume-v2")
    engine.write(partial(steps.claim, workspace=found.workspace, request=request, agent=agent), name="claim_job")


def _about_run(engine: Engine, found: Instance, rng: random.Random) -> None:
    if found.data["requires_verification"]:
        _verify(engine, found, rng)
        return
    answers: dict[str, Any] = {"resume_url": "https://demo.invalid/resume.pdf", "answers": {"notice": "4 weeks"}}
    if found.state == PENDING and rng.random() < 0.75:
        report: dict[str, Any] = {"status": SUBMITTED, "artifacts": answers}
    elif rng.random() < (0.4 if found.state == PENDING else 0.12):
        report = {"status": FAILED, "error": rng.choice(ERRORS)}
    else:
        shown = {"confirmation_url": f"https://demo.invalid/received/{found.key}"}
        report = {"status": SUCCESS, "artifacts": shown}
    agent = Actor(AGENT, found.data["agent"])
    engine.write(
        partial(steps.report, workspace=found.workspace, run_id=str(found.key), agent=agent, **report),
        name="report_run",
    )


def _verify(engine: Engine, found: Instance, rng: random.Random) -> None:
    for question in engine.reviews.waiting(instance_id=found.id):
        decision = "it_went_out" if rng.random() < 0.7 else "it_did_not"
        engine.reviews.decide(question.id, decision, actor=MARA, answer={"notes": "I looked into the mailbox"})


def keep_on(engine: Engine, rng: random.Random) -> None:
    """Renew the leases of working agents; now and then one forgets to."""
    followers.sweep(engine)
    now = engine.clock.now()
    for held in engine.read(lambda conn: leases.active(conn, now, limit=20)):
        an_agents = held.name.startswith("lock:apply:") and not held.holder.startswith("verify:")
        if an_agents and held.until - now < 200 * SECOND and rng.random() < 0.9:
            engine.leases.renew(leases.Lease(held.name, held.holder, held.fence, held.until), steps.LEASE)


def set_up(engine: Engine) -> None:
    people = People(engine)
    if TOKEN not in {token.name for token in people.tokens()}:
        # Nobody learns its secret: it is there to be seen and revoked.
        people.create_token("default", TOKEN, kind="agent", by=BY_DEMO, scopes=("read", "claims"))


def opening(engine: Engine, rng: random.Random) -> None:
    """Start a few agents at once, so that leases are held."""
    for agent, found in zip(AGENTS, _free(engine), strict=False):
        with suppress(EngineError):  # somebody else was first
            claim(engine, found, agent, f"r{rng.randrange(36**6):010}")


CLAIMS = Part(
    "claims",
    acts={job.name: {}, run.name: {}},
    begin=begin,
    react=react,
    each=keep_on,
    set_up=set_up,
    opening=opening,
    waiting={(job.name, DISCOVERED): 8, (run.name, PENDING): 3, (run.name, SUBMITTED): 3},
    share=14,
    minutes=3,
    scenes=(*(Scene("", hours, left=True) for hours in (11, 7, 4, 2, 1)), Scene("", 9), Scene("", 5), Scene("", 3)),
)
