"""Applications of the demo. In the present they are real: prepared for openings of the demo world and sent to it.

The past is played: its employers are gone.
"""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.ai.calls import Ended, Question, note
from interlock.ai.prices import nanos
from interlock.apps.jobs.autoapply.errors import (
    GenerationTimeout,
    InvalidJobUrl,
    JobClosed,
    ModelQuotaExceeded,
    SiteUnreachable,
)
from interlock.apps.jobs.autoapply.machine import (
    COMPANY_COOLDOWN,
    GLOBAL_HOUR,
    PAUSED,
    PREPARING,
    READY_TO_SUBMIT,
    REQUIRES_REVIEW,
    RULE_WEEK,
    SUBMITTED,
    USER_DAY,
    application,
)
from interlock.apps.jobs.autoapply.models import Application
from interlock.apps.jobs.claims.worker_claim import hold_job
from interlock.apps.jobs.demo.postings import title
from interlock.apps.jobs.finder.postings.posting import Question as PostingQuestion
from interlock.apps.jobs.tables import applied, posting
from interlock.demo import MARA, Pace, Part, Scene
from interlock.demo.names import company_name, slug
from interlock.demo.past import PastClock
from interlock.engine import Engine, EngineError, Instance
from interlock.engine.application import Unit
from interlock.machine import SYSTEM, USER, Actor, Go, Message, Outcome
from interlock.people import OPERATORS
from interlock.store import SECOND
from interlock.worker import Task

LIMITS = (USER_DAY, RULE_WEEK, COMPANY_COOLDOWN, GLOBAL_HOUR)
CANDIDATES = ("mara", "ivo", "jonas", "lena", "priya", "tomas", "yuki", "zoe")
RULES = ("remote-backend", "data-in-europe", "platform-anywhere")
BY_RULE = Actor(SYSTEM, "rules")


def begin(engine: Engine, rng: random.Random, fate: str) -> UUID:
    """In the present, apply for a match of the finder; in the past, for what there was then."""
    return _from_the_past(engine, rng, fate) if isinstance(engine.clock, PastClock) else _real(engine, rng)


def _real(engine: Engine, rng: random.Random) -> UUID:
    """Queue the best match that nobody has applied for, as a person does. Nothing is queued where there is none."""
    from interlock.apps.jobs.autoapply.queueing import enqueueing

    def queue(unit: Unit) -> UUID:
        done = sa.select(applied.c.posting_id).where(applied.c.posting_id.is_not(None))
        query = (
            sa.select(posting.c.id)
            .where(posting.c.workspace == OPERATORS, posting.c.outcome == "matched", posting.c.state == "open")
            .where(posting.c.id.not_in(done))
            .order_by(posting.c.score.desc(), posting.c.id)
            .limit(20)
        )
        for found in unit.conn.execute(query).scalars().all():
            try:
                with unit.savepoint() as inner:
                    queued = enqueueing.enqueue_by_person(inner, OPERATORS, found, MARA)
                    assert queued.application is not None
                    return queued.application.id
            except EngineError:
                continue  # its company has been applied to, or the day's limit is reached
        return UUID(int=0)

    return engine.write(queue, name="create")


def _from_the_past(engine: Engine, rng: random.Random, fate: str) -> UUID:
    company, name = company_name(rng), title(rng)
    number = rng.randrange(10**7)
    place = {"down": "jobs.down.example", "gone": "gone.example"}.get(fate, f"{slug(company)}.example")
    user = "ivo" if fate == "limit" else rng.choice(CANDIDATES[2:])
    data = {
        "user_id": user,
        "rule_id": "long-letters" if fate == "quota" else rng.choice(RULES),
        "board": slug(company),
        "job_id": str(number),
        "job_url": f"https://{place}/jobs/{number}",
        "title": name,
        "company": company,
        "require_user_approval": fate in ("", "waiting") and rng.random() < (0.6 if not fate else 1.1),
        "daily_limit": 2 if fate == "limit" else 500,
        "weekly_limit": 2000,
    }
    key = f"{user}/{slug(company)}/{number}"
    return engine.create(application.name, data, key=key, labels={"user": user}, actor=BY_RULE, by_application=True).id


def prepare(task: Task[Application], rng: random.Random) -> Outcome:
    data = task.data
    if data.rule_id == "long-letters" and task.attempt == 1:
        raise ModelQuotaExceeded("the model's quota for this hour is used up")
    if data.job_url.startswith("https://gone."):
        raise InvalidJobUrl(f"{data.job_url} leads nowhere")
    if rng.random() < 0.05:
        raise rng.choice((GenerationTimeout("no letter within 60 s"), JobClosed(f"{data.title} is closed")))
    letter = (
        f"Dear people of {data.company},\n\nyour opening for a {data.title} reads like what I have done with joy "
        f"for years. I would like to tell you more.\n\nKind regards,\n{data.user_id.title()}\n"
    )
    _asked(task, letter)
    kept = task.keep("cover-letter.txt", letter.encode(), media_type="text/plain")
    packet = json.dumps({"letter": letter, "answers": {"notice": "4 weeks", "visa": "not needed"}}, indent=2)
    task.keep("packet.json", packet.encode(), media_type="application/json")
    digest = hashlib.sha256(packet.encode()).hexdigest()
    return Go(READY_TO_SUBMIT, data={"cover_letter": kept, "packet_hash": digest, "packet_inputs": digest[:16]})


