"""Explains where an instance is, since when, what it waits for, who can act, and what happens automatically."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import halting, questions, unknown_effects, visits, workers
from interlock.engine.deadletters import error_of
from interlock.engine.errors import Allowed, NotServed
from interlock.engine.firing import allowed
from interlock.engine.instance import Instance
from interlock.engine.last_resort import deferred_crash
from interlock.engine.moves import pending_timer
from interlock.engine.values import readable
from interlock.machine import Kind, Machine, Timer
from interlock.store import Micros, moment, span
from interlock.store import tables as t


@dataclass(frozen=True, slots=True)
class Upcoming:
    """Something that happens automatically."""

    what: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation as data (law 4); `sentence` says the same to a person."""

    instance_id: UUID
    machine: str
    state: str
    kind: str
    since: datetime
    waits_for: str
    """`worker`, `time`, `person`, `event`, `limit`, `code` or `nothing`."""
    next: tuple[Allowed, ...]
    upcoming: tuple[Upcoming, ...]
    sentence: str
    error: dict[str, Any] | None = None


class _Reader:
    def __init__(self, conn: sa.Connection, instance: Instance, machine: Machine | None, now: Micros) -> None:
        self.conn, self.instance, self.machine, self.now = conn, instance, machine, now
        self.coming: list[Upcoming] = []
        self.questions = questions.open_for(conn, instance.id) if machine is not None and machine.reviews else []
        self.strange = False
        """Whether the machine does not have its state."""

    def when(self, at: Micros) -> str:
        """A time for people, with the distance from now."""
        gap = timedelta(microseconds=abs(at - self.now))
        exact = f"{moment(at):%Y-%m-%d %H:%M:%S} UTC"
        return f"{exact} (in {_length(gap)})" if at > self.now else f"{exact} ({_length(gap)} ago)"

    def first(self, query: sa.Select[Any]) -> sa.Row[Any] | None:
        return self.conn.execute(query.limit(1)).first()

    def waits(self) -> tuple[str, str]:
        """What it waits for, and the sentence."""
        i = self.instance
        if self.strange:
            return "person", (
                f"Version {i.version} of {i.machine} has no such state: somebody wrote it into the row. Nothing can "
                "move it but an owner, who may force it into a state that there is"
            )
        if self.machine is None:
            return "code", (
                f"No process here has code for version {i.version} of {i.machine}, so nothing can move it; "
                "start one that has, or migrate it"
            )
        if i.paused_at is not None:
            return self._paused()
        halt = halting.in_force(self.conn, i.machine) if i.wake in {"work", "blocked"} else None
        if halt is not None:
            return self._halted(halt)
        match i.wake:
            case "lease":
                return self._worked_on()
            case "work":
                return self._ready()
            case "resume":
                return self._resume()
            case "blocked":
                return self._blocked()
        return self._at_rest(self.machine)

    def _paused(self) -> tuple[str, str]:
        i = self.instance
        row = self.first(
            sa.select(t.history)
            .where(t.history.c.instance_id == i.id, t.history.c.kind == "paused")
            .order_by(t.history.c.seq.desc())
        )
        reason = str(readable(row.payload).get("reason") or "") if row and row.payload else ""
        by = f" by {row.actor}{f' ({reason})' if reason else ''}" if row else ""
        if i.wake == "resume" and i.due_at is not None:
            self.coming.append(Upcoming("it is resumed", moment(i.due_at)))
            return "time", f"It was paused{by} and resumes automatically at {self.when(i.due_at)}"
        return "person", f"It was paused{by} and waits for a person to resume it"

    def _halted(self, halt: halting.Halt) -> tuple[str, str]:
        what = "All work" if halt.machine == halting.EVERYTHING else f"All work of {halt.machine}"
        why = f" ({halt.reason})" if halt.reason else ""
        return "person", (
            f"{what} is halted: {halt.actor} stopped it at {self.when(halt.at)}{why}. "
            "Its step starts when a person resumes the work"
        )

    def _worked_on(self) -> tuple[str, str]:
        i = self.instance
        assert i.due_at is not None
        assert i.claimed_at is not None
        row = self.first(sa.select(t.worker).where(t.worker.c.id == i.holder))
        who = f"on {row.host} (process {row.pid})" if row else "that is gone"
        if self.questions:
            asked = self.questions[0]
            return "person", (
                f"Its handler asked {asked.title!r} at {self.when(asked.opened_at)} and waits for a person with the "
                f"role {asked.role} to answer; a worker {who} runs it since {self.when(i.claimed_at)}"
            )
        self.coming.append(Upcoming("the handler runs out of time, and the step fails", moment(i.due_at)))
        return "worker", (
            f"A worker {who} is at it since {self.when(i.claimed_at)} and has until {self.when(i.due_at)}"
        )

    def _ready(self) -> tuple[str, str]:
        i = self.instance
        assert i.due_at is not None
        if i.due_at > self.now:
            self.coming.append(Upcoming("its step runs", moment(i.due_at)))
            error = f" after {i.error['type']}: {i.error['message']}" if i.error and i.failures else ""
            said = self._asked_for_later()
            return "time", f"Its step runs{' again' if error or said else ''} at {self.when(i.due_at)}{said or error}"
        if not any(i.queue in w.queues for w in workers.alive(self.conn)):
            return "worker", f"It is ready, but no worker alive serves the queue {i.queue!r}; start one"
        return "worker", f"It is ready and waits for a free worker of queue {i.queue!r} since {self.when(i.due_at)}"

    def _asked_for_later(self) -> str:
        """The reason with which its step asked to run again, if that is the last that happened."""
        row = self.first(
            sa.select(t.history.c.kind, t.history.c.payload).where(
                t.history.c.instance_id == self.instance.id, t.history.c.seq == self.instance.seq
            )
        )
        reason = readable(row.payload).get("reason") if row is not None and row.kind == "again" else None
        return f": {reason.rstrip('. ')}" if isinstance(reason, str) and reason.strip(". ") else ""

    def _resume(self) -> tuple[str, str]:
        i = self.instance
        assert i.due_at is not None
        assert self.machine is not None
        if deferred_crash(i) is not None:
            return (
                "worker",
                "Its worker was lost; the next round of a worker that serves it counts the crash and continues",
            )
        edges = self.machine.edges_on(i.state, i.due_event or "")
        to = edges[0].to if len(edges) == 1 else (i.failed_step or "").partition(":")[0]
        self.coming.append(Upcoming(f"the system fires {i.due_event!r}, to {to!r}", moment(i.due_at)))
        error = f" after {i.error['type']}: {i.error['message']}" if i.error else ""
        return "time", f"It moves on to {to!r} automatically at {self.when(i.due_at)}{error}"

    def _blocked(self) -> tuple[str, str]:
        key = self.instance.blocked_on
        slot, other = t.limit_slot, t.instance
        holders = sa.select(slot.c.instance_id).where(slot.c.key == key)
        mine = holders.join(other, other.c.id == slot.c.instance_id).where(other.c.workspace == self.instance.workspace)
        named = ", ".join(str(h) for h in self.conn.execute(mine.limit(3)).scalars())
        if not named:  # instances of other workspaces are not named
            named = "an instance of another workspace" if self.first(holders) is not None else "nobody"
        return "limit", f"It waits for a free slot of {key!r}, held by {named}"

    def _at_rest(self, machine: Machine) -> tuple[str, str]:
        i = self.instance
        state = machine.states[i.state]
        if state.kind is Kind.FINAL:
            return (
                "nothing",
                f"It ended in {i.state!r} at {self.when(i.entered_at)}; nothing more happens",
            )
        # A dead letter of an earlier step does not matter in a state that waits for something else.
        here = () if state.kind is not Kind.WAITING else (t.dead_letter.c.state == i.state,)
        letter = self.first(
            sa.select(t.dead_letter)
            .where(t.dead_letter.c.instance_id == i.id, *here)
            .order_by(t.dead_letter.c.status != "open", t.dead_letter.c.at.desc())
        )
        if letter is not None and letter.status == "open":
            return "person", self._dead(letter)
        if state.kind is Kind.FAILED:
            error = f" ({i.error['type']}: {i.error['message']})" if i.error else ""
            return "person", f"It failed{error} and waits for a person since {self.when(i.entered_at)}"
        if state.kind is Kind.WORK:
            starts = ", ".join(repr(a.on) for a in machine.arms if a.state == i.state)
            if letter is not None and not starts:
                return "person", (
                    f"Step {letter.step!r} failed for good and its dead letter was {letter.status} by "
                    f"{letter.closed_by}; it waits for a person to move it on"
                )
            return "event", f"Its work is not started: somebody starts it with {starts or 'no event'}"
        return self._waiting(state.waits_for)

    def _dead(self, letter: sa.Row[Any]) -> str:
        error = error_of(letter.error)
        questions = self.conn.execute(
            sa.select(t.review.c.title, t.review.c.evidence).where(
                t.review.c.instance_id == self.instance.id, t.review.c.status == "open", t.review.c.state.is_(None)
            )
        )
        asked = [title for title, evidence in questions if str(letter.id) in (evidence or "")]
        what = f"answer {asked[0]!r}" if asked else "retry, resolve or discard the dead letter"
        problem = f"{error['type']}: {error['message']}"
        return f"Step {letter.step!r} failed for good ({problem}); it waits for a person to {what}"

    def _waiting(self, for_what: str) -> tuple[str, str]:
        i = self.instance
        review = self.first(
            sa.select(t.review).where(
                t.review.c.instance_id == i.id, t.review.c.status == "open", t.review.c.state == i.state
            )
        )
        people = any({"user", "owner"} & set(a.by) for a in allowed(i, self._machine()))
        sentence = f"It waits for {for_what} since {self.when(i.entered_at)}"
        if review is not None and review.claimed_by and (review.claimed_until or 0) > self.now:
            sentence += f"; {review.claimed_by} is at it"
        if review is not None and review.due_at:
            sentence += f"; due at {self.when(review.due_at)}"
        return ("person" if review is not None or people else "event"), sentence

    def unknown_effects(self) -> str:
        """Effects with unknown outcome that a person must verify."""
        reviews = self.conn.execute(
            sa.select(t.review.c.title, t.review.c.evidence).where(
                t.review.c.instance_id == self.instance.id,
                t.review.c.status == "open",
                t.review.c.name == unknown_effects.REVIEW,
            )
        )
        asked = [(title, readable(evidence)) for title, evidence in reviews]
        kinds = sorted({repr(evidence["kind"]) for _, evidence in asked if "effect" in evidence})
        if not kinds:
            return ""
        return f" Nobody knows what came of {', '.join(kinds)}, which it sent: a person has to answer {asked[0][0]!r}"

    def asked(self) -> str:
        """Open questions of its handler, with their defaults. One alone needs no name: the sentence before has it."""
        said = ""
        for one in self.questions:
            assert one.due_at is not None
            which, to = (f" {one.title!r}", f" to {one.title!r}") if len(self.questions) > 1 else ("", "")
            what = f"if nobody answers{which}, the answer is {one.default!r}"
            self.coming.append(Upcoming(what, moment(one.due_at)))
            said += f" If nobody answers by {self.when(one.due_at)}, the answer{to} is {one.default!r}."
        return said.removesuffix(".")

    def inherited(self) -> str:
        """Effects that it inherits from an instance that it continues."""
        line = visits.line(self.conn, self.instance.id, self.instance.parent)
        if len(line) == 1:
            return ""
        E = t.effect
        rows = self.conn.execute(
            sa.select(E.c.kind, E.c.status).where(E.c.instance_id.in_(line[1:])).order_by(E.c.intended_at).limit(20)
        )
        sent = ", ".join(f"{kind} ({status})" for kind, status in rows)
        return f" It continues {line[1]}" + (f" and inherits what was sent there: {sent}" if sent else "")

    def _machine(self) -> Machine:
        assert self.machine is not None
        return self.machine

    def timer(self) -> None:
        i = self.instance
        if self.machine is None or i.timer_at is None or i.paused_at is not None:
            return
        number = pending_timer(self.machine, i)
        for timer in () if number is None else self.machine.states[i.state].ordered_timers[number:]:
            at = i.entered_at + span(timer.after)
            if isinstance(timer, Timer):
                to = ", ".join(repr(e.to) for e in self.machine.edges_on(i.state, timer.fire))
                self.coming.append(Upcoming(f"the system fires {timer.fire!r}, to {to}", moment(at)))
            else:
                self.coming.append(Upcoming(f'a reminder: "{timer.message.rstrip(".")}"', moment(at)))


