"""Half of the plain model: how an instance lives. A row of it is a dictionary.

What an instance is about to do is its `plan` (wake, due, event). A pause lies beside the plan and does not touch it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from interlock.machine import Actor, By, Edge, Facts, Kind, Machine
from interlock.store import Micros, moment, span

Row = dict[str, Any]
NOTHING = (None, None, None)
STARTED = {"work", "lease", "blocked"}
PEOPLE = frozenset({By.USER, By.OWNER})
TABLES = ("instances", "effects", "reviews", "letters", "uses", "freed")


class No(Exception):
    """The engine must refuse this, with the error of this name."""


class Used(No):
    """A limit has no room before this moment."""

    def __init__(self, until: datetime) -> None:
        super().__init__("LimitReached")
        self.until = until


class Life:
    """How instances start, move, pause, are claimed and are asked about. What comes of the work is in `Model`."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.now: Micros = 0
        self.instances: list[Row] = []
        self.effects: list[Row] = []
        self.reviews: list[Row] = []
        self.letters: list[Row] = []
        self.uses: dict[str, list[Micros]] = {}
        self.freed: set[str] = set()
        """The slots that became free in this call."""

    @contextmanager
    def whole(self) -> Iterator[None]:
        """All of it or none of it."""
        self.freed = set()
        kept = self.snapshot()
        try:
            yield
        except No:
            self.restore(kept)
            raise

    def snapshot(self) -> dict[str, Any]:
        return copy.deepcopy({name: getattr(self, name) for name in TABLES})

    def restore(self, kept: Mapping[str, Any]) -> None:
        for name in TABLES:
            setattr(self, name, kept[name])

    # -- starting and moving

    def create(
        self,
        data: Mapping[str, Any],
        by: By,
        *,
        key: str | None = None,
        priority: int = 2,
        at: Micros = 0,
        unstarted: bool = False,
        parent: Row | None = None,
        state: str | None = None,
    ) -> None:
        number = len(self.instances)
        it: Row = {
            "number": number,
            "state": state or self.machine.initial,
            "previous": None,
            "key": key,
            "has_key": False,
            "data": {"note": "", "reason": "", **data},
            "priority": priority,
            "rows": [],
            "children": [],
            "parent": parent["number"] if parent else None,
            "root": parent["root"] if parent else number,
            "depth": parent["depth"] + 1 if parent else 0,
            "changed": self.now,
            "entered": self.now,
            "timer": 0,
            "plan": NOTHING,
            "paused": False,
            "resume_at": None,
            "holder": None,
            "fence": 0,
            "slot": None,
            "failures": {},
            "failed_step": None,
            "finished": False,
            "helped": 0,
            "done": {},
            "left": {},
            "continues": None,
            "begins": None,
        }
        self.take_key(it)
        if parent:
            parent["children"].append(number)
        self.instances.append(it)
        self.note(it, "created", by, to=it["state"])
        self.enter(it, unstarted=unstarted, at=at)

    def take_key(self, it: Row) -> None:
        """Among live instances a key is one's own."""
        if it["key"] is not None and any(o["has_key"] and o["key"] == it["key"] for o in self.instances if o is not it):
            raise No("KeyTaken")
        it["has_key"] = it["key"] is not None

    def note(
        self,
        it: Row,
        kind: str,
        by: By,
        *,
        source: str | None = None,
        to: str | None = None,
        event: str | None = None,
    ) -> None:
        """A row of history. An instance's own time never runs back, whatever the clock does."""
        it["rows"].append((kind, source, to, event, by.value))
        it["changed"] = max(it["changed"], self.now)

    def move(
        self,
        it: Row,
        edge: Edge,
        by: By,
        *,
        data: Mapping[str, Any] | None = None,
        last: bool = True,
        keep: bool = False,
        unstarted: bool = False,
        at: Micros = 0,
        due: tuple[Micros, str] | None = None,
        kind: str = "moved",
        failed: bool = False,
    ) -> None:
        for name in edge.takes:
            self.use(it, name)
        waits_to_begin = any(e.pick_up for e in self.machine.edges if e.source == edge.source)
        interrupted = by is not By.WORKER and it["plan"][0] in STARTED and not waits_to_begin
        self.leave_step(it, edge.source, done=not failed and not interrupted)
        it["data"] = {**it["data"], **edge.sets, **(data or {})}
        self.close_reviews(it)
        if not keep:
            self.let_go(it)
        self.note(it, kind, by, source=edge.source, to=edge.to, event=edge.on)
        it["previous"], it["state"] = edge.source, edge.to
        self.enter(it, last=last, keep=keep, unstarted=unstarted, at=at, due=due)

    def leave_step(self, it: Row, step: str, *, done: bool) -> None:
        """A visit of a step ends when it is done; whatever leads back from a failure is the same visit."""
        it["left"][step] = done
        it["done"][step] = it["done"].get(step, 0) + done

    def visit(self, it: Row, step: str) -> tuple[int, str, int]:
        """Where it began, and which time it is. One that continues another begins in the visit that failed."""
        if done := it["done"].get(step, 0):
            return it["number"], step, done + 1
        if it["continues"] is not None:
            begun, visit = it["begins"]
            if step == begun:
                kept: tuple[int, str, int] = visit
                return kept
            before = self.instances[it["continues"]]
            if before["left"].get(step) is False:
                return self.visit(before, step)
        return it["number"], step, 1

    def line(self, it: Row) -> list[int]:
        """Itself and all that it continues."""
        more = [] if it["continues"] is None else self.line(self.instances[it["continues"]])
        return [it["number"], *more]

    def let_go(self, it: Row) -> None:
        """Nobody holds it from here on, and its slot is free."""
        if it["slot"] is not None:
            self.freed.add(it["slot"])
        it["holder"] = it["slot"] = None

    def enter(
        self,
        it: Row,
        *,
        last: bool = True,
        keep: bool = False,
        unstarted: bool = False,
        at: Micros = 0,
        due: tuple[Micros, str] | None = None,
    ) -> None:
        state = self.machine.states[it["state"]]
        it["entered"], it["timer"] = it["changed"], 0
        if not keep:
            it["plan"] = NOTHING
            if due is not None:
                it["plan"] = ("resume", *due)
            elif state.kind is Kind.WORK and not unstarted:
                it["plan"] = ("work", max(at, self.now), None)
        if not last:
            return
        rests = state.kind is Kind.FINAL or (state.kind is Kind.FAILED and due is None)
        if rests:
            if it["paused"]:
                self.note(it, "resumed", By.SYSTEM)
                it["paused"], it["resume_at"] = False, None
            it["has_key"] = False
        elif it["finished"]:
            self.take_key(it)
        it["finished"] = rests
        if state.review is not None:
            self.ask(it, it["state"], dict(state.review.decisions), state=it["state"])

    def fire(
        self,
        it: Row,
        events: tuple[str, ...],
        by: By,
        *,
        data: Mapping[str, Any] | None = None,
        expected: int | None = None,
        resume_at: Micros | None = None,
    ) -> None:
        if expected is not None and expected != len(it["rows"]):
            raise No("OutOfDate")
        for number, event in enumerate(events):
            last = number == len(events) - 1
            given = dict(data or {}) if last else {}
            if any((arm.state, arm.on) == (it["state"], event) for arm in self.machine.arms):
                self.arm(it, event, by, given)
                continue
            edge = self.choose(it, event, by, passing=number > 0)
            if set(given) - set(edge.accepts):
                raise No("InvalidData")
            due = None
            if last and resume_at is not None:
                due = (resume_at, "resume")
                if not any(By.SYSTEM in e.by for e in self.machine.edges if (e.source, e.on) == (edge.to, "resume")):
                    raise No("Refused")
            failures = self.machine.failures
            if edge.to == failures.state:
                # Whoever sends it to where failures rest wants it tried again, as after a first failure.
                it["failed_step"] = it["state"]
                if last and due is None:
                    due = (self.now + span(failures.otherwise.backoff.delay(1)), failures.retry)
            if it["finished"] and by in PEOPLE and self.machine.states[it["state"]].kind is Kind.FAILED:
                self.take_up(it, "retried" if event == failures.retry else "resolved")
            self.move(it, edge, by, data=given, last=last, due=due)

    def take_up(self, it: Row, status: str) -> None:
        """A person moves on what had failed for good: its step counts anew, and its dead letters are closed."""
        self.count_anew(it, it["failed_step"])
        for letter in self.letters_of(it):
            letter["status"] = status

    def count_anew(self, it: Row, step: str | None) -> None:
        """A step that is done, or taken up by a person, counts its failures anew; the other steps keep theirs."""
        it["failures"] = {k: n for k, n in it["failures"].items() if k.partition("|")[0] != step}

    def letters_of(self, it: Row) -> list[Row]:
        """Its dead letters that are open."""
        return [letter for letter in self.letters if (letter["number"], letter["status"]) == (it["number"], "open")]

    def choose(self, it: Row, event: str, by: By, *, passing: bool = False) -> Edge:
        """The transition that the event means here. What rests in a final state is moved by people alone."""
        edges = [e for e in self.machine.edges if (e.source, e.on) == (it["state"], event)]
        if not edges:
            raise No("Refused")
        resting = self.machine.states[it["state"]].kind is Kind.FINAL and not passing
        who = [(e, e.by & PEOPLE if resting else e.by) for e in edges]
        mine = [e for e, allowed in who if Actor(by).may(allowed)]
        if not mine:
            raise No("Forbidden" if any(allowed for _, allowed in who) else "Refused")
        for edge in mine:
            if self.passes(it, edge, by):
                return edge
        raise No("Refused")

    def passes(self, it: Row, edge: Edge, by: By) -> bool:
        about = Facts(it["state"], it["previous"], it["failed_step"], it["data"], Actor(by))
        return edge.guard is None or edge.guard(about) is True

    def arm(self, it: Row, event: str, by: By, data: Mapping[str, Any]) -> None:
        """The state's work may start; what is started is not started twice."""
        arm = next(arm for arm in self.machine.arms if (arm.state, arm.on) == (it["state"], event))
        if not Actor(by).may(arm.by):
            raise No("Forbidden")
        if it["plan"][0] in STARTED:
            raise No("Refused")
        if set(data) - set(arm.accepts):
            raise No("InvalidData")
        it["data"] = {**it["data"], **data}
        self.close_reviews(it)
        self.note(it, "armed", by, event=event)
        it["plan"] = ("work", self.now, None)

    def force(self, it: Row, to: str, by: By) -> None:
        if by is not By.OWNER:
            raise No("Forbidden")
        self.move(it, Edge(it["state"], to, "force", frozenset({By.OWNER}), None), by, kind="forced")

    def pause(self, it: Row, by: By, resume_at: Micros | None) -> None:
        """What was worked on is ready again afterwards; all else goes on as it was planned."""
        if it["finished"]:
            raise No("Refused")
        if it["paused"] and resume_at is None:
            return
        self.note(it, "paused", by)
        if it["plan"][0] in {"lease", "blocked"}:
            it["plan"] = ("work", self.now, None)
        self.let_go(it)
        it["paused"], it["resume_at"] = True, resume_at

    def resume(self, it: Row, by: By) -> None:
        if not it["paused"]:
            raise No("Refused")
        self.note(it, "resumed", by)
        it["paused"], it["resume_at"] = False, None

    # -- claiming

    def ready(self) -> list[Row]:
        return [i for i in self.instances if i["plan"][0] == "work" and i["plan"][1] <= self.now and not i["paused"]]

    def claim(self, worker: object, taken: Mapping[int, int], blocked: set[int], count: int, *, by_age: bool) -> None:
        """The first priorities first, or the oldest and then those; what finds no free slot waits for one."""

        def rank(it: Row) -> tuple[int, Micros]:
            return it["priority"], it["plan"][1]

        ready = sorted(self.ready(), key=rank)
        eldest = min((i["plan"][1] for i in ready), default=0)
        firsts = [[i] for i in ready if i["plan"][1] == eldest] if by_age and ready else [[]]
        allowed = [
            sorted(rank(i) for i in [*first, *[i for i in ready if i not in first][: count - len(first)]])
            for first in firsts
        ]
        picked = sorted(rank(self.instances[n]) for n in [*taken, *blocked])
        assert picked in allowed, f"a claim of {count} took {picked}, and ought to take one of {allowed}"
        for number, fence in taken.items():
            self._take(self.instances[number], worker, fence)
        for number in blocked:
            it = self.instances[number]
            assert not self.room(it), f"{number} was held up by a limit that has room"
            it["plan"] = ("blocked", it["plan"][1], None)

    def _take(self, it: Row, worker: object, fence: int) -> None:
        assert fence > it["fence"], f"fence {fence} of {it['number']} did not grow"
        pick_up = next((e for e in self.machine.edges if e.source == it["state"] and e.pick_up), None)
        state = pick_up.to if pick_up else it["state"]
        for limit in self.machine.concurrent(state):
            assert self.room(it), f"{it['number']} was taken beyond the limit {limit.name}"
        if pick_up:
            self.move(it, pick_up, By.WORKER)
        it["slot"] = next((limit.key_for(it["data"]) for limit in self.machine.concurrent(state)), None)
        timeout = self.machine.handlers[state, None].timeout
        it["plan"] = ("lease", self.now + span(timeout), None)
        it["holder"], it["fence"] = worker, fence

    def slot_key(self, it: Row) -> str:
        [limit] = self.machine.concurrent("translating")
        return limit.key_for(it["data"])

    def room(self, it: Row) -> bool:
        """Whether a slot is free for it."""
        [limit] = self.machine.concurrent("translating")
        return len([other for other in self.instances if other["slot"] == self.slot_key(it)]) < limit.size

    def woken(self, it: Row) -> None:
        """The engine let it go on from waiting for a slot; there must have been reason to."""
        assert self.slot_key(it) in self.freed or self.room(it), f"{it['number']} was woken for no slot"
        it["plan"] = ("work", it["plan"][1], None)

    def overlooked(self, it: Row) -> bool:
        """Whether it waits for a slot that is free, and nobody is about to take it."""
        about_to = [i for i in self.instances if i["plan"][0] == "work" and self.slot_key(i) == self.slot_key(it)]
        return it["plan"][0] == "blocked" and self.room(it) and not about_to

    def holds(self, claim: Mapping[str, Any]) -> Row | None:
        """The claimed instance, if this claim is the one that holds it: law 3."""
        it = self.instances[claim["number"]]
        mine = it["plan"][0] == "lease" and (it["holder"], it["fence"]) == (claim["worker"], claim["fence"])
        return it if mine and not it["paused"] else None

    def must_hold(self, claim: Mapping[str, Any]) -> Row:
        it = self.holds(claim)
        if it is None:
            raise No("Fenced")
        return it

    # -- what people are asked, and what moves use up

    def ask(self, it: Row, name: str, decisions: Mapping[str, str], *, state: str | None = None, **more: Any) -> None:
        """A review opens; one that belongs to the state is there once at most."""
        if state is not None:
            self.close_reviews(it)
        self.reviews.append(
            {"number": it["number"], "name": name, "decisions": decisions, "state": state, "status": "open", **more}
        )

    def close_reviews(self, it: Row) -> None:
        for review in self.reviews:
            if (review["number"], review["status"]) == (it["number"], "open") and review["state"] is not None:
                review["status"] = "closed"

    def use(self, it: Row, name: str) -> None:
        """One use of a sliding window. What has left the window once is forgotten, also by a clock that steps back."""
        window = self.machine.window(name)
        key, per = window.key_for(it["data"]), span(window.per)
        uses = sorted(at for at in self.uses.get(key, []) if at > self.now - per)
        size = window.size_for(it["data"])
        if len(uses) >= size:
            raise Used(moment(uses[len(uses) - size] + per))
        self.uses[key] = [*uses, self.now]