def _asked(task: Task[Application], letter: str) -> None:
    """Record the model call that would have written the letter."""
    tokens = 900 + 40 * len(task.data.title)
    question = Question(
        task.id,
        task.workspace,
        None,
        task.trace_id,
        "write_letter",
        "demo",
        "strong",
        "demo",
        "demo-model",
        1,
        "",
        None,
        task.machine,
    )
    ended = Ended(
        "demo-model",
        input_tokens=tokens,
        output_tokens=len(letter) // 4,
        cost=nanos(tokens * 3e-6),
        took=tokens * SECOND // 500,
    )
    task.write(note, question, ended)


def ready(task: Task[Application], rng: random.Random) -> Outcome:
    if task.data.require_user_approval:
        notice = Message("mail", f"{task.data.user_id}@demo.invalid", f"Apply at {task.data.company}?")
        return Go(REQUIRES_REVIEW, messages=(notice,) if rng.random() < 0.3 else ())
    return submit(task, rng)


def submit(task: Task[Application], rng: random.Random) -> Outcome:
    data = task.data
    if data.job_url.startswith("https://jobs.down."):
        raise SiteUnreachable("jobs.down.example did not answer within 30 s")

    def send(_: object) -> dict[str, str]:
        if rng.random() < 0.04:
            raise TimeoutError("the connection ended before the answer")
        return {"confirmation_url": f"{data.job_url}/received/{rng.randrange(10**6)}"}

    asked = {"board": data.board, "job": data.job_id, "packet": data.packet_hash}
    known = {"title": data.title, "company": data.company, "url": data.job_url}
    with hold_job(task, data.board, data.job_id, posting=known) as claim:
        task.save({"run_id": claim.run_id})
        claim.submitted({"cover_letter": f"packet {data.packet_hash}"})
        answer = task.once("submit_application", asked, send, takes=LIMITS)
        claim.succeeded({"confirmation_url": answer["confirmation_url"]})
    notice = Message("webhook", "ledger", "application submitted", {"application": task.key or str(task.id)})
    return Go(
        SUBMITTED,
        data={"confirmation_url": answer["confirmation_url"]},
        messages=(notice,) if rng.random() < 0.6 else (),
    )


def react(engine: Engine, instance: Instance, rng: random.Random) -> None:
    """Its user approves it, answers what is asked, rejects it or decides later."""
    if instance.data.get("posting_id"):
        _react_to_real(engine, instance, rng)
        return
    user = Actor(USER, instance.data["user_id"])
    if instance.state == PAUSED:
        engine.fire(instance.id, "withdraw", actor=user, reason="it took too long")
        return
    found = {review.name: review for review in engine.reviews.waiting(instance_id=instance.id)}
    if "verify_submission" in found:
        decision = rng.choice(("arrived", "arrived", "not_arrived"))
        engine.reviews.decide(found["verify_submission"].id, decision, actor=MARA, reason="asked the employer")
    elif REQUIRES_REVIEW in found:
        # What is left of the past has no posting that could be sent to.
        weights = (14, 4, 1) if isinstance(engine.clock, PastClock) else (0, 4, 1)
        decision = rng.choices(("approve", "reject", "later"), weights)[0]
        answer = {"approved_packet": instance.data["packet_hash"]} if decision == "approve" else {}
        engine.reviews.decide(found[REQUIRES_REVIEW].id, decision, actor=user, answer=answer)


def _react_to_real(engine: Engine, instance: Instance, rng: random.Random) -> None:
    from interlock.apps.jobs.autoapply.review import deciding

    place, it, data = instance.workspace, instance.id, instance.data

    def act(unit: Unit) -> None:
        if instance.state == PAUSED:
            deciding.withdraw(unit, place, it, MARA, reason="it took too long")
        elif data.get("review_reason") == "verify_submission":
            deciding.verify(unit, place, it, True, MARA, reason="the confirmation came by mail")
        elif data.get("review_reason") == "submit_by_hand":
            deciding.reject(unit, place, it, MARA, reason="an account is wanted for it")
        elif data.get("open_questions"):
            asked = deciding.questions_of(unit, unit.lock(it))
            given = [deciding.Given(one.question.key, _said(one.question)) for one in asked if one.answer.needs_user]
            deciding.answer(unit, place, it, given, MARA)
        elif rng.random() < 0.8:
            deciding.approve(unit, place, it, str(data.get("packet_hash")), MARA)
        else:
            deciding.reject(unit, place, it, MARA, reason="not for me")

    engine.write(act, name="fire")


def _said(question: PostingQuestion) -> Any:
    """What a person of the demo answers."""
    if question.options:
        return question.options[0]
    if question.type in ("bool", "consent"):
        return True
    return {"number": 4, "date": "2026-09-01"}.get(question.type, "I would like to tell you more in person.")


APPLICATIONS = Part(
    "applications",
    acts={application.name: {PREPARING: prepare, READY_TO_SUBMIT: ready, REQUIRES_REVIEW: submit}},
    begin=begin,
    react=react,
    waiting={(application.name, REQUIRES_REVIEW): 5, (application.name, PAUSED): 6},
    share=14,
    minutes=50,
    scenes=(
        Scene("down", 6),
        Scene("gone", 4),
        *(Scene("limit", 5 - n / 4, left=True) for n in range(4)),
        Scene("quota", 0.4, left=True),
        Scene("waiting", 9, left=True),
        Scene("waiting", 4, left=True),
        Scene("waiting", 1, left=True),
    ),
    paces={
        (application.name, PREPARING): Pace(1.0, 3.0, ("reading the posting", "writing the letter", "checking it")),
        (application.name, READY_TO_SUBMIT): Pace(0.4, 1.2, ("filling in the form",)),
        (application.name, REQUIRES_REVIEW): Pace(0.4, 1.2, ("submitting what was approved",)),
    },
)
