"""Going through all instances of a machine, batch after batch: what is done, what is left, and why.

Each batch is a transaction of its own. What a worker holds is left alone, and tried again in the next round; what does
not fit is left as it is, without stopping the others.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import error_details
from interlock.engine.attempt import try_item
from interlock.engine.instance import Instance
from interlock.engine.unit import Unit
from interlock.engine.versions.adapting import Adapted, Asked, Route, Unfit

EXAMPLES = 3
Progress = Callable[[int], None]
"""Called with the number of instances that were looked at since the last call."""


@dataclass(slots=True)
class Trouble:
    """Why instances stay as they are, with some of them."""

    count: int = 0
    examples: list[tuple[UUID, str]] = field(default_factory=list)


@dataclass(slots=True)
class Report:
    """What would be done, or was."""

    moved: Counter[tuple[int, str, int, str]] = field(default_factory=Counter)
    """By version and state before, version and state after."""
    busy: Counter[tuple[int, str]] = field(default_factory=Counter)
    """Left alone for now, because a worker works on them; by version and state."""
    refused: dict[tuple[int, str, str], Trouble] = field(default_factory=dict)
    """Left as they are; by version, state and reason."""
    fields: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many get or lose a field of their data, or have another value in it; by what, and the field's name."""
    timers: Counter[tuple[str, str]] = field(default_factory=Counter)
    reviews: Counter[tuple[str, str]] = field(default_factory=Counter)
    stopped: bool = False
    """Whether somebody stopped it before the end; what was done stays done."""

    @property
    def refusals(self) -> int:
        return sum(trouble.count for trouble in self.refused.values())

    @property
    def seen(self) -> int:
        """How many were looked at."""
        return self.moved.total() + self.busy.total() + self.refusals

    def as_values(self) -> dict[str, list[dict[str, Any]]]:
        """The report as other programs read it."""
        return {
            "moved": [
                {"from_version": a, "from": s, "to_version": b, "to": u, "count": n}
                for (a, s, b, u), n in sorted(self.moved.items())
            ],
            "busy": [{"version": v, "state": s, "count": n} for (v, s), n in sorted(self.busy.items())],
            "refused": [
                {
                    "version": v,
                    "state": s,
                    "reason": reason,
                    "count": trouble.count,
                    "examples": [{"instance": str(i), "detail": detail} for i, detail in trouble.examples],
                }
                for (v, s, reason), trouble in sorted(self.refused.items())
            ],
            "fields": [{"field": f, "what": what, "count": n} for (what, f), n in sorted(self.fields.items())],
            "timers": [{"state": s, "change": change, "count": n} for (s, change), n in sorted(self.timers.items())],
            "reviews": [{"state": s, "what": what, "count": n} for (s, what), n in sorted(self.reviews.items())],
        }

    def refuse(self, instance: Instance, reason: str, detail: str) -> None:
        trouble = self.refused.setdefault((instance.version, instance.state, reason), Trouble())
        trouble.count += 1
        if len(trouble.examples) < EXAMPLES:
            trouble.examples.append((instance.id, detail))

    def note(self, route: Route, instance: Instance, adapted: Adapted, questions: Sequence[Asked]) -> None:
        self.moved[instance.version, instance.state, route.to.number, adapted.state] += 1
        for name in adapted.sets:
            self.fields["changed" if name in instance.data else "added", name] += 1
        for name in adapted.gone:
            self.fields["removed", name] += 1
        if adapted.timers:
            self.timers[adapted.state, adapted.timers] += 1
        for one in questions:
            self.reviews[adapted.state, one.what] += 1


def rounds(
    some: Callable[..., UUID | None],
    run: Callable[..., Any],
    states: Sequence[str],
    patience: float,
    progress: Progress,
    look: Callable[[], Report] | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> Report:
    """Batch after batch, state after state; again while workers hold some, or somebody moved some meanwhile.

    `look` finds what there would be to do, and so whether a batch has missed what others were just writing. Without it
    there is one round. `stopping` is asked after each batch.
    """
    done = Report()
    deadline, wait = time.monotonic() + patience, 0.05
    while True:
        before = done.moved.total()
        done.busy.clear()
        done.refused.clear()
        for state in states:
            after: UUID | None = None
            while True:
                part, after = run(partial(_fresh, some, state=state, after=after))
                _add(done, part)
                progress(part.seen)
                if stopping():
                    done.stopped = True
                    return done
                if after is None:
                    break
        if look is None or (done.busy and time.monotonic() >= deadline):
            return done
        if not done.busy and done.moved.total() == before and look().moved.total() <= done.refusals:
            return done
        if done.busy:
            time.sleep(wait)
            wait = min(wait * 2, 2.0)


def _fresh(
    some: Callable[..., UUID | None], given: Unit | sa.Connection, state: str, after: UUID | None
) -> tuple[Report, UUID | None]:
    """A report of its own for each try: a transaction may run twice."""
    part = Report()
    return part, some(given, state, after, part)


def _add(total: Report, part: Report) -> None:
    total.moved += part.moved
    total.busy += part.busy
    total.fields += part.fields
    total.timers += part.timers
    total.reviews += part.reviews
    for place, trouble in part.refused.items():
        known = total.refused.setdefault(place, Trouble())
        known.count += trouble.count
        known.examples += trouble.examples[: EXAMPLES - len(known.examples)]


def taken(unit: Unit, query: sa.Select[Any], batch: int) -> tuple[list[Instance], UUID | None]:
    """A batch, locked; and where the next one begins."""
    rows = unit.conn.execute(query.with_for_update()).all()
    return unit.adopt(rows), rows[-1].id if len(rows) == batch else None


def attempt(unit: Unit, instance: Instance, report: Report, do: Callable[[Unit, Instance], None]) -> None:
    """Do it whole or not at all, unless a worker is at it; what stands in the way of one does not stop the others."""
    if instance.holder is not None:
        report.busy[instance.version, instance.state] += 1
        return
    place = copy(instance)
    if error := try_item(unit, instance, do):
        reason = error.reason if isinstance(error, Unfit) else f"{type(error).__name__} on the way"
        report.refuse(place, reason, error_details.message_of(error))