def _length(gap: timedelta) -> str:
    seconds = int(gap.total_seconds())
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return f"{seconds // size} {name}s"
    return f"{seconds} second{'' if seconds == 1 else 's'}"


def explain(conn: sa.Connection, instance: Instance, machine: Machine | NotServed, now: Micros) -> Explanation:
    served = isinstance(machine, Machine)
    known = machine if isinstance(machine, Machine) and instance.state in machine.states else None
    reader = _Reader(conn, instance, known, now)
    reader.strange = served and known is None
    waits_for, sentence = reader.waits()
    reader.timer()
    nexts = tuple(allowed(instance, known)) if known else ()
    whole = f"{instance.machine} is in {instance.state!r}. {sentence}."
    more, asked = reader.unknown_effects(), reader.asked()
    coming = tuple(sorted(reader.coming, key=lambda c: c.at))
    waits_for = "person" if more and waits_for in {"nothing", "event"} else waits_for
    whole += "".join(f"{said}." for said in (more, asked, reader.inherited()) if said)
    timers = [c for c in coming if c.what.startswith(("the system fires", "a reminder"))]
    if timers and waits_for in {"person", "event"}:
        whole += f" If nothing happens, {timers[0].what} at {timers[0].at:%Y-%m-%d %H:%M} UTC."
    return Explanation(
        instance.id,
        instance.machine,
        instance.state,
        known.states[instance.state].kind.value if known else "unknown",
        moment(instance.entered_at),
        waits_for,
        nexts,
        coming,
        whole,
        instance.error,
    )
