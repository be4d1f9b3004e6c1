"""The engine as a few lists of dictionaries: what must come of each call, in the plainest words, to hold the engine to.

There is no SQL here, no batch, no lock and no cache. A refusal is `No`, with the name of the engine's error, and undoes
the whole call. Where the engine is free to choose (which of two equally old instances a claim takes), the model gets
the choice and says whether it was allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interlock.machine import (
    Again,
    By,
    Edge,
    EffectUnknown,
    Fail,
    Go,
    HandlerTimeout,
    InvalidOutcome,
    Kind,
    LimitReached,
    Outcome,
    Reminder,
    Rule,
    Stay,
    WorkerLost,
)
from interlock.store import Micros, micros, span
from tests.engine.model.life import NOTHING, PEOPLE, STARTED, Life, No, Row, Used

MINUTE: Micros = 60_000_000
ARRIVED = {"arrived": "confirmed", "did_not_arrive": "failed"}
VERIFY = {"arrived": "", "did_not_arrive": ""}


class Model(Life):
    """What the engine must do with one machine, one call at a time, at the moment `now`."""

    # -- finishing

    def finish(self, claim: Mapping[str, Any], outcome: Outcome) -> bool:
        """Apply the outcome, or what follows from its nonsense. A late one changes nothing: law 3."""
        it = self.holds(claim)
        if it is None:
            return False
        kept = self.snapshot()
        error: Exception | None = None
        try:
            self.apply(it, outcome)
        except Used as used:
            error = LimitReached(until=used.until)
        except No:
            error = InvalidOutcome()
        if error is not None:
            self.restore(kept)
            self.fail(self.instances[claim["number"]], error, By.WORKER)
        return True

    def apply(self, it: Row, outcome: Outcome) -> None:
        match outcome:
            case Go():
                self.count_anew(it, it["state"])
                self.go(it, outcome)
            case Stay():
                if self.machine.states[it["state"]].kind is Kind.WORK:
                    raise No("InvalidOutcome")
                self.count_anew(it, it["state"])
                it["data"] = {**it["data"], **dict(outcome.data or {})}
                self.note(it, "worked", By.WORKER)
                self.leave_step(it, it["state"], done=True)
                self.stop(it)
            case Again():
                self.count_anew(it, it["state"])
                it["data"] = {**it["data"], **dict(outcome.data or {})}
                self.note(it, "again", By.WORKER)
                self.let_go(it)
                it["plan"] = ("work", self.now + span(outcome.after), None)
            case Fail():
                self.fail(it, outcome.error, By.WORKER)
            case _:
                raise No("InvalidOutcome")

    def go(self, it: Row, outcome: Go, *, keep: bool = False) -> None:
        """A chain of declared moves, each open to a worker; what belongs to the outcome goes with the last."""
        for number, to in enumerate(outcome.path):
            last = number == len(outcome.path) - 1
            edge = next((e for e in self.machine.edges if (e.source, e.to) == (it["state"], to)), None)
            if edge is None or not edge.by & {By.WORKER, By.SYSTEM} or not self.passes(it, edge, By.WORKER):
                raise No("InvalidData")
            if to == self.machine.failures.state:
                raise No("InvalidData")  # a failure has an error, and its rule: law 6
            unstarted = last and outcome.unstarted
            if unstarted and not any(arm.state == to for arm in self.machine.arms):
                raise No("InvalidData")
            at = micros(outcome.at) if last and outcome.at else 0
            data = dict(outcome.data or {}) if last else None
            self.move(it, edge, By.WORKER, data=data, last=last, keep=keep, unstarted=unstarted, at=at)
        for wanted in outcome.spawn:
            self.spawn(it, dict(wanted.data or {}), wanted.key)

    def spawn(self, parent: Row, data: Mapping[str, Any], key: str | None) -> None:
        """Not too deep, no circle, not what is under way or done in the lineage, no key of another's."""
        family = [i["key"] for i in self.instances if i["root"] == parent["root"]]
        taken = [i["key"] for i in self.instances if i["has_key"]]
        if parent["depth"] >= self.machine.max_depth or (key is not None and key in [*family, *taken]):
            self.note(parent, "spawn_refused", By.WORKER)
            return
        self.create(data, By.WORKER, key=key, priority=parent["priority"], parent=parent)
        self.note(parent, "spawned", By.WORKER)

    def stop(self, it: Row) -> None:
        """Nobody works on it and nothing is planned: whoever is asked in this state is asked again."""
        self.let_go(it)
        it["plan"] = NOTHING
        review = self.machine.states[it["state"]].review
        if review is not None:
            self.ask(it, it["state"], dict(review.decisions), state=it["state"])

    def move_and_keep(self, claim: Mapping[str, Any], to: str) -> None:
        it = self.must_hold(claim)
        if self.machine.states[to].kind in {Kind.FINAL, Kind.FAILED}:
            raise No("InvalidData")
        self.count_anew(it, it["state"])
        self.go(it, Go(to), keep=True)

    def save(self, claim: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        it = self.must_hold(claim)
        it["data"] = {**it["data"], **data}
        self.note(it, "saved", By.WORKER)

    def extend(self, claim: Mapping[str, Any]) -> None:
        it = self.must_hold(claim)
        step = self.machine.handlers[claim["step"], None]
        it["plan"] = ("lease", self.now + span(step.timeout), None)

    def give_back(self, claim: Mapping[str, Any]) -> None:
        it = self.holds(claim)
        if it is not None:
            self.note(it, "given_back", By.WORKER)
            self.let_go(it)
            it["plan"] = ("work", self.now, None)

    # -- failing

    def count(self, it: Row, name: str) -> int:
        counted = f"{it['state']}|{name}"
        it["failures"][counted] = it["failures"].get(counted, 0) + 1
        number: int = it["failures"][counted]
        return number

    def fail(self, it: Row, error: BaseException, by: By) -> None:
        failures, step = self.machine.failures, it["state"]
        rule = failures.rule_for(error, step)
        count = self.count(it, rule.name if rule else EffectUnknown.__name__)
        it["failed_step"] = step
        if rule is None:
            self.rest_unknown(it, by)
        elif rule.pause is not None and (rule.retries is None or count <= rule.retries):
            until = self.now + span(rule.pause.wait) if rule.pause.wait else self.until(error)
            self.walk(it, rule.pause.state, by, due=(max(until, self.now + MINUTE), rule.pause.resume))
        elif rule.pause is None and count <= (rule.retries or 0):
            wait = rule.backoff.delay(count, retry_after=getattr(error, "retry_after", None))
            self.walk(it, None, by, due=(self.now + span(wait), failures.retry))
        else:
            self.give_up(it, rule, by)

    def until(self, error: BaseException) -> Micros:
        named = getattr(error, "until", None)
        return micros(named) if named is not None else self.now + 60 * MINUTE

    def rest_unknown(self, it: Row, by: By) -> None:
        """Unknown is not failed: it rests, and a person says whether it arrived. Law 5."""
        self.note(it, "failed", by)
        self.stop(it)
        self.add_dead_letter(it, it["state"], it["data"])
        self.ask(it, "verify_effect", VERIFY, letter=len(self.letters) - 1)
        for effect in self.unsettled(it, it["state"]):
            effect["asked"] = True

    def give_up(self, it: Row, rule: Rule, by: By) -> None:
        step, data = it["state"], it["data"]
        if self.unsettled(it, step):
            self.rest_unknown(it, by)  # to give up would say that it did not arrive
            return
        self.walk(it, rule.then, by, data=rule.sets)
        self.add_dead_letter(it, step, data)

    def walk(
        self,
        it: Row,
        to: str | None,
        by: By,
        *,
        due: tuple[Micros, str] | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> None:
        """Through the state for failures, and on from there where a rule says so: law 1 holds for failures too."""
        into = self.way(it["state"], "failed")
        given = data if to is None else None
        self.move(it, into, by, last=to is None, due=due if to is None else None, data=given, failed=True)
        if to is not None:
            self.move(it, self.way("failed", to), By.SYSTEM, due=due, data=data)

    def way(self, source: str, to: str) -> Edge:
        return next(e for e in self.machine.edges if (e.source, e.to) == (source, to) and e.by & {By.WORKER, By.SYSTEM})

    def add_dead_letter(self, it: Row, step: str, data: Row) -> None:
        visit = self.visit(it, step)
        self.letters.append({"number": it["number"], "step": step, "data": data, "status": "open", "visit": visit})

    def crash(self, worker: object) -> None:
        """A lost worker costs a crash, not an attempt; too many of them are poison."""
        for it in self.instances:
            if it["holder"] != worker:
                continue
            self.lose_effects(it)
            failures = self.machine.failures
            if self.count(it, "crash") >= failures.crashes:
                it["failed_step"] = it["state"]
                rule = failures.rule_for(WorkerLost(), it["state"])
                assert rule is not None
                self.give_up(it, rule, By.SYSTEM)
            elif (back := self.machine.states[it["state"]].lost) is not None:
                self.move(it, self.way(it["state"], back), By.SYSTEM, failed=True)
            else:
                self.note(it, "lost", By.SYSTEM)
                self.let_go(it)
                it["plan"] = ("work", self.now, None)

    # -- time

    def due(self, it: Row) -> tuple[Any, Any]:
        """What wakes it, and when: the end of its pause while it is paused, else its plan."""
        if it["paused"]:
            return ("resume", it["resume_at"]) if it["resume_at"] is not None else (None, None)
        wake, at, _ = it["plan"]
        return wake, at

    def timer_at(self, it: Row) -> Micros | None:
        timers = self.machine.states[it["state"]].ordered_timers
        return it["entered"] + span(timers[it["timer"]].after) if it["timer"] < len(timers) else None

    def is_due(self, it: Row, wake: str) -> bool:
        what, at = self.due(it)
        return what == wake and bool(at <= self.now)

    def tick(self) -> None:
        """One round: resumes, then one timer each, then time limits; each sees what those before it did."""
        for it in [i for i in self.instances if self.is_due(i, "resume")]:
            if it["paused"]:
                self.resume(it, By.SYSTEM)
            else:
                self.fire(it, (it["plan"][2],), By.SYSTEM)
        for it in [i for i in self.instances if not i["paused"] and (self.timer_at(i) or self.now + 1) <= self.now]:
            timer = self.machine.states[it["state"]].ordered_timers[it["timer"]]
            it["timer"] += 1
            if isinstance(timer, Reminder):
                self.note(it, "reminded", By.SYSTEM)
            else:
                self.fire(it, (timer.fire,), By.SYSTEM)
        for it in [i for i in self.instances if self.is_due(i, "lease")]:
            self.lose_effects(it)
            self.fail(it, HandlerTimeout(), By.SYSTEM)
        self.sweep()

    def sweep(self) -> None:
        """What nobody holds is unknown; what is unknown, and comes back to no step, is put to a person."""
        old = sorted((e for e in self.effects if self.forgettable(e)), key=lambda e: int(e["sent_at"]))
        for effect in [e for e in old if e["status"] == "sent" and not self.on_its_way(e)]:
            effect["status"] = "unknown"
            self.note(self.instances[effect["sender"]], "effect", By.SYSTEM)
        for effect in [e for e in old if e["status"] == "unknown"]:
            it = self.instances[effect["sender"]]
            if not self.comes_back(it, effect["step"]):
                effect["asked"] = True
                self.ask(it, "verify_effect", VERIFY, effect=self.effects.index(effect))
                self.note(it, "effect", By.SYSTEM)

    def forgettable(self, effect: Row) -> bool:
        open_ = effect["status"] in {"sent", "unknown"} and not effect["asked"]
        sent_at = effect["sent_at"]  # None if it became unknown without being sent
        return open_ and sent_at is not None and bool(sent_at <= self.now - MINUTE)

    def comes_back(self, it: Row, step: str) -> bool:
        """Whether the step runs again by itself, and meets there what it has sent."""
        planned = it["plan"][0] is not None or (it["paused"] and it["resume_at"] is not None)
        failed = it["failed_step"] == step or any(name.startswith(f"{step}|") for name in it["failures"])
        return not it["finished"] and (it["state"] == step or (planned and failed))

    def on_its_way(self, effect: Row) -> bool:
        it = self.instances[effect["sender"]]
        return it["holder"] is not None and effect["fence"] == it["fence"]

    def unsettled(self, it: Row, step: str) -> list[Row]:
        """What the step has sent, here or in one that this one continues, and nobody knows the end of."""
        mine = [e for e in self.effects if e["number"] in self.line(it) and e["step"] == step]
        return [e for e in mine if e["status"] in {"sent", "unknown"}]

    # -- effects

    def intend(self, claim: Mapping[str, Any], kind: str, takes: tuple[str, ...]) -> None:
        """What is confirmed is not sent again, what is unknown neither; what never went or failed may go."""
        it = self.must_hold(claim)
        key = (*self.visit(it, it["state"]), kind)
        found = next((e for e in self.effects if e["key"] == key), None)
        if found is not None and found["status"] in {"sent", "unknown"}:
            raise No("EffectUnknown")
        if found is None and any(e["key"][-1] == kind for e in self.unsettled(it, it["state"])):
            raise No("EffectUnknown")  # of an earlier visit
        if found is not None and found["status"] == "confirmed":
            if found["number"] != it["number"]:
                self.note(it, "effect", By.WORKER)
            return
        if found is None or found["status"] == "failed":
            for name in takes:
                self.use(it, name)
        if found is None:
            found = {"key": key, "number": it["number"], "step": it["state"], "sends": 0, "failures": 0}
            self.effects.append(found)
        found["status"], found["fence"] = "intended", claim["fence"]
        found["sender"], found["asked"], found["sent_at"] = it["number"], False, None
        self.note(it, "effect", By.WORKER)

    def sent(self, claim: Mapping[str, Any], effect: Row) -> None:
        self.must_hold(claim)
        if (effect["status"], effect["fence"], effect["sender"]) != ("intended", claim["fence"], claim["number"]):
            raise No("EffectUnknown")
        effect["status"], effect["sent_at"] = "sent", self.now
        effect["sends"] += 1

    def settle(self, effect: Row, status: str, by: By, claim: Mapping[str, Any] | None = None) -> None:
        """What was learnt is kept, whoever holds the instance; good news outweighs bad, and bad news of an earlier
        sending says nothing about a later one. News from a worker that holds it no more is put to a person."""
        good = status == "confirmed"
        own = claim is None or claim["number"] == effect["sender"]
        since = claim is not None and (claim["fence"] < effect["fence"] if own else self.on_its_way(effect))
        stale = since and not good
        if effect["status"] == "confirmed" or (effect["status"] == "failed" and not good) or stale:
            return
        effect["status"] = status
        effect["failures"] += status == "failed"
        it = self.instances[effect["sender"]]
        self.note(it, "effect", by)
        if status != "unknown":
            for review in self.reviews:
                if review["status"] == "open" and review.get("effect") == self.effects.index(effect):
                    review["status"] = "closed"
        if claim is not None and status != "unknown" and self.holds(claim) is None:
            self.ask(it, "late_answer", {"noted": ""})

    def lose_effects(self, it: Row) -> None:
        for effect in self.effects:
            if (effect["sender"], effect["fence"], effect["status"]) == (it["number"], it["fence"], "sent"):
                effect["status"] = "unknown"

    # -- people

    def decide(self, review: Row, decision: str, by: By) -> None:
        """The first decision counts, and fires its event; the same again is answered alike."""
        if by not in PEOPLE:
            raise No("Forbidden")
        if review["status"] != "open":
            if (review["status"], review.get("decision")) == ("decided", (decision, by)):
                return
            raise No("AlreadyDecided")
        review["status"], review["decision"] = "decided", (decision, by)
        it = self.instances[review["number"]]
        if review["decisions"][decision]:
            self.fire(it, (review["decisions"][decision],), by)
            return
        letter = self.letters[review["letter"]] if "letter" in review else None
        if letter is not None:
            self.verified(self.unsettled(it, letter["step"]), ARRIVED[decision], by)
        if "effect" in review:
            asked = self.effects[review["effect"]]
            self.verified([asked] if asked["status"] in {"sent", "unknown"} else [], ARRIVED[decision], by)
        self.note(it, "reviewed", by)
        if letter is not None and letter["status"] == "open":
            still_there = it["state"] == letter["step"] and it["plan"] == NOTHING
            if still_there:
                self.retry(letter, by)

    def verified(self, asked: list[Row], status: str, by: By) -> None:
        """The answer is about what was sent, not about what is on its way at this moment."""
        for effect in asked:
            if not self.on_its_way(effect):
                self.settle(effect, status, by)

    def retry(self, letter: Row, by: By) -> None:
        """At the failed step; where it rests in a final state, as a new linked one that starts there as it failed."""
        it, step = self.instances[letter["number"]], letter["step"]
        if letter["status"] != "open":
            raise No("Refused")
        self.count_anew(it, step)
        kind = self.machine.states[it["state"]].kind
        if kind is Kind.FINAL:
            self.create(letter["data"], by, key=it["key"], priority=it["priority"], parent=it, state=step)
            self.instances[-1].update(continues=it["number"], begins=(step, letter["visit"]))
            self.note(it, "retried", by)
        elif it["state"] == step:
            if it["plan"][0] in STARTED:
                raise No("Refused")
            self.close_reviews(it)
            self.note(it, "retried", by)
            it["plan"] = ("work", self.now, None)
        elif kind is Kind.FAILED:
            it["failed_step"] = step
            self.move(it, self.choose(it, self.machine.failures.retry, by), by)
        else:
            raise No("Refused")
        letter["status"] = "retried"

    def close(self, letter: Row, status: str, by: By) -> None:
        if letter["status"] != "open":
            raise No("Refused")
        it = self.instances[letter["number"]]
        self.note(it, "dead_letter_closed", by)
        letter["status"] = status
