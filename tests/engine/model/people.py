"""The other steps of the story: what people, agents and the system do to instances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from hypothesis import strategies as st
from hypothesis.stateful import rule

from interlock.machine import Actor, By, Go
from interlock.store import tables as t
from tests.engine.model.life import Row
from tests.engine.model.rules import Step, Working, any_step, maybe_minutes, notes, seldom, step, which
from tests.engine.model.translation import TRANSLATION

actors = st.sampled_from([By.USER, By.OWNER, By.AGENT, By.SYSTEM, By.WORKER])
people = st.sampled_from([By.USER] * 5 + [By.OWNER, By.AGENT])
events = st.sampled_from(sorted({e.on for e in TRANSLATION.edges} | {a.on for a in TRANSLATION.arms}))
chains = st.lists(events, min_size=1, max_size=2).map(tuple)
states = st.sampled_from(sorted(TRANSLATION.states))


class Conformance(Working):
    """Everything that can happen to an instance, in any order."""

    def act(self, it: Row, real: Callable[[], Any], model: Callable[[], Any]) -> None:
        """Somebody acts from outside: a failure after that may be one more than the rules allow."""
        self.both(real, model)
        self.model.instances[it["number"]]["helped"] += 1

    def fire(self, n: int, chain: tuple[str, ...], by: By, note: str | None, late: int | None, seq: int | None) -> None:
        instance_id, it = self.pick(n)
        data = {"note": note} if note is not None else None
        until, until_micros = self.moment(late), self.moment_micros(late)
        self.act(
            it,
            lambda: self.engine.fire(
                instance_id, chain, actor=Actor(by, "x"), data=data, expected_seq=seq, resume_at=until
            ),
            lambda: self.model.fire(it, chain, by, data=data, expected=seq, resume_at=until_micros),
        )

    @step(2, n=which, chain=chains, by=actors, note=notes, late=maybe_minutes, behind=st.sampled_from([None, 0, 1]))
    def fire_anything(
        self, n: int, chain: tuple[str, ...], by: By, note: str | None, late: int | None, behind: int | None
    ) -> None:
        seq = len(self.pick(n)[1]["rows"]) - behind if behind is not None else None
        self.fire(n, chain, by, note, late, seq)

    @step(4, n=which, choice=which, then=st.none() | st.none() | events, late=maybe_minutes)
    def fire_what_is_declared(self, n: int, choice: int, then: str | None, late: int | None) -> None:
        state = self.pick(n)[1]["state"]
        ways = [(e.on, sorted(e.by)) for e in TRANSLATION.edges if e.source == state and not e.pick_up]
        ways += [(a.on, sorted(a.by)) for a in TRANSLATION.arms if a.state == state]
        event, who = ways[choice % len(ways)] if ways else ("reopen", [By.OWNER])
        self.fire(n, (event, then) if then else (event,), who[choice % len(who)], None, late, None)

    @step(1, n=which, to=states, by=st.sampled_from([By.OWNER, By.USER, By.AGENT]))
    def force(self, n: int, to: str, by: By) -> None:
        instance_id, it = self.pick(n)
        self.act(
            it,
            lambda: self.engine.force(instance_id, to, actor=Actor(by, "x"), reason="it must"),
            lambda: self.model.force(it, to, by),
        )

    @step(3, n=which, by=actors, until=maybe_minutes, other=seldom)
    def pause_or_resume(self, n: int, by: By, until: int | None, other: bool) -> None:
        """Whichever makes sense, and now and then the other."""
        instance_id, it = self.pick(n)
        actor = Actor(by, "x")
        if it["paused"] != other:
            self.both(lambda: self.engine.resume(instance_id, actor=actor), lambda: self.model.resume(it, by))
        else:
            self.both(
                lambda: self.engine.pause(instance_id, actor=actor, resume_at=self.moment(until)),
                lambda: self.model.pause(it, by, self.moment_micros(until)),
            )

    # -- reviews and dead letters

    def show(self, n: int) -> None:
        """Bring about something to decide."""
        if claim := self.claimed(n):
            self.end(claim, Go("proofread"))

    def row(self, table: sa.Table, rows: list[Row], number: int) -> tuple[UUID, Row]:
        """One of the model's rows, and the id of the engine's: they come in the same order for each instance."""
        wanted = [row for row in rows if row["status"] == "open"] if number < 9 else rows
        chosen = (wanted or rows)[number % len(wanted or rows)]
        before = [row for row in rows if row["number"] == chosen["number"]]
        place = next(n for n, row in enumerate(before) if row is chosen)
        query = sa.select(table.c.id).where(table.c.instance_id == self.ids[chosen["number"]]).order_by(table.c.id)
        return self.engine.read(lambda conn: conn.execute(query).scalars().all())[place], chosen

    @step(5, n=which, choice=which, by=people)
    def decide(self, n: int, choice: int, by: By) -> None:
        if not self.model.reviews:
            self.show(n)
            return
        review_id, review = self.row(t.review, self.model.reviews, n)
        decision = sorted(review["decisions"])[choice % len(review["decisions"])]
        self.act(
            self.model.instances[review["number"]],
            lambda: self.engine.reviews.decide(review_id, decision, actor=Actor(by, "x")),
            lambda: self.model.decide(review, decision, by),
        )

    @step(2, n=which, what=st.sampled_from(["retry", "retry", "resolve", "discard"]))
    def deal_with_a_dead_letter(self, n: int, what: str) -> None:
        if not self.model.letters:
            self.finish_with_an_error(n, "hopeless" if n % 2 else "unknown")
            return
        letter_id, letter = self.row(t.dead_letter, self.model.letters, n)
        it, ann = self.model.instances[letter["number"]], Actor(By.USER, "ann")
        box = self.engine.dead_letters
        if what == "retry":
            self.act(it, lambda: box.retry(letter_id, actor=ann), lambda: self.model.retry(letter, By.USER))
            self.adopt(self.ids[letter["number"]])
        elif what == "resolve":
            self.act(
                it, lambda: box.resolve(letter_id, actor=ann), lambda: self.model.close(letter, "resolved", By.USER)
            )
        else:
            self.act(
                it, lambda: box.discard(letter_id, actor=ann), lambda: self.model.close(letter, "discarded", By.USER)
            )

    # -- any of it, in any order

    @rule(what=any_step())
    def happens(self, what: Step) -> None:
        name, arguments = what
        getattr(self, name)(**arguments)
