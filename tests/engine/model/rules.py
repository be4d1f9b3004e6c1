"""Steps that lead an engine and the plain model through the same story: those of workers. Hypothesis makes it up."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from datetime import datetime, timedelta
from typing import Any, TypeVar
from unittest.mock import patch
from uuid import UUID, uuid4

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant

from interlock.engine import Claim, Engine, EngineError, Result, claim_batches, effects, finishing
from interlock.engine.unit import Unit
from interlock.machine import (
    Actor,
    Again,
    By,
    EffectUnknown,
    Fail,
    Go,
    LimitReached,
    Outcome,
    Spawn,
    Stay,
    WorkError,
)
from interlock.store import Store
from interlock.testing import VirtualClock
from tests.engine.model.agreement import Agreement
from tests.engine.model.life import No, Row
from tests.engine.model.model import Model
from tests.engine.model.translation import TRANSLATION, Busy, Glitch, Hopeless

T = TypeVar("T")
MANY = 7
"""So few instances that they meet: in a queue, at a desk, over a key."""

which = st.integers(min_value=0, max_value=11)
keys = st.sampled_from([None, "genesis", "exodus"])
customers = st.sampled_from(["ann", "bob"])
notes = st.sampled_from([None, "", "urgent"])
minutes = st.sampled_from([0, 1, 20, 45, 120, 500])
maybe_minutes = st.sampled_from([*[None] * 9, -10, 30, 240])
seldom = st.sampled_from([False, False, False, False, True])
ERRORS: dict[str, Callable[[datetime], BaseException]] = {
    "glitch": lambda now: Glitch("a glitch"),
    "slow glitch": lambda now: Glitch("a slow glitch", retry_after=timedelta(hours=2)),
    "hopeless": lambda now: Hopeless("no"),
    "busy": lambda now: Busy("later"),
    "used up": lambda now: LimitReached("used up", until=now + timedelta(hours=2)),
    "used up long ago": lambda now: LimitReached("used up", until=now - timedelta(hours=2)),
    "unknown": lambda now: EffectUnknown("sent, and then?"),
    "a bug": lambda now: ValueError("a bug"),
}
errors = st.sampled_from(list(ERRORS))


def ways(state: str) -> list[tuple[str, ...]]:
    """Where a worker may go from here, in one move and in two; and where it may not."""
    onward = {name: [e.to for e in TRANSLATION.edges_from(name) if e.automatic] for name in TRANSLATION.states}
    twice = [(to, then) for to in onward[state] for then in onward[to] if to != "failed"]
    return [*[(to,) for to in onward[state]], *twice[:3], ("nowhere",)]


Step = tuple[str, dict[str, Any]]
F = TypeVar("F", bound=Callable[..., None])
ARGUMENTS: dict[str, st.SearchStrategy[dict[str, Any]]] = {}
OFTEN: list[str] = []


def step(often: int = 1, /, **arguments: st.SearchStrategy[Any]) -> Callable[[F], F]:
    """A step of the story, so often among the others.

    Rules of Hypothesis's own would be switched off by turns in each story, and without claims, or without time, there
    is not much of a story: so few of them are run that each must have everything in it.
    """

    def register(method: F) -> F:
        ARGUMENTS[method.__name__] = st.fixed_dictionaries(arguments)
        OFTEN.extend([method.__name__] * often)
        return method

    return register


def any_step() -> st.SearchStrategy[Step]:
    """The most telling ones come first: Hypothesis takes the first of a list more often than the others."""
    names = sorted(OFTEN, key=OFTEN.count, reverse=True)
    return st.sampled_from(names).flatmap(lambda name: st.tuples(st.just(name), ARGUMENTS[name]))


class Working(RuleBasedStateMachine):
    """One engine and one model, led through the same steps; here those of workers."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.clock = VirtualClock()
        self.engine = Engine(self.stack.enter_context(self.database()), [TRANSLATION], clock=self.clock, seed=1)
        self.engine.core.claims_in_place = True
        self.stack.enter_context(patch.object(claim_batches, "SMALLEST", 2))
        self.model = Model(TRANSLATION)
        self.ids: list[UUID] = []
        self.effect_ids: list[UUID] = []
        self.workers = [uuid4() for _ in range(2)]
        self.claims: list[Claim] = []
        self.agreement = Agreement(self.engine, self.model, self.ids, self.effect_ids)
        self.touched = True

    def database(self) -> AbstractContextManager[Store]:
        """A fresh database for this story."""
        raise NotImplementedError

    def teardown(self) -> None:
        self.stack.close()

    @invariant()
    def the_engine_and_the_model_agree(self) -> None:
        self.model.now = self.clock.now()
        if self.touched:
            self.agreement.check()
        self.touched = False

    # -- both at once

    def both(self, real: Callable[[], T], model: Callable[[], Any]) -> T | None:
        """Do it in the engine and in the model: they refuse it alike, or do it alike."""
        self.model.now, self.touched = self.clock.now(), True
        result, answer, raised, expected = None, None, None, None
        try:
            result = real()
        except (EngineError, WorkError) as error:
            raised = error
        try:
            with self.model.whole():
                answer = model()
        except No as no:
            expected = str(no)
        assert (type(raised).__name__ if raised else None) == expected, (
            f"the engine said {raised!r}, the model {expected}"
        )
        assert answer is None or answer == result, f"the engine answered {result}, the model {answer}"
        self._wake()
        return result

    def _wake(self) -> None:
        """Whom a free slot wakes first is the engine's choice; that there is one to wake for is not."""
        blocked = [it for it in self.model.instances if it["plan"][0] == "blocked"]
        for it in blocked:
            if self._wakes(it) == "work":
                self.model.woken(it)
        for it in blocked:
            overlooked = self.model.overlooked(it) and self.model.slot_key(it) in self.model.freed
            assert not overlooked, f"{it['number']} waits for a slot that became free"

    def _wakes(self, it: Row) -> str | None:
        return self.engine.get(self.ids[it["number"]]).wake

    def write(self, job: Callable[[Unit], Any]) -> None:
        self.engine.write(job)

    def say(self, claim: Claim) -> dict[str, Any]:
        number = self.ids.index(claim.id)
        return {"number": number, "worker": claim.worker, "fence": claim.fence, "step": claim.step}

    def claims_that(self, hold: bool) -> list[Claim]:
        return [claim for claim in self.claims if (self.model.holds(self.say(claim)) is not None) == hold]

    def pick(self, number: int) -> tuple[UUID, Row]:
        chosen = number % len(self.ids)
        return self.ids[chosen], self.model.instances[chosen]

    def moment(self, number: int | None) -> datetime | None:
        return self.clock.time + timedelta(minutes=number) if number is not None else None

    def moment_micros(self, number: int | None) -> int | None:
        return self.clock.now() + number * 60_000_000 if number is not None else None

    def adopt(self, parent: UUID) -> None:
        """Children in the order in which the model has them: that in which the parent's history names them."""
        for row in self.engine.history(parent):
            named = row.payload.get("child") or row.payload.get("as") if row.kind in {"spawned", "retried"} else None
            if named is not None and UUID(named) not in self.ids:
                self.ids.append(UUID(named))

    # -- time

    @step(3, length=minutes, look=st.booleans())
    def time_passes(self, length: int, look: bool) -> None:
        self.clock.advance(timedelta(minutes=length))
        if look:
            self.do_what_is_due()

    @step(1, length=st.sampled_from([1, 15, 90]))
    def the_clock_steps_back(self, length: int) -> None:
        self.clock.step_back(timedelta(minutes=length))

    @step(1)
    def do_what_is_due(self) -> None:
        self.both(self.engine.tick, self.model.tick)
        for it in self.model.instances:
            assert not self.model.overlooked(it), f"{it['number']} waits for a slot that is free"

    # -- starting

    @initialize(customer=customers, key=keys)
    def first(self, customer: str, key: str | None) -> None:
        self.start(customer, key, 2, None, False)

    @step(2, customer=customers, key=keys, priority=st.integers(0, 3), later=maybe_minutes, unstarted=seldom)
    def start(self, customer: str, key: str | None, priority: int, later: int | None, unstarted: bool) -> None:
        if len(self.ids) == MANY:
            return
        data, at = {"customer": customer}, self.moment(later)
        made = self.both(
            lambda: self.engine.create("translation", data, key=key, priority=priority, at=at, unstarted=unstarted),
            lambda: self.model.create(
                data, By.SYSTEM, key=key, priority=priority, unstarted=unstarted, at=self.moment_micros(later) or 0
            ),
        )
        if made is not None:
            self.ids.append(made.id)

    # -- working

    @step(3, worker=st.integers(0, 1), count=st.integers(1, 3), by_age=st.booleans())
    def claim(self, worker: int, count: int, by_age: bool) -> None:
        self.model.now, self.touched = self.clock.now(), True
        ready, who = self.model.ready(), self.workers[worker]
        claims = self.engine.claim(who, ["translation"], count, 8 if by_age else 1)
        taken = {self.ids.index(claim.id): claim.fence for claim in claims}
        blocked = {it["number"] for it in ready if self._wakes(it) == "blocked"}
        with self.model.whole():
            self.model.claim(who, taken, blocked, count, by_age=by_age)
        self.claims += claims

    def end(self, claim: Claim, outcome: Outcome, *, times: int = 1) -> None:
        """Finish it, or finish it twice in one batch."""
        results = [Result(claim, outcome)] * times
        self.both(
            lambda: self.engine.finish(results),
            lambda: [self.model.finish(self.say(claim), outcome) for _ in results],
        )
        self.adopt(claim.id)

    def claimed(self, number: int) -> Claim | None:
        """A claim that holds; where there is none, one is made, of a new instance or after a while if need be."""
        if not self.claims_that(hold=True):
            if not self.model.ready() and number % 3 == 0:
                self.start("ann", None, 2, None, False)
            elif not self.model.ready():
                self.time_passes(45, True)
            self.claim(number % 2, 1, False)
        claims = self.claims_that(hold=True)
        return claims[number % len(claims)] if claims else None

    def path(self, claim: Claim, way: int) -> tuple[str, ...]:
        found = ways(self.model.instances[self.ids.index(claim.id)]["state"])
        return found[way % len(found)]

    @step(5, n=which, way=which, note=notes, unstarted=seldom, later=maybe_minutes, times=st.integers(1, 2))
    def finish(self, n: int, way: int, note: str | None, unstarted: bool, later: int | None, times: int) -> None:
        data = {"note": note} if note is not None else None
        if claim := self.claimed(n):
            outcome = Go(self.path(claim, way), data=data, unstarted=unstarted, at=self.moment(later))
            self.end(claim, outcome, times=times)

    @step(1, n=which, way=which, customer=customers, names=st.lists(keys, min_size=1, max_size=2))
    def finish_with_children(self, n: int, way: int, customer: str, names: list[str | None]) -> None:
        spawn = tuple(Spawn("translation", {"customer": customer}, key=key) for key in names)
        if len(self.ids) < MANY and (claim := self.claimed(n)):
            self.end(claim, Go(self.path(claim, way), spawn=spawn))

    @step(2, n=which, after=minutes, stay=st.booleans())
    def finish_for_now(self, n: int, after: int, stay: bool) -> None:
        if claim := self.claimed(n):
            self.end(claim, Stay({"note": "seen"}) if stay else Again(timedelta(minutes=after)))

    @step(4, n=which, error=errors)
    def finish_with_an_error(self, n: int, error: str) -> None:
        if claim := self.claimed(n):
            self.end(claim, Fail(ERRORS[error](self.clock.time)))

    @step(3, n=which, way=which, error=st.none() | errors)
    def finish_late(self, n: int, way: int, error: str | None) -> None:
        """Most dangerous while somebody else holds the instance, or the same worker anew."""
        self.claimed(n)
        late = self.claims_that(hold=False)
        held = [claim for claim in late if self.model.instances[self.ids.index(claim.id)]["holder"] is not None]
        if claims := held or late:
            claim = claims[n % len(claims)]
            self.end(claim, Fail(ERRORS[error](self.clock.time)) if error else Go(self.path(claim, way)))

    @step(2, n=which, what=st.sampled_from(["move", "save", "extend", "give back"]))
    def write_from_a_handler(self, n: int, what: str) -> None:
        if not self.claims:
            return
        claim = self.claims[n % len(self.claims)]
        said, to = self.say(claim), ("proofread", "delivered")[n % 2]
        jobs: dict[str, tuple[Callable[[Unit], Any], Callable[[], Any]]] = {
            "move": (lambda u: finishing.move_and_keep(u, claim, to), lambda: self.model.move_and_keep(said, to)),
            "save": (lambda u: finishing.save(u, claim, {"note": "x"}), lambda: self.model.save(said, {"note": "x"})),
            "extend": (lambda u: finishing.extend(u, claim), lambda: self.model.extend(said)),
            "give back": (lambda u: finishing.give_back(u, [claim]), lambda: self.model.give_back(said)),
        }
        real, model = jobs[what]
        self.both(lambda: self.write(real), model)

    @step(2, n=which)
    def lose_a_worker(self, n: int) -> None:
        """One that is at work, if any is; whoever starts in its place has another name."""
        claim = self.claimed(n)
        worker = self.workers.index(claim.worker) if claim else n % 2
        lost, self.workers[worker] = self.workers[worker], uuid4()
        self.both(lambda: self.engine.take_back([lost]), lambda: self.model.crash(lost))

    # -- effects

    @step(3, n=which, late=seldom, kind=st.sampled_from(["mail", "invoice", "invoice"]), send=st.booleans())
    def intend(self, n: int, late: bool, kind: str, send: bool) -> None:
        """Mean to send something, and send it or be interrupted before."""
        claim = self.claims[n % len(self.claims)] if late and self.claims else self.claimed(n)
        if claim is None:
            return
        takes = ("mails",) if kind == "mail" else ()
        made: list[UUID] = []
        self.both(
            lambda: self.write(lambda u: made.append(effects.intend(u, claim, kind, "hello", takes=takes).id)),
            lambda: self.model.intend(self.say(claim), kind, takes),
        )
        if made and made[0] not in self.effect_ids:
            self.effect_ids.append(made[0])
        if made and send:
            self.send(made[0], claim)

    def send(self, effect_id: UUID, claim: Claim) -> None:
        effect = self.model.effects[self.effect_ids.index(effect_id)]
        self.both(
            lambda: self.write(lambda u: effects.sent(u, claim, effect_id)),
            lambda: self.model.sent(self.say(claim), effect),
        )

    @step(3, n=which, claim=which, what=st.sampled_from(["send", "confirmed", "failed", "unknown"]))
    def send_or_settle(self, n: int, claim: int, what: str) -> None:
        """By the worker that meant to send it, by the one that holds the instance now, or by any that ever did."""
        if not self.effect_ids:
            self.intend(n, False, "mail", True)
            return
        number = n % len(self.effect_ids)
        effect_id, effect = self.effect_ids[number], self.model.effects[number]
        claims = [c for c in self.claims if self.ids.index(c.id) in (effect["number"], effect["sender"])]
        mine = [c for c in claims if c.fence == effect["fence"]]
        choice = ([c for c in claims if self.model.holds(self.say(c))] or claims, claims, mine, mine)[claim % 4]
        chosen = choice[claim % len(choice)]
        if what == "send":
            self.send(effect_id, chosen)
            return
        actor = Actor(By.WORKER, str(chosen.worker))
        self.both(
            lambda: self.write(lambda u: effects.settle(u, effect_id, what, actor=actor, claim=chosen)),
            lambda: self.model.settle(effect, what, By.WORKER, self.say(chosen)),
        )
